"""The table of results: rows of every evaluation of a run in; L, G and R of every method with intervals out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from locus import methods, metrics, netcdf
from locus.evaluation import EVALUATIONS, Rows
from locus.run import Run, fingerprint, versions

TITLES = {**methods.TITLES, "blind_limit": "blind limit", "bayes_limit": "Bayes limit"}
"""Names to show, in the table's order."""

EVALUATION_TITLES = {"grid": "Eval Grid", "random": "Eval Random", "grid_offlist": "Eval Grid, off the list"}
"""The same for evaluations, the paper's two first."""


@dataclass(frozen=True)
class Table:
    """``results/table.nc`` of a run: (method, evaluation)."""

    run: Run
    evaluations: ClassVar[tuple[str, ...]] = tuple(EVALUATION_TITLES)

    @property
    def path(self) -> Path:
        """File of the table."""
        return self.run.results / "table.nc"

    @property
    def splits(self) -> list[str]:
        """Splits whose rows are read."""
        return list(dict.fromkeys(EVALUATIONS[name] for name in self.evaluations))

    def recipe(self) -> dict[str, Any]:
        """All that the table depends on."""
        return {
            "rows": {split: Rows(self.run, split).hash() for split in self.splits},
            "recipes": {"metrics": metrics.RECIPE},
        }

    def hash(self) -> str:
        """Short name of the recipe."""
        return fingerprint(self.recipe())

    def fresh(self) -> bool:
        """Whether the table is there and is what the settings ask for now."""
        return netcdf.hash_of(self.path) == self.hash()

    def make(self, workers: object = None) -> None:  # noqa: ARG002 - steps are given workers; this one needs none
        """Summarise the rows."""
        columns = [_summary(Rows(self.run, EVALUATIONS[name]).open(name)) for name in self.evaluations]
        dim = xr.DataArray(list(self.evaluations), dims="evaluation", name="evaluation")
        table = xr.concat(columns, dim, join="exact").transpose("method", "evaluation")
        netcdf.save(self.path, table, {"hash": self.hash(), "versions": str(versions())})

    def open(self) -> xr.Dataset:
        """``loss`` [nat], ``gain`` and ``ratio``, each with ``_low`` and ``_high``, (method, evaluation).

        On ``evaluation`` alone: ``num_snapshots``, ``num_groups`` and ``num_candidates``.
        """
        return netcdf.load(self.path)


def _summary(rows: xr.Dataset) -> xr.Dataset:
    """L, G and R of one evaluation; resamples always the same, so that the table is."""
    num_candidates = int(rows.attrs["num_candidates"])
    found = metrics.summary(rows.sel({"method": list(TITLES)}), num_candidates, np.random.default_rng(0))
    attributes = {"units": "1", "long_name": "number of candidates"}
    return found.assign(num_candidates=((), num_candidates, attributes))
