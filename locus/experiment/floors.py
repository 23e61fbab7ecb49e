"""Floors of a run's methods: validation rooms, exact and wrong twins in, a share of uniform guessing for each out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.libraries import training_errors
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.floor import fit_share
from locus.room import errors
from locus.score import weight_files
from locus.score.method import Scorer
from locus.settings.config import Config

RECIPE = 1


def evaluate_group(config: Config, index: int, scorers: dict[str, Scorer]) -> xr.Dataset:
    """Log posteriors (snapshot, method) of the truths of a training room; in odd rooms the twin has errors."""
    case = Case(config, "train", index)
    exact = index % 2 == 0
    paths = case.paths if exact else case.trace_believed(case.believed(*training_errors(config, index)))
    rows = np.arange(len(case.truth))
    logs = [one.log_posterior(paths, case.seen_by(one)).values[rows, case.truth] for one in scorers.values()]
    attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
    return xr.Dataset(
        {"log_posterior": (("snapshot", "method"), np.stack(logs, axis=1), attributes)},
        coords={"method": list(scorers), "group": ("snapshot", np.full(len(rows), index))},
    )


class Floors(Result):
    """``results/floors.nc`` of a run: ``share`` (method), and the rows (snapshot, method) that it was fitted to.

    The rooms are those that validate during training, which no network was trained on. In every second one the twin
    has errors of up to ``mismatch``, as in the training of the robust network.
    """

    stem = "floors"

    @property
    def weights(self) -> dict[str, Weights]:
        """All trained methods, and LOCUS-DT trained with errors as ``robust``."""
        own = {name: Weights(self.run, name) for name in weight_files.METHODS}
        return {**own, "robust": Weights(self.run, "locus_dt", robust=True)}

    @property
    def groups(self) -> range:
        """Validation rooms of the training split."""
        return splits.validation_groups(self.run.config)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of all networks, and the constants of the path set."""
        return (*self.weights.values(), PathSetFit(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, "train"),
            "mismatch": dataclasses.asdict(config.mismatch),
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "path_set": PathSetFit(self.run).hash(),
            "groups": [self.groups.start, self.groups.stop],
            "recipes": {
                "errors": errors.RECIPE,
                "metrics": metrics.RECIPE,
                "floors": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 0.2 * len(self.groups) / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the validation rooms and fit the share of each method."""
        config = self.run.config
        scorers: dict[str, Scorer] = {
            **{name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()},
            "path_set": fitted(self.run),
        }
        with tqdm(total=len(self.groups), desc="fitting floors", unit="group") as bar:
            rows = over_groups(evaluate_group, config, self.groups, workers(), progress=bar.update, scorers=scorers)
        count = config.training.num_candidates
        shares = [fit_share(rows.log_posterior.sel({"method": name}), count) for name in scorers]
        attributes = {"units": "1", "long_name": "share of uniform guessing in the floored posterior"}
        self.save(rows.assign(share=("method", shares, attributes)), ["share"], num_candidates=count)
