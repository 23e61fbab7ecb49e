"""A case: settings, a split and an index in; one group out, from its room to the estimated paths of its snapshots.

Each part is computed on first access and cached. Variants place the transmitters elsewhere: anywhere in free space
(:class:`OffList`), or a given distance away from their candidates (:class:`Moved`).
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
from locus.settings.config import Config, EstimatorOptions, Radio, Room, TwinOptions
from locus.settings.untrusted import short
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
    """Index of the true candidate of each snapshot, (snapshot); the nearest one if the transmitter is on none."""
    paths: xr.Dataset
    """Traced paths (snapshot, path)."""
    rngs: list[Generator]
    """Generator of each snapshot, in its state after drawing the transmitter."""


@dataclass(frozen=True)
class Case:
    """One group of a split. Its transmitters are candidates, with ``transmitter.heard`` only those that have a path."""

    config: Config
    split: str
    index: int
    twin: Twin | None = None
    """Twin that replaces the split's own; its paths are not rounded to the precision of a library."""
    traced: xr.Dataset | None = field(default=None, repr=False)
    """Traced paths (candidate, path) of the candidates if known, for instance from a library."""

    @functools.cached_property
    def _room(self) -> tuple[Layout, Pose]:
        rng = splits.layout_rng(self.config, self.split, self.index)
        layout = Layout.random(rng, self.config.room)
        return layout, Pose.random(layout, rng)

    @property
    def layout(self) -> Layout:
        """Layout of the room."""
        return self._room[0]

    @property
    def pose(self) -> Pose:
        """Pose of the receiver."""
        return self._room[1]

    @functools.cached_property
    def candidates(self) -> NDArray[np.float64]:
        """Candidate positions (candidate, 2) [m]."""
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
        """Traced paths (candidate, path); with the split's own twin, bit-identical to those in a library."""
        if self.traced is not None:
            return self.traced
        paths = self.trace(self.candidates)
        return paths if self.twin else as_stored(paths, self.config.radio)

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """Transmitters on candidates drawn at random, one per snapshot."""
        truth, rngs = self._draw_truth()
        position = np.stack([self.paths[axis].values[truth] for axis in ("x", "y")], axis=1)
        paths = self.paths.isel(candidate=xr.DataArray(truth, dims="snapshot")).reset_coords(drop=True)
        return Transmitters(position, truth, paths.transpose("snapshot", "path"), rngs)

    @property
    def truth(self) -> NDArray[np.int64]:
        """Index (snapshot) of the true candidate, or of the one nearest to the transmitter."""
        return self.transmitters.truth

    @functools.cached_property
    def snapshots(self) -> xr.Dataset:
        """Samples ``iq`` (snapshot, sample, antenna) and ``truth`` (snapshot)."""
        found = observation.observe(self.transmitters.paths[_HEARD], self.transmitters.rngs, self.config.radio)
        return found.assign(truth=("snapshot", self.truth, {"units": "1", "long_name": "index of the true candidate"}))

    @property
    def observed(self) -> xr.Dataset:
        """Estimated paths (snapshot, path)."""
        return self.observed_with(self.config.estimator)

    def observed_with(self, options: EstimatorOptions) -> xr.Dataset:
        """Paths (snapshot, path) estimated with other options."""
        if options not in self._estimates:
            self._estimates[options] = estimator.estimate(self.snapshots, options, residual=True)
        return self._estimates[options]

    def seen_by(self, scorer: Scorer) -> xr.Dataset:
        """What a scorer looks at: snapshots, or paths estimated with its own options or else with the run's."""
        if scorer.sees == "snapshots":
            return self.snapshots
        return self.observed_with(getattr(scorer, "estimator", self.config.estimator))

    def log_posterior(self, scorer: Scorer) -> xr.DataArray:
        """Log posterior (snapshot, candidate) that a scorer assigns to the snapshots."""
        return scorer.log_posterior(self.paths, self.seen_by(scorer))

    def off_list(self) -> OffList:
        """Return the same group with transmitters anywhere in free space."""
        return self._share(OffList(self.config, self.split, self.index, self.twin, self.traced))

    def moved(self, distance: float, distances: Sequence[float]) -> Moved:
        """Return the same group with transmitters ``distance`` [m] from their candidates, one of ``distances``."""
        return self._share(Moved(self.config, self.split, self.index, self.twin, self.traced, distance, distances))

    def trace(self, points: NDArray[np.float64]) -> xr.Dataset:
        """Trace the paths (candidate, path) of other positions (point, 2) [m] in this room."""
        return self._twin.trace(self.layout, self.pose, points)

    def believed(self, sizes: Mapping[str, Any], rng: Generator | None = None) -> tuple[Layout, Pose]:
        """Layout and pose of a twin with errors of these sizes; see :func:`locus.room.errors.believed`.

        Without an ``rng``, errors of different sizes have the same directions, unless they do not fit into the room.
        """
        rng = rng or splits.error_rng(self.config, self.split, self.index)
        return errors.believed(self.layout, self.pose, sizes, rng)

    def trace_believed(self, scene: tuple[Layout, Pose], points: NDArray[np.float64] | None = None) -> xr.Dataset:
        """Trace the candidates, or other points (point, 2) [m], in the layout and pose that a wrong twin assumes."""
        return trace_possible(self._twin, *scene, self.candidates if points is None else points)

    @functools.cached_property
    def _estimates(self) -> dict[EstimatorOptions, xr.Dataset]:
        return {}

    @property
    def _twin(self) -> Twin:
        return self.twin or split_twin(self.config, self.split)

    def _draw_truth(self) -> tuple[NDArray[np.int64], list[Generator]]:
        rngs = splits.snapshot_rngs(self.config, self.split, self.index)
        return draw_truth(self.config, self.paths.valid.any("path").values, rngs), rngs

    def _share(self, other: Variant) -> Variant:
        """Copy the cached room, candidates and paths, which do not depend on the transmitters, to another case."""
        other.__dict__.update({name: self.__dict__[name] for name in _SHARED if name in self.__dict__})
        return other

    def _nearest(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """Index (point) of the candidate nearest to each position (point, 2) [m]."""
        candidates = np.stack([self.paths.x.values, self.paths.y.values], axis=-1)
        return np.asarray(np.linalg.norm(position[:, np.newaxis] - candidates, axis=-1).argmin(axis=1))


@dataclass(frozen=True)
class OffList(Case):
    """A case with transmitters anywhere in free space; with ``transmitter.heard``, only where they have a path."""

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """Transmitters at random free positions, one per snapshot."""
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
    """A case with transmitters moved by ``distance`` from their candidates; the noise stays the same.

    Each transmitter moves in its own random direction, shared by all ``distances`` and free of walls at each of them.
    """

    distance: float = 0.0
    """Distance of each transmitter from its candidate [m]."""
    distances: Sequence[float] = (0.0,)
    """All distances [m] that share the directions."""

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """The case's own transmitters, moved."""
        truth, rngs = self._draw_truth()
        rng = splits.error_rng(self.config, self.split, self.index)
        true = self.candidates[truth]
        way = _free_directions(self.layout, self.pose, true, self.distances, rng)
        position = true + self.distance * way
        paths = self.trace(position).reset_coords(drop=True).rename(candidate="snapshot")
        return Transmitters(position, self._nearest(position), paths, rngs)


def draw_truth(config: Config, heard: NDArray[np.bool_], rngs: Sequence[Generator]) -> NDArray[np.int64]:
    """Draw the true candidate (snapshot); with ``transmitter.heard``, among those with a path (``heard``)."""
    possible = np.flatnonzero(heard | (not config.transmitter.heard))
    if len(possible) == 0:
        raise ValueError("Expected at least one candidate with a path in the group, got none")
    return np.array([rng.choice(possible) for rng in rngs])


def as_stored(paths: xr.Dataset, radio: Radio) -> xr.Dataset:
    """Round traced paths to the precision of a library."""
    for name, kind in PATH_TYPES.items():
        paths[name] = paths[name].astype(kind)
    paths["snr_db"] = base.snr_db(paths.gain, radio)
    return paths


def split_twin(config: Config, split: str) -> Twin:
    """Twin that traces a split."""
    return _make_twin_once(splits.backend(config, split), config.radio, config.twin)


@functools.lru_cache(maxsize=2)
def _make_twin_once(name: str, radio: Radio, options: TwinOptions) -> Twin:
    """One twin per process, so that Sionna compiles its solver and kernels only once."""
    return make_twin(name, radio, options)


def trace_possible(twin: Twin, layout: Layout, pose: Pose, points: NDArray[np.float64]) -> xr.Dataset:
    """Trace points (candidate, 2) [m], some of which may be impossible: those get no path.

    Points are impossible in obstacles, outside the room, or closer than ``MIN_DISTANCE`` to a wall or the receiver.

    Raises:
        ValueError: all points are impossible.
    """
    far = np.hypot(points[:, 0] - pose.x, points[:, 1] - pose.y) >= MIN_DISTANCE
    possible = layout.is_free(points, MIN_DISTANCE) & far
    if not possible.any():
        raise ValueError(f"Expected a candidate in the free space of the twin, got none in {layout.room.wkt}")
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


def check_room(room: Room) -> None:
    """Raise a ValueError within seconds if no room can be drawn with these settings, before any work starts."""
    Layout.random(np.random.default_rng(0), room)


def _free_directions(
    layout: Layout, pose: Pose, points: NDArray[np.float64], distances: Sequence[float], rng: Generator
) -> NDArray[np.float64]:
    """Unit vector (point, 2) for each point, along which every distance [m] ends in free space."""
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
        f"Expected a room with free space {max(distances):g} m from every transmitter, got {short(layout.room.wkt)}"
    )
