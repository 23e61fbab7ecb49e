"""Gaussian of the errors that a walk's snapshots share: an assignment in; its density, and the errors corrected, out.

Like :mod:`locus.score.common_errors`, but with any number of shared unknowns, whose Gaussian is what earlier snapshots
have left of the prior. The residuals of an assignment have the covariance :math:`S = H P H^T + R`, with the derivatives
:math:`H` of the residuals with respect to the unknowns, the covariance :math:`P` of the unknowns and that of the
independent errors, :math:`R`. The sync offset, fresh in every snapshot, has a flat prior: what lies along the vector
:math:`u` of the delays carries no information.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

RESIDUAL, OWN, IS_DELAY, WHITE, OFFSET_WHITE = range(5)
"""Columns of ``rows``: residual, variance of its own, whether it is a delay; two columns are workspace."""
NUM_COLUMNS = 5

LEAST_OWN = 1e-3
"""Share of its own variance that a residual keeps, however well the others determine it."""


@njit(cache=True, fastmath=True)
def agreement(rows, covariance, factor, heights, kept, num_pairs, rows_per_pair, synchronised):
    """Likelihood of an assignment with shared errors, relative to that with independent errors of the same size.

    ``covariance`` (row, row) is that of all residuals. As in :func:`locus.score.common_errors.agreement`, assignments
    with pairs left out are included as long as that helps. ``kept`` (pair) says in the end which pairs are left.
    """
    kept[:num_pairs] = 1.0
    left, weight = num_pairs, 1.0
    last = _ratio(rows, covariance, factor, kept, num_pairs, rows_per_pair, synchronised)
    shared, alone = last, weight
    while left > 2:
        best, most = -1, last
        for pair in range(num_pairs):
            if kept[pair] > 0.0:
                kept[pair] = 0.0
                without = weight / heights[pair]
                value = without * _ratio(rows, covariance, factor, kept, num_pairs, rows_per_pair, synchronised)
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
def correct(rows, covariance, factor, gain, kept, num_pairs, rows_per_pair, synchronised, share, mean, spread):
    """Correct ``mean`` (unknown) and covariance ``spread`` (unknown, unknown) with the kept pairs.

    ``gain`` (row, unknown) is :math:`H P`, and is overwritten. The assignment holds with probability ``share``: the
    result has the moments of the mixture of what it was and what the assignment makes of it.
    """
    size = len(mean)
    _whiten(rows, covariance, factor, kept, num_pairs, rows_per_pair)
    square, along = 0.0, 0.0
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] == 0.0:
            continue
        square += rows[r, OFFSET_WHITE] ** 2
        along += rows[r, OFFSET_WHITE] * rows[r, WHITE]
        for i in range(size):
            value = gain[r, i]
            for q in range(r):
                if kept[q // rows_per_pair] > 0.0:
                    value -= factor[r, q] * gain[q, i]
            gain[r, i] = value / factor[r, r]
    pull, lost = np.zeros(size), np.zeros(size)
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] > 0.0:
            for i in range(size):
                pull[i] += gain[r, i] * rows[r, WHITE]
                lost[i] += gain[r, i] * rows[r, OFFSET_WHITE]
    if not synchronised and square > 0.0:
        for i in range(size):
            pull[i] -= lost[i] * along / square
    else:
        lost[:], square = 0.0, 1.0
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] > 0.0:
            for i in range(size):
                for j in range(size):
                    spread[i, j] -= share * gain[r, i] * gain[r, j]
    for i in range(size):
        for j in range(size):
            spread[i, j] += share * (lost[i] * lost[j] / square + (1.0 - share) * pull[i] * pull[j])
        mean[i] += share * pull[i]


@njit(cache=True, fastmath=True)
def _whiten(rows, covariance, factor, kept, num_pairs, rows_per_pair):
    """Cholesky factor of the kept rows; residuals and offset divided by it. Returns the log of its determinant."""
    logs = 0.0
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] == 0.0:
            continue
        residual, delay = rows[r, RESIDUAL], rows[r, IS_DELAY]
        for q in range(r + 1):
            if kept[q // rows_per_pair] == 0.0:
                continue
            value = covariance[r, q]
            for p in range(q):
                if kept[p // rows_per_pair] > 0.0:
                    value -= factor[r, p] * factor[q, p]
            if q < r:
                factor[r, q] = value / factor[q, q]
                residual -= factor[r, q] * rows[q, WHITE]
                delay -= factor[r, q] * rows[q, OFFSET_WHITE]
            else:
                factor[r, r] = math.sqrt(max(value, LEAST_OWN * rows[r, OWN]))  # matters with rounding only
        rows[r, WHITE], rows[r, OFFSET_WHITE] = residual / factor[r, r], delay / factor[r, r]
        logs += math.log(factor[r, r])
    return logs


@njit(cache=True, fastmath=True)
def _ratio(rows, covariance, factor, kept, num_pairs, rows_per_pair, synchronised):
    """Density of the residuals of the kept pairs with shared errors over that with independent ones."""
    shared, alone = 2.0 * _whiten(rows, covariance, factor, kept, num_pairs, rows_per_pair), 0.0  # exponents, times -2
    square, along, precision, pull = 0.0, 0.0, 0.0, 0.0
    for r in range(num_pairs * rows_per_pair):
        if kept[r // rows_per_pair] > 0.0:
            residual, total, delay = rows[r, RESIDUAL], covariance[r, r], rows[r, IS_DELAY]
            shared += rows[r, WHITE] ** 2
            alone += residual * residual / total + math.log(total)
            square += rows[r, OFFSET_WHITE] ** 2
            along += rows[r, OFFSET_WHITE] * rows[r, WHITE]
            precision += delay / total
            pull += delay * residual / total
    if not synchronised and square > 0.0:
        shared += math.log(square) - along * along / square
        alone += math.log(precision) - pull * pull / precision
    return math.exp(0.5 * (alone - shared))
