"""The witness: a few groups of every split, stored stage by stage to detect later changes of the computed numbers.

Freshness relies on people increasing ``RECIPE`` numbers (:mod:`locus.book.recipes`); the witness shows when one was
forgotten. Each stage is recomputed from the *stored* output of the stage before it, so that only the stage whose code
changed differs. The tolerance of a stage covers the rounding of its own arithmetic, so that the comparison passes on
every processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.weights import Weights, trained
from locus.experiment.witness_stages import STAGES, Given
from locus.score import weight_files

FORMAT = 2
"""Version of the file; increased when the stored variables change."""
NUM_GROUPS = 4
"""Groups stored per split, if it has as many."""


class Witness(Result):
    """``results/witness.nc`` of a run."""

    stem = "witness"

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of all methods."""
        return tuple(Weights(self.run, method) for method in weight_files.METHODS)

    def recipe(self) -> dict[str, Any]:
        """Everything that the witness depends on."""
        return {
            "estimates": {split: ingredients.of_estimates(self.run.config, split) for split in splits.SPLITS},
            "weights": {need.name: need.hash() for need in self.needs},
            "format": FORMAT,
        }

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - no workers needed
        """Estimated time [s]."""
        return 20.0

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - no workers needed
        """Compute and store all stages; a fresh witness is compared first, to reveal a forgotten ``RECIPE``."""
        if self.fresh():
            print("\n".join(self.differences()), flush=True)
        scorers = trained(self.run)
        parts: dict[str, xr.DataArray] = {}
        for split, count in self._groups().items():
            made = []
            for index in range(count):
                group = xr.Dataset()
                for stage in STAGES.values():
                    group = group.merge(stage.compute(Given(self.run.config, split, index, group, scorers)))
                made.append(group)
            together = xr.concat(made, "group")
            # Prefix dimensions by the split, as their lengths differ between splits
            apart = together.rename({dim: f"{split}.{dim}" for dim in together.dims})
            parts |= {f"{split}.{name}": apart[name] for name in apart.data_vars}
        self.save(xr.Dataset(parts), [name for name, values in parts.items() if values.dtype == np.float64])

    def differences(self) -> list[str]:
        """One line per stage that no longer reproduces its stored output, first stage first."""
        stored, scorers = self.open(), trained(self.run)
        found: dict[str, str] = {}
        for split, count in self._groups().items():
            prefix = f"{split}."
            names = {name: str(name).removeprefix(prefix) for name in stored.data_vars if str(name).startswith(prefix)}
            kept = stored[list(names)].rename(names)
            kept = kept.rename({dim: str(dim).removeprefix(prefix) for dim in kept.dims})
            for index in range(count):
                group = kept.isel(group=index)
                for module, stage in STAGES.items():
                    given = Given(self.run.config, split, index, group, scorers)
                    different = stage.differs(given, stage.compute(given))
                    if different:
                        found.setdefault(module, f"{different} of {split}")
        return [
            f"{module} no longer reproduces {found[module]}; raise its RECIPE and run again"
            for module in STAGES
            if module in found
        ]

    def _groups(self) -> dict[str, int]:
        return {split: min(NUM_GROUPS, splits.num_groups(self.run.config, split)) for split in splits.SPLITS}
