"""Groups: a seed, a split and an index in; a layout, a receiver pose and its candidates out.

A group depends on these three alone, so that any one can be made again, in any order, on any machine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.receiver import observation
from locus.room.layout import MIN_DISTANCE, Layout, Pose, away_from, draw_position
from locus.settings.config import Config, Radio, TwinOptions
from locus.twin import Twin, base, make_twin

# Streams of random numbers. Splits with different streams share no layout; both evaluation splits share theirs.
_ROOMS = {"train": 0, "test": 1, "eval_random": 2, "eval_grid": 2, "check": 3}
_LAYOUT, _CANDIDATES, _SNAPSHOT, _ERRORS = 0, 1, 2, 3

SPLITS = ("train", "test", "eval_random", "eval_grid")
"""Splits of the experiment; ``check`` is for comparing twins."""


PATH_TYPES = {"aoa": "float32", "delay": "float64", "gain": "complex64", "order": "int8"}


class Group(NamedTuple):
    """One layout, one receiver pose, and the candidates (candidate, 2) [m]."""

    layout: Layout
    pose: Pose
    candidates: NDArray[np.float64]


def check_split(split: str) -> None:
    """Raise a ValueError unless ``split`` is one of the experiment's."""
    if split not in SPLITS:
        raise ValueError(f"Expected 'split' in {list(SPLITS)}, got {split!r}")


def num_groups(config: Config, split: str) -> int:
    """Number of groups of a split."""
    if split == "check":
        return config.twin_check.num_layouts
    check_split(split)
    if split.startswith("eval"):
        return config.evaluation.num_layouts
    return config.training.num_layouts if split == "train" else config.training.num_test_layouts


def num_candidates(config: Config, split: str) -> int:
    """Number of candidates in each group of a split."""
    if split == "check":
        return config.twin_check.num_candidates
    check_split(split)
    if split == "eval_grid":
        return config.evaluation.num_grid_candidates
    return config.evaluation.num_candidates if split == "eval_random" else config.training.num_candidates


def num_snapshots(config: Config, split: str) -> int:
    """Number of snapshots of each group of a split."""
    check_split(split)
    return config.evaluation.num_snapshots if split.startswith("eval") else config.training.num_snapshots


def snapshot_rng(
    config: Config, split: str, index: int, snapshot: int, *, off_list: bool = False
) -> np.random.Generator:
    """Random numbers of one snapshot of one group: its true transmitter, sync offset, phase and noise."""
    kind = 2 if off_list else int(split == "eval_grid")
    return np.random.default_rng([config.seed, _ROOMS[split], index, _SNAPSHOT, kind, snapshot])


def error_rng(config: Config, split: str, index: int) -> np.random.Generator:
    """Random numbers of what a wrong twin of a group believes."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _ERRORS])


def backend(config: Config, split: str) -> str:
    """Twin that traces a split."""
    return config.twin.evaluation if split.startswith("eval") else config.twin.train


def draw(config: Config, split: str, index: int) -> Group:
    """Group number ``index`` of a split."""
    count = num_candidates(config, split)
    stream = [config.seed, _ROOMS[split], index]
    rng = np.random.default_rng([*stream, _LAYOUT])
    layout = Layout.random(rng, config.room)
    pose = Pose.random(layout, rng)
    rng = np.random.default_rng([*stream, _CANDIDATES, split == "eval_grid"])
    if split == "eval_grid":
        grid = away_from(pose, layout.grid(config.room.grid_points))
        return Group(layout, pose, grid[np.sort(rng.choice(len(grid), count, replace=False))])
    candidates = np.empty((0, 2))
    while len(candidates) < count:
        candidates = np.concatenate([candidates, away_from(pose, layout.sample(count, rng))])
    return Group(layout, pose, candidates[:count])


def trace_group(config: Config, split: str, index: int) -> xr.Dataset:
    """Traced paths of one group, made again on the spot, with the same bits as in the store."""
    return as_stored(twin_of(config, split).trace(*draw(config, split, index)), config)


def as_stored(paths: xr.Dataset, config: Config) -> xr.Dataset:
    """Traced paths in the precision in which a library stores them."""
    for name, kind in PATH_TYPES.items():
        paths[name] = paths[name].astype(kind)
    paths["snr_db"] = base.snr_db(paths.gain, config.radio)
    return paths


def twin_of(config: Config, split: str) -> Twin:
    """The twin that traces a split."""
    return _twin(backend(config, split), config.radio, config.twin)


@functools.lru_cache(maxsize=2)
def _twin(name: str, radio: Radio, options: TwinOptions) -> Twin:
    """One twin a process: Sionna's solver and its kernels are made once."""
    return make_twin(name, radio, options)


def make_snapshots(
    config: Config, split: str, index: int, paths: xr.Dataset, heard_paths: xr.Dataset | None = None
) -> xr.Dataset:
    """IQ of all snapshots of a group, (snapshot, sample, antenna), and the true candidate of each, ``truth``.

    The true transmitter is drawn among the candidates with at least one path, unless the settings want all.

    Args:
        config: settings.
        split: split of the group.
        index: number of the group.
        paths: traced paths (candidate, path) of the group, from the store or :func:`trace_group`.
        heard_paths: paths (snapshot, path) that are heard instead of those of the true candidate, in the same noise.
    """
    rngs = [snapshot_rng(config, split, index, s) for s in range(num_snapshots(config, split))]
    truth = draw_truth(config, paths.valid.any("path").values, rngs)
    if heard_paths is None:
        heard_paths = paths.isel(candidate=xr.DataArray(truth, dims="snapshot"))
    heard_paths = heard_paths[["aoa", "delay", "gain", "valid"]].transpose("snapshot", "path")
    snapshots = observation.observe(heard_paths, rngs, config.radio)
    return snapshots.assign(truth=("snapshot", truth, {"units": "1", "long_name": "index of the true candidate"}))


def draw_truth(config: Config, heard: NDArray[np.bool_], rngs: Sequence[np.random.Generator]) -> NDArray[np.int64]:
    """Index of the true candidate of each snapshot, among those that are heard unless the settings want any."""
    possible = np.flatnonzero(heard | (not config.transmitter.heard))
    if len(possible) == 0:
        raise ValueError("Expected a candidate with a path, got none in the whole group")
    return np.array([rng.choice(possible) for rng in rngs])


def trace_offlist(config: Config, index: int, paths: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Snapshots of transmitters anywhere in the free space of a group of ``eval_grid``, and their traced paths.

    A transmitter is drawn again until it has a path, unless the settings want any. Beside ``iq`` the snapshots hold the
    ``position`` (snapshot, axis) of each transmitter, and as ``truth`` the candidate nearest to it.
    """
    group = draw(config, "eval_grid", index)
    count = num_snapshots(config, "eval_grid")
    rngs = [snapshot_rng(config, "eval_grid", index, s, off_list=True) for s in range(count)]
    twin = twin_of(config, "eval_grid")
    position, traced = np.empty((count, 2)), [xr.Dataset()] * count
    waiting = list(range(count))
    while waiting:
        drawn = np.array([draw_position(group.layout, group.pose, rngs[s]) for s in waiting])
        found = twin.trace(group.layout, group.pose, drawn)
        heard = (found.valid.any("path") | (not config.transmitter.heard)).values
        for row, s in enumerate(waiting):
            position[s], traced[s] = drawn[row], found.isel(candidate=row).reset_coords(drop=True)
        waiting = [s for row, s in enumerate(waiting) if not heard[row]]
    true_paths = xr.concat(traced, "snapshot")
    candidates = np.stack([paths.x.values, paths.y.values], axis=-1)
    nearest = np.linalg.norm(position[:, np.newaxis] - candidates, axis=-1).argmin(axis=1)
    snapshots = observation.observe(true_paths[["aoa", "delay", "gain", "valid"]], rngs, config.radio)
    return snapshots.assign(
        truth=("snapshot", nearest, {"units": "1", "long_name": "index of the candidate nearest to the transmitter"}),
        position=(("snapshot", "axis"), position, {"units": "m", "long_name": "position of the transmitter"}),
    ), true_paths


def trace(twin: Twin, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> xr.Dataset:
    """What a twin traces of candidates of another room; one that it believes inside a wall has no path.

    The same goes for one that it believes at a wall or on top of the receiver, closer than twins trace.

    Raises:
        ValueError: that is so for all candidates.
    """
    far = np.hypot(candidates[:, 0] - pose.x, candidates[:, 1] - pose.y) >= MIN_DISTANCE
    possible = layout.is_free(candidates, MIN_DISTANCE) & far
    if not possible.any():
        raise ValueError(f"Expected a candidate in the free space that the twin believes in, got {layout.room.wkt}")
    stand_in = candidates[possible.argmax()]
    paths = twin.trace(layout, pose, np.where(possible[:, np.newaxis], candidates, stand_in))
    free = xr.DataArray(possible, dims="candidate")
    padding = {"aoa": 0.0, "delay": 0.0, "gain": 0.0, "order": -1, "valid": False, "snr_db": -np.inf}
    for name, value in padding.items():
        paths[name] = paths[name].where(free, np.asarray(value, paths[name].dtype)).assign_attrs(paths[name].attrs)
    attributes = {name: paths[name].attrs for name in ("x", "y")}
    return paths.assign_coords(
        {name: ("candidate", candidates[:, axis], attributes[name]) for axis, name in enumerate(("x", "y"))}
    )
