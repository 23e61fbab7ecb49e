"""A mapped room step by step: one group of Eval Random in; its true room, map, polygons and posteriors out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.experiment import mapped
from locus.experiment.mapped import Mapped, Plan
from locus.experiment.run import Run
from locus.judge.floor import with_floor
from locus.room.layout import Layout, Pose, away_from
from locus.room.ros_map import RosMap


class Example(NamedTuple):
    """One snapshot in a room that a robot mapped."""

    true: Layout
    """The true room, with furniture."""
    way: NDArray[np.float64]
    """Places (scan, 2) of the robot's scans [m]."""
    grid: RosMap
    """The robot's map."""
    layout: Layout
    """Polygons of the map."""
    pose: Pose
    """Pose of the receiver."""
    position: tuple[float, float]
    """Position of the transmitter [m]."""
    maps: dict[str, xr.DataArray]
    """Log posterior (candidate) on a grid, relative to its maximum [nat], by title."""
    gains: dict[str, float]
    """Posterior probability of the truth relative to a uniform guess among the group's candidates, by title."""


def make_example(run: Run, index: int, resolution: float, drift: float, num_points: int) -> Example:
    """Map the room of a group and locate the transmitter of its snapshot of median strength, with the path set.

    Args:
        run: the run.
        index: number of the group of Eval Random.
        resolution: side of a cell of the robot's map [m].
        drift: standard deviation of the robot's pose after one metre [m].
        num_points: points per axis of the posterior maps.
    """
    world, study = mapped.make_world(mapped.settings(run.config), index), Mapped(run)
    scorer, floor = study.scorers()["path_set"], study.floors()["path_set"]
    heard = world.heard
    strength = heard.transmitters.paths.snr_db.isel(path=0).values
    median = int(np.argsort(strength)[len(strength) // 2])
    observed, truth = heard.seen_by(scorer).isel(snapshot=median), int(heard.truth[median])
    plan = Plan("map", resolution, drift)
    grid = world.grid(plan)
    scenes = {"true plan": world.scene(Plan("furnished")), "plan without furniture": world.scene(Plan("bare"))}
    scenes["map"] = world.scene(plan, grid)
    maps, gains = {}, {}
    for title, (layout, pose) in scenes.items():
        fine = away_from(pose, layout.grid(num_points))
        logs = scorer.log_posterior(world.exact.trace_believed((layout, pose), fine), observed)
        maps[title] = logs - logs.max()
        own = with_floor(scorer.log_posterior(world.trace((layout, pose)), observed), floor)
        gains[title] = float(np.exp(own[truth])) * len(world.exact.candidates)
    x, y = heard.transmitters.position[median]
    layout, pose = scenes["map"]
    return Example(world.layout, world.survey.poses[:, :2], grid, layout, pose, (float(x), float(y)), maps, gains)
