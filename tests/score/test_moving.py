"""A transmitter that moves: its steps against random walkers, its filter against enumeration of all trajectories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus.room.geodesic import geodesic_distances
from locus.score.moving import MAX_CANDIDATES, Moving, Steps

WIDE = locus.Layout(shapely.box(0, 0, 41, 41))
SIDE = np.arange(41) + 0.5
CELLS = np.stack(np.meshgrid(SIDE, SIDE, indexing="ij"), axis=-1).reshape(-1, 2)
MIDDLE = 20 * 41 + 20


@pytest.fixture(scope="module")
def wide() -> Steps:
    """Cells of 1 m, the middle one 20 m from every wall."""
    return Steps(WIDE, CELLS, 1.0)


@pytest.fixture(scope="module")
def divided() -> tuple[locus.Layout, np.ndarray]:
    """Two halves of 6 m by 8 m, with a wall of 20 cm between them that is 2 m short of the upper side."""
    layout = locus.Layout(shapely.box(0, 0, 12, 8), (shapely.box(5.9, 0, 6.1, 6),), clearance=0.3)
    return layout, layout_cells(layout, 12, 8)


def layout_cells(layout: locus.Layout, width: int, height: int) -> np.ndarray:
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5, indexing="ij")
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    return points[layout.is_free(points)]


def drawn_in_disc(rng: np.random.Generator, number: int, radius: float) -> np.ndarray:
    angle, length = rng.uniform(0, 2 * np.pi, number), radius * np.sqrt(rng.random(number))
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)


@pytest.mark.parametrize("reach", [0.3, 1.0, 2.7, 6.0])
def test_a_step_is_that_of_walkers_anywhere_in_their_cell(wide: Steps, reach: float) -> None:
    number, rng = 200_000, np.random.default_rng(0)
    ends = 20 + rng.random((number, 2)) + drawn_in_disc(rng, number, reach)
    cell = np.floor(ends).astype(int)
    counts = np.bincount(cell[:, 0] * 41 + cell[:, 1], minlength=41**2)
    expected = wide.probabilities(reach)[MIDDLE]
    assert counts[expected == 0].sum() == 0
    # Five standard deviations of a binomial, and the midpoint rule
    assert (abs(counts / number - expected) < 5 * np.sqrt(expected / number) + 3e-4).all()


@pytest.mark.parametrize("num_steps", [2, 5, 20])
@pytest.mark.parametrize("reach", [0.25, 1.0])
def test_many_short_steps_spread_as_far_as_one(wide: Steps, reach: float, num_steps: int) -> None:
    """Up to the side of a cell; E |w_x| = 4 r / 3 pi for w uniform in a disc, and a change of cell counts 1 m^2."""

    def variance(mass: np.ndarray) -> np.ndarray:
        return np.asarray((mass[:, np.newaxis] * (CELLS - CELLS[MIDDLE]) ** 2).sum(axis=0))

    start = np.eye(len(CELLS))[MIDDLE]
    many = start
    for _ in range(num_steps):
        many = wide.move(many, reach / num_steps)
    np.testing.assert_allclose(variance(many), variance(wide.move(start, reach)), rtol=1e-6)
    np.testing.assert_allclose(variance(many), 4 * reach / (3 * np.pi), rtol=1e-3)


def test_cells_are_left_as_often_as_by_walkers_that_go_straight_on(wide: Steps) -> None:
    """Who keeps a velocity changes cell at a constant rate, which the steps of any length reproduce."""
    number, rng, num_steps, reach = 20_000, np.random.default_rng(1), 30, 0.2
    velocity = drawn_in_disc(rng, number, reach)
    cell = np.floor(rng.random((number, 2)) + velocity * np.arange(num_steps + 1)[:, np.newaxis, np.newaxis])
    changed = (np.diff(cell, axis=0) != 0).any(axis=-1).mean(axis=0)
    left = 1 - wide.probabilities(reach)[MIDDLE, MIDDLE]
    assert changed.mean() == pytest.approx(left, abs=5 * changed.std() / np.sqrt(number))


def test_long_steps_are_uniform_within_reach(wide: Steps) -> None:
    reach = 9.0
    found = wide.probabilities(reach)[MIDDLE]
    distance = np.hypot(*(CELLS - CELLS[MIDDLE]).T)
    assert found[distance < reach - 1.5] == pytest.approx(1 / (np.pi * reach**2), rel=0.02)  # balance with the walls
    assert (found[distance > reach + 1.5] == 0).all()


@pytest.mark.parametrize("reach", [0.05, 0.5, 1.5, 4.0, 50.0])
def test_mass_is_conserved_and_stays_uniform(divided: tuple[locus.Layout, np.ndarray], reach: float) -> None:
    steps = Steps(*divided, 1.0)
    found = steps.probabilities(reach)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    number = len(found)
    np.testing.assert_allclose(steps.move(np.full(number, 1 / number), reach), 1 / number, rtol=1e-12)


def test_no_mass_passes_a_wall(divided: tuple[locus.Layout, np.ndarray]) -> None:
    """Cells on both sides of the wall are 1 m apart, but metres on foot."""
    layout, cells = divided
    on_foot, steps = geodesic_distances(layout, cells), Steps(layout, cells, 1.0)
    straight = np.hypot(*(cells[:, np.newaxis] - cells).transpose(2, 0, 1))
    assert (on_foot[straight < 1.1].max(), on_foot[straight < 1.1].min()) > (8, 0)
    for reach in (0.3, 2.0, 5.0):
        found = steps.probabilities(reach)
        assert (found[on_foot > reach + np.sqrt(2)] == 0).all()
        assert (found[on_foot < reach] > 0).all()


def test_nothing_is_stuck_behind_a_narrow_door() -> None:
    """Two halves joined by a door of 80 cm, too narrow for candidates at a clearance of 0.5 m; a step is 10 cm."""
    walls = (shapely.box(4, 0, 5.0, 3.6), shapely.box(4, 4.4, 5.0, 8))
    layout = locus.Layout(shapely.box(0, 0, 9, 8), walls)
    cells = layout_cells(layout, 9, 8)
    assert not ((cells[:, 0] > 3.6) & (cells[:, 0] < 5.4)).any()
    after = np.linalg.matrix_power(Steps(layout, cells, 1.0).probabilities(0.1), 2**14)[0]
    assert after[cells[:, 0] > 5].sum() == pytest.approx(0.5, abs=0.01)


def test_the_filter_is_the_sum_over_all_trajectories() -> None:
    """Nine cells around a wall, four snapshots at uneven times: 9^4 trajectories, each with its own probability."""
    layout = locus.Layout(shapely.box(0, 0, 12, 12), (shapely.box(3.5, 5, 4.5, 12),))
    cells = np.stack(np.meshgrid([2.0, 6.0, 10.0], [2.0, 6.0, 10.0], indexing="ij"), axis=-1).reshape(-1, 2)
    poses = [locus.Pose(3.0, 3.0, 0.3), locus.Pose(7.5, 4.0, 1.0), locus.Pose(8.0, 8.0, 2.0), locus.Pose(8.0, 4.0, 3.0)]
    times, prior = [10.0, 11.0, 13.5, 14.0], np.arange(1.0, 10.0)
    radio = locus.Radio(tx_power_dbm=-50.0)  # else all is certain
    twin, scorer, rng = locus.make_twin("image", radio), locus.PathSet(radio), np.random.default_rng(0)
    moving = Moving(layout, scorer, speed=1.5, spacing=4.0, prior=prior)
    likelihoods = []
    for pose, time in zip(poses, times, strict=True):
        paths = twin.trace(layout, pose, cells)
        observed = locus.estimate(locus.observe(paths.isel(candidate=4), rng, radio), scorer.estimator, radio)
        likelihoods.append(scorer.log_likelihood(paths, observed, spacing=4.0).values)
        moving.add(paths, observed, time)
    steps = Steps(layout, cells, 4.0)
    kernels = [steps.probabilities(1.5 * dt).copy() for dt in np.diff(times)]
    ends, nothing = np.zeros(9), np.zeros(9)
    for way in itertools.product(range(9), repeat=4):
        share = prior[way[0]] * np.prod([kernel[way[n], way[n + 1]] for n, kernel in enumerate(kernels)])
        nothing[way[-1]] += share
        ends[way[-1]] += share * np.exp(sum(row[c] for row, c in zip(likelihoods, way, strict=True)))
    floor = scorer.constants.floor
    expected = (1 - floor) * ends / ends.sum() + floor * nothing / nothing.sum()
    found = np.exp(moving.log_posterior())
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert float(found.sum()) == pytest.approx(1)
    assert expected.max() < 0.9  # not trivial
    assert found.dims == ("candidate",)
    np.testing.assert_array_equal(found.x, cells[:, 0])


def one_snapshot(image: locus.Twin, layout: locus.Layout, cells: np.ndarray) -> tuple[xr.Dataset, xr.Dataset]:
    paths = image.trace(layout, locus.Pose(3.3, 3.3, 0.3), cells)
    return paths, locus.estimate(locus.observe(paths.isel(candidate=0), np.random.default_rng(0)))


def test_bad_input_is_named(image: locus.Twin, divided: tuple[locus.Layout, np.ndarray]) -> None:
    layout, cells = divided
    paths, observed = one_snapshot(image, layout, cells)
    for name, values in {"speed": (0.0, 1.0), "spacing": (1.0, 0.0)}.items():
        with pytest.raises(ValueError, match=rf"Expected '{name}' in \(0, .*got 0.0"):
            Moving(layout, speed=values[0], spacing=values[1])
    moving = Moving(layout, speed=1.0, spacing=1.0)
    with pytest.raises(ValueError, match="Expected at least one snapshot, got none"):
        moving.log_posterior()
    with pytest.raises(ValueError, match="Expected a finite 'time', got nan"):
        moving.add(paths, observed, float("nan"))
    moving.add(paths, observed, 5.0)
    with pytest.raises(ValueError, match=r"Expected 'time' after 5.0 s, got 5.0"):
        moving.add(paths, observed, 5.0)
    with pytest.raises(ValueError, match="Expected the same candidates in every snapshot, got others"):
        moving.add(paths.isel(candidate=slice(3)), observed, 6.0)
    many = WIDE.sample(MAX_CANDIDATES + 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="Expected at most 3000 candidates of a transmitter that moves, got 3001"):
        Steps(WIDE, many, 1.0)
