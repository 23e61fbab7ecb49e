"""The other twin: a run's weights and first evaluation groups in; how much the loss depends on the ray tracer, out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.over_groups import over_groups
from locus.experiment.rows import Rows, evaluate_group
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.score import weight_files
from locus.settings.config import BACKENDS, Config

NUM_LAYOUTS = 200
"""Number of groups, the first of each evaluation; all if there are fewer."""

EVALUATIONS = {"random": "eval_random", "grid": "eval_grid"}


class OtherTwin(Result):
    """``results/other_twin.nc`` of a run: LOCUS-DT's log posterior of the truth, (snapshot, method), per evaluation.

    ``method`` names the twin that traced candidates and transmitters; weights, rooms and noise do not differ.
    """

    stem = "other_twin"

    @property
    def twins(self) -> tuple[str, str]:
        """The run's own evaluation twin, and the other one."""
        own = self.run.config.twin.evaluation
        return own, next(name for name in BACKENDS if name != own)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of LOCUS-DT, and the rows with the run's own twin."""
        return (Weights(self.run, "locus_dt"), *(Rows(self.run, split) for split in EVALUATIONS.values()))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        rows = {split: Rows(self.run, split, ("locus_dt",)).recipe() for split in EVALUATIONS.values()}
        return {"rows": rows, "num_layouts": self._count}

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 30.0 / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups with the other twin, and store the results beside the run's own rows."""
        own, other = self.twins
        scorers = {"locus_dt": weight_files.load_method(Weights(self.run, "locus_dt").path)[0]}
        parts = {}
        for name, split in EVALUATIONS.items():
            made = over_groups(
                evaluate_group, self._config, range(self._count), workers(), split=split, scorers=scorers
            )
            theirs = made.sel(evaluation=name)
            ours = Rows(self.run, split, ("locus_dt",)).open(name)
            pair = [ours.isel(snapshot=(ours.group < self._count).values), theirs]
            logs = np.concatenate([one.log_posterior.values for one in pair], axis=1)
            attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
            parts[name] = xr.DataArray(logs, dims=("snapshot", "method"), attrs=attributes)
        data = xr.Dataset(parts, {"method": [own, other], "group": ("snapshot", theirs.group.values)})
        self.save(data)

    def difference(self, name: str) -> xr.Dataset:
        """Loss with the other twin minus that with the run's own [nat], paired over the snapshots of an evaluation."""
        rows = self.open()[[name]].rename({name: "log_posterior"})
        own, other = self.twins
        return metrics.paired(rows, other, own, np.random.default_rng(0))

    @property
    def _count(self) -> int:
        return min(NUM_LAYOUTS, self.run.config.evaluation.num_layouts)

    @property
    def _config(self) -> Config:
        config = self.run.config
        return replace(config, twin=replace(config.twin, evaluation=self.twins[1]))
