"""Data sets: a configuration and a split in; candidate libraries, and snapshots with their estimates, out.

A group is made from (seed, split, index) alone, a snapshot from (seed, split, group, snapshot): anything stored can be
made again alone, with the same bits.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numba
import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from locus import estimator, groups, layout, observation
from locus.checks import plain
from locus.config import Config, Radio, TwinOptions
from locus.store import Arrays, Store, bounds
from locus.twin import Twin, base, make_twin

_PATHS = ("group", "candidate", "path")
_ESTIMATES = ("group", "snapshot", "path")
_PATH_TYPES = {"aoa": "float32", "delay": "float64", "gain": "complex64", "order": "int8"}


def trace_group(config: Config, split: str, index: int) -> xr.Dataset:
    """Traced paths of one group, made again on the spot, with the same bits as in the store."""
    return as_stored(twin_of(config, split).trace(*groups.draw(config, split, index)), config)


def as_stored(paths: xr.Dataset, config: Config) -> xr.Dataset:
    """Traced paths in the precision in which a library stores them."""
    for name, kind in _PATH_TYPES.items():
        paths[name] = paths[name].astype(kind)
    paths["snr_db"] = base.snr_db(paths.gain, config.radio)
    return paths


def twin_of(config: Config, split: str) -> Twin:
    """The twin that traces a split."""
    return _twin(groups.backend(config, split), config.radio, config.twin)


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
    rngs = [groups.snapshot_rng(config, split, index, s) for s in range(groups.num_snapshots(config, split))]
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
    group = groups.draw(config, "eval_grid", index)
    count = groups.num_snapshots(config, "eval_grid")
    rngs = [groups.snapshot_rng(config, "eval_grid", index, s, off_list=True) for s in range(count)]
    twin = twin_of(config, "eval_grid")
    position, traced = np.empty((count, 2)), [xr.Dataset()] * count
    waiting = list(range(count))
    while waiting:
        drawn = np.array([groups.draw_position(group.layout, group.pose, rngs[s]) for s in waiting])
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


def strongest_pairs(config: Config, split: str, num_groups: int) -> xr.Dataset:
    """Strongest estimated path of each snapshot of the first groups, (snapshot), beside the strongest traced one."""
    rows = []
    for index in range(num_groups):
        paths = trace_group(config, split, index)
        snapshots = make_snapshots(config, split, index, paths)
        found = estimator.estimate(snapshots, config.estimator)[["aoa", "snr_db", "valid"]].isel(path=0)
        true = paths[["aoa", "snr_db"]].isel(path=0, candidate=snapshots.truth).reset_coords(drop=True)
        rows.append(found.assign({f"true_{name}": true[name] for name in true.data_vars}))
    pairs = xr.concat(rows, "snapshot")
    return pairs.assign_attrs(threshold_db=10 * math.log10(estimator.threshold(config.estimator, config.radio)))


def trace_block(block: int, config: dict[str, Any], split: str) -> Arrays:
    """Arrays of one block of a candidate library: what a worker does."""
    settings = Config.from_dict(config)
    return library_arrays([trace_group(settings, split, index) for index in range(*bounds(settings, split, block))])


def library_arrays(traced: list[xr.Dataset]) -> Arrays:
    """Traced paths of some groups as a library stores them."""
    return {name: np.stack([one[name].values for one in traced]).astype(kind) for name, kind in _types(Library).items()}


def observe_block(block: int, config: dict[str, Any], split: str, paths: xr.Dataset) -> Arrays:
    """Arrays of one block of observations, from the traced paths (group, candidate, path) of its groups."""
    torch.set_num_threads(1)  # as many workers as cores, one thread each
    numba.set_num_threads(1)
    settings = Config.from_dict(config)
    start, stop = bounds(settings, split, block)
    made = [make_snapshots(settings, split, start + g, paths.isel(group=g)) for g in range(stop - start)]
    snapshots = xr.concat(made, "snapshot", combine_attrs="override")
    estimates = estimator.estimate(snapshots, settings.estimator).assign(truth=snapshots.truth)
    shape = (stop - start, -1)
    return {
        name: estimates[name].values.reshape(*shape, *estimates[name].shape[1:]).astype(kind)
        for name, kind in _types(Observations).items()
    }


def _types(kind: type[Store]) -> dict[str, str]:
    return {name: stored for name, (_, stored, _) in kind.variables.items()}


class Library(Store):
    """Candidate library of one split: the traced paths of every candidate of every group."""

    folder = "candidates"
    command = "locus build {split}"
    title = "candidates of {split}"
    variables: ClassVar = {
        **{name: (("group",), "float64", base.ATTRIBUTES[name]) for name in ("rx_x", "rx_y", "rx_heading")},
        **{name: (("group", "candidate"), "float64", base.ATTRIBUTES[name]) for name in ("x", "y")},
        **{name: (_PATHS, kind, base.ATTRIBUTES[name]) for name, kind in _PATH_TYPES.items()},
    }

    def numbers(self) -> dict[str, Any]:
        """All that the traced paths depend on."""
        config = self.run.config
        twin = dataclasses.asdict(config.twin)
        name = groups.backend(config, self.split)
        for key in ("train", "evaluation", *(("num_rays", "table_size") if name == "image" else ())):
            del twin[key]
        return {
            "split": self.split,
            "seed": config.seed,
            "num_groups": groups.num_groups(config, self.split),
            "num_candidates": groups.num_candidates(config, self.split),
            "backend": name,
            "room": plain(dataclasses.asdict(config.room)),
            "radio": {"carrier": config.radio.carrier},
            "twin": twin,
            "recipes": {"layout": layout.RECIPE, "twin": base.RECIPE},
        }

    def sizes(self) -> dict[str, int]:
        """Groups, candidates and paths."""
        config = self.run.config
        return {
            "group": groups.num_groups(config, self.split),
            "candidate": groups.num_candidates(config, self.split),
            "path": config.twin.max_paths,
        }

    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """A worker traces."""
        return trace_block, (block, self.run.config.to_dict(), self.split)

    def open(self) -> xr.Dataset:
        """The finished library, lazily: (group, candidate, path), with ``snr_db`` and ``valid``."""
        data = super().open()
        data["snr_db"] = base.snr_db(data.gain, self.run.config.radio)
        data["valid"] = (data.order >= 0).assign_attrs(base.ATTRIBUTES["valid"])
        return data.set_coords(["x", "y", "rx_x", "rx_y", "rx_heading"])

    def estimate_seconds(self, num_workers: int, num_groups: int = 5) -> float:
        """Time for what is missing, from a few groups traced here."""
        config = self.run.config
        left = self.count(self.todo())
        trace_group(config, self.split, 0)  # compiles
        start = time.perf_counter()
        for index in range(num_groups):
            trace_group(config, self.split, index)
        return left * (time.perf_counter() - start) / num_groups / num_workers


class Observations(Store):
    """Observations of one split: for every snapshot the true candidate and the estimated paths. IQ is made again."""

    folder = "observations"
    command = "locus observe {split}"
    title = "snapshots of {split}"
    variables: ClassVar = {
        "truth": (("group", "snapshot"), "int32", {"units": "1", "long_name": "index of the true candidate"}),
        "aoa": (_ESTIMATES, "float32", base.ATTRIBUTES["aoa"]),
        "delay": (_ESTIMATES, "float64", base.ATTRIBUTES["delay"]),
        "gain": (_ESTIMATES, "complex64", base.ATTRIBUTES["gain"]),
        "snr_db": (_ESTIMATES, "float32", base.ATTRIBUTES["snr_db"]),
        "valid": (_ESTIMATES, "bool", base.ATTRIBUTES["valid"]),
    }

    @functools.cached_property
    def library(self) -> Library:
        """The candidate library that is observed."""
        return Library(self.run, self.split)

    @functools.cached_property
    def _candidates(self) -> xr.Dataset:
        return self.library.open()

    def numbers(self) -> dict[str, Any]:
        """All that the estimates depend on: the library, the radio and the estimator."""
        config = self.run.config
        return {
            "library": self.library.numbers(),
            "num_snapshots": groups.num_snapshots(config, self.split),
            "transmitter": dataclasses.asdict(config.transmitter),
            "radio": dataclasses.asdict(config.radio),
            "estimator": dataclasses.asdict(config.estimator),
            "recipes": {"observation": observation.RECIPE, "estimator": estimator.RECIPE},
        }

    def sizes(self) -> dict[str, int]:
        """Groups, snapshots and paths."""
        config = self.run.config
        return {
            "group": groups.num_groups(config, self.split),
            "snapshot": groups.num_snapshots(config, self.split),
            "path": config.estimator.num_paths,
        }

    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """A worker gets the paths of its groups, makes the snapshots, and estimates."""
        paths = self._candidates[["aoa", "delay", "gain", "valid"]].isel(
            group=slice(*bounds(self.run.config, self.split, block))
        )
        return observe_block, (block, self.run.config.to_dict(), self.split, paths.reset_coords(drop=True).load())
