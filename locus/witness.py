"""The witness: a few groups of every split as a run computed them, so that a later change of numbers is noticed.

RECIPE numbers say what is fresh; they are only as honest as those who raise them. The witness makes a forgotten one
show: what is computed now is compared with what is stored, stage by stage, and the first that differs is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from distributed import Client

from locus import estimator, groups, methods
from locus.dataset import Observations, make_snapshots, trace_group
from locus.result import Result
from locus.score import Method
from locus.weights import Weights, trained

NUM_GROUPS = 4
NUM_CANDIDATES = 50
"""Candidates of each group that are kept; all are traced, as the true transmitter is drawn among all."""
TOLERANCE = 1e-5
"""Largest difference, relative to a variable's largest value, that is not a change."""

STAGES = {
    "layout": ("x", "y", "rx_x", "rx_y", "rx_heading"),
    "twin": ("aoa", "strength", "order"),
    "observation": ("truth", "iq"),
    "estimator": ("observed_aoa", "observed_strength"),
    "features, score or baselines": ("score",),
}
"""Variables of each stage, in the order of computation."""


class Witness(Result):
    """``results/witness.nc`` of a run."""

    name = "witness"

    def recipe(self) -> dict[str, Any]:
        """All that the witness depends on."""
        numbers = {split: Observations(self.run, split).numbers() for split in groups.SPLITS}
        for one in numbers.values():
            del one["library"]["num_groups"]
        weights = {name: Weights(self.run, name).hash() for name in methods.METHODS}
        return {"observations": numbers, "weights": weights}

    def make(self, workers: Callable[[], Client] | None = None) -> None:  # noqa: ARG002 - it needs none
        """Compute and store; what was stored before is compared first, as it may show a forgotten RECIPE."""
        now = self.compute()
        if self.path.is_file():
            print("\n".join(moved(self.open(), now)), flush=True)
        self.save(now)

    def compute(self) -> xr.Dataset:
        """The groups as they come out now; one set of variables a split, like ``test.aoa``."""
        scorers = trained(self.run)
        parts: dict[str, xr.DataArray] = {}
        for split in groups.SPLITS:
            count = min(NUM_GROUPS, groups.num_groups(self.run.config, split))
            made = xr.concat([self._group(split, index, scorers) for index in range(count)], "group")
            parts |= {f"{split}.{name}": _apart(split, made[name]) for name in made.data_vars}
        return xr.Dataset(parts)

    def _group(self, split: str, index: int, scorers: dict[str, Method]) -> xr.Dataset:
        config = self.run.config
        paths = trace_group(config, split, index)
        snapshots = make_snapshots(config, split, index, paths)
        observed = estimator.estimate(snapshots, config.estimator)
        few = paths.isel(candidate=slice(NUM_CANDIDATES))
        scores = [scorer.log_posterior(few, observed) for scorer in scorers.values()]
        poses = {name: paths[name].values for name in ("rx_x", "rx_y", "rx_heading")}
        iq = snapshots.iq.values[:, 0, 0] / np.sqrt(snapshots.attrs["noise_power"])
        return xr.Dataset(
            {
                **{name: ((), value) for name, value in poses.items()},
                **{name: ("candidate", few[name].values) for name in ("x", "y")},
                "aoa": (("candidate", "path"), few.aoa.values),
                "strength": (("candidate", "path"), abs(few.gain.values)),
                "order": (("candidate", "path"), few.order.values),
                "truth": ("snapshot", snapshots.truth.values),
                "iq": (("part", "snapshot"), np.stack([iq.real, iq.imag])),
                "observed_aoa": (("snapshot", "observed_path"), observed.aoa.values),
                "observed_strength": (("snapshot", "observed_path"), abs(observed.gain.values)),
                "score": (("method", "snapshot", "candidate"), np.stack([score.values for score in scores])),
            }
        )


def moved(stored: xr.Dataset, now: xr.Dataset) -> list[str]:
    """What differs, in words, in the order of computation: the first names the module that moved."""
    found = []
    for stage, names in STAGES.items():
        for name in sorted(now.data_vars, key=str):
            split, _, variable = str(name).partition(".")
            if variable in names and not _close(stored, now, str(name)):
                found.append(f"{stage} moved: '{variable}' of {split} differs; raise its RECIPE and run again")
    return found


def _close(stored: xr.Dataset, now: xr.Dataset, name: str) -> bool:
    if name not in stored or stored[name].shape != now[name].shape:
        return False
    before, after = (data[name].values.astype(float) for data in (stored, now))
    scale = max(np.abs(before).max(), np.finfo(float).tiny)
    return bool(np.abs(before - after).max() <= TOLERANCE * scale)


def _apart(split: str, values: xr.DataArray) -> xr.DataArray:
    """Dimensions named by the split: their lengths differ."""
    return values.rename({dim: f"{split}.{dim}" for dim in values.dims})
