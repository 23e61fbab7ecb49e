"""Seeds: methods trained again from other seeds in; the loss of every training per layout out.

The table's intervals need them: another training of the same network on the same rooms gives another loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import xarray as xr

from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.weights import further_weights

JUDGED = ("grid", "random", "grid_offlist")
"""Evaluations of every training."""


class Seeds(Result):
    """``results/seeds.nc`` of a run: all trainings of the methods that are trained more than once.

    ``log_posterior`` (network, evaluation, group) is the log posterior of the true candidate, averaged over the
    snapshots of a layout. The coordinates ``method`` and ``seed`` (network) say which training it is; seed 0 is the one
    whose weights are used. Rows of the other trainings are not kept.
    """

    stem = "seeds"

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Rows of every training."""
        return tuple(rows for pair in self._rows.values() for rows in pair)

    @property
    def _rows(self) -> dict[str, tuple[Rows, Rows]]:
        """Rows of the first and of the further trainings, by split."""
        further = further_weights(self.run)
        first = tuple(dict.fromkeys(one.method for one in further.values()))
        names = dict.fromkeys(EVALUATIONS[name] for name in JUDGED)
        return {split: (Rows(self.run, split, first), Rows(self.run, split, tuple(further))) for split in names}

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {"rows": {need.name: need.hash() for need in self.needs}}

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - no workers needed
        """Average the rows over layouts, then remove those of the further trainings: they are large."""
        further = further_weights(self.run)
        parts = xr.concat(list(self._means()), xr.DataArray(list(JUDGED), dims="evaluation", name="evaluation"))
        names = {
            name: (further[name].method, further[name].seed) if name in further else (name, 0)
            for name in parts.network.values
        }
        data = parts.drop_vars("network").assign_coords(
            method=("network", [method for method, _ in names.values()]),
            seed=("network", [seed for _, seed in names.values()], {"units": "1", "long_name": "seed of the training"}),
        )
        about = {"units": "nat", "long_name": "log posterior of the true candidate, averaged over the layout"}
        self.save(data.assign_attrs(about).to_dataset(name="log_posterior"))
        for _, again in self._rows.values():
            for path in again.files:
                path.unlink()

    def _means(self) -> Iterator[xr.DataArray]:
        """Mean log posterior (network, group) of every evaluation in turn."""
        for name in JUDGED:
            both = [rows.open(name).log_posterior for rows in self._rows[EVALUATIONS[name]]]
            joined = xr.concat(both, "method", join="exact", coords="minimal", compat="override")
            yield joined.groupby("group").mean().transpose("method", "group").rename(method="network")
