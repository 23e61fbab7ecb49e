"""The compass on a walk: a mixture of Gaussians of its error in; mean, deviation and an interval out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INTERVAL = 0.9
"""Probability of the interval of a heading error."""

NEGLIGIBLE = 1e-9
"""Weight of a Gaussian, relative to the largest, below which it is left out."""

Floats = NDArray[np.float64]


class HeadingError(NamedTuple):
    """Posterior of the compass error [rad]: the true heading minus the heading of the poses that were given."""

    mean: float
    """Mean [rad]."""
    deviation: float
    """Standard deviation [rad]."""
    low: float
    """Lower end of the central 90 % interval [rad]."""
    high: float
    """Upper end of the interval [rad]."""


def heading_posterior(weight: Floats, mean: Floats, variance: Floats) -> HeadingError:
    """Posterior from the weights, means [rad] and variances [rad²] of Gaussians."""
    kept = weight > NEGLIGIBLE * weight.max()
    share = weight[kept] / weight[kept].sum()
    centres, deviations = mean[kept], np.sqrt(np.maximum(variance[kept], 0.0))
    centre = float(share @ centres)
    spread = math.sqrt(share @ (deviations**2 + (centres - centre) ** 2))
    low, high = (_quantile(share, centres, deviations, end) for end in ((1 - INTERVAL) / 2, (1 + INTERVAL) / 2))
    return HeadingError(centre, spread, low, high)


def _quantile(weight: Floats, mean: Floats, deviation: Floats, share: float) -> float:
    """Quantile of a mixture of normal distributions, by bisection."""
    from scipy.special import ndtr  # not above: a single snapshot starts without SciPy

    low, high = float((mean - 10 * deviation).min()) - 1e-9, float((mean + 10 * deviation).max()) + 1e-9
    for _ in range(60):
        middle = (low + high) / 2
        below = ndtr((middle - mean) / np.maximum(deviation, 1e-12))
        low, high = (middle, high) if weight @ below < share else (low, middle)
    return (low + high) / 2
