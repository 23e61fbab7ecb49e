"""The explorer's modules against the package: both must compute the same numbers for the same scenes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import shapely
import torch
import xarray as xr
from explorer_harness import compute

import locus
from locus import Config, Layout, Pose, TwinOptions, explorer
from locus.experiment.twin_agreement import compare_paths
from locus.receiver.observation import receive
from locus.room.layout import away_from
from locus.score import limits
from locus.score.features import features
from locus.score.method import Method, MethodOptions
from locus.score.sync_offset import folded_prior, log_integrals
from locus.score.weight_files import METHODS, encodings, make_method
from locus.settings.config import FeatureOptions
from locus.twin.base import PathArrays
from locus.twin.image import ImageTwin

CONFIG = Config()
PATH_SET = locus.PathSet()
NUM_SCENES, NUM_CANDIDATES = 30, 60
WIDE = 100  # more paths than any candidate has


class Scene(NamedTuple):
    """One group with one snapshot, as computed by the package."""

    layout: Layout
    pose: Pose
    depth: int
    truth: int
    paths: xr.Dataset
    wide: xr.Dataset
    snapshot: xr.Dataset
    observed: xr.Dataset
    weak: xr.Dataset
    """Paths above the lower threshold of the path set."""


def draw_scene(index: int) -> Scene:
    """Rooms drawn as in the paper; a third have no right angles and other materials. All depths occur."""
    rng = np.random.default_rng([7, index])
    layout = odd_room(rng) if index % 3 == 2 else Layout.random(rng, CONFIG.room)
    pose, depth = Pose.random(layout, rng), index % 4
    candidates = away_from(pose, layout.sample(NUM_CANDIDATES, rng))
    paths, wide = (
        locus.make_twin("image", options=TwinOptions(max_depth=depth, max_paths=count)).trace(layout, pose, candidates)
        for count in (CONFIG.twin.max_paths, WIDE)
    )
    truth = int(rng.choice(np.flatnonzero(paths.valid.any("path"))))
    snapshot = locus.observe(paths.isel(candidate=truth), rng)
    observed, weak = locus.estimate(snapshot), locus.estimate(snapshot, PATH_SET.estimator, residual=True)
    return Scene(layout, pose, depth, truth, paths, wide, snapshot, observed, weak)


def odd_room(rng: np.random.Generator) -> Layout:
    def polygon(x: float, y: float, radius: float, corners: int) -> shapely.Polygon:
        angle = 2 * np.pi * (np.arange(corners) + rng.uniform(-0.2, 0.2, corners)) / corners
        return shapely.Polygon(np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle)]))

    obstacles = (polygon(-12, 3, 6, 3), polygon(14, -4, 7, 5))
    return Layout(polygon(0, 0, 40, 7), obstacles, ("brick", "glass", "metal"))


def make_networks() -> dict[str, Method]:
    """Every method in every encoding, with random weights large enough for peaked posteriors."""
    networks = {}
    for number, (name, encoding) in enumerate((m, e) for m in METHODS for e in encodings(m)):
        options = MethodOptions(size=CONFIG.room.size, encoding=encoding)
        method = make_method(name, options, seed=number).eval().requires_grad_(False)
        for tensor in method.parameters():
            tensor.mul_(4.0)
        networks[name if name == "locus_dt" else f"{name}.{encoding}"] = method
    return networks


def to_json(scene: Scene) -> dict[str, Any]:
    iq = scene.snapshot.iq.values.T
    return {
        "walls": scene.layout.walls.tolist(),
        "materials": scene.layout.wall_materials,
        "pose": dataclasses.asdict(scene.pose),
        "candidates": np.column_stack([scene.paths.x, scene.paths.y]).tolist(),
        "depth": scene.depth,
        "truth": scene.truth,
        "offset": float(scene.snapshot.sync_offset),
        "phase": float(scene.snapshot.carrier_phase),
        "iq": {"re": iq.real.tolist(), "im": iq.imag.tolist()},
    }


def filter_outputs(rng: np.random.Generator, snr_db: float) -> np.ndarray:
    """Outputs (candidate, subcarrier) of filters for close candidates: two paths at random delays, and noise."""
    n, energy = CONFIG.radio.num_subcarriers, CONFIG.radio.num_antennas * CONFIG.radio.num_subcarriers
    waves = np.exp(-2j * np.pi * np.arange(n) * rng.uniform(size=(5, 2, 1)))
    signal = 10 ** (snr_db / 10) * energy / n * (waves * np.array([[1], [0.3]])).sum(1)
    noise = math.sqrt(10 ** (snr_db / 10) * energy / n / 2) * (rng.standard_normal((2, 5, n)))
    return signal + noise[0] + 1j * noise[1]


class Both(NamedTuple):
    """Results of both implementations for all scenes."""

    scenes: list[Scene]
    networks: dict[str, Method]
    page: list[dict[str, Any]]
    rooms: list[dict[str, Any]]
    integrals: list[list[float]]


FILTERED = [
    (window, filter_outputs(np.random.default_rng([8, int(100 * window), snr_db + 99]), snr_db))
    for window in (0.0, 0.37, 1.3, 6.25)
    for snr_db in (-30, -20, -10, 0, 20, 40)
]
"""Windows of the sync offset [periods], and outputs of filters."""


def shares(outputs: np.ndarray) -> np.ndarray:
    """Energies (candidate) that leave each candidate a similar likelihood, as those of real candidates do."""
    return 2 * np.abs(np.fft.fft(outputs, 2**16)).max(1)


@pytest.fixture(scope="module")
def both() -> Both:
    scenes, networks = [draw_scene(index) for index in range(NUM_SCENES)], make_networks()
    given = {
        "methods": {name: explorer.describe(method) for name, method in networks.items()},
        "wide": WIDE,
        "scenes": [to_json(scene) for scene in scenes],
        "filtered": [
            {
                "window": window * CONFIG.radio.period,
                "re": outputs.real.tolist(),
                "im": outputs.imag.tolist(),
                "energies": shares(outputs).tolist(),
            }
            for window, outputs in FILTERED
        ],
    }
    found = compute(CONFIG, given)
    return Both(scenes, networks, found["scenes"], found["rooms"], found["integrals"])


def as_arrays(found: dict[str, Any]) -> PathArrays:
    column = {name: np.array(found[name]).reshape(found["rows"], found["width"]) for name in ("aoa", "delay", "order")}
    gain = np.array(found["gainRe"]) + 1j * np.array(found["gainIm"])
    return PathArrays(column["aoa"], column["delay"], gain.reshape(found["rows"], found["width"]), column["order"])


def test_paths_are_the_same_set_with_the_same_gains(both: Both) -> None:
    total = None
    for scene, page in zip(both.scenes, both.page, strict=True):
        twin = ImageTwin(CONFIG.radio, TwinOptions(max_depth=scene.depth, max_paths=WIDE))
        candidates = np.column_stack([scene.wide.x, scene.wide.y])
        found = twin._label(scene.pose, candidates, as_arrays(page["paths"]))
        one = compare_paths(scene.layout, found, scene.wide)
        total = one if total is None else total + one
    assert total is not None
    assert total.num_paths > 100 * NUM_SCENES
    assert (total.missing, total.extra) == (0, 0)
    assert total.corner_share <= 1 / 3000
    assert total.angle_error.max() < 1e-9
    assert total.delay_error.max() < 1e-15
    assert np.abs(10 ** (total.gain_error_db / 20) - 1).max() < 1e-4
    assert total.phase_error.max() < 1e-4


def test_samples_without_noise_are_the_same(both: Both) -> None:
    for scene, page in zip(both.scenes, both.page, strict=True):
        true = scene.paths.isel(candidate=[scene.truth])
        given = (true.aoa.values, true.delay.values, np.where(true.valid, true.gain, 0))
        offset, phase = scene.snapshot.sync_offset.values[None], scene.snapshot.carrier_phase.values[None]
        clean = receive(*given, offset, phase, CONFIG.radio)[0].T
        found = (np.array(page["clean"]["re"]) + 1j * np.array(page["clean"]["im"])).reshape(clean.shape)
        np.testing.assert_allclose(found, clean, atol=1e-6 * np.abs(clean).max())


@pytest.mark.parametrize(("threshold", "least"), [("observed", 2), ("weak", 4)])
def test_estimates_are_the_same(both: Both, threshold: str, least: float) -> None:
    num_paths = 0
    for scene, page in zip(both.scenes, both.page, strict=True):
        found, observed = as_arrays(page[threshold]), getattr(scene, threshold)
        np.testing.assert_array_equal(found.order[0] >= 0, observed.valid)
        np.testing.assert_allclose(found.aoa[0], observed.aoa, atol=1e-5)
        np.testing.assert_allclose(found.delay[0], observed.delay, atol=1e-13)
        np.testing.assert_allclose(found.gain[0], observed.gain, rtol=1e-4)
        num_paths += int(observed.valid.sum())
    assert num_paths > least * NUM_SCENES


@pytest.mark.parametrize("order", ["strength", "angle"])
def test_features_are_the_same(both: Both, order: str) -> None:
    for scene, page in zip(both.scenes, both.page, strict=True):
        for found, side in zip(page["features"][order], (scene.paths, scene.observed), strict=True):
            np.testing.assert_allclose(found, features(side, options=FeatureOptions(order=order)).ravel(), atol=1e-5)


@pytest.mark.parametrize("name", [*make_networks(), "path_set", "bayes"])
def test_posteriors_are_the_same(both: Both, name: str) -> None:
    peaks = []
    for scene, page in zip(both.scenes, both.page, strict=True):
        if name == "bayes":
            expected = np.exp(limits.bayes(scene.paths, scene.snapshot).values)
        elif name == "path_set":
            expected = PATH_SET.posterior(scene.paths, scene.weak).values
        else:
            expected = both.networks[name].posterior(scene.paths, scene.observed).values
        np.testing.assert_allclose(page["posteriors"][name], expected, atol=1e-3)
        peaks.append(expected.max())
    assert np.median(peaks) > 2 / NUM_CANDIDATES, "posteriors without peaks would be equal whatever the page computed"


def test_integrals_over_the_sync_offset_are_the_same_up_to_40_db(both: Both) -> None:
    for (window, outputs), found in zip(FILTERED, both.integrals, strict=True):
        radio = dataclasses.replace(CONFIG.radio, sync_window=window * CONFIG.radio.period)
        power = np.abs(np.fft.fft(outputs, 2 * outputs.shape[1])) ** 2
        coefficients = torch.from_numpy(np.fft.rfft(power, norm="forward")[:, : outputs.shape[1]])
        prior = folded_prior(radio) if window else None
        expected = log_integrals(coefficients, shares(outputs), prior, coherent=True)
        likely = expected > expected.max() - 30
        np.testing.assert_allclose(np.array(found)[likely], expected[likely], atol=1e-3)


def test_rooms_are_drawn_by_the_same_rules(both: Both) -> None:
    corners = []
    for found in both.rooms:
        shapes = [shapely.Polygon(shape["corners"]) for shape in found["room"]["obstacles"]]
        layout = Layout(shapely.Polygon(found["room"]["outline"]["corners"]), shapes, clearance=CONFIG.room.clearance)
        assert len(shapes) == CONFIG.room.num_obstacles
        assert all(shape.distance(layout.room.exterior) >= CONFIG.room.wall_gap - 1e-9 for shape in shapes)
        gaps = [a.distance(b) for i, a in enumerate(shapes) for b in shapes[:i]]
        assert min(gaps) >= CONFIG.room.obstacle_gap - 1e-9
        grid = layout.grid(CONFIG.room.grid_points)
        assert len(grid) >= CONFIG.room.min_feasible
        np.testing.assert_allclose(np.reshape(found["grid"], (-1, 2)), grid, atol=1e-9)
        corners += [len(shape.exterior.coords) - 1 for shape in shapes]
    shares = [corners.count(number) / len(corners) for number in (4, 6, 8)]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0.15


def test_a_run_without_weights_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"Expected trained weights in .*locus_dt\.safetensors, got no such file"
    ):
        locus.explore(run="smoke")
    with pytest.raises(FileNotFoundError, match=r"Expected trained weights"):
        explorer.export(locus.open_run("smoke"), tmp_path / "explorer")
    assert not (tmp_path / "explorer").exists()


def test_what_a_page_cannot_compute_is_refused(square: Layout) -> None:
    carpet = Layout(square.room, materials=("floorboard",))
    with pytest.raises(ValueError, match=r"Expected a 'material' defined at 12 GHz, got 'floorboard'"):
        locus.explore(carpet)
    with pytest.raises(ValueError, match=r"Expected 'radio\.num_subcarriers' a power of two for the explorer, got 100"):
        explorer.settings(locus.open_run("smoke", {"radio.num_subcarriers": 100}))


def test_weights_are_exported_to_the_last_bit() -> None:
    """The short decimal numbers represent exactly the same single-precision weights."""
    method = make_method("locus_dt", MethodOptions(), seed=3)
    found = explorer.describe(method)["weights"]
    for name, tensor in method.state_dict().items():
        values = np.array(found[name]["values"], dtype=np.float32).reshape(found[name]["shape"])
        np.testing.assert_array_equal(values, tensor.numpy())
