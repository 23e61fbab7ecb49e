"""Searches: rooms in; how many snapshots and metres a robot takes to find a transmitter with each strategy, out.

A robot searches for a transmitter that may be anywhere in the room, with an exact twin. After each snapshot it goes
where the next one promises the most information, or a step in a random direction, or straight on, or it turns on the
spot. The transmitter is found when the 90 % set is small enough. Path sets are drawn as an ideal estimator would report
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.random import Generator
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import trace_possible
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.judge import bootstrap
from locus.judge.credible import smallest_set
from locus.receiver import ideal
from locus.room.layout import Layout, Pose, draw_position
from locus.score import listen, walk
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants, Tolerance
from locus.score.walk import Walk
from locus.settings.config import Config
from locus.twin import Twin, make_twin

RECIPE = 1

NUM_LAYOUTS = 100
"""Number of rooms, the first of Eval Random; at most a twentieth of its rooms, but at least one."""
NUM_STEPS = 12
"""Number of snapshots after which the robot gives up."""
STEP = 6.0
"""Length of a step [m]."""
SPACING = 1.0
"""Distance between neighbouring candidates [m]."""
FOUND = 25.0
"""Area of the 90 % set [m²] below which the transmitter counts as found."""

_SPLIT = "eval_random"
_PART = 1000  # of the random streams of a walk: the first of this study
_NUM_RESAMPLES = 2000
_SECONDS = 10.0  # per room


class Options:
    """What a strategy chooses from, and knows: poses within reach, and the walk so far."""

    def __init__(self, layout: Layout, pose: Pose, twin: Twin, state: Walk, rng: Generator) -> None:
        self.layout, self.pose, self.twin, self.state, self.rng = layout, pose, twin, state, rng
        self.poses = listen.within_reach(layout, pose, STEP)

    @property
    def steps(self) -> list[Pose]:
        """The poses that are a step away."""
        return [one for one in self.poses if (one.x, one.y) != (self.pose.x, self.pose.y)]


def _informed(options: Options) -> Pose:
    promised = listen.information(
        options.layout,
        options.twin,
        options.poses,
        options.state.log_posterior(),
        options.state.scorer,
        spacing=options.state.spacing,
    )
    return options.poses[int(promised.information.values.argmax())]


def _random(options: Options) -> Pose:
    steps = options.steps or options.poses
    return steps[int(options.rng.integers(len(steps)))]


def _straight(options: Options) -> Pose:
    ahead = [one for one in options.steps if math.isclose(one.heading, options.pose.heading, abs_tol=1e-9)]
    return ahead[0] if ahead else _random(options)


def _turning(options: Options) -> Pose:
    return next(one for one in options.poses if one not in options.steps)


STRATEGIES: dict[str, Callable[[Options], Pose]] = {
    "informed": _informed,
    "random": _random,
    "straight": _straight,
    "turning": _turning,
}
"""Ways of walking, by name."""

TITLES = {
    "informed": "where it promises most",
    "random": "random steps",
    "straight": "straight on",
    "turning": "turning on the spot",
}
"""Titles of the strategies."""


def evaluate_group(config: Config, index: int, constants: Constants) -> xr.Dataset:
    """Searches of one room with every strategy, (snapshot, strategy, step).

    Variables: ``area`` of the 90 % set [m²], ``metres`` travelled, and ``holds``, whether the set holds the
    transmitter. All searches begin with the same pose and transmitter. A search goes on until the transmitter is found
    or the robot gives up; its values then stay constant.
    """
    rng = splits.walk_rng(config, _SPLIT, index, _PART)
    layout = Layout.random(splits.layout_rng(config, _SPLIT, index), config.room)
    pose = Pose.random(layout, rng)
    transmitter = draw_position(layout, pose, rng)
    twin = make_twin("image", config.radio, config.twin)
    scorer = PathSet(config.radio, tolerance=Tolerance(0, 0, 0, 0), constants=constants)
    candidates = layout.grid(round(config.room.size / SPACING) + 1)
    nearest = int(np.hypot(*(candidates - transmitter).T).argmin())
    cell = layout.free_space.area / len(candidates)

    shape = (len(STRATEGIES), NUM_STEPS)
    area, metres, holds = np.empty(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
    for row, choose in enumerate(STRATEGIES.values()):
        here_now, state, way = pose, Walk(layout, scorer, spacing=SPACING), 0.0
        for step in range(NUM_STEPS):
            draws = splits.walk_rng(config, _SPLIT, index, _PART + 1 + step)
            heard = trace_possible(twin, layout, here_now, transmitter[np.newaxis]).rename(candidate="snapshot")
            observed = ideal.ideal_estimates(heard, draws, scorer.estimator, config.radio).isel(snapshot=0)
            state.add(trace_possible(twin, layout, here_now, candidates), observed)
            inside = smallest_set(state.posterior().values)
            area[row, step:], metres[row, step:] = inside.sum() * cell, way
            holds[row, step:] = inside[nearest]
            if area[row, step] < FOUND or step + 1 == NUM_STEPS:
                break
            following = choose(Options(layout, here_now, twin, state, draws))
            way += math.hypot(following.x - here_now.x, following.y - here_now.y)
            here_now = following
    dims = ("snapshot", "strategy", "step")
    return xr.Dataset(
        {
            "area": (dims, *bootstrap.described(area[np.newaxis], "m^2", "area of the 90 % set")),
            "metres": (dims, *bootstrap.described(metres[np.newaxis], "m", "distance walked")),
            "holds": (dims, *bootstrap.described(holds[np.newaxis], "1", "the 90 % set holds the transmitter")),
        },
        coords={"strategy": list(STRATEGIES), "step": np.arange(1, NUM_STEPS + 1), "group": ("snapshot", [index])},
    )


class Searches(Result):
    """``results/searches.nc`` of a run: ``area``, ``metres`` and ``holds`` (snapshot, strategy, step)."""

    stem = "searches"

    @property
    def num_groups(self) -> int:
        """Number of rooms."""
        return min(NUM_LAYOUTS, max(1, self.run.config.evaluation.num_layouts // 20))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The constants of the path set."""
        return (PathSetFit(self.run),)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "paths": ingredients.of_paths(config, _SPLIT, "image"),
            "path_set": PathSetFit(self.run).hash(),
            "num_groups": self.num_groups,
            "search": [NUM_STEPS, STEP, SPACING, FOUND, listen.NUM_CANDIDATES, *STRATEGIES],
            "recipes": {"ideal": ideal.RECIPE, "walk": walk.RECIPE, "listen": listen.RECIPE, "searches": RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return _SECONDS * self.num_groups / num_workers

    def make(self, workers: Workers = here) -> None:
        """Search the first rooms with every strategy."""
        config, groups = self.run.config, range(self.num_groups)
        with tqdm(total=len(groups), desc="searching", unit="room") as bar:
            arguments = {"constants": fitted(self.run).constants}
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, **arguments)
        self.save(rows)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Median number of ``snapshots`` and ``metres`` until the transmitter is found, (strategy), with intervals.

    Searches that were given up count as longer than all others: a median among them is infinite. ``found`` is the share
    of searches in which the 90 % set became smaller than ``FOUND``, ``right`` the share of those whose set holds the
    transmitter.
    """
    ended = rows.area < FOUND
    found = ended.any("step")
    first = ended.argmax("step")
    index, weights = bootstrap.resample(
        rows.group.values, rows.sizes["snapshot"], np.random.default_rng(0), _NUM_RESAMPLES
    )
    columns: dict[str, Any] = {}
    for name, taken, units in (("snapshots", first + 1, "1"), ("metres", rows.metres.isel(step=first), "m")):
        values = taken.where(found, np.inf).transpose("strategy", "snapshot").values
        draws = np.concatenate(
            [bootstrap.quantiles(column, index, weights, np.array([0.5])) for column in values], axis=1
        )
        columns |= bootstrap.with_interval(name, ("strategy",), draws, units, f"median {name} until found")
    right = rows.holds.isel(step=first).where(found)
    columns["found"] = ("strategy", *bootstrap.described(found.mean("snapshot").values, "1", "share found"))
    columns["right"] = ("strategy", *bootstrap.described(right.mean("snapshot").values, "1", "share of them right"))
    return xr.Dataset(columns, coords={"strategy": rows.strategy}, attrs={"num_rooms": rows.sizes["snapshot"]})


def unclear(rows: xr.Dataset) -> xr.Dataset:
    """The rooms in which the first snapshot, which all strategies share, does not suffice."""
    return rows.isel(snapshot=np.flatnonzero((rows.area.isel(step=0, strategy=0) >= FOUND).values))
