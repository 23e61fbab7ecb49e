"""Behaviour of the score: a trained method and recomputed groups in, labelled numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shapely
import torch
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from locus.experiment.case import Case
from locus.experiment.run import Run
from locus.judge.credible import smallest_set
from locus.receiver.estimator import estimate, threshold
from locus.room.layout import away_from
from locus.score import train, weight_files
from locus.score.method import Method
from locus.settings.config import Config
from locus.twin import make_twin


def trace_points(case: Case, points: NDArray[np.float64]) -> xr.Dataset:
    """Trace positions (point, 2) [m] in the room of a case with the image twin, except those at the receiver."""
    twin = make_twin("image", case.config.radio, case.config.twin)
    return twin.trace(case.layout, case.pose, away_from(case.pose, points))


def scores(method: Method, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float64]:
    """Scores g (snapshot, candidate) of eq. (14), not normalised."""
    device = next(method.parameters()).device
    inputs = (method.candidates(paths), method.conditions(paths, observed))
    with torch.no_grad():
        values = method(*(torch.from_numpy(part).to(device) for part in inputs))
    return np.asarray(values.double().cpu().numpy())


def sampled_normaliser(
    pool: NDArray[np.float64], true: NDArray[np.float64], sizes: Sequence[int], rng: Generator, num_draws: int = 400
) -> xr.Dataset:
    r"""Spread of the normaliser in eq. (16), and of the resulting loss, over random candidates and their number.

    Args:
        pool: scores (snapshot, candidate) of very many uniform candidates, which approximate the integral in eq. (10).
        true: scores (snapshot) of the true candidates.
        sizes: numbers of candidates, at least 2.
        rng: draws candidates from the pool, with replacement.
        num_draws: number of candidate lists of each size.

    Returns:
        Dataset (size, snapshot, quantile), with quantiles 5, 50 and 95 %, of ``log_ratio``, the log of the mean of
        :math:`e^g` over a list relative to the pool [nat], and ``loss``, the adjusted loss of the truth among size − 1
        others [nat]. Also ``share`` (snapshot), the share of free space that the posterior fills:
        :math:`\bigl(\overline{e^g}\bigr)^2 / \overline{e^{2g}}`.
    """
    if min(sizes) < 2:
        raise ValueError(f"Expected 'sizes' of at least 2, got {list(sizes)}")
    top = np.maximum(pool.max(axis=1), true)[:, np.newaxis]
    weights, own = np.exp(pool - top), np.exp(true[:, np.newaxis] - top)
    mean = weights.mean(axis=1)
    ratios, losses = [], []
    for size in sizes:
        drawn = weights[:, rng.integers(pool.shape[1], size=(num_draws, size))]
        ratios.append(np.log(drawn.mean(axis=2) / mean[:, np.newaxis]))
        losses.append(np.log((own + drawn[..., 1:].sum(axis=2)) / own) - math.log(size))
    quantiles = np.array([0.05, 0.5, 0.95])
    dims = ("size", "snapshot", "quantile")
    described = (
        ("log_ratio", ratios, "error of the log normalising constant"),
        ("loss", losses, "adjusted loss of the snapshot"),
    )
    data = xr.Dataset(
        {
            name: (
                dims,
                np.moveaxis(np.quantile(values, quantiles, axis=2), 0, -1),
                {"units": "nat", "long_name": text},
            )
            for name, values, text in described
        },
        coords={"size": ("size", list(sizes), {"units": "1", "long_name": "number of candidates"})},
    ).assign_coords(quantile=quantiles)
    attributes = {"units": "1", "long_name": "share of the free space that the posterior fills"}
    return data.assign(share=("snapshot", mean**2 / (weights**2).mean(axis=1), attributes))


def false_alarm_rows(
    config: Config, method: Method, rates: Sequence[float], num_groups: int, split: str = "test"
) -> xr.Dataset:
    """Rows (snapshot, method) of the first groups at several false-alarm rates, scored with one network.

    The dimension ``method`` holds the rates, as text. Variables: ``log_posterior`` of the truth, ``num_paths`` found,
    both (snapshot, method), and ``threshold_db`` (method).
    """
    options = [replace(config.estimator, false_alarm=rate) for rate in rates]
    cases = [Case(config, split, index) for index in range(num_groups)]
    together = xr.concat([case.snapshots for case in cases], "snapshot", combine_attrs="override")
    truth, group = together.truth.values, np.repeat(range(num_groups), [len(case.truth) for case in cases])
    logs, counts = np.empty((2, len(truth), len(rates)))
    for column, option in enumerate(options):
        found = estimate(together, option)
        counts[:, column] = found.valid.sum("path")
        for index, case in enumerate(cases):
            own = np.flatnonzero(group == index)
            posterior = method.log_posterior(case.paths, found.isel(snapshot=own)).values
            logs[own, column] = posterior[range(len(own)), truth[own]]
    dims = ("snapshot", "method")
    rows = xr.Dataset(
        {"log_posterior": (dims, logs), "num_paths": (dims, counts)},
        coords={"group": ("snapshot", group), "method": [f"{rate:g}" for rate in rates]},
    )
    rows.log_posterior.attrs = {"units": "nat", "long_name": "log posterior of the true candidate"}
    rows.num_paths.attrs = {"units": "1", "long_name": "number of paths found"}
    levels = [10 * math.log10(threshold(option, config.radio)) for option in options]
    return rows.assign(threshold_db=("method", levels, {"units": "dB", "long_name": "SNR of the threshold"}))


def learning_curves(run: Run, names: Sequence[str]) -> xr.Dataset:
    """Learning curves (method, epoch) from the headers of weights files, by file name."""
    return train.learning_curves(
        {name: weight_files.read_tensors(run.models / f"{name}.safetensors")[1]["training"] for name in names}
    )


def islands(log_posterior: xr.DataArray, step: float, mass: float = 0.9) -> list[float]:
    """Areas [m²], largest first, of the connected regions of the smallest set of grid points that holds ``mass``.

    Args:
        log_posterior: log posterior (candidate) on a regular grid, with coordinates x and y [m].
        step: spacing of the grid [m]; diagonal neighbours are connected, too.
        mass: posterior mass of the set.
    """
    kept = smallest_set(np.exp(log_posterior.values), mass)
    x, y, reach = log_posterior.x.values[kept], log_posterior.y.values[kept], 0.501 * step
    cells = shapely.union_all(shapely.box(x - reach, y - reach, x + reach, y + reach))
    return sorted((float(part.area) for part in shapely.get_parts(cells)), reverse=True)
