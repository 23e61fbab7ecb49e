"""A walk through a room: settings and an index in; room, poses, a stationary transmitter, and what was heard, out."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from locus.experiment import splits
from locus.experiment.case import trace_possible
from locus.receiver import estimator, observation
from locus.room import errors
from locus.room.layout import MIN_DISTANCE, Layout, Pose
from locus.settings.config import Config, EstimatorOptions
from locus.twin import Twin, make_twin

STEP = 6.0
"""Distance between successive poses [m]."""

_HEARD = ["aoa", "delay", "gain", "valid"]
_MAX_DRAWS = 1000


@dataclass(frozen=True)
class Scene:
    """One walk in a room of a split, with one transmitter on the grid of feasible points; each part is cached.

    The transmitter is heard from at least one of the poses.
    """

    config: Config
    split: str
    index: int
    num_poses: int = 8

    @functools.cached_property
    def layout(self) -> Layout:
        """The true room."""
        return Layout.random(splits.layout_rng(self.config, self.split, self.index), self.config.room)

    @functools.cached_property
    def poses(self) -> list[Pose]:
        """The true poses."""
        return draw_walk(self.layout, self.num_poses, splits.walk_rng(self.config, self.split, self.index, 0))

    @functools.cached_property
    def candidates(self) -> NDArray[np.float64]:
        """All feasible points of the grid, (candidate, 2) [m]."""
        return self.layout.grid(self.config.room.grid_points)

    @functools.cached_property
    def paths(self) -> list[xr.Dataset]:
        """Traced paths (candidate, path) from every pose, in the true room."""
        return self.trace((self.layout, self.poses))

    @functools.cached_property
    def truth(self) -> int:
        """Index of the true candidate."""
        heard = np.any([paths.valid.any("path").values for paths in self.paths], axis=0)
        rng = splits.walk_rng(self.config, self.split, self.index, 1)
        return int(rng.choice(np.flatnonzero(heard)))

    @functools.cached_property
    def snapshots(self) -> xr.Dataset:
        """Samples ``iq`` (snapshot, sample, antenna), one snapshot per pose."""
        rngs = [splits.walk_rng(self.config, self.split, self.index, 3 + step) for step in range(self.num_poses)]
        true = [paths[_HEARD].isel(candidate=self.truth).reset_coords(drop=True) for paths in self.paths]
        return observation.observe(xr.concat(true, "snapshot"), rngs, self.config.radio)

    def observed_with(self, options: EstimatorOptions) -> xr.Dataset:
        """Paths (snapshot, path) estimated with some options."""
        if options not in self._estimates:
            self._estimates[options] = estimator.estimate(self.snapshots, options)
        return self._estimates[options]

    def believed(self, sizes: Mapping[str, Any]) -> tuple[Layout, list[Pose]]:
        """Room and poses with errors that are drawn once for the whole walk; see :func:`locus.room.errors.believed`."""
        if not sizes:
            return self.layout, self.poses
        rng, first = splits.error_rng(self.config, self.split, self.index), self.poses[0]
        for _ in range(_MAX_DRAWS):
            layout, pose = errors.believed(self.layout, first, sizes, rng)
            shift, turn = (pose.x - first.x, pose.y - first.y), pose.heading - first.heading
            poses = [Pose(one.x + shift[0], one.y + shift[1], wrapped(one.heading + turn)) for one in self.poses]
            if layout.is_free([[one.x, one.y] for one in poses], MIN_DISTANCE).all():
                return layout, poses
        raise ValueError(f"Expected errors that leave all poses in free space, got {dict(sizes)}; reduce them")

    def trace(self, scene: tuple[Layout, list[Pose]]) -> list[xr.Dataset]:
        """Paths (candidate, path) of the candidates from every pose of a room that may be wrong."""
        layout, poses = scene
        if layout is self.layout and poses is self.poses and "paths" in self.__dict__:
            return self.paths
        return [trace_possible(self._twin, layout, pose, self.candidates) for pose in poses]

    @property
    def tie_shares(self) -> NDArray[np.float64]:
        """Random fraction (step) that ranks the truth among equally probable candidates."""
        return splits.walk_rng(self.config, self.split, self.index, 2).random(self.num_poses)

    @functools.cached_property
    def _estimates(self) -> dict[EstimatorOptions, xr.Dataset]:
        return {}

    @property
    def _twin(self) -> Twin:
        return make_twin("image", self.config.radio, self.config.twin)


def draw_walk(layout: Layout, num_poses: int, rng: Generator, step: float = STEP) -> list[Pose]:
    """Poses of a robot that faces where it drives: straight on, and in a new random direction when it is blocked.

    Raises:
        ValueError: the robot is stuck: no direction leaves room for a step.
    """
    for _ in range(_MAX_DRAWS):
        (x, y), heading = layout.sample(1, rng)[0], rng.uniform(-np.pi, np.pi)
        poses = [Pose(x, y, heading)]
        while len(poses) < num_poses:
            following = _drive(layout, poses[-1], step, rng)
            if following is None:
                break
            poses.append(following)
        else:
            return poses
    raise ValueError(f"Expected a room in which one can drive {step:g} m, got {layout.room.wkt}")


def _drive(layout: Layout, pose: Pose, step: float, rng: Generator) -> Pose | None:
    """Next pose; None if the robot is stuck."""
    for draw in range(100):
        heading = pose.heading if draw == 0 else rng.uniform(-np.pi, np.pi)
        ways = np.linspace(0, step, 2 + int(step / max(layout.clearance, 0.1)))[1:]
        way = np.stack([pose.x + ways * math.cos(heading), pose.y + ways * math.sin(heading)], axis=1)
        if layout.is_free(way).all():
            return Pose(float(way[-1, 0]), float(way[-1, 1]), heading)
    return None


def wrapped(angle: float) -> float:
    r"""Angle [rad], wrapped to :math:`[-\pi, \pi)`."""
    return (angle + math.pi) % (2 * math.pi) - math.pi
