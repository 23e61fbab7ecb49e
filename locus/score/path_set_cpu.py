"""CPU kernel of the likelihood of path sets: traced and observed paths as arrays in, log likelihoods out.

The formulas are in :mod:`locus.score.path_set`. A *term* is a pair of a traced and an observed path, or the same pair
with a disturbed estimate. Its height is the density of the observed path, if it stems from the traced one, over that of
clutter, at the sync offset that brings their delays together. Most pairs differ too much in angle or strength for any
offset: they are dropped before delays are looked at.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from locus.score.common_errors import NUM_COLUMNS, agreement, delay_row, sine_row
from locus.score.path_offsets import (
    ANCHOR,
    FAR,
    HEIGHT,
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
    LOG_ODDS,
    LOG_SHARE,
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
from locus.score.soft_detection import unreported
from locus.score.strength import density, detection, shape
from locus.twin.antenna import element_gain_db

# mypy: disable-error-code="no-untyped-def"

LEAST_HEIGHT = 0.05
"""Height below which a term is dropped."""
NEGLIGIBLE = 1e-3
"""Products of terms are left out if they cannot add more than this share to what other components have added."""
MOST_SEEN = 32
"""Largest number of observed paths per snapshot."""

LEAST_ROOT = 0.2
"""Root of the energy at which errors stop growing: weaker paths err as much as a path of this energy."""
MOST_SINE = 0.25
"""Largest variance of a sine, which is known only modulo 2."""
NO_ANGLE = math.pi / 4
r"""In place of :math:`1 / (2 \sigma^2)`, with the variance :math:`\sigma^2` of a sine: gives the density 1/2 of a sine
that is not observed."""

_BLOCK = 32  # candidates that share one workspace


@njit(cache=True, fastmath=True, parallel=True)
def log_likelihoods(traced, seen, widths, components, table):
    """Log likelihood (snapshot, candidate), up to the factor per snapshot that ``seen.weight`` leaves out.

    Also returns the mean level (snapshot, candidate) of the components, weighted by their likelihoods.

    ``traced``, ``seen`` and ``widths`` are tuples of :mod:`locus.score.path_arrays`, ``components`` those of
    :mod:`locus.score.tolerance`; ``table`` is :func:`locus.score.strength.detection_table`.
    """
    num_candidates, num_snapshots = len(traced.num_paths), len(seen.num_paths)
    result = np.empty((2, num_snapshots, num_candidates))
    for block in prange((num_candidates + _BLOCK - 1) // _BLOCK):
        paths = np.empty((NUM_ROWS, traced.root.shape[1]))
        terms = np.empty((SHARPNESS + 1, 2 * traced.root.shape[1] * seen.root.shape[1]))
        owner = np.empty((KIND + 1, terms.shape[1]), dtype=np.int64)
        rows = np.empty((2 * seen.root.shape[1], NUM_COLUMNS))
        pairs = np.empty((2, len(rows)))
        total, levels = np.empty(num_snapshots), np.empty(num_snapshots)
        for c in range(block * _BLOCK, min((block + 1) * _BLOCK, num_candidates)):
            total[:] = 0.0
            levels[:] = 0.0
            for k in range(len(components.weight)):
                _believe(traced, c, components, k, widths, paths)
                for s in range(num_snapshots):
                    void = void_probability(paths, traced.num_paths[c], seen.root_threshold[s], table)
                    void *= seen.weight[s, k]
                    count, linear, most = find_terms(paths, traced.num_paths[c], seen, s, k, widths, terms, owner)
                    if widths.window == 0.0:
                        find_neighbours(terms, owner, count, 0, widths.period, widths.period)
                        product, _, alone = product_at(terms, owner, count, 0.0, widths.period)
                        ratio, products, offset = SCALE * (1.0 + alone), product - SCALE * (1.0 + alone), 0.0
                    else:
                        ratio, products, offset = SCALE * (1.0 + linear / widths.window), 0.0, 0.0
                        most /= widths.window
                        if most > LEAST_SHARE * ratio and void * most > NEGLIGIBLE * total[s]:
                            products, offset = over_offsets(terms, owner, count, widths)
                    if seen.left_over.shape[1] > 0 and is_exact(components, k):
                        if products > LEAST_SHARE * ratio:
                            products *= unreported(paths, traced.num_paths[c], seen, s, offset, widths)
                        ratio = _single(paths, traced.num_paths[c], seen, s, widths, terms, count, ratio)
                    if products > LEAST_SHARE * ratio:
                        products *= _shared(
                            traced, c, paths, seen, s, components, k, widths, terms, owner, count, offset, rows, pairs
                        )
                    total[s] += void * (ratio + products)
                    levels[s] += components.level[k] * void * (ratio + products)
            for s in range(num_snapshots):
                result[0, s, c] = math.log(total[s]) - math.log(SCALE)
                result[1, s, c] = levels[s] / total[s]
    return result[0], result[1]


@njit(cache=True, fastmath=True)
def _believe(traced, c, components, k, widths, paths):
    """Write what component ``k`` expects of the paths of candidate ``c`` to the rows of ``paths``."""
    turn = components.heading[k]
    for j in range(traced.num_paths[c]):
        azimuth, root = traced.azimuth[c, j], traced.root[c, j]
        if turn != 0.0:
            turned = azimuth + turn
            if turned >= math.pi:
                turned -= 2.0 * math.pi
            elif turned < -math.pi:
                turned += 2.0 * math.pi
            root *= math.exp(math.log(10.0) / 20.0 * (element_gain_db(turned) - element_gain_db(azimuth)))
            azimuth = turned
        sine, length, order = math.sin(azimuth), traced.length[c, j], traced.order[c, j]
        moved = components.variance[k] + components.reflection_variance[k] * order + widths.blur
        gain = widths.gain_excess + components.gain_variance[k] * order
        angle = moved / (length * length) + components.turn_variance[k]
        paths[AZIMUTH, j] = azimuth
        paths[MISS, j], paths[SHARE, j] = components.miss[k], widths.tail_share
        if components.level[k] == 0.0:  # where a wrong plan puts them, other paths may merge
            paths[MISS, j] += (1.0 - components.miss[k]) * traced.merged[c, j]
            paths[SHARE, j] += (1.0 - widths.tail_share) * traced.disturbed[c, j]
        paths[SINE, j] = sine
        paths[DELAY, j] = traced.delay[c, j]
        paths[WEAKNESS, j] = 1.0 / max(root, LEAST_ROOT)
        paths[SINE_VARIANCE, j] = widths.sine_excess + (1.0 - sine * sine) * angle
        paths[DELAY_VARIANCE, j] = widths.delay_excess + moved * widths.samples_per_metre**2
        paths[CENTRE, j], paths[INVERSE, j] = shape(root, gain)
        paths[TAIL_CENTRE, j], paths[TAIL_INVERSE, j] = shape(root, gain + widths.gain_tail)


@njit(cache=True, fastmath=True)
def void_probability(paths, count, root_threshold, table):
    """Probability that no path is reported; the odds of each go to ``paths``, without the density of what is seen."""
    void = 1.0
    for j in range(count):
        clean = detection(table, root_threshold, paths[CENTRE, j], paths[INVERSE, j])
        tail = detection(table, root_threshold, paths[TAIL_CENTRE, j], paths[TAIL_INVERSE, j])
        miss = paths[MISS, j]
        missed = 1.0 - (1.0 - miss) * (clean + paths[SHARE, j] * (tail - clean))
        void *= missed
        paths[ODDS, j] = (1.0 - miss) / missed
        paths[LOG_ODDS, j] = math.log(paths[ODDS, j])
        paths[LOG_SHARE, j] = math.log(paths[SHARE, j])
    return void


@njit(cache=True, fastmath=True)
def find_terms(paths, num_traced, seen, s, k, widths, terms, owner):
    """Fill in the terms of snapshot ``s`` in component ``k``.

    Returns their number, the integral of their sum over the sync offset, and a bound on that of their products, times
    ``SCALE``.
    """
    count, linear, most, all_heights, widest = 0, 0.0, SCALE, 0.0, 0.0
    for q in range(seen.num_paths[s]):
        root, sine, delay = seen.root[s, q], seen.sine[s, q], seen.delay[s, q]
        weakness, rarity, together = 1.0 / root, 1.0 / seen.clutter[s, k, q], 1.0
        for j in range(num_traced):
            apart = abs(sine - paths[SINE, j])
            apart = min(apart, 2.0 - apart) if widths.sine > 0.0 else 0.0
            noise = paths[WEAKNESS, j] * weakness
            for disturbed in range(2):
                if disturbed:
                    limit, share = seen.tail_limit[s, k, q] + paths[LOG_SHARE, j], paths[SHARE, j]
                    centre, inverse = paths[TAIL_CENTRE, j], paths[TAIL_INVERSE, j]
                    sine_variance = widths.sine * noise + paths[SINE_VARIANCE, j] + widths.sine_tail
                    delay_variance = widths.delay * noise + paths[DELAY_VARIANCE, j] + widths.delay_tail
                else:
                    limit, share = seen.limit[s, k, q], 1.0 - paths[SHARE, j]
                    centre, inverse = paths[CENTRE, j], paths[INVERSE, j]
                    sine_variance = widths.sine * noise + paths[SINE_VARIANCE, j]
                    delay_variance = widths.delay * noise + paths[DELAY_VARIANCE, j]
                y = root * inverse
                left = limit + paths[LOG_ODDS, j] - (y - centre) * (y - centre)
                sine_variance = min(sine_variance, MOST_SINE)
                if 0.5 * apart * apart > left * sine_variance:
                    continue
                half = 0.5 / sine_variance if widths.sine > 0.0 else NO_ANGLE
                sharpness = 0.5 / min(delay_variance, widths.most_delay)
                width = math.sqrt(math.pi / sharpness)
                height = share * paths[ODDS, j] * rarity * math.sqrt(half / math.pi) / width
                height *= density(y, centre, inverse)
                height *= math.exp(-(y - centre) * (y - centre) - half * apart * apart)
                around = 4.0 * half * (1.0 - apart)  # by how much the exponent is larger the other way round
                if around < FAR and widths.sine > 0.0:
                    height *= 1.0 + math.exp(-around)
                if height > LEAST_HEIGHT:
                    terms[OFFSET, count] = between(paths[DELAY, j] - delay, widths.period)
                    terms[HEIGHT, count] = height
                    terms[SHARPNESS, count] = sharpness
                    owner[OWNER, count], owner[ANCHOR, count] = q, 0
                    owner[PATH, count], owner[KIND, count] = j, disturbed
                    count += 1
                    together += height
                    widest = max(widest, width)
                    if widths.window == widths.period or (paths[DELAY, j] - delay) % widths.period < widths.window:
                        linear += height * width
        most *= together
        all_heights += together - 1.0
    return count, linear, (most - SCALE * (1.0 + all_heights)) * widest


@njit(cache=True, fastmath=True)
def is_exact(components, k):
    """Whether a component knows where every path would be."""
    pose = abs(components.heading[k]) + components.turn_variance[k] + components.variance[k]
    return pose + components.reflection_variance[k] == 0.0


@njit(cache=True, fastmath=True)
def _single(paths, num_traced, seen, s, widths, terms, count, ratio):
    """Likelihood of one reported path that is traced, or none, with what is left over where the others should be."""
    changed, window = ratio, widths.window
    for i in range(count):
        share = SCALE * terms[HEIGHT, i]
        if window > 0.0:
            share *= math.sqrt(math.pi / terms[SHARPNESS, i]) / window
            if window < widths.period and terms[OFFSET, i] % widths.period > window:
                continue
        else:
            share *= math.exp(-terms[SHARPNESS, i] * terms[OFFSET, i] ** 2)
        if share > LEAST_SHARE * ratio:
            offset = terms[OFFSET, i] if window > 0.0 else 0.0
            changed += share * (unreported(paths, num_traced, seen, s, offset, widths) - 1.0)
    return max(changed, SCALE)


@njit(cache=True, fastmath=True)
def _shared(traced, c, paths, seen, s, components, k, widths, terms, owner, count, offset, rows, pairs):
    """Factor by which errors that all paths share explain the best assignment at a sync offset better; 1 if none do."""
    heading, position = math.sqrt(components.turn_variance[k]), math.sqrt(components.variance[k])
    if heading + position == 0.0:
        return 1.0
    num_pairs, i = 0, 0
    rows_per_pair = 2 if widths.sine > 0.0 else 1
    while i < count:
        q, best, highest = owner[OWNER, i], -1, 1.0  # only paths that are more likely traced than clutter
        while i < count and owner[OWNER, i] == q:  # terms are sorted by observed path
            apart = between(terms[OFFSET, i] - offset, widths.period)
            height = terms[HEIGHT, i] * math.exp(-terms[SHARPNESS, i] * apart * apart)
            if height > highest:
                best, highest = i, height
            i += 1
        if best < 0:
            continue
        j, disturbed = owner[PATH, best], owner[KIND, best]
        noise = paths[WEAKNESS, j] / seen.root[s, q]
        moved = components.reflection_variance[k] * traced.order[c, j] + widths.blur
        azimuth, length = paths[AZIMUTH, j], traced.length[c, j]
        scale = widths.samples_per_metre
        variance = widths.delay * noise + widths.delay_excess + moved * scale * scale + disturbed * widths.delay_tail
        row, apart = rows[rows_per_pair * num_pairs], between(terms[OFFSET, best] - offset, widths.period)
        delay_row(row, apart, min(variance, widths.most_delay), azimuth, position, scale)
        if rows_per_pair == 2:
            own = (1.0 - paths[SINE, j] ** 2) * moved / (length * length)
            variance = min(widths.sine * noise + widths.sine_excess + own + disturbed * widths.sine_tail, MOST_SINE)
            row, apart = rows[rows_per_pair * num_pairs + 1], between(seen.sine[s, q] - paths[SINE, j], 2.0)
            sine_row(row, apart, variance, azimuth, heading, position, length)
        pairs[0, num_pairs] = highest
        num_pairs += 1
    if num_pairs < 2:
        return 1.0
    return agreement(rows, pairs[0], pairs[1], num_pairs, rows_per_pair, widths.window == 0.0)
