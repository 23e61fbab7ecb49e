"""Bootstrap over layouts: per-snapshot values in, means and quantiles with percentile intervals out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from locus.settings.checks import check_range

CONFIDENCE = 0.95
"""Confidence level of all intervals and bands."""

ROUNDING = 1e-6
"""Rounding error of probabilities computed in single precision."""

_BLOCK = 2_000_000  # weights in memory at a time when resampling quantiles: 16 MB

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def resample(group: ArrayLike, num_snapshots: int, rng: Generator, num_resamples: int) -> tuple[Integers, Integers]:
    """Layout index of each snapshot, and the count of each layout in each resample, (resample, layout).

    The first resample is the original data, with every layout once. A single layout is not resampled further.
    """
    check_range("num_resamples", num_resamples, 40)
    if np.shape(group) != (num_snapshots,):
        raise ValueError(f"Expected 'group' of shape {(num_snapshots,)}, got {np.shape(group)}")
    names, index = np.unique(group, return_inverse=True)
    count = len(names)
    weights = np.ones((1, count), dtype=np.int64)
    if count > 1:
        weights = np.concatenate([weights, rng.multinomial(count, np.full(count, 1 / count), size=num_resamples)])
    return index, weights


def means(values: Floats, index: Integers, weights: Integers) -> Floats:
    """Mean of values (snapshot, column) over the snapshots of each resample, (resample, column)."""
    sums, infinite = np.zeros((2, weights.shape[1], values.shape[1]))
    np.add.at(sums, index, np.where(np.isinf(values), 0, values))
    np.add.at(infinite, index, np.isinf(values))  # counted separately: a layout not drawn would give 0 x inf
    sizes = np.bincount(index, minlength=weights.shape[1])[:, np.newaxis]
    with np.errstate(invalid="ignore"):  # no snapshots: NaN
        return np.where(weights @ infinite > 0, np.inf, (weights @ sums) / (weights @ sizes))


def over_trainings(values: Floats, weights: Integers, rng: Generator) -> Floats:
    """Mean of values (training, layout) over all trainings and the layouts of each resample, (resample).

    A percentile bootstrap over a handful of trainings would be too narrow. So every resample of layouts also gets a
    draw of the error of the mean over trainings: Student's t with one degree of freedom fewer than there are trainings,
    times the standard error. Percentiles of the sum are the Behrens-Fisher interval, which is slightly conservative.
    """
    count = len(values)
    draws: Floats = (weights @ values.mean(axis=0)) / weights.sum(axis=1)
    if count > 1:
        error = values.mean(axis=1).std(ddof=1) / math.sqrt(count)
        draws[1:] += error * rng.standard_t(count - 1, size=len(draws) - 1)
    return draws


def quantiles(values: Floats, index: Integers, weights: Integers, shares: Floats) -> Floats:
    """Quantiles of values (snapshot) over the snapshots of each resample, (resample, quantile)."""
    order = np.argsort(values)
    ranks = []
    for part in np.array_split(weights, -(-len(weights) * len(values) // _BLOCK)):
        reached = np.cumsum(part[:, index[order]], axis=1)
        needed = np.multiply.outer(shares, reached[:, -1]) - ROUNDING
        ranks.append(np.stack([(reached < row[:, np.newaxis]).sum(axis=1) for row in needed], axis=1))
    return np.asarray(values[order][np.concatenate(ranks)])


def with_interval(name: str, dims: tuple[str, ...], draws: Floats, units: str, long_name: str) -> dict[str, Any]:
    """Dataset variables of an estimate, ``draws[0]``, and of its percentile interval, from the other draws."""
    ordered = np.sort(draws[1:], axis=0)
    tail = int((1 - CONFIDENCE) / 2 * (len(ordered) + 1)) - 1
    # By rank, since interpolation between two infinite losses would give NaN
    ends = np.stack([ordered[tail], ordered[-1 - tail]] if len(ordered) else [np.full(draws.shape[1:], np.nan)] * 2)
    low, high = np.where(np.isnan(draws).any(axis=0), np.nan, ends)
    columns = {"": (draws[0], ""), "_low": (low, ", lower end"), "_high": (high, ", upper end")}
    return {name + end: (dims, *described(value, units, long_name + text)) for end, (value, text) in columns.items()}


def described(values: Any, units: str, long_name: str) -> tuple[Any, dict[str, str]]:
    """Values and attributes, in the form xarray expects."""
    return values, {"units": units, "long_name": long_name}
