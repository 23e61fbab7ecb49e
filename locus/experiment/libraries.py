"""Data sets: a configuration and a split in; candidate libraries, and estimated paths of snapshots, out.

A group depends only on (seed, split, index), a snapshot only on (seed, split, group, snapshot), so that any part of a
store can be recomputed alone, bit for bit.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.random import Generator

from locus.experiment import cluster, ingredients, splits
from locus.experiment.artifact import Artifact
from locus.experiment.case import PATH_TYPES, Case
from locus.experiment.store import Arrays, Store, block_span
from locus.receiver import estimator
from locus.room import errors
from locus.settings.config import Config
from locus.twin import base

_PATHS = ("group", "candidate", "path")
_ESTIMATES = ("group", "snapshot", "path")


# [s] on one core of the machine of benchmarks/results.json: rough, only to tell minutes from hours
_TRACE = {"image": 3e-5, "sionna": 9e-4}  # per candidate
_ESTIMATE = 1e-3  # per snapshot


def strongest_pairs(config: Config, split: str, num_groups: int) -> xr.Dataset:
    """Strongest estimated and strongest traced path of each snapshot of the first groups, (snapshot)."""
    rows = []
    for index in range(num_groups):
        case = Case(config, split, index)
        true = case.transmitters.paths[["aoa", "snr_db"]].isel(path=0)
        found = case.observed[["aoa", "snr_db", "valid"]].isel(path=0)
        rows.append(found.assign({f"true_{name}": true[name] for name in true.data_vars}))
    pairs = xr.concat(rows, "snapshot")
    return pairs.assign_attrs(threshold_db=10 * math.log10(estimator.threshold(config.estimator, config.radio)))


def trace_seconds(config: Config, split: str) -> float:
    """Estimated time [s] to trace one group on one core."""
    return splits.num_candidates(config, split) * _TRACE[splits.backend(config, split)]


def estimate_seconds(config: Config, split: str) -> float:
    """Estimated time [s] to estimate the paths of one group's snapshots on one core."""
    return splits.num_snapshots(config, split) * _ESTIMATE


def trace_block(block: int, config: dict[str, Any], split: str) -> Arrays:
    """Arrays of one block of a candidate library; runs on a worker."""
    settings = Config.from_dict(config)
    span = range(*block_span(settings, split, block))
    return library_arrays([Case(settings, split, index).paths for index in span])


def library_arrays(traced: list[xr.Dataset]) -> Arrays:
    """Stack the traced paths of groups into arrays (group, ...) as a library stores them."""
    return {name: np.stack([one[name].values for one in traced]).astype(kind) for name, kind in _types(Library).items()}


def observe_block(block: int, config: dict[str, Any], split: str, paths: xr.Dataset) -> Arrays:
    """Arrays of one block of observations, from its traced paths (group, candidate, path); runs on a worker."""
    settings = Config.from_dict(config)
    start, stop = block_span(settings, split, block)
    made = [Case(settings, split, start + g, traced=paths.isel(group=g)).snapshots for g in range(stop - start)]
    snapshots = xr.concat(made, "snapshot", combine_attrs="override")
    with cluster.one_thread():
        estimates = estimator.estimate(snapshots, settings.estimator).assign(truth=snapshots.truth)
    shape = (stop - start, -1)
    return {
        name: estimates[name].values.reshape(*shape, *estimates[name].shape[1:]).astype(kind)
        for name, kind in _types(Observations).items()
    }


def _types(kind: type[Store]) -> dict[str, str]:
    return {name: stored for name, (_, stored, _) in kind.variables.items()}


class Library(Store):
    """Candidate library of one split: traced paths (group, candidate, path)."""

    folder = "candidates"
    command = "locus build {split}"
    title = "candidates of {split}"
    variables: ClassVar = {
        **{name: (("group",), "float64", base.ATTRIBUTES[name]) for name in ("rx_x", "rx_y", "rx_heading")},
        **{name: (("group", "candidate"), "float64", base.ATTRIBUTES[name]) for name in ("x", "y")},
        **{name: (_PATHS, kind, base.ATTRIBUTES[name]) for name, kind in PATH_TYPES.items()},
    }

    def recipe(self) -> dict[str, Any]:
        """Everything that the stored values depend on."""
        config = self.run.config
        return {
            "paths": ingredients.of_paths(config, self.split),
            "num_groups": splits.num_groups(config, self.split),
            "block": config.storage.block,
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        config = self.run.config
        return splits.num_groups(config, self.split) * trace_seconds(config, self.split) / num_workers

    def sizes(self) -> dict[str, int]:
        """Number of groups, candidates and paths."""
        config = self.run.config
        return {
            "group": splits.num_groups(config, self.split),
            "candidate": splits.num_candidates(config, self.split),
            "path": config.twin.max_paths,
        }

    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """Trace the groups of a block."""
        return trace_block, (block, self.run.config.to_dict(), self.split)

    def open(self) -> xr.Dataset:
        """Open the finished library lazily: (group, candidate, path), with ``snr_db`` and ``valid``."""
        data = super().open()
        data["snr_db"] = base.snr_db(data.gain, self.run.config.radio)
        data["valid"] = (data.order >= 0).assign_attrs(base.ATTRIBUTES["valid"])
        return data.set_coords(["x", "y", "rx_x", "rx_y", "rx_heading"])

    def measure_seconds(self, num_workers: int, num_groups: int = 5) -> float:
        """Estimated time [s] for the missing groups, measured on a few groups in this process."""
        config = self.run.config
        left = self.count(self.todo())
        _ = Case(config, self.split, 0).paths  # compile before timing
        start = time.perf_counter()
        for index in range(num_groups):
            _ = Case(config, self.split, index).paths
        return left * (time.perf_counter() - start) / num_groups / num_workers


class Observations(Store):
    """Observations of one split: true candidate and estimated paths of every snapshot. IQ samples are not stored."""

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
        """Candidate library whose paths are observed."""
        return Library(self.run, self.split)

    @functools.cached_property
    def _candidates(self) -> xr.Dataset:
        return self.library.open()

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The candidate library."""
        return (self.library,)

    def recipe(self) -> dict[str, Any]:
        """Everything that the stored values depend on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, self.split),
            "num_groups": splits.num_groups(config, self.split),
            "block": config.storage.block,
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        config = self.run.config
        return splits.num_groups(config, self.split) * estimate_seconds(config, self.split) / num_workers

    def sizes(self) -> dict[str, int]:
        """Number of groups, snapshots and estimated paths."""
        config = self.run.config
        return {
            "group": splits.num_groups(config, self.split),
            "snapshot": splits.num_snapshots(config, self.split),
            "path": config.estimator.num_paths,
        }

    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """Generate the snapshots of a block from its traced paths, and estimate their paths."""
        paths = self._candidates[["aoa", "delay", "gain", "valid"]].isel(
            group=slice(*block_span(self.run.config, self.split, block))
        )
        return observe_block, (block, self.run.config.to_dict(), self.split, paths.load())


def training_errors(config: Config, index: int) -> tuple[dict[str, float], Generator]:
    """Sizes of the twin's errors in a training room, each uniform in [0, ``config.mismatch``], and their generator."""
    rng = splits.error_rng(config, "train", index)
    return {kind: rng.uniform(0, most) for kind, most in dataclasses.asdict(config.mismatch).items()}, rng


def trace_wrong_group(config: Config, index: int) -> xr.Dataset:
    """Candidate paths (candidate, path) of a training room, traced by a twin with errors."""
    case = Case(config, "train", index)
    return case.trace_believed(case.believed(*training_errors(config, index)))


def trace_wrong_block(block: int, config: dict[str, Any]) -> Arrays:
    """Arrays of one block of a library with errors; runs on a worker."""
    settings = Config.from_dict(config)
    span = range(*block_span(settings, "train", block))
    return library_arrays([trace_wrong_group(settings, index) for index in span])


class WrongLibrary(Library):
    """Candidate library of the training rooms, traced by a twin with errors; observations come from the true rooms."""

    folder = "wrong_candidates"
    command = "locus reproduce"
    title = "candidates of {split}, with errors"

    def __post_init__(self) -> None:
        if self.split != "train":
            raise ValueError(f"Expected 'split' to be 'train', the only one with wrong twins, got {self.split!r}")

    def recipe(self) -> dict[str, Any]:
        """Everything that the stored values depend on."""
        return {
            **super().recipe(),
            "mismatch": dataclasses.asdict(self.run.config.mismatch),
            "errors": errors.RECIPE,
        }

    def work(self, block: int) -> tuple[Callable[..., Arrays], tuple[Any, ...]]:
        """Trace the groups of a block with a wrong twin."""
        return trace_wrong_block, (block, self.run.config.to_dict())
