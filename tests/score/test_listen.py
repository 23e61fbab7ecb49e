"""Where to listen next: the promised information is the mutual information of drawn path sets; steps are free."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus.score.listen import information, predicted, within_reach
from locus.score.simulate import simulate
from locus.score.tolerance import Constants

EXACT = locus.PathSet(tolerance=locus.Tolerance(0, 0, 0, 0), constants=Constants())
TWIN = locus.make_twin("image")


def belief(points: np.ndarray, logs: np.ndarray | None = None) -> xr.DataArray:
    """Log weights of candidates, all the same unless given."""
    values = np.zeros(len(points)) if logs is None else logs
    return xr.DataArray(values, {"x": ("candidate", points[:, 0]), "y": ("candidate", points[:, 1])}, ("candidate",))


def test_two_clear_alternatives_promise_one_bit_and_equal_ones_nothing(square: locus.Layout) -> None:
    points = np.array([[8.0, 2.0], [8.0, 8.0]])
    ahead, aside = locus.Pose(2, 5, 0.0), locus.Pose(2, 3, 0.0)
    found = information(square, TWIN, [ahead, aside], belief(points), EXACT).information.values
    np.testing.assert_allclose(found, math.log(2), rtol=1e-6)
    twice = information(square, TWIN, [ahead], belief(points[[0, 0]]), EXACT).information.values
    np.testing.assert_allclose(twice, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_promise_is_the_mutual_information_of_drawn_sets(seed: int) -> None:
    """By 2000 sets drawn from the model for each of ten poses.

    The promise leaves out noise and clutter, which lower what a weak snapshot tells; where both differ, it is a matter
    of tenths of nats, and the poses are in the same order.
    """
    rng = np.random.default_rng(seed)
    layout = locus.Layout.random(rng)
    points = layout.sample(40, rng)
    logs = rng.normal(size=len(points))
    poses = [locus.Pose.random(layout, rng) for _ in range(10)]
    promised = information(layout, TWIN, poses, belief(points, logs), EXACT, num_candidates=10_000).information.values
    probability = np.exp(logs) / np.exp(logs).sum()
    drawn = []
    for pose in poses:
        paths = TWIN.trace(layout, pose, points)
        which = rng.choice(len(points), 2000, p=probability)
        likelihood = EXACT.log_likelihood(paths, simulate(EXACT, paths, which, rng)).values
        mean = np.logaddexp.reduce(likelihood + np.log(probability), axis=1)
        drawn.append((likelihood[np.arange(len(which)), which] - mean).mean())
    np.testing.assert_allclose(promised, drawn, atol=0.5)
    assert np.corrcoef(promised, drawn)[0, 1] > 0.9


def test_draws_represent_the_posterior(square: locus.Layout) -> None:
    """Improbable candidates are left out; one that is twice as probable counts twice."""
    points = np.array([[8.0, 2.0], [8.0, 8.0], [5.0, 7.0]])
    poses = [locus.Pose(2, 5, 0.0)]
    found = information(square, TWIN, poses, belief(points, np.log([2.0, 1.0, 1e-20])), EXACT, num_candidates=99)
    entropy = math.log(3) - 2 / 3 * math.log(2)
    np.testing.assert_allclose(found.information, entropy, rtol=1e-6)


def test_predicted_sets_hold_the_paths_above_the_threshold(rng: np.random.Generator) -> None:
    layout = locus.Layout.random(rng)
    paths = TWIN.trace(layout, locus.Pose.random(layout, rng), layout.sample(50, rng))
    found = predicted(paths, EXACT)
    assert found.sizes["path"] == min(EXACT.estimator.num_paths, paths.sizes["path"])
    weakest = found.snr_db.where(found.valid).min()
    unheard = paths.isel(path=slice(found.sizes["path"])).snr_db.values[~found.valid.values]
    assert unheard.max() < weakest
    assert abs(found.aoa).max() <= math.pi / 2
    assert float(found.delay.max()) < locus.Radio().period


def test_steps_keep_clear_of_walls_and_turns_are_always_possible() -> None:
    layout = locus.Layout(shapely.box(0, 0, 10, 10), (shapely.box(5, 0.5, 6, 9.5),))
    poses = within_reach(layout, locus.Pose(4.0, 5.0, 0.0), 3.0)
    turns = [pose for pose in poses if (pose.x, pose.y) == (4.0, 5.0)]
    assert sorted(round(math.degrees(pose.heading)) for pose in turns) == [-180, -135, -90, -45, 0, 45, 90, 135]
    assert turns[-1].heading == 0.0
    steps = [pose for pose in poses if pose not in turns]
    assert sorted(round(math.degrees(pose.heading)) for pose in steps) == [-180, -135, -90, 90, 135]
    for pose in steps:
        assert math.hypot(pose.x - 4, pose.y - 5) == pytest.approx(3.0)
        assert layout.is_free([[pose.x, pose.y]]).all()


def test_bad_input_is_refused(square: locus.Layout) -> None:
    points = np.array([[8.0, 2.0], [8.0, 8.0]])
    with pytest.raises(ValueError, match="Expected at least one of 'poses', got none"):
        information(square, TWIN, [], belief(points), EXACT)
    with pytest.raises(ValueError, match="Expected 'log_posterior' \\(candidate\\) with coordinates x and y"):
        information(square, TWIN, [locus.Pose(2, 5, 0)], belief(points).drop_vars("x"), EXACT)
    with pytest.raises(ValueError, match="Expected 'step' in"):
        within_reach(square, locus.Pose(2, 5, 0), 0.0)
