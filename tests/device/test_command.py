"""The commands: `locus export` writes what `locus locate --run` reads, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import locus
from locus.experiment import netcdf

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "book/_static/room.geojson"
POSE = locus.Pose(70.123, 30.321, 2.8)
COMMAND = "import sys; from locus.cli import main; sys.exit(main())"
WITHOUT_NETWORKS = f"""
import safetensors, torch
def refuse(*_, **__): raise AssertionError("torch loaded a network")
safetensors.safe_open = torch.nn.Module.__init__ = refuse
import locus.score.weight_files as files
files.safe_open = refuse
{COMMAND}
"""


def run(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def capture(tmp_path: Path, image: locus.Twin) -> Path:
    room = locus.Layout.from_geojson(ROOM)
    paths = image.trace(room, POSE, room.sample(1, np.random.default_rng(3)))
    np.save(tmp_path / "iq.npy", locus.observe(paths.isel(candidate=0), np.random.default_rng(0)).iq)
    return tmp_path


def locate(capture: Path, program: str, weights: str, out: str) -> subprocess.CompletedProcess[str]:
    options = ["--pose", f"{POSE.x},{POSE.y},{POSE.heading}", "--iq", "iq.npy", "--twin", "image"]
    return run(program, "locate", str(ROOM), *options, "--run", weights, "--out", out, folder=capture)


def test_an_exported_file_locates_like_the_weights(capture: Path) -> None:
    done = run(COMMAND, "export", "locus_dt.tflite", folder=capture)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("locus_dt.tflite: 17.")
    for program, weights, out in (
        (WITHOUT_NETWORKS, "locus_dt.tflite", "lite.nc"),
        (COMMAND, "paper", "torch.nc"),
    ):
        done = locate(capture, program, weights, out)
        assert (done.returncode, done.stderr) == (0, "")
    found, expected = (netcdf.load(capture / name) for name in ("lite.nc", "torch.nc"))
    np.testing.assert_allclose(found.posterior, expected.posterior, rtol=1e-3, atol=1e-7)
    assert found.attrs["weights_hash"] == expected.attrs["weights_hash"]
    assert found.attrs["weights"] == "locus_dt.tflite"


def test_loading_the_weights_would_have_been_noticed(capture: Path) -> None:
    assert "torch loaded a network" in locate(capture, WITHOUT_NETWORKS, "paper", "out.nc").stderr
