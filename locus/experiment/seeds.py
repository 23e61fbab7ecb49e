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
from locus.settings import checksums

JUDGED = ("grid", "random", "grid_offlist")
"""Evaluations of every training."""

_SPLITS = tuple(dict.fromkeys(EVALUATIONS[name] for name in JUDGED))


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
        return tuple(rows for split in _SPLITS for rows in (Rows(self.run, split), self._further(split)))

    def _first(self, split: str) -> Rows:
        """Rows of the first training of the methods that have further ones."""
        names = dict.fromkeys(one.method for one in further_weights(self.run).values())
        return Rows(self.run, split, tuple(names))

    def _further(self, split: str) -> Rows:
        return Rows(self.run, split, tuple(further_weights(self.run)))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            kind: {split: rows(split).hash() for split in _SPLITS}
            for kind, rows in (("first", self._first), ("further", self._further))
        }

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - no workers needed
        """Average the rows of each layout, then remove those of the further trainings: they are large."""
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
        about = {"units": "nat", "long_name": "mean log posterior of the true candidates of a layout"}
        self.save(data.assign_attrs(about).to_dataset(name="log_posterior"))
        for split in _SPLITS:
            for path in self._further(split).files:
                checksums.remove(path)

    def _means(self) -> Iterator[xr.DataArray]:
        """Mean log posterior (network, group) of every evaluation in turn."""
        for name in JUDGED:
            both = [rows(EVALUATIONS[name]).open(name).log_posterior for rows in (self._first, self._further)]
            joined = xr.concat(both, "method", join="exact", coords="minimal", compat="override")
            yield joined.groupby("group").mean().transpose("method", "group").rename(method="network")
