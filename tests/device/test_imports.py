"""TensorFlow beside torch and Sionna: each works in one process, whichever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

PARTS = {
    "tensorflow": "import tensorflow as tf; import ai_edge_litert.interpreter",
    "torch": "import torch; torch.ones(2)",
    "sionna": "import locus; twin = locus.make_twin('sionna')",
}
ORDERS = [
    ("tensorflow", "torch", "sionna"),
    ("torch", "tensorflow", "sionna"),
    ("sionna", "tensorflow", "torch"),
    ("torch", "sionna", "tensorflow"),
]
USE = """
import numpy as np, shapely
one = np.arange(6.0).reshape(2, 3)
assert np.allclose(tf.linalg.matmul(one, one.T).numpy(), one @ one.T)
assert np.allclose(torch.from_numpy(one) @ torch.from_numpy(one.T), one @ one.T)
room = locus.Layout(shapely.box(0, 0, 10, 10))
paths = twin.trace(room, locus.Pose(3.0, 4.0, 0.0), np.array([[6.0, 8.0]]))
print(float(paths.delay.where(paths.valid).min()) * 299792458)
"""


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_all_three_work_in_any_order(order: tuple[str, ...]) -> None:
    program = "\n".join([*(PARTS[name] for name in order), USE])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(5, rel=1e-5)
