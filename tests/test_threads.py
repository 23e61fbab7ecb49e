"""Kernels on several threads give the same bits as on one, on which `make test` runs all other tests."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import hashlib, numba, numpy as np, torch, locus
from locus.score.weight_files import make_method, MethodOptions
rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)
pose = locus.Pose.random(layout, rng)
paths = locus.make_twin("image").trace(layout, pose, layout.sample(40, rng))
audible = paths.valid.any("path").values.nonzero()[0][:12]
iq = np.stack([locus.observe(paths.isel(candidate=one), rng).iq for one in audible])
observed = locus.estimate(iq)
posterior = make_method("locus_dt", MethodOptions()).posterior(paths, observed)
digest = hashlib.sha256()
for values in (paths.gain, paths.delay, observed.aoa, observed.snr_db, posterior):
    digest.update(np.ascontiguousarray(values).tobytes())
print(numba.get_num_threads(), digest.hexdigest())
"""


def test_two_threads_give_the_bits_of_one() -> None:
    found = {}
    for count in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM],
            env={**os.environ, "NUMBA_NUM_THREADS": count},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        threads, found[count] = done.stdout.split()
        assert threads == count
    assert found["1"] == found["2"]
