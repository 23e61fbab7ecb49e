"""Searches: strategies go where they say, and medians with censored searches are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus.book.figures import search_figures
from locus.experiment import searches
from locus.experiment.searches import FOUND, NUM_STEPS, STEP, STRATEGIES, Options
from locus.score.tolerance import Constants
from locus.score.walk import Walk

SMALL = {"room.size": 20.0}


def rows(snapshots: list[list[int | None]], right: bool = True) -> xr.Dataset:
    """Searches (room, strategy) that end after so many snapshots, or never; each step is 6 m."""
    area = np.full((len(snapshots), len(snapshots[0]), NUM_STEPS), 2 * FOUND)
    for room, line in enumerate(snapshots):
        for strategy, count in enumerate(line):
            if count is not None:
                area[room, strategy, count - 1 :] = FOUND / 2
    metres = np.broadcast_to(STEP * np.arange(NUM_STEPS), area.shape)
    dims = ("snapshot", "strategy", "step")
    return xr.Dataset(
        {"area": (dims, area), "metres": (dims, metres), "holds": (dims, np.full(area.shape, right))},
        coords={"strategy": list(STRATEGIES)[: area.shape[1]], "group": ("snapshot", np.arange(len(snapshots)))},
    )


def test_medians_count_searches_that_were_given_up_as_longest() -> None:
    found = searches.summary(rows([[1, 2], [3, None], [5, None]]))
    assert found.snapshots.values.tolist() == [3, math.inf]
    assert found.metres.values.tolist() == [2 * STEP, math.inf]
    np.testing.assert_allclose(found.found, [1, 1 / 3])
    assert found.right.values.tolist() == [1, 1]
    assert (found.snapshots_low <= found.snapshots).all()
    assert (found.snapshots <= found.snapshots_high).all()


def test_a_search_that_ends_elsewhere_is_not_right() -> None:
    assert searches.summary(rows([[1], [2]], right=False)).right.values.tolist() == [0]


def test_unclear_rooms_are_those_that_the_first_snapshot_leaves_open() -> None:
    kept = searches.unclear(rows([[1, 1], [3, None], [2, 5]]))
    assert kept.group.values.tolist() == [1, 2]
    assert searches.summary(kept).snapshots.values.tolist() == [2, 5]
    table = search_figures.search_frame(
        searches.summary(rows([[1] * 4, [None] * 4])), searches.summary(rows([[None] * 4]))
    )
    assert table["1 unclear rooms", "snapshots"].tolist() == ["never"] * 4
    assert table["searches [%]", "found"].tolist() == ["50"] * 4


@pytest.mark.parametrize("blocked", [False, True])
def test_strategies_go_where_they_say(blocked: bool, image: locus.Twin, rng: np.random.Generator) -> None:
    layout = locus.Layout(shapely.box(0, 0, 8 if blocked else 20, 20))
    pose = locus.Pose(5.0, 10.0, 0.0)
    candidates = layout.grid(8)
    candidates = candidates[np.hypot(*(candidates - [pose.x, pose.y]).T) > 0.1]
    scorer = locus.PathSet(tolerance=locus.Tolerance(0, 0, 0, 0), constants=Constants())
    state = Walk(layout, scorer)
    paths = image.trace(layout, pose, candidates)
    state.add(paths, locus.estimate(locus.observe(paths.isel(candidate=3), rng), scorer.estimator))
    options = Options(layout, pose, image, state, rng)
    chosen = {name: choose(options) for name, choose in STRATEGIES.items()}
    moved = {name: math.hypot(one.x - pose.x, one.y - pose.y) for name, one in chosen.items()}
    assert moved == {
        name: pytest.approx(0.0 if name == "turning" else STEP) for name in STRATEGIES if name != "informed"
    } | {"informed": pytest.approx(moved["informed"])}
    assert (chosen["straight"].heading == 0.0) is not blocked
    assert chosen["turning"].heading != pose.heading
    assert chosen["informed"] in options.poses


def test_a_search_of_a_small_room_ends_at_the_transmitter() -> None:
    found = searches.evaluate_group(locus.load_config("smoke", SMALL), 0, Constants())
    assert found.area.shape == (1, len(STRATEGIES), NUM_STEPS)
    assert (found.area.isel(step=0) == found.area.isel(step=0, strategy=0)).all()  # the same beginning
    assert found.holds.isel(step=-1).mean() > 0.5
    assert (found.metres.diff("step") >= 0).all()
    assert (found.metres.sel(strategy="turning") == 0).all()
