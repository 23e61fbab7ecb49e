"""Temperature of the nearest fingerprint: validation rooms in, the one with the smallest adjusted loss out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.libraries import estimate_seconds, trace_seconds
from locus.experiment.over_groups import over_groups
from locus.score import fingerprint, path_lists
from locus.score.fingerprint import Fingerprint
from locus.settings.config import Config

RECIPE = 1

TEMPERATURES = np.geomspace(0.02, 1.0, 201)
"""Temperatures to choose from, in steps of 2 %: finer than the best one can be determined."""

LEAST_GROUPS = 20
"""Smallest number of rooms, if the train split has as many: in a few rooms the nearest may always be the true one."""


def evaluate_group(config: Config, index: int) -> xr.Dataset:
    """Adjusted loss (snapshot, temperature) of the nearest fingerprint in a training room, with an exact twin."""
    case = Case(config, "train", index)
    distance = Fingerprint(1.0).distance(case.paths, case.observed).values
    distance -= distance.min(axis=1, keepdims=True)
    true = distance[np.arange(len(distance)), case.truth]
    losses = [
        true / one + np.log(np.exp(-distance / one).sum(axis=1)) - math.log(distance.shape[1]) for one in TEMPERATURES
    ]
    attributes = {"units": "nat", "long_name": "adjusted loss"}
    return xr.Dataset(
        {"loss": (("snapshot", "temperature"), np.stack(losses, axis=1), attributes)},
        {"temperature": ("temperature", TEMPERATURES, {"units": "1", "long_name": "temperature"})},
    )


class Temperature(Result):
    """``results/temperature.nc`` of a run: ``best`` temperature, and the mean ``loss`` (temperature) [nat].

    The rooms are those that validate during training, with exact twins, and some before them if these are too few.
    """

    stem = "temperature"

    @property
    def groups(self) -> range:
        """The last rooms of the train split."""
        held_out = splits.validation_groups(self.run.config)
        return range(max(min(held_out.start, held_out.stop - LEAST_GROUPS), 0), held_out.stop)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "estimates": ingredients.of_estimates(self.run.config, "train"),
            "groups": [self.groups.start, self.groups.stop],
            "recipes": {
                "fingerprint": fingerprint.RECIPE,
                "path_lists": path_lists.RECIPE,
                "temperature": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        config = self.run.config
        return len(self.groups) * (trace_seconds(config, "train") + estimate_seconds(config, "train")) / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the rooms at every temperature, and keep the best."""
        config = self.run.config
        with tqdm(total=len(self.groups), desc="fitting the fingerprint", unit="group") as bar:
            rows = over_groups(evaluate_group, config, self.groups, workers(), progress=bar.update)
        loss = rows.loss.mean("snapshot", keep_attrs=True)
        attributes = {"units": "1", "long_name": "temperature with the smallest loss"}
        best = TEMPERATURES[int(loss.argmin("temperature"))]
        self.save(xr.Dataset({"loss": loss, "best": ((), best, attributes)}), ["best"])
