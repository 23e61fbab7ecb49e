"""Checks of the Bayes limit: held-out groups in; how it converges, and how it is lost, out."""

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
    """Adjusted loss of the Bayes limit on the snapshots of one group, (num_bins), by bins of the sync offset."""
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
    """What is left of the limits, and of LOCUS-DT, when the transmitter is not quite where its candidate is.

    The transmitters of the first groups of Eval Random move by each of ``distances`` [m] off their candidates, as
    :class:`locus.experiment.case.Moved` says; the nearest candidate of a list of ``num_candidates`` counts as the
    truth. All are traced with the exact image twin, so that moving is all that changes.

    Returns:
        Dataset (distance, method) as :func:`locus.judge.metrics.summary` gives it.
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
