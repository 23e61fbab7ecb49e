"""The table of results: rows and trainings of a run in; L, G and R of every method with intervals out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import xarray as xr

from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.scorers import UNTRAINED_TITLES
from locus.experiment.seeds import Seeds
from locus.experiment.weights import further_weights
from locus.judge import metrics
from locus.score import weight_files

SCORER_TITLES = {
    **weight_files.METHOD_TITLES,
    **UNTRAINED_TITLES,
    "phase_blind": "phase-blind receiver",
    "bayes": "Bayes limit",
}
"""Display names of methods and ideal receivers, in the order of the table."""

EVALUATION_TITLES = {"grid": "Eval Grid", "random": "Eval Random", "grid_offlist": "Eval Grid, off the list"}
"""Display names of evaluations, the paper's two first."""


class Table(Result):
    """``results/table.nc`` of a run: (method, evaluation).

    Variables ``loss`` [nat], ``gain`` and ``ratio``, each with ``_low`` and ``_high``; ``num_trainings`` (method); and
    ``num_snapshots``, ``num_groups`` and ``num_candidates`` (evaluation). Methods that are trained more than once have
    their mean over all trainings here, with intervals over rooms and trainings.
    """

    stem = "table"
    evaluations: ClassVar[tuple[str, ...]] = tuple(EVALUATION_TITLES)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Rows of all evaluations in the table, and all trainings if there are several."""
        splits = dict.fromkeys(map(EVALUATIONS.__getitem__, self.evaluations))
        seeds = [Seeds(self.run)] if further_weights(self.run) else []
        return (*(Rows(self.run, split) for split in splits), *seeds)

    def recipe(self) -> dict[str, Any]:
        """Everything that the table depends on."""
        return {"rows": {need.name: need.hash() for need in self.needs}, "recipes": {"metrics": metrics.RECIPE}}

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - no workers needed
        """Summarise the rows."""
        seeds = Seeds(self.run).open() if further_weights(self.run) else None
        columns = [
            _summary(
                Rows(self.run, EVALUATIONS[name]).open(name), None if seeds is None else seeds.sel(evaluation=name)
            )
            for name in self.evaluations
        ]
        dim = xr.DataArray(list(self.evaluations), dims="evaluation", name="evaluation")
        table = xr.concat(columns, dim, join="exact").transpose("method", "evaluation")
        self.save(table.assign(num_trainings=table.num_trainings.isel(evaluation=0)))


def _summary(rows: xr.Dataset, trainings: xr.Dataset | None) -> xr.Dataset:
    """L, G and R of one evaluation; the bootstrap seed is fixed, so that the table is reproducible."""
    num_candidates = int(rows.attrs["num_candidates"])
    shown, rng = rows.sel({"method": list(SCORER_TITLES)}), np.random.default_rng(0)
    found = metrics.summary(shown, num_candidates, rng, trainings=trainings)
    attributes = {"units": "1", "long_name": "number of candidates"}
    return found.assign(num_candidates=((), num_candidates, attributes))
