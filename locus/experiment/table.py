"""The table of results: rows of all evaluations of a run in; L, G and R of every method with intervals out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import xarray as xr

from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.rows import EVALUATIONS, Rows
from locus.judge import metrics
from locus.score import weight_files

SCORER_TITLES = {**weight_files.METHOD_TITLES, "phase_blind": "phase-blind receiver", "bayes": "Bayes limit"}
"""Display names of methods and ideal receivers, in the order of the table."""

EVALUATION_TITLES = {"grid": "Eval Grid", "random": "Eval Random", "grid_offlist": "Eval Grid, off the list"}
"""Display names of evaluations, the paper's two first."""


class Table(Result):
    """``results/table.nc`` of a run: (method, evaluation).

    Variables ``loss`` [nat], ``gain`` and ``ratio``, each with ``_low`` and ``_high``; and ``num_snapshots``,
    ``num_groups`` and ``num_candidates`` (evaluation).
    """

    stem = "table"
    evaluations: ClassVar[tuple[str, ...]] = tuple(EVALUATION_TITLES)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Rows of all evaluations in the table."""
        return tuple(Rows(self.run, split) for split in dict.fromkeys(map(EVALUATIONS.__getitem__, self.evaluations)))

    def recipe(self) -> dict[str, Any]:
        """Everything that the table depends on."""
        return {"rows": {need.name: need.hash() for need in self.needs}, "recipes": {"metrics": metrics.RECIPE}}

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - no workers needed
        """Summarise the rows."""
        columns = [_summary(Rows(self.run, EVALUATIONS[name]).open(name)) for name in self.evaluations]
        dim = xr.DataArray(list(self.evaluations), dims="evaluation", name="evaluation")
        table = xr.concat(columns, dim, join="exact").transpose("method", "evaluation")
        self.save(table)


def _summary(rows: xr.Dataset) -> xr.Dataset:
    """L, G and R of one evaluation; the bootstrap seed is fixed, so that the table is reproducible."""
    num_candidates = int(rows.attrs["num_candidates"])
    found = metrics.summary(rows.sel({"method": list(SCORER_TITLES)}), num_candidates, np.random.default_rng(0))
    attributes = {"units": "1", "long_name": "number of candidates"}
    return found.assign(num_candidates=((), num_candidates, attributes))
