"""The explorer's walk against the package's: the same posterior after each snapshot, and the same compass error."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import shapely
import xarray as xr
from explorer_harness import columns, compute
from shapely import affinity

import locus
from locus import Config, Layout, PathSet, Pose, Radio, Tolerance, explorer
from locus.experiment.walk_scene import draw_walk
from locus.judge.bootstrap import ROUNDING
from locus.judge.credible import CREDIBLE_MASS
from locus.room.errors import believed
from locus.room.layout import MIN_DISTANCE, away_from
from locus.score.simulate import simulate
from locus.score.walk import Odometry, Walk
from locus.settings.checks import plain

CONFIG = Config()
NUM_CANDIDATES = 25
EXACT = Tolerance(0, 0, 0, 0)
WRONG = {"obstacles": 0.5, "walls": 0.3, "position": 0.4, "heading": 0.05}


class Case(NamedTuple):
    """A walk through a room, and what an estimator might report of it."""

    layout: Layout
    poses: list[Pose]
    paths: list[xr.Dataset]
    observed: list[xr.Dataset]
    scorer: PathSet
    options: dict[str, Any]

    def start(self) -> Walk:
        return Walk(self.layout, self.scorer, **self.options)


def make_case(
    seed: int = 0,
    wrong: bool = False,
    tolerance: Tolerance | None = None,
    radio: dict[str, float] | None = None,
    num_poses: int = 3,
    obstacles: int | None = None,
    floor: bool = False,
    side: float = math.inf,
    turn: float = 0.0,
    **options: Any,
) -> Case:
    """Snapshots are drawn from the likelihood of an exact twin, in the true room; the walk may believe another one.

    Without a floor, posteriors differ as much as likelihoods do.
    """
    rng = np.random.default_rng([12, seed])
    changed = dataclasses.replace(CONFIG.radio, **(radio or {}))  # type: ignore[arg-type]
    layout = Layout.random(rng, CONFIG.room)
    if turn:  # walls along neither axis
        shapes = [affinity.rotate(one, turn, origin=(0, 0)) for one in (layout.room, *layout.obstacles)]
        layout = Layout(shapes[0], tuple(shapes[1:]), layout.materials, layout.clearance)
    poses = draw_walk(layout, num_poses, rng)
    twin, exact = locus.make_twin("image", changed), PathSet(changed, tolerance=EXACT)
    far = away_from(poses[0], layout.sample(NUM_CANDIDATES, rng))
    near = far[0] + rng.normal(0, 0.5, (10 * NUM_CANDIDATES, 2))  # hard to tell apart
    near = near[layout.is_free(near)][:NUM_CANDIDATES]
    candidates = np.concatenate([far, near])
    true = [twin.trace(layout, pose, candidates) for pose in poses]
    observed = [simulate(exact, one, [0], rng).isel(snapshot=0) for one in true]
    plan, seen_from = layout, poses
    if wrong:
        plan, first = believed(layout, poses[0], WRONG, rng)
        shift = (first.x - poses[0].x, first.y - poses[0].y, first.heading - poses[0].heading)
        seen_from = [Pose(one.x + shift[0], one.y + shift[1], _wrapped(one.heading + shift[2])) for one in poses]
    if obstacles is not None:
        plan = Layout(plan.room, plan.obstacles[:obstacles], plan.materials[: obstacles + 1], plan.clearance)
    plan = Layout(plan.room.segmentize(side), plan.obstacles, plan.materials, plan.clearance)
    scorer = PathSet(changed, tolerance=tolerance)
    if not floor:
        scorer = PathSet(changed, tolerance=tolerance, constants=dataclasses.replace(scorer.constants, floor=0.0))
    paths = [twin.trace(plan, pose, candidates) for pose in seen_from]
    return Case(plan, seen_from, paths, observed, scorer, options)


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2 * math.pi) - math.pi


CASES: dict[str, dict[str, Any]] = {
    "paper": {"floor": True},
    "other room": {"seed": 1, "num_poses": 4},
    "wrong twin": {"seed": 2, "wrong": True, "num_poses": 4},
    "wrong twin, other room": {"seed": 3, "wrong": True},
    "believed exact": {"seed": 4, "tolerance": EXACT},
    "wrong, but believed exact": {"seed": 5, "wrong": True, "tolerance": EXACT},
    "only the compass may be wrong": {"seed": 6, "wrong": True, "tolerance": Tolerance(0, 0, 0.2, 0)},
    "between candidates": {"seed": 7, "spacing": 1.0, "correlation": 0.0},
    "odometry": {"seed": 8, "wrong": True, "odometry": Odometry(0.1, 0.02, 0.05)},
    "prior": {"seed": 9, "prior": [0.0, 3.0, *[1.0] * (2 * NUM_CANDIDATES - 2)]},
    "synchronised": {"seed": 10, "radio": {"sync_window": 0.0}},
    "one antenna": {"seed": 11, "radio": {"num_antennas": 1, "tx_power_dbm": 10.0}},
    "obstacles that are not on the plan": {"seed": 12, "wrong": True, "obstacles": 1},
    "slanted walls": {"seed": 14, "turn": 25.0, "spacing": 0.5},
    "more walls than unknowns": {"seed": 13, "wrong": True, "side": 9.0, "num_poses": 2},
}


class Both(NamedTuple):
    """A walk, and what the page computes after each of its snapshots."""

    case: Case
    page: list[dict[str, Any]]


@pytest.fixture(scope="module")
def both() -> dict[str, Both]:
    cases = {name: make_case(**given) for name, given in CASES.items()}
    found = compute(CONFIG, {"walks": [to_json(case) for case in cases.values()]})["walks"]
    return {name: Both(case, one) for (name, case), one in zip(cases.items(), found, strict=True)}


def to_json(case: Case) -> dict[str, Any]:
    radio = case.scorer.radio
    assert isinstance(radio, Radio)
    first = case.paths[0]
    options = {**case.options}
    if "odometry" in options:
        own = options["odometry"]
        options["odometry"] = {
            "positionPerMetre": own.position_per_metre,
            "headingPerMetre": own.heading_per_metre,
            "headingPerRadian": own.heading_per_radian,
        }
    return {
        "radio": plain(dataclasses.asdict(radio)),
        "path_set": explorer.describe_path_set(case.scorer, radio),
        "plan": {"walls": case.layout.walls.ravel().tolist(), "polygon": case.layout.wall_polygons.tolist()},
        "candidates": np.stack([first.x, first.y], axis=1).ravel().tolist(),
        "options": options,
        "steps": [
            {
                "pose": {"x": pose.x, "y": pose.y, "heading": pose.heading},
                "paths": columns(paths, radio),
                "observed": columns(observed.expand_dims("snapshot"), radio),
            }
            for pose, paths, observed in zip(case.poses, case.paths, case.observed, strict=True)
        ],
    }


def numbers(logs: list[float | None]) -> list[float]:
    """JSON has no infinities."""
    return [-math.inf if log is None else log for log in logs]


@pytest.mark.parametrize("name", CASES)
def test_walks_agree(both: dict[str, Both], name: str) -> None:
    """After every snapshot, to 1e-8: sums in another order, carried through the covariances of a few snapshots."""
    case, page = both[name]
    walk = case.start()
    for paths, observed, found in zip(case.paths, case.observed, page, strict=True):
        walk.add(paths, observed)
        logs = walk.log_posterior().values
        np.testing.assert_allclose(numbers(found["posterior"]), logs, rtol=1e-8, atol=1e-8)
        error = found["heading"]
        given = [error[part] for part in ("mean", "deviation", "low", "high")]
        np.testing.assert_allclose(given, walk.heading_error(), rtol=1e-8, atol=1e-8)
    finite = np.isfinite(logs)
    assert finite.sum() > 2
    assert np.ptp(logs[finite]) > 1, "posteriors without a peak would be equal whatever was computed"
    assert case.scorer.tolerance == EXACT or walk.heading_error().deviation < 0.9 * case.scorer.tolerance.heading


@pytest.mark.parametrize("name", ["paper", "wrong twin"])
def test_a_fork_leaves_the_walk_alone(both: dict[str, Both], name: str) -> None:
    """The page forks before every snapshot, and adds the first one again to the fork."""
    case, page = both[name]
    walk = case.start()
    for paths, observed, found in zip(case.paths, case.observed, page, strict=True):
        fork = walk.fork()
        fork.add(case.paths[0], case.observed[0])
        np.testing.assert_allclose(numbers(found["fork"]), fork.log_posterior().values, rtol=1e-8, atol=1e-8)
        walk.add(paths, observed)


def test_a_walk_without_snapshots_has_no_posterior(both: dict[str, Both]) -> None:
    assert both["paper"].page[0]["before"] == "Expected a walk of at least one snapshot, got none; use add first"


@pytest.mark.parametrize("error", [0.0, 1.0], ids=["exact twin", "wrong twin"])
def test_the_page_walks_through_its_rooms(error: float) -> None:
    """Of candidates far enough from all poses, those near the transmitter gain with every snapshot, on average.

    The mean of the compass error is within a standard deviation of the median, as for any distribution.
    """
    found = compute(CONFIG, {"hikes": [{"seed": seed, "error": error} for seed in range(4)]})["hikes"]
    for one in found:
        shapes = [shapely.Polygon(shape["corners"]) for shape in (one["room"]["outline"], *one["room"]["obstacles"])]
        layout = Layout(shapes[0], tuple(shapes[1:]))
        walls = zip(one["polygon"], *np.reshape(one["walls"], (-1, 4)).T, strict=True)
        assert sorted(walls) == sorted(zip(layout.wall_polygons, *layout.walls.T, strict=True))
        points = np.reshape(one["points"], (-1, 2))
        assert one["same"], "snapshots that are added one by one give what those of a whole walk give"
        for pose, step in zip(one["poses"], one["steps"], strict=True):
            assert np.hypot(*(points - [pose["x"], pose["y"]]).T).min() >= MIN_DISTANCE
            assert len(step["posterior"]) == step["numPoints"] == len(points)
            assert sum(step["posterior"]) == pytest.approx(1)
            assert np.dot(step["set"], step["posterior"]) >= CREDIBLE_MASS - ROUNDING
            mean, deviation, low, high = (step["heading"][name] for name in ("mean", "deviation", "low", "high"))
            assert low <= high
            assert low - deviation <= mean <= high + deviation
    masses = np.array([[step["mass"] for step in one["steps"]] for one in found])
    assert (np.diff(masses.mean(axis=0)) > 0).all()
    if error:  # of everything that is wrong, the compass is what a walk can measure
        off = [one["steps"][-1]["heading"]["mean"] + one["belief"]["turn"] for one in found]
        assert np.abs(off).mean() < np.mean([abs(one["belief"]["turn"]) for one in found])
