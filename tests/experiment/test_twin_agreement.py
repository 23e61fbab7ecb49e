"""The two twins, which share no code, against each other: a few rooms here, 50 with `make check-twin`."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
import shapely
import xarray as xr
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import locus
from locus import Config, Layout, Pose, Twin, TwinOptions
from locus.experiment.case import Case
from locus.experiment.twin_agreement import Comparison, compare_on_random_rooms, compare_paths
from locus.settings.config import TwinCheck


def assert_accurate(check: Comparison) -> None:
    """Accuracy that the matched paths of a twin must have."""
    assert check.angle_error.max() < 1e-3
    assert check.delay_error.max() < 1e-11
    usual = check.gain_error_db[~check.short]
    assert np.mean(usual < 0.1) >= 0.999
    assert check.gain_error_db.max() < 1.0


def test_sionna_is_complete_and_accurate_on_random_rooms(request: pytest.FixtureRequest) -> None:
    num_layouts = request.config.getoption("--layouts")
    twin = locus.make_twin("sionna", options=TwinOptions(max_paths=64))
    check = compare_on_random_rooms(twin, Config(twin_check=TwinCheck(num_layouts, 500)))
    print(f"\nSionna against the exact twin, {num_layouts} rooms x 500 candidates\n{check.summary()}")
    assert check.num_paths > 5 * 500 * num_layouts
    assert check.missing_share <= 0.001
    assert check.extra == 0
    assert check.corner_share <= 1 / 3000
    assert_accurate(check)


def test_comparison_sees_what_is_wrong(image: Twin) -> None:
    """The comparison detects a path that is removed, added, rotated, weakened or duplicated."""
    case = Case(Config(twin_check=TwinCheck(num_candidates=50)), "check", 0)
    layout, pose, candidates = case.layout, case.pose, case.candidates
    exact = locus.make_twin("image", options=TwinOptions(max_paths=40)).trace(layout, pose, candidates)
    assert (check := compare_paths(layout, exact, exact)).missing == check.extra == 0
    assert check.gain_error_db.max() < 1e-12
    row = int(exact.valid.sum("path").argmax("candidate"))
    num = int(exact.valid[row].sum())

    def changed(name: str, path: int, value: object) -> xr.Dataset:
        wrong = exact.copy(deep=True)
        wrong[name][row, path] = value
        return wrong

    removed = compare_paths(layout, changed("valid", 2, False), exact)
    assert (removed.missing + removed.missing_at_corner, removed.extra) == (1, 0)
    turned = compare_paths(layout, changed("aoa", 2, float(exact.aoa[row, 2]) + 0.02), exact)
    assert (turned.missing + turned.missing_at_corner, turned.extra + turned.extra_at_corner) == (1, 1)
    weaker = compare_paths(layout, changed("gain", 2, exact.gain[row, 2].item() * 0.5), exact)
    assert weaker.gain_error_db.max() == pytest.approx(6.02, abs=0.01)
    twice = exact.copy(deep=True)
    for name in exact.data_vars:
        twice[name][row, num] = exact[name][row, 2].item()
    doubled = compare_paths(layout, twice, exact)
    assert (doubled.missing, doubled.extra + doubled.extra_at_corner) == (0, 1)
    with pytest.raises(ValueError, match=r"Expected 'max_paths' above the number of paths, got 3; raise it"):
        compare_paths(layout, exact.isel(path=slice(3)), exact.isel(path=slice(3)))


@st.composite
def rooms(draw: st.DrawFn) -> Layout:
    """A simple polygon around the origin, sometimes with a triangular obstacle; no tiny edges or extreme corners."""
    num_corners = draw(st.integers(3, 9))
    steps = draw(st.lists(st.floats(0.5, 1.5), min_size=num_corners, max_size=num_corners))
    radii = draw(st.lists(st.floats(5.0, 20.0), min_size=num_corners, max_size=num_corners))
    angles = 2 * math.pi * np.cumsum(steps) / sum(steps)
    outline = shapely.Polygon(np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]))
    obstacles = ()
    if draw(st.booleans()):
        turn, size = draw(st.floats(0, 2 * math.pi)), draw(st.floats(0.6, 1.5))
        corners = turn + 2 * math.pi * np.arange(3) / 3
        obstacles = (shapely.Polygon(size * np.column_stack([np.cos(corners), np.sin(corners)])),)
    assume(outline.is_valid and all(outline.buffer(-0.1).covers(o) for o in obstacles))
    layout = Layout(outline, obstacles)
    along = layout.walls[:, 2:] - layout.walls[:, :2]
    assume(np.hypot(*along.T).min() > 0.5)
    ring = shapely.get_coordinates(layout.room.exterior)
    before, after = ring[1:] - ring[:-1], np.roll(ring[1:] - ring[:-1], -1, axis=0)
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    bend = np.arctan2(cross, (before * after).sum(axis=1))
    assume((np.abs(bend) > math.radians(5)).all() and (np.abs(bend) < math.radians(175)).all())
    return layout


# Paths at least 1 cm from all corners of such a room lie in beams wider than 1e-4 rad, so enough rays find them all.
OPTIONS = TwinOptions(max_paths=100, num_rays=60_000)


def trace_with_sionna(layout: Layout, pose: Pose, candidates: np.ndarray) -> xr.Dataset:
    return locus.make_twin("sionna", options=OPTIONS).trace(layout, pose, candidates)


@pytest.fixture(scope="module")
def child() -> ProcessPoolExecutor:  # type: ignore[misc]
    """A child process for Sionna, so that a crash fails the example and not the test run."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(layout=rooms(), seed=st.integers(0, 2**32 - 1))
def test_twins_agree_in_any_simple_polygon(child: ProcessPoolExecutor, layout: Layout, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pose, candidates = Pose.random(layout, rng), layout.sample(10, rng)
    exact = locus.make_twin("image", options=replace(OPTIONS, num_rays=2)).trace(layout, pose, candidates)
    check = compare_paths(layout, child.submit(trace_with_sionna, layout, pose, candidates).result(), exact)
    assert (check.missing, check.extra) == (0, 0)
    assert_accurate(check)
