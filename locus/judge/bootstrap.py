"""Bootstrap over layouts: values of snapshots in, means and quantiles of resampled layouts with intervals out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from locus.settings.checks import check_range

CONFIDENCE = 0.95
"""Of all intervals and bands."""

ROUNDING = 1e-6
"""Of probabilities that were computed in single precision."""

_BLOCK = 2_000_000  # weights held at once when quantiles are resampled: 16 MB

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def resample(group: ArrayLike, num_snapshots: int, rng: Generator, num_resamples: int) -> tuple[Integers, Integers]:
    """Number of each snapshot's layout, and how often each resample holds each layout, (1 + resample, layout).

    The first row is the data as they are: every layout once. One layout alone is not resampled.
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
    """Mean of values (snapshot, column) over the snapshots of each resample, (1 + resample, column)."""
    sums, infinite = np.zeros((2, weights.shape[1], values.shape[1]))
    np.add.at(sums, index, np.where(np.isinf(values), 0, values))
    np.add.at(infinite, index, np.isinf(values))  # apart: a layout that was not drawn must not give 0 x inf
    sizes = np.bincount(index, minlength=weights.shape[1])[:, np.newaxis]
    with np.errstate(invalid="ignore"):  # no snapshots: NaN
        return np.where(weights @ infinite > 0, np.inf, (weights @ sums) / (weights @ sizes))


def quantiles(values: Floats, index: Integers, weights: Integers, shares: Floats) -> Floats:
    """Quantiles of values (snapshot) over the snapshots of each resample, (1 + resample, quantile)."""
    order = np.argsort(values)
    ranks = []
    for part in np.array_split(weights, -(-len(weights) * len(values) // _BLOCK)):
        reached = np.cumsum(part[:, index[order]], axis=1)
        needed = np.multiply.outer(shares, reached[:, -1]) - ROUNDING
        ranks.append(np.stack([(reached < row[:, np.newaxis]).sum(axis=1) for row in needed], axis=1))
    return np.asarray(values[order][np.concatenate(ranks)])


def with_interval(name: str, dims: tuple[str, ...], draws: Floats, units: str, long_name: str) -> dict[str, Any]:
    """Variables of an estimate, the first of the draws, and of its percentile interval, from all others."""
    ordered = np.sort(draws[1:], axis=0)
    tail = int((1 - CONFIDENCE) / 2 * (len(ordered) + 1)) - 1
    # By rank: to interpolate between two infinite losses would give NaN
    ends = np.stack([ordered[tail], ordered[-1 - tail]] if len(ordered) else [np.full(draws.shape[1:], np.nan)] * 2)
    low, high = np.where(np.isnan(draws).any(axis=0), np.nan, ends)
    columns = {"": (draws[0], ""), "_low": (low, ", lower end"), "_high": (high, ", upper end")}
    return {name + end: (dims, *described(value, units, long_name + text)) for end, (value, text) in columns.items()}


def described(values: Any, units: str, long_name: str) -> tuple[Any, dict[str, str]]:
    """Values and their attributes, as xarray takes them."""
    return values, {"units": units, "long_name": long_name}
