"""Accuracy of the Bayes limit: held-out groups in; its convergence, and its loss off the candidates, out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from locus.experiment.case import Case
from locus.judge import metrics
from locus.score.limits import LIMITS, bayes
from locus.score.method import Method, Scorer
from locus.settings.config import Config
from locus.twin import make_twin

_SPLIT = "eval_random"


def convergence(config: Config, index: int, num_bins: Sequence[int]) -> xr.DataArray:
    """Adjusted loss (num_bins) [nat] of the Bayes limit on one group, over the number of sync-offset bins."""
    case = Case(config, _SPLIT, index)
    truth = xr.DataArray(case.truth, dims="snapshot")
    loss = []
    for bins in num_bins:
        logs = bayes(case.paths, case.snapshots, num_bins=bins).isel(candidate=truth)
        loss.append(float(-logs.mean()) - np.log(case.paths.sizes["candidate"]))
    return xr.DataArray(
        loss, {"num_bins": list(num_bins)}, "num_bins", "loss", {"units": "nat", "long_name": "adjusted loss"}
    )


def move_transmitters(
    config: Config, scorer: Method, num_groups: int, distances: Sequence[float], num_candidates: int = 200
) -> xr.Dataset:
    """Loss of the limits and of LOCUS-DT when transmitters are slightly off their candidates.

    The transmitters of the first groups of Eval Random are moved by each of ``distances`` [m] from their candidates, as
    in :class:`locus.experiment.case.Moved`. The truth is the nearest of ``num_candidates`` candidates. Everything is
    traced with the exact image twin, so that the displacement is the only mismatch.

    Returns:
        Dataset (distance, method) from :func:`locus.judge.metrics.summary`.
    """
    count = min(num_candidates, config.evaluation.num_candidates)
    short = replace(config, evaluation=replace(config.evaluation, num_candidates=count))
    twin = make_twin("image", config.radio, config.twin)
    scorers: dict[str, Scorer] = {scorer.name: scorer, **LIMITS}
    parts: dict[float, list[xr.Dataset]] = {distance: [] for distance in distances}
    for index in range(num_groups):
        on_list = Case(short, _SPLIT, index, twin)
        for distance in distances:
            case = on_list.moved(distance, distances)
            logs = [case.log_posterior(one).values[np.arange(len(case.truth)), case.truth] for one in scorers.values()]
            parts[distance].append(
                xr.Dataset(
                    {"log_posterior": (("snapshot", "method"), np.stack(logs, axis=1))},
                    coords={"method": list(scorers), "group": ("snapshot", np.full(len(case.truth), index))},
                )
            )
    found = [metrics.summary(xr.concat(one, "snapshot"), count, np.random.default_rng(0)) for one in parts.values()]
    dim = xr.DataArray(list(distances), dims="distance", name="distance", attrs={"units": "m"})
    return xr.concat(found, dim).assign_attrs(num_candidates=count)
