"""What `locus locate` imports: nothing that its result does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import locus

ROOM = Path(__file__).parents[1] / "book/_static/room.geojson"
PROGRAM = """
import sys
from locus.cli import main
code = main()
print(*(name for name, module in sys.modules.items() if module is not None))
sys.exit(code)
"""
NEEDLESS = {"torch", "dask", "scipy", "distributed", "matplotlib", "zarr", "mitsuba", "sionna", "sklearn"}


def test_locating_with_the_image_twin_imports_neither_torch_nor_dask(tmp_path: Path) -> None:
    layout, pose = locus.Layout.from_geojson(ROOM), locus.Pose(70.0, 30.0, 2.8)
    paths = locus.make_twin("image").trace(layout, pose, [[12.0, 30.0]])
    np.save(tmp_path / "capture.npy", locus.observe(paths.isel(candidate=0), np.random.default_rng(0)).iq)
    command = [sys.executable, "-c", PROGRAM, "locate", str(ROOM), "--pose=70,30,2.8", "--iq=capture.npy"]
    command += ["--twin=image", "--out=posterior.nc"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "numba" in imported
    assert not NEEDLESS & imported
    assert (tmp_path / "posterior.nc").is_file()
