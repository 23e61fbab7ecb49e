"""Checks of the Bayes limit: held-out groups in; how it converges, and how it is lost, out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from locus.experiment import case
from locus.experiment.case import make_snapshots, trace_group
from locus.judge import metrics
from locus.receiver import estimator
from locus.receiver.observation import observe
from locus.score import limits
from locus.score.method import Method
from locus.settings.config import Config
from locus.twin import make_twin

_SPLIT = "eval_random"
_TRACED = ["aoa", "delay", "gain", "valid"]


def convergence(config: Config, index: int, num_bins: Sequence[int]) -> xr.DataArray:
    """Adjusted loss of the Bayes limit on the snapshots of one group, (num_bins), by bins of the sync offset."""
    paths = trace_group(config, _SPLIT, index)
    snapshots = make_snapshots(config, _SPLIT, index, paths)
    truth = xr.DataArray(snapshots.truth.values, dims="snapshot")
    loss = []
    for bins in num_bins:
        logs = limits.bayes(paths, snapshots, num_bins=bins).isel(candidate=truth)
        loss.append(float(-logs.mean()) - np.log(paths.sizes["candidate"]))
    return xr.DataArray(
        loss, {"num_bins": list(num_bins)}, "num_bins", "loss", {"units": "nat", "long_name": "adjusted loss"}
    )


def moved(
    config: Config,
    scorer: Method,
    num_groups: int,
    distances: Sequence[float],
    rng: np.random.Generator,
    num_candidates: int = 200,
) -> xr.Dataset:
    """What is left of the limits, and of LOCUS-DT, when the transmitter is not quite where its candidate is.

    The transmitters of the first groups of Eval Random each move by the same distances [m] in one direction of their
    own, in which they meet no wall; sync offset, phase and noise stay the same, and so does the
    list, the first ``num_candidates`` of the group's. All are traced with the exact image twin, so that moving is all
    that changes.

    Returns:
        Dataset (distance, method) as :func:`locus.judge.metrics.summary` gives it.
    """
    count = min(num_candidates, case.num_candidates(config, _SPLIT))
    parts = [_moved_rows(config, scorer, index, distances, rng, count) for index in range(num_groups)]
    rows = xr.concat(parts, "snapshot")
    found = [metrics.summary(rows.sel(distance=d), count, np.random.default_rng(0)) for d in distances]
    dim = xr.DataArray(list(distances), dims="distance", name="distance", attrs={"units": "m"})
    return xr.concat(found, dim).assign_attrs(num_candidates=count)


def _moved_rows(
    config: Config,
    scorer: Method,
    index: int,
    distances: Sequence[float],
    rng: np.random.Generator,
    num_candidates: int,
) -> xr.Dataset:
    """Log posteriors (distance, snapshot, method) of the true candidates of one group."""
    twin = make_twin("image", config.radio, config.twin)
    layout, pose, candidates = case.draw(config, _SPLIT, index)
    candidates = candidates[:num_candidates]
    paths = twin.trace(layout, pose, candidates)
    heard = np.flatnonzero(paths.valid.any("path"))
    count = case.num_snapshots(config, _SPLIT)
    direction = np.full((count, 2), np.nan)
    logs = []
    for distance in distances:
        rngs = [case.snapshot_rng(config, _SPLIT, index, s) for s in range(count)]
        truth = np.array([one.choice(heard) for one in rngs])
        while (blocked := np.isnan(direction[:, 0])).any():
            angle = rng.uniform(0, 2 * np.pi, blocked.sum())
            drawn = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
            free = layout.is_free(candidates[truth[blocked]] + max(distances) * drawn, clearance=0.0)
            direction[np.flatnonzero(blocked)[free]] = drawn[free]
        there = twin.trace(layout, pose, candidates[truth] + distance * direction)[_TRACED].reset_coords(drop=True)
        snapshots = observe(there.rename(candidate="snapshot"), rngs, config.radio)
        posteriors = {
            scorer.name: scorer.log_posterior(paths, estimator.estimate(snapshots, config.estimator)),
            "phase_blind": limits.phase_blind(paths, snapshots),
            "bayes": limits.bayes(paths, snapshots),
        }
        logs.append([values.values[np.arange(count), truth] for values in posteriors.values()])
    return xr.Dataset(
        {"log_posterior": (("distance", "method", "snapshot"), np.array(logs))},
        coords={"distance": list(distances), "method": list(posteriors), "group": ("snapshot", np.full(count, index))},
    )
