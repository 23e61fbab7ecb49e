"""Impossible captures and weights: refused before anything is written, unless one insists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
import torch

import locus
from locus.cli import main
from locus.score import weight_files
from locus.score.options import MethodOptions

ROOM = locus.Layout(shapely.box(0, 0, 40, 30))
POSE = locus.Pose(10.0, 10.0, 0.4)
PLACES = [[20.0, 20.0], [30.0, 15.0], [25.0, 5.0]]


@pytest.fixture(scope="module")
def iq() -> np.ndarray:
    paths = locus.make_twin("image").trace(ROOM, POSE, PLACES)
    return locus.observe(paths.isel(candidate=1), np.random.default_rng(0)).iq.values


@pytest.mark.filterwarnings("ignore:The capture fits the twin worse")
def test_a_capture_that_is_141_db_too_strong_is_refused_unless_told_otherwise(iq: np.ndarray) -> None:
    strong = iq * 10 ** (141 / 20)
    with pytest.raises(
        ValueError, match=r"^Expected a strongest path of at most \d+ dB SNR.*check_power=False"
    ) as told:
        locus.locate(ROOM, POSE, strong, PLACES, twin="image")
    assert len(str(told.value)) < 500
    with pytest.warns(UserWarning, match=r"strongest path has an SNR of \d+ dB, but at most"):
        located = locus.locate(ROOM, POSE, strong, PLACES, twin="image", check_power=False)
    assert np.isfinite(located.posterior.values).all()


@pytest.mark.filterwarnings("ignore:The capture fits the twin worse")
def test_a_possible_capture_is_located(iq: np.ndarray) -> None:
    located = locus.locate(ROOM, POSE, iq, PLACES, twin="image")
    assert int(located.posterior.values.argmax()) == 1


@pytest.mark.parametrize("scale", [1e200, 1e100, 1e36])
def test_samples_beyond_any_receiver_are_refused_and_nothing_is_written(
    scale: float, iq: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ROOM.to_geojson(tmp_path / "room.geojson")
    np.save(tmp_path / "iq.npy", iq * scale)
    options = ["--pose", "10,10,0.4", "--iq", str(tmp_path / "iq.npy"), "--out", str(tmp_path / "out.nc")]
    assert main(["locate", str(tmp_path / "room.geojson"), *options, "--twin", "image"]) == 2
    assert "Expected 'iq' of at most 1e+30 W^0.5" in capsys.readouterr().err
    assert not (tmp_path / "out.nc").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_weights_that_training_cannot_reach_are_refused_and_nothing_is_written(
    value: float, iq: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method = weight_files.make_method("locus_dt", MethodOptions())
    with torch.no_grad():
        method.bias[3] = value
    weight_files.save_method(tmp_path / "w.safetensors", method, {"config": {}, "hash": "0"})
    ROOM.to_geojson(tmp_path / "room.geojson")
    np.save(tmp_path / "iq.npy", iq)
    options = ["--pose", "10,10,0.4", "--iq", str(tmp_path / "iq.npy"), "--out", str(tmp_path / "out.nc")]
    options += ["--run", str(tmp_path / "w.safetensors"), "--twin", "image"]
    assert main(["locate", str(tmp_path / "room.geojson"), *options]) == 2
    printed = capsys.readouterr().err
    assert f"Expected finite weights 'bias', at most 10000, got {value:g}" in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out.nc").exists()


@pytest.mark.parametrize("name", ["../paper", "/etc", "paper/..", "a/b", "..", ".hidden", "x" * 101])
def test_runs_are_named_and_not_paths(name: str) -> None:
    with pytest.raises(ValueError, match=r"^Expected 'run' of at most 100 letters"):
        locus.open_run(name)
    with pytest.raises(ValueError, match=r"^Expected 'run' of at most 100 letters"):
        locus.load_scorer(name)


def test_methods_are_named_and_not_paths() -> None:
    for method in ("locus_dt./../../x", "locus_dt.a/b", "../locus_dt"):
        with pytest.raises(ValueError, match=r"^Expected 'method'"):
            locus.load_scorer("paper", method)
