"""A case: settings, a split and an index in; one group from its room to the estimated paths of its snapshots out.

Each part is made when it is first asked for, and kept. Variants place the transmitters elsewhere: anywhere in free
space (:class:`OffList`), or a given distance away from their candidates (:class:`Moved`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from locus.experiment import splits
from locus.receiver import estimator, observation
from locus.room import errors
from locus.room.layout import MIN_DISTANCE, Layout, Pose, away_from, draw_position
from locus.score.method import Scorer
from locus.settings.config import Config, Radio, TwinOptions
from locus.twin import Twin, base, make_twin

PATH_TYPES = {"aoa": "float32", "delay": "float64", "gain": "complex64", "order": "int8"}
"""Precision in which candidate libraries store paths."""

_HEARD = ["aoa", "delay", "gain", "valid"]
_SHARED = ("_room", "candidates", "paths")
_MAX_DRAWS = 1000

Variant = TypeVar("Variant", bound="Case")


class Transmitters(NamedTuple):
    """The transmitters of a group's snapshots."""

    position: NDArray[np.float64]
    """(snapshot, 2) [m]"""
    truth: NDArray[np.int64]
    """Index of the true candidate of each snapshot; of a transmitter off the list, the candidate nearest to it."""
    paths: xr.Dataset
    """Their traced paths, (snapshot, path)."""
    rngs: list[Generator]
    """Random numbers of each snapshot from here on."""


@dataclass(frozen=True)
class Case:
    """One group of a split. Its transmitters stand on candidates that have a path, or on any if the settings say so."""

    config: Config
    split: str
    index: int
    twin: Twin | None = None
    """Traces instead of the split's own twin, and its paths are not rounded to the precision of a library."""
    traced: xr.Dataset | None = field(default=None, repr=False)
    """Paths of the candidates where they are known, for instance from a library."""

    @functools.cached_property
    def _room(self) -> tuple[Layout, Pose]:
        rng = splits.layout_rng(self.config, self.split, self.index)
        layout = Layout.random(rng, self.config.room)
        return layout, Pose.random(layout, rng)

    @property
    def layout(self) -> Layout:
        """The room."""
        return self._room[0]

    @property
    def pose(self) -> Pose:
        """The receiver."""
        return self._room[1]

    @functools.cached_property
    def candidates(self) -> NDArray[np.float64]:
        """Positions (candidate, 2) [m]."""
        count = splits.num_candidates(self.config, self.split)
        rng = splits.candidate_rng(self.config, self.split, self.index)
        if self.split == "eval_grid":
            grid = away_from(self.pose, self.layout.grid(self.config.room.grid_points))
            return grid[np.sort(rng.choice(len(grid), count, replace=False))]
        found = np.empty((0, 2))
        while len(found) < count:
            found = np.concatenate([found, away_from(self.pose, self.layout.sample(count, rng))])
        return found[:count]

    @functools.cached_property
    def paths(self) -> xr.Dataset:
        """Traced paths (candidate, path); with the split's own twin the same bits as in a library."""
        if self.traced is not None:
            return self.traced
        paths = self.trace(self.candidates)
        return paths if self.twin else as_stored(paths, self.config.radio)

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """Who transmits."""
        truth, rngs = self._draw_truth()
        position = np.stack([self.paths[axis].values[truth] for axis in ("x", "y")], axis=1)
        paths = self.paths.isel(candidate=xr.DataArray(truth, dims="snapshot")).reset_coords(drop=True)
        return Transmitters(position, truth, paths.transpose("snapshot", "path"), rngs)

    @property
    def truth(self) -> NDArray[np.int64]:
        """Index of the true candidate of each snapshot, or of the one nearest to the transmitter."""
        return self.transmitters.truth

    @functools.cached_property
    def snapshots(self) -> xr.Dataset:
        """``iq`` (snapshot, sample, antenna), and ``truth`` (snapshot)."""
        found = observation.observe(self.transmitters.paths[_HEARD], self.transmitters.rngs, self.config.radio)
        return found.assign(truth=("snapshot", self.truth, {"units": "1", "long_name": "index of the true candidate"}))

    @functools.cached_property
    def observed(self) -> xr.Dataset:
        """Estimated paths (snapshot, path)."""
        return estimator.estimate(self.snapshots, self.config.estimator)

    def log_posterior(self, scorer: Scorer) -> xr.DataArray:
        """What a scorer makes of the snapshots, (snapshot, candidate)."""
        return scorer.log_posterior(self.paths, getattr(self, scorer.sees))

    def off_list(self) -> OffList:
        """The same group with transmitters anywhere in free space."""
        return self._share(OffList(self.config, self.split, self.index, self.twin, self.traced))

    def moved(self, distance: float, distances: Sequence[float]) -> Moved:
        """The same group with transmitters ``distance`` [m] off their candidates, one of several ``distances``."""
        return self._share(Moved(self.config, self.split, self.index, self.twin, self.traced, distance, distances))

    def trace(self, points: NDArray[np.float64]) -> xr.Dataset:
        """Traced paths of other positions (point, 2) in this room."""
        return self._twin.trace(self.layout, self.pose, points)

    def believed(self, sizes: Mapping[str, Any], rng: Generator | None = None) -> tuple[Layout, Pose]:
        """Room and pose as a twin with errors of these sizes has them; see :func:`locus.room.errors.believed`.

        Without an ``rng`` errors of every size point the same way, unless they do not fit into the room.
        """
        rng = rng or splits.error_rng(self.config, self.split, self.index)
        return errors.believed(self.layout, self.pose, sizes, rng)

    def trace_believed(self, scene: tuple[Layout, Pose], points: NDArray[np.float64] | None = None) -> xr.Dataset:
        """Paths of the candidates, or of other points, in a room that a twin believes in."""
        return trace_possible(self._twin, *scene, self.candidates if points is None else points)

    @property
    def _twin(self) -> Twin:
        return self.twin or split_twin(self.config, self.split)

    def _draw_truth(self) -> tuple[NDArray[np.int64], list[Generator]]:
        rngs = splits.snapshot_rngs(self.config, self.split, self.index)
        return draw_truth(self.config, self.paths.valid.any("path").values, rngs), rngs

    def _share(self, other: Variant) -> Variant:
        """Give another case of this group what was made already, but for the transmitters and what they send."""
        other.__dict__.update({name: self.__dict__[name] for name in _SHARED if name in self.__dict__})
        return other

    def _nearest(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """Index of the candidate nearest to each position."""
        candidates = np.stack([self.paths.x.values, self.paths.y.values], axis=-1)
        return np.asarray(np.linalg.norm(position[:, np.newaxis] - candidates, axis=-1).argmin(axis=1))


@dataclass(frozen=True)
class OffList(Case):
    """A case whose transmitters stand anywhere in free space, where they have a path unless the settings want any."""

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """Who transmits."""
        rngs = splits.snapshot_rngs(self.config, self.split, self.index, off_list=True)
        position, traced = np.empty((len(rngs), 2)), [xr.Dataset()] * len(rngs)
        waiting = list(range(len(rngs)))
        while waiting:
            drawn = np.array([draw_position(self.layout, self.pose, rngs[s]) for s in waiting])
            found = self.trace(drawn)
            heard = (found.valid.any("path") | (not self.config.transmitter.heard)).values
            for row, s in enumerate(waiting):
                position[s], traced[s] = drawn[row], found.isel(candidate=row).reset_coords(drop=True)
            waiting = [s for row, s in enumerate(waiting) if not heard[row]]
        return Transmitters(position, self._nearest(position), xr.concat(traced, "snapshot"), rngs)


@dataclass(frozen=True)
class Moved(Case):
    """A case whose transmitters stand ``distance`` away from their candidates, in the same noise.

    Each has a direction of its own, the same at all of ``distances``, in which it stays in free space.
    """

    distance: float = 0.0
    """[m]"""
    distances: Sequence[float] = (0.0,)
    """[m]"""

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """Who transmits."""
        truth, rngs = self._draw_truth()
        rng = splits.error_rng(self.config, self.split, self.index)
        true = self.candidates[truth]
        way = _free_directions(self.layout, self.pose, true, self.distances, rng)
        position = true + self.distance * way
        paths = self.trace(position).reset_coords(drop=True).rename(candidate="snapshot")
        return Transmitters(position, self._nearest(position), paths, rngs)


def draw_truth(config: Config, heard: NDArray[np.bool_], rngs: Sequence[Generator]) -> NDArray[np.int64]:
    """Index of the true candidate of each snapshot, among those that have a path unless the settings want any."""
    possible = np.flatnonzero(heard | (not config.transmitter.heard))
    if len(possible) == 0:
        raise ValueError("Expected a candidate with a path, got none in the whole group")
    return np.array([rng.choice(possible) for rng in rngs])


def as_stored(paths: xr.Dataset, radio: Radio) -> xr.Dataset:
    """Traced paths in the precision in which a library stores them."""
    for name, kind in PATH_TYPES.items():
        paths[name] = paths[name].astype(kind)
    paths["snr_db"] = base.snr_db(paths.gain, radio)
    return paths


def split_twin(config: Config, split: str) -> Twin:
    """The twin that traces a split."""
    return _make_twin_once(splits.backend(config, split), config.radio, config.twin)


@functools.lru_cache(maxsize=2)
def _make_twin_once(name: str, radio: Radio, options: TwinOptions) -> Twin:
    """One twin a process: Sionna's solver and its kernels are made once."""
    return make_twin(name, radio, options)


def trace_possible(twin: Twin, layout: Layout, pose: Pose, points: NDArray[np.float64]) -> xr.Dataset:
    """Traced paths of points (candidate, 2) of which some may lie inside walls: those have no path.

    The same goes for points at a wall or on top of the receiver, closer than twins trace.

    Raises:
        ValueError: that is so for all points.
    """
    far = np.hypot(points[:, 0] - pose.x, points[:, 1] - pose.y) >= MIN_DISTANCE
    possible = layout.is_free(points, MIN_DISTANCE) & far
    if not possible.any():
        raise ValueError(f"Expected a candidate in the free space that the twin believes in, got {layout.room.wkt}")
    stand_in = points[possible.argmax()]
    paths = twin.trace(layout, pose, np.where(possible[:, np.newaxis], points, stand_in))
    free = xr.DataArray(possible, dims="candidate")
    padding = {"aoa": 0.0, "delay": 0.0, "gain": 0.0, "order": -1, "valid": False, "snr_db": -np.inf}
    for name, value in padding.items():
        paths[name] = paths[name].where(free, np.asarray(value, paths[name].dtype)).assign_attrs(paths[name].attrs)
    attributes = {name: paths[name].attrs for name in ("x", "y")}
    return paths.assign_coords(
        {name: ("candidate", points[:, axis], attributes[name]) for axis, name in enumerate(("x", "y"))}
    )


def _free_directions(
    layout: Layout, pose: Pose, points: NDArray[np.float64], distances: Sequence[float], rng: Generator
) -> NDArray[np.float64]:
    """A direction for each point (point, 2) in which every distance [m] ends in free space."""
    found = np.full(points.shape, np.nan)
    for _ in range(_MAX_DRAWS):
        left = np.flatnonzero(np.isnan(found[:, 0]))
        if not left.size:
            return found
        angle = rng.uniform(0, 2 * np.pi, left.size)
        drawn = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        ends = np.stack([points[left] + size * drawn for size in distances])
        far = np.hypot(ends[..., 0] - pose.x, ends[..., 1] - pose.y) >= MIN_DISTANCE
        free = (layout.is_free(ends.reshape(-1, 2)).reshape(far.shape) & far).all(axis=0)
        found[left[free]] = drawn[free]
    raise ValueError(
        f"Expected a room with free space {max(distances):g} m from every transmitter, got {layout.room.wkt}"
    )
