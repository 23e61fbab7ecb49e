"""What phases are worth: the first rooms of Eval Random in; the truth's log posterior under the phase-free limit out.

The limit is sampled, which takes seconds per room, so it is computed for some rooms only, and stored beside the rows
of the methods that it is compared with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.over_groups import over_groups
from locus.experiment.rows import Rows
from locus.experiment.table import SCORER_TITLES
from locus.score import phase_free
from locus.settings.config import Config

NUM_LAYOUTS = 100
"""Number of groups, the first of Eval Random; at most a quarter of its groups."""
NUM_SNAPSHOTS = 2
"""Number of snapshots, the first of each group."""

METHODS = ("locus_dt", "phase_blind", "phase_free", "bayes")
"""All methods of the result, in the order of what each knows."""
TITLES = {**SCORER_TITLES, "phase_free": "phase-free limit"}
"""Display names."""

_SPLIT = "eval_random"
_COMPARED = tuple(name for name in METHODS if name in SCORER_TITLES)  # evaluated on all groups
_SECONDS = 4.0  # per group with 1000 candidates


def evaluate_group(config: Config, index: int) -> xr.Dataset:
    """Log posterior (snapshot) of the truth of a group under the phase-free limit, and its Monte Carlo error [nat]."""
    case = Case(config, _SPLIT, index)
    snapshots = case.snapshots.isel(snapshot=slice(NUM_SNAPSHOTS))
    truth = snapshots.truth.values
    found = phase_free.phase_free(case.paths, snapshots, truth, splits.phase_rng(config, _SPLIT, index))
    own = found.isel(candidate=xr.DataArray(truth, dims="snapshot")).reset_coords(drop=True)
    return own[["log_posterior", "standard_error"]].assign_coords(group=("snapshot", np.full(len(truth), index)))


class UnknownPhases(Result):
    """``results/phase_free.nc`` of a run: ``log_posterior`` (snapshot, method) of the truth, and ``standard_error``.

    ``standard_error`` (snapshot) is the Monte Carlo error of the phase-free limit.
    """

    stem = "phase_free"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Rows of Eval Random."""
        return (Rows(self.run, _SPLIT),)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "rows": Rows(self.run, _SPLIT, _COMPARED).recipe(),
            "num_groups": self.num_groups,
            "num_snapshots": NUM_SNAPSHOTS,
            "recipes": {"phase_free": phase_free.RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return _SECONDS * self.num_groups * self.run.config.evaluation.num_candidates / 1000 / num_workers

    def make(self, workers: Workers = here) -> None:
        """Sample the limit for the first groups, and store it beside the run's own rows of the same snapshots."""
        groups = range(self.num_groups)
        with tqdm(total=len(groups), desc="sampling unknown phases", unit="group") as bar:
            made = over_groups(evaluate_group, self.run.config, groups, workers(), progress=bar.update)
        rows = Rows(self.run, _SPLIT, _COMPARED).open("random")
        first = np.arange(rows.sizes["snapshot"]) % self.run.config.evaluation.num_snapshots < NUM_SNAPSHOTS
        rows = rows.isel(snapshot=first & (rows.group.values < len(groups)))
        logs = xr.concat([rows.log_posterior, made.log_posterior.expand_dims({"method": ["phase_free"]})], "method")
        data = xr.Dataset(
            {"log_posterior": logs.transpose("snapshot", "method"), "standard_error": made.standard_error}
        )
        self.save(data.sel({"method": list(METHODS)}), num_candidates=self.run.config.evaluation.num_candidates)


def standard_error(rows: xr.Dataset) -> float:
    """Monte Carlo standard error [nat] of the phase-free limit's mean loss."""
    return float(np.sqrt((rows.standard_error.astype(float) ** 2).sum()) / rows.sizes["snapshot"])
