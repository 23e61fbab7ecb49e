"""The other twin: a run's weights and first evaluation groups in; how much the loss depends on who traced them out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from distributed import Client

from locus.experiment import cluster, evaluation
from locus.experiment.artifact import Result
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.score import weight_files
from locus.settings.config import BACKENDS, Config

NUM_LAYOUTS = 200
"""Groups of each evaluation, the first ones; all, if there are fewer."""

EVALUATIONS = {"random": "eval_random", "grid": "eval_grid"}


class OtherTwin(Result):
    """``results/other_twin.nc`` of a run: LOCUS-DT's log posteriors of the truth, (snapshot, method), by evaluation.

    ``method`` names the twin that traced candidates and transmitters; weights, rooms and noise are the same.
    """

    name = "other_twin"

    @property
    def twins(self) -> tuple[str, str]:
        """The run's own evaluation twin, and the other one."""
        own = self.run.config.twin.evaluation
        return own, next(name for name in BACKENDS if name != own)

    def recipe(self) -> dict[str, Any]:
        """All that the file depends on."""
        rows = {split: evaluation.Rows(self.run, split, ("locus_dt",)).recipe() for split in EVALUATIONS.values()}
        return {"rows": rows, "num_layouts": self._count}

    def make(self, workers: Callable[[], Client] | None = None) -> None:
        """Evaluate the first groups with the other twin, beside the run's own rows."""
        config, (own, other) = self._config, self.twins
        scorers = {"locus_dt": weight_files.load_method(Weights(self.run, "locus_dt").path)[0]}
        parts = {}
        for name, split in EVALUATIONS.items():
            spans = [(first, min(first + 5, self._count)) for first in range(0, self._count, 5)]
            work = functools.partial(evaluation.task, config=config.to_dict(), split=split, scorers=scorers)
            made = dict(cluster.each(workers() if workers else None, work, spans))
            theirs = xr.concat([made[span] for span in spans], "snapshot").sel(evaluation=name)
            ours = evaluation.Rows(self.run, split).open(name).sel({"method": ["locus_dt"]})
            pair = [ours.isel(snapshot=(ours.group < self._count).values), theirs]
            logs = np.concatenate([one.log_posterior.values for one in pair], axis=1)
            attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
            parts[name] = xr.DataArray(logs, dims=("snapshot", "method"), attrs=attributes)
        data = xr.Dataset(parts, {"method": [own, other], "group": ("snapshot", theirs.group.values)})
        self.save(data)

    def difference(self, name: str) -> xr.Dataset:
        """Loss with the other twin less that with the run's own, on the same snapshots of an evaluation, [nat]."""
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
