"""CPU kernel of a walk: a snapshot, and what earlier ones left of shared errors, in; likelihoods and corrections out.

The likelihood of a snapshot is that of :mod:`locus.score.path_set_cpu`, with paths where the mean of the shared errors
puts them and with variances that their covariance gives. The assignment that fits best then corrects the errors.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from locus.score.path_offsets import (
    KIND,
    LEAST_SHARE,
    OFFSET,
    OWNER,
    PATH,
    SCALE,
    SHARPNESS,
    between,
    find_neighbours,
    over_offsets,
    product_at,
)
from locus.score.path_rows import (
    AZIMUTH,
    CENTRE,
    DELAY,
    DELAY_VARIANCE,
    INVERSE,
    MISS,
    NUM_ROWS,
    ODDS,
    SHARE,
    SINE,
    SINE_VARIANCE,
    TAIL_CENTRE,
    TAIL_INVERSE,
    WEAKNESS,
)
from locus.score.path_set_cpu import LEAST_ROOT, MOST_SINE, find_terms, void_probability
from locus.score.strength import shape
from locus.score.tolerance import DECIBEL
from locus.score.walk_gauss import IS_DELAY, NUM_COLUMNS, OWN, RESIDUAL, agreement, correct
from locus.score.walk_images import HEADING
from locus.score.walk_pairs import assign, drop_doubles
from locus.twin.antenna import HALF_POWER_WIDTH, MOST_LOSS_DB, element_gain_db

# mypy: disable-error-code="no-untyped-def"

LEAST_CORRECTION = 0.05
"""Probability of an assignment below which it corrects nothing."""

MOST_MISSED = 0.95
"""Largest probability that a path above the threshold is not reported."""

LEAST_LENGTH = 1e-3
"""Least distance of an image from the receiver [m], wherever the mean of the errors puts it."""

_BLOCK = 32  # candidates that share one workspace
_EAST, _NORTH, _LENGTH, _COSINE, _LOOSE = range(5)  # columns of ``geometry``: of each path, as expected


@njit(cache=True, fastmath=True, parallel=True)
def advance(traced, images, slots, seen, widths, components, hiding, table, alive, mean, spread, hidden):
    """Log likelihood (candidate, component) of a snapshot, up to a factor; mean and covariance are corrected in place.

    ``seen`` holds one snapshot, ``alive`` (candidate, component) says what to compute, ``mean`` (candidate, component,
    unknown) and ``spread`` (candidate, component, unknown, unknown) are those of the shared errors. ``hidden``
    (candidate, component, slot) has the probability that a sequence of walls is blocked although the twin traces it,
    ``slots`` (candidate, path) the place of each path there or -1, and ``hiding`` (component) the probability for
    sequences without a slot. Other arguments are those of :func:`locus.score.path_set_cpu.log_likelihoods`, and
    ``images`` of :mod:`locus.score.walk_images`.
    """
    num_candidates, num_components, size = mean.shape
    result = np.zeros((num_candidates, num_components))
    for block in prange((num_candidates + _BLOCK - 1) // _BLOCK):
        num_paths, num_rows = traced.root.shape[1], 2 * seen.root.shape[1]
        paths = np.empty((NUM_ROWS, num_paths))
        geometry = np.empty((num_paths, _LOOSE + 1))
        moments = np.empty((num_paths, 2, size))
        terms = np.empty((SHARPNESS + 1, 2 * num_paths * seen.root.shape[1]))
        owner = np.empty((KIND + 1, terms.shape[1]), dtype=np.int64)
        pairs = np.empty((3, num_rows))
        reported = np.empty(num_paths)
        work = (
            np.empty((num_rows, NUM_COLUMNS)),
            np.empty((num_rows, size)),
            np.empty((num_rows, size)),
            np.empty((num_rows, num_rows)),
            np.empty((num_rows, num_rows)),
        )
        for c in range(block * _BLOCK, min((block + 1) * _BLOCK, num_candidates)):
            for k in range(num_components):
                if not alive[c, k]:
                    continue
                uncertain = _expect(
                    traced, images, c, components, k, widths, mean[c, k], spread[c, k], paths, geometry, moments
                )
                always = components.miss[k] - hiding[k]
                for j in range(traced.num_paths[c]):
                    blocked = hidden[c, k, slots[c, j]] if slots[c, j] >= 0 else hiding[k]
                    paths[MISS, j], paths[SHARE, j] = min(always + blocked, MOST_MISSED), widths.tail_share
                    if components.level[k] == 0.0:
                        paths[MISS, j] += (1.0 - paths[MISS, j]) * traced.merged[c, j]
                        paths[SHARE, j] += (1.0 - widths.tail_share) * traced.disturbed[c, j]
                void = void_probability(paths, traced.num_paths[c], seen.root_threshold[0], table)
                count, linear, most = find_terms(paths, traced.num_paths[c], seen, 0, k, widths, terms, owner)
                if widths.window == 0.0:
                    find_neighbours(terms, owner, count, 0, widths.period, widths.period)
                    product, _, alone = product_at(terms, owner, count, 0.0, widths.period)
                    ratio, products, offset = SCALE * (1.0 + alone), product - SCALE * (1.0 + alone), 0.0
                else:
                    ratio, products, offset = SCALE * (1.0 + linear / widths.window), 0.0, 0.0
                    if most > LEAST_SHARE * ratio * widths.window:
                        products, offset = over_offsets(terms, owner, count, widths)
                reported[:] = 0.0
                if uncertain and count:
                    together = products > LEAST_SHARE * ratio
                    num_pairs = assign(terms, owner, count, offset, together, widths, pairs)
                    if num_pairs:
                        factor = _correct(
                            images.slope[c], paths, seen, widths, terms, owner, geometry, moments, pairs, num_pairs,
                            offset, together, ratio, products, work, mean[c, k], spread[c, k], reported,
                        )  # fmt: skip
                        products *= factor
                if hiding[k] > 0.0:
                    for j in range(traced.num_paths[c]):
                        if slots[c, j] >= 0:
                            blocked, missed = hidden[c, k, slots[c, j]], (1.0 - paths[MISS, j]) / paths[ODDS, j]
                            hidden[c, k, slots[c, j]] = (1.0 - reported[j]) * min(blocked / missed, 1.0)
                result[c, k] = math.log(void * seen.weight[0, k] * (ratio + products)) - math.log(SCALE)
    return result


@njit(cache=True, fastmath=True)
def _expect(traced, images, c, components, k, widths, mean, spread, paths, geometry, moments):
    """Write what component ``k`` expects of the paths of candidate ``c`` to ``paths`` and ``geometry``.

    ``moments`` (path, 2, unknown) gets the covariances of the image with the unknowns. Returns whether there is any.
    """
    size = len(mean)
    uncertain = False
    for i in range(size):
        uncertain = uncertain or spread[i, i] > 0.0
    for j in range(traced.num_paths[c]):
        azimuth, root, length = traced.azimuth[c, j], traced.root[c, j], traced.length[c, j]
        east, north, delay, order = (
            images.direction[c, j, 0],
            images.direction[c, j, 1],
            traced.delay[c, j],
            traced.order[c, j],
        )
        slope = images.slope[c, j]
        far, aside, turn = 0.0, 0.0, components.heading[k]
        if uncertain:
            x, y = 0.0, 0.0
            for i in range(size):
                x += slope[0, i] * mean[i]
                y += slope[1, i] * mean[i]
            if x != 0.0 or y != 0.0:
                vx, vy = length * east + x, length * north + y
                moved = max(math.hypot(vx, vy), LEAST_LENGTH)
                turn += math.atan2(east * vy - north * vx, east * vx + north * vy)
                delay += (moved - length) * widths.samples_per_metre
                east, north, length = vx / moved, vy / moved, moved
            turn -= mean[HEADING]
            far, aside = _variances(slope, spread, east, north, length, moments[j])
        if turn != 0.0:
            turned = azimuth + turn
            turned -= 2.0 * math.pi * math.floor(turned / (2.0 * math.pi) + 0.5)
            root *= math.exp(math.log(10.0) / 20.0 * (element_gain_db(turned) - element_gain_db(azimuth)))
            azimuth = turned
        sine = math.sin(azimuth)
        loose = components.reflection_variance[k] * images.bounces[c, j] + widths.blur * images.apart[c, j]
        gain = widths.gain_excess + components.gain_variance[k] * order + element_slope(azimuth) ** 2 * aside
        geometry[j, _EAST], geometry[j, _NORTH], geometry[j, _LENGTH] = east, north, length
        geometry[j, _COSINE], geometry[j, _LOOSE] = math.cos(azimuth), loose
        paths[AZIMUTH, j], paths[SINE, j], paths[DELAY, j] = azimuth, sine, delay
        paths[MISS, j] = components.miss[k]
        paths[WEAKNESS, j] = 1.0 / max(root, LEAST_ROOT)
        paths[SINE_VARIANCE, j] = widths.sine_excess + (1.0 - sine * sine) * (loose / (length * length) + aside)
        paths[DELAY_VARIANCE, j] = widths.delay_excess + (loose + far) * widths.samples_per_metre**2
        paths[CENTRE, j], paths[INVERSE, j] = shape(root, gain)
        paths[TAIL_CENTRE, j], paths[TAIL_INVERSE, j] = shape(root, gain + widths.gain_tail)
    return uncertain


@njit(cache=True, fastmath=True)
def element_slope(azimuth):
    """Relative change of an element's amplitude per radian."""
    if 12.0 * (azimuth / HALF_POWER_WIDTH) ** 2 > MOST_LOSS_DB:
        return 0.0
    return -24.0 * azimuth / HALF_POWER_WIDTH**2 * DECIBEL


@njit(cache=True, fastmath=True)
def _variances(slope, spread, east, north, length, moment):
    """Variances of a path's length [m²] and angle [rad²] from the shared errors."""
    size = len(spread)
    for axis in range(2):
        moment[axis, :] = 0.0
        for i in range(size):
            value = slope[axis, i]
            if value != 0.0:
                for j in range(size):
                    moment[axis, j] += value * spread[i, j]
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(size):
        xx += moment[0, i] * slope[0, i]
        xy += moment[0, i] * slope[1, i]
        yy += moment[1, i] * slope[1, i]
    far = east * east * xx + 2.0 * east * north * xy + north * north * yy
    across = north * north * xx - 2.0 * east * north * xy + east * east * yy
    skew = (-north * moment[0, HEADING] + east * moment[1, HEADING]) / length
    aside = across / (length * length) - 2.0 * skew + spread[HEADING, HEADING]
    return max(far, 0.0), max(aside, 0.0)


@njit(cache=True, fastmath=True)
def _correct(
    slopes, paths, seen, widths, terms, owner, geometry, moments, pairs, num_pairs, offset, together, ratio, products,
    work, mean, spread, reported,
):  # fmt: skip
    """Correct the shared errors by an assignment; return the factor by which they explain it better.

    ``reported`` (path) gets the probability that the assignment holds and includes a path.
    """
    rows, slope, gain, covariance, factor = work
    rows_per_pair, size, scale = 2 if widths.sine > 0.0 else 1, len(mean), widths.samples_per_metre
    synchronised = widths.window == 0.0
    for pair in range(num_pairs):
        term = int(pairs[0, pair])
        q, j, disturbed = owner[OWNER, term], owner[PATH, term], owner[KIND, term]
        east, north, length = geometry[j, _EAST], geometry[j, _NORTH], geometry[j, _LENGTH]
        cosine, loose = geometry[j, _COSINE], geometry[j, _LOOSE]
        noise = paths[WEAKNESS, j] / seen.root[0, q]
        r = rows_per_pair * pair
        own = widths.delay * noise + widths.delay_excess + loose * scale * scale + disturbed * widths.delay_tail
        rows[r, RESIDUAL] = -between(terms[OFFSET, term] - offset, widths.period) if together else 0.0
        rows[r, OWN], rows[r, IS_DELAY] = min(own, widths.most_delay), 1.0
        for i in range(size):
            slope[r, i] = scale * (east * slopes[j, 0, i] + north * slopes[j, 1, i])
            gain[r, i] = scale * (east * moments[j, 0, i] + north * moments[j, 1, i])
        if rows_per_pair == 2:
            r += 1
            own = widths.sine * noise + widths.sine_excess + disturbed * widths.sine_tail
            own += cosine * cosine * loose / (length * length)
            rows[r, RESIDUAL] = between(seen.sine[0, q] - paths[SINE, j], 2.0)
            rows[r, OWN], rows[r, IS_DELAY] = min(own, MOST_SINE), 0.0
            for i in range(size):
                slope[r, i] = cosine * (east * slopes[j, 1, i] - north * slopes[j, 0, i]) / length
                gain[r, i] = cosine * (
                    (east * moments[j, 1, i] - north * moments[j, 0, i]) / length - spread[HEADING, i]
                )
            slope[r, HEADING] -= cosine
    for r in range(rows_per_pair * num_pairs):
        for q in range(r + 1):
            value = 0.0
            for i in range(size):
                value += slope[r, i] * gain[q, i]
            covariance[r, q] = value
        covariance[r, r] += rows[r, OWN]
    kept = pairs[1]
    if together:
        heights = pairs[1].copy()
        better = agreement(rows, covariance, factor, heights, kept, num_pairs, rows_per_pair, synchronised)
        drop_doubles(owner, pairs, heights, kept, num_pairs)
        share = products * better / (ratio + products * better)
        for pair in range(num_pairs):  # a doubtful pair counts less
            for r in range(rows_per_pair * pair, rows_per_pair * (pair + 1)):
                covariance[r, r] += rows[r, OWN] * (1.0 / pairs[2, pair] - 1.0)
    else:
        better, share = 1.0, SCALE * pairs[1, 0] / ratio
        kept[0] = 1.0
    if share > LEAST_CORRECTION:
        share = min(share, 1.0)
        for pair in range(num_pairs):
            if kept[pair] > 0.0:
                reported[owner[PATH, int(pairs[0, pair])]] = share * (pairs[2, pair] if together else 1.0)
        correct(rows, covariance, factor, gain, kept, num_pairs, rows_per_pair, synchronised, share, mean, spread)
    return better
