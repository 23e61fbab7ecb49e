"""Moved transmitters: LOCUS-DT and ideal receivers in; their loss with transmitters slightly off candidates, out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.over_groups import over_groups
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.score import limits, weight_files
from locus.score.limits import RECEIVERS
from locus.score.method import Scorer
from locus.settings.config import Config
from locus.twin import make_twin

RECIPE = 1

NUM_LAYOUTS = 200
"""Number of groups, the first of Eval Random; at most a quarter of its groups."""

NUM_CANDIDATES = 200
"""Number of candidates per group, to save time; at most as many as Eval Random has."""

DISTANCES = (0.0, 0.001, 0.005, 0.02, 0.1, 0.4)
"""Distances [m] of the transmitters from their candidates."""

_SPLIT = "eval_random"
_SECONDS = 3e-4  # both receivers, per snapshot, candidate and distance, on a busy machine


def evaluate_group(config: Config, index: int, scorers: dict[str, Scorer]) -> xr.Dataset:
    """Log posteriors (distance, snapshot, method) of the truths of a group of Eval Random.

    Transmitters are moved as in :class:`locus.experiment.case.Moved`; the truth is the candidate nearest to them.
    Everything is traced with the exact image twin, so that the displacement is the only mismatch.
    """
    on_list = Case(config, _SPLIT, index, make_twin("image", config.radio, config.twin))
    rows = np.arange(len(on_list.truth))
    logs = []
    for distance in DISTANCES:
        case = on_list.moved(distance, DISTANCES)
        logs.append([case.log_posterior(one).values[rows, case.truth] for one in scorers.values()])
    attributes = {"units": "nat", "long_name": "log posterior of the candidate nearest to the transmitter"}
    return xr.Dataset(
        {"log_posterior": (("distance", "snapshot", "method"), np.moveaxis(np.array(logs), 1, 2), attributes)},
        coords={
            "distance": ("distance", list(DISTANCES), {"units": "m", "long_name": "distance from the candidate"}),
            "method": list(scorers),
            "group": ("snapshot", np.full(len(rows), index)),
        },
    )


class MovedTransmitters(Result):
    """``results/moved.nc`` of a run: ``log_posterior`` (distance, snapshot, method) of LOCUS-DT and both receivers."""

    stem = "moved"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of LOCUS-DT."""
        return (Weights(self.run, "locus_dt"),)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "estimates": ingredients.of_estimates(self._config, _SPLIT, "image"),
            "weights": Weights(self.run, "locus_dt").hash(),
            "distances": list(DISTANCES),
            "num_groups": self.num_groups,
            "recipes": {"limits": limits.RECIPE, "moved": RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        evaluation = self._config.evaluation
        group = len(DISTANCES) * evaluation.num_snapshots * evaluation.num_candidates * _SECONDS
        return self.num_groups * group / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups at every distance."""
        config = self._config
        method = weight_files.load_method(Weights(self.run, "locus_dt").path)[0]
        scorers: dict[str, Scorer] = {method.name: method, **RECEIVERS}
        groups = range(self.num_groups)
        with tqdm(total=len(groups), desc="moving transmitters", unit="group") as bar:
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, scorers=scorers)
        self.save(rows, num_candidates=config.evaluation.num_candidates)

    @property
    def _config(self) -> Config:
        """Settings of the run, with shorter lists of candidates."""
        config = self.run.config
        count = min(NUM_CANDIDATES, config.evaluation.num_candidates)
        return replace(config, evaluation=replace(config.evaluation, num_candidates=count))


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, gain and ratio (distance, method) with intervals; all distances share the bootstrap resamples."""
    parts = [
        metrics.summary(rows.sel(distance=distance), rows.attrs["num_candidates"], np.random.default_rng(0))
        for distance in rows.distance.values
    ]
    return xr.concat(parts, rows.distance)


def cost(rows: xr.Dataset, distance: float) -> xr.Dataset:
    """Loss at a distance [m] minus that on the candidates, paired: ``difference`` (method) [nat], with intervals."""
    ends = {0.0: "on", distance: "off"}
    found = []
    for name in rows.method.values:
        logs = rows[["log_posterior"]].sel({"distance": list(ends), "method": name}).drop_vars("method")
        pair = logs.rename(distance="method").assign_coords(method=list(ends.values()))
        found.append(metrics.paired(pair, "off", "on", np.random.default_rng(0)))
    return xr.concat(found, rows.method)
