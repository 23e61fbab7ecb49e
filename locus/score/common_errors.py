r"""Errors shared by all paths: an assignment of observed to traced paths in, how much better they explain it, out.

Receiver position :math:`\mathbf r` and heading :math:`\phi` err once for all paths of a snapshot. With
:math:`\mathbf e` the unit vector towards the source of a path, the image of the transmitter, and :math:`\ell` the
length of a path, the exact derivatives of length and angle are, for every number of reflections,

.. math:: d\ell = -\mathbf e \cdot d\mathbf r, \qquad d\theta = -\mathbf e_\perp \cdot d\mathbf r / \ell - d\phi

since the image of the transmitter stays where it is when the receiver moves. Given the assignment, everything is
Gaussian: the sync offset has a flat prior, position and heading have theirs, and what is left is independent. The
kernel (:mod:`locus.score.path_set_cpu`, formulas in :mod:`locus.score.path_set`) treats all errors as independent; the
factor computed here corrects the assignment that fits best.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

_SIZE = 4  # sync offset, heading, receiver x and y

RESIDUAL, VARIANCE, TOTAL = 0, 1, 2
"""Columns of :func:`agreement`: residual, its independent variance, and the variance with the shared errors."""
SLOPE = 3
"""First column of the derivatives: sync offset [samples]; heading, x and y, in standard deviations of their priors."""
NUM_COLUMNS = SLOPE + _SIZE
"""Number of columns."""


@njit(cache=True, fastmath=True)
def delay_row(row, residual, variance, azimuth, position_sd, samples_per_metre):
    """Fill in the row of a delay [samples]: offset of an assigned pair, traced minus observed, and its variance."""
    row[RESIDUAL], row[VARIANCE] = residual, variance
    row[TOTAL] = variance + (position_sd * samples_per_metre) ** 2
    row[SLOPE], row[SLOPE + 1] = 1.0, 0.0
    row[SLOPE + 2] = samples_per_metre * position_sd * math.cos(azimuth)
    row[SLOPE + 3] = samples_per_metre * position_sd * math.sin(azimuth)


@njit(cache=True, fastmath=True)
def sine_row(row, residual, variance, azimuth, heading_sd, position_sd, length):
    """Fill in the row of a sine: residual of an assigned pair, observed minus traced, and its independent variance."""
    slope = math.cos(azimuth)
    far = slope * position_sd / length
    row[RESIDUAL], row[VARIANCE] = residual, variance
    row[TOTAL] = variance + (slope * heading_sd) ** 2 + far * far
    row[SLOPE], row[SLOPE + 1] = 0.0, -slope * heading_sd
    row[SLOPE + 2], row[SLOPE + 3] = far * math.sin(azimuth), -far * math.cos(azimuth)


@njit(cache=True, fastmath=True)
def agreement(rows, heights, kept, num_pairs, rows_per_pair, synchronised):
    """Likelihood of an assignment with shared errors, relative to that with independent errors of the same size.

    ``rows`` (row, column) has ``rows_per_pair`` residuals of each assigned pair; ``heights`` (pair) is the ratio of its
    density to the clutter density. A wrong pair contradicts the others, however well it fits alone, so assignments with
    one pair fewer are summed as well, as long as dropping a pair raises the likelihood. ``kept`` (pair) is workspace.
    """
    kept[:num_pairs] = 1.0
    left, weight = num_pairs, 1.0
    shared, alone = weight * _ratio(rows, kept, num_pairs, rows_per_pair, synchronised), weight
    last = shared
    while left > 2:
        best, most = -1, last
        for pair in range(num_pairs):
            if kept[pair] > 0.0:
                kept[pair] = 0.0
                without = weight / heights[pair]
                value = without * _ratio(rows, kept, num_pairs, rows_per_pair, synchronised)
                kept[pair] = 1.0
                shared, alone = shared + value, alone + without
                if value > most:
                    best, most = pair, value
        if best < 0:
            break
        kept[best] = 0.0
        weight, last, left = weight / heights[best], most, left - 1
    return shared / alone


@njit(cache=True, fastmath=True)
def _ratio(rows, kept, num_pairs, rows_per_pair, synchronised):
    """Density of the residuals of the kept pairs with shared errors over that with independent ones.

    Both are integrated over the sync offset, unless the receiver is ``synchronised``.
    """
    precision = np.zeros((_SIZE, _SIZE))
    pull = np.zeros(_SIZE)
    first = 1 if synchronised else 0
    for i in range(1 - first, _SIZE):
        precision[i, i] = 1.0
    # Exponents, times -2
    shared, alone, offset_precision, offset_pull = 0.0, 0.0, float(first), 0.0
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] == 0.0:
            continue
        residual, own, total = rows[r, RESIDUAL], rows[r, VARIANCE], rows[r, TOTAL]
        shared += residual * residual / own + math.log(own / total)
        alone += residual * residual / total
        for i in range(first, _SIZE):
            slope = rows[r, SLOPE + i] / own
            pull[i] += slope * residual
            for j in range(first, i + 1):
                precision[i, j] += slope * rows[r, SLOPE + j]
        if not synchronised:
            offset_precision += rows[r, SLOPE] / total
            offset_pull += rows[r, SLOPE] * residual / total
    alone += math.log(offset_precision) - offset_pull * offset_pull / offset_precision
    # Cholesky factor of the precision in place; the solution of its triangular system replaces the pull
    for i in range(_SIZE):
        for j in range(i + 1):
            value = precision[i, j]
            for k in range(j):
                value -= precision[i, k] * precision[j, k]
            precision[i, j] = math.sqrt(value) if i == j else value / precision[j, j]
        for k in range(i):
            pull[i] -= precision[i, k] * pull[k]
        pull[i] /= precision[i, i]
        shared += 2.0 * math.log(precision[i, i]) - pull[i] * pull[i]
    return math.exp(0.5 * (alone - shared))
