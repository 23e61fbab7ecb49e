"""CPU kernel of the likelihood of path sets: traced and observed paths as arrays in, log likelihoods out.

The formulas are in :mod:`locus.score.path_set`. A *term* is a pair of a traced and an observed path, or the same pair
with a disturbed estimate. Its height is the density of the observed path, if it stems from the traced one, over that of
clutter, at the sync offset that brings their delays together. Most pairs differ too much in angle or strength for any
offset: they are dropped before delays are looked at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from locus.score.strength import density, detection, shape
from locus.score.tolerance import Components
from locus.twin.antenna import element_gain_db

# mypy: disable-error-code="no-untyped-def"

LEAST_HEIGHT = 0.01
"""Height below which a term is dropped."""
LEAST_SHARE = 1e-3
"""Nodes of the sync offset are placed about a term that alone adds more than this share to the likelihood of clutter."""
NEGLIGIBLE = 1e-5
"""A component is not evaluated if it cannot add more than this share to the likelihood of a candidate."""
NODES, NODE_WEIGHTS = np.polynomial.hermite.hermgauss(3)
"""Gauss-Hermite quadrature."""
SCALE = 1e-150
"""Factor that keeps products of up to ``MOST_SEEN`` large ratios within double precision."""
MOST_SEEN = 32
"""Largest number of observed paths per snapshot."""

_NEAR, _SIMILAR = 0.125, 1.5  # no nodes within half a standard deviation of a term with nodes and similar sharpness
_FAR = 18.0  # exponent from which on a Gaussian counts as zero
_LEAST_ROOT = 0.2  # weaker paths have no wider errors
_MOST_SINE = 0.25  # largest variance of a sine, which is known modulo 2 only
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_BLOCK = 32  # candidates that share one workspace

# Rows of the workspaces: what a component expects of each traced path, and the terms
_SINE, _DELAY, _WEAKNESS, _SINE_VARIANCE, _DELAY_VARIANCE = range(5)
_CENTRE, _INVERSE, _TAIL_CENTRE, _TAIL_INVERSE, _ODDS = range(5, 10)
_OFFSET, _HEIGHT, _SHARPNESS = range(3)
_OWNER, _ANCHOR = range(2)


class Traced(NamedTuple):
    """Paths of the candidates, (candidate, path), strongest first."""

    count: NDArray[np.int64]
    """(candidate): number of paths."""
    azimuth: NDArray[np.float64]
    """Angle of arrival [rad]."""
    root: NDArray[np.float64]
    """Square root of the energy."""
    delay: NDArray[np.float64]
    """[samples]"""
    length: NDArray[np.float64]
    """[m]"""
    order: NDArray[np.float64]
    """Number of reflections."""


class Seen(NamedTuple):
    """Observed paths, (snapshot, path), strongest first."""

    count: NDArray[np.int64]
    """(snapshot): number of paths."""
    root_threshold: NDArray[np.float64]
    """(snapshot): root of the energy above which a path would have been reported."""
    sine: NDArray[np.float64]
    """Sine of the angle of arrival."""
    root: NDArray[np.float64]
    """Square root of the energy."""
    delay: NDArray[np.float64]
    """[samples]"""
    clutter: NDArray[np.float64]
    """(snapshot, component, path): density of untraced paths in energy, sine and delay [1/sample] at the observed."""
    weight: NDArray[np.float64]
    """(snapshot, component): probability of the component and of the observed paths, if all are clutter, up to a factor
    per snapshot."""
    limit: NDArray[np.float64]
    """(snapshot, component, path): exponent from which on a term is too low, whatever the traced path."""
    tail_limit: NDArray[np.float64]
    """The same for a disturbed estimate."""


class Widths(NamedTuple):
    """Scales of the radio and of the estimator."""

    sine: float
    """Variance of an estimated sine at energy 1; negative if the array has a single antenna."""
    delay: float
    """Variance of an estimated delay at energy 1 [samples^2]."""
    sine_excess: float
    """Variance of the sine at infinite energy."""
    delay_excess: float
    """Variance of the delay at infinite energy [samples^2]."""
    gain_excess: float
    """Variance of the relative error of the amplitude at infinite energy."""
    sine_tail: float
    """Variance that a disturbed sine has in addition."""
    delay_tail: float
    """Variance that a disturbed delay has in addition [samples^2]."""
    gain_tail: float
    """Variance that a disturbed amplitude has in addition."""
    tail_share: float
    """Probability that an estimate is disturbed."""
    samples_per_metre: float
    """Delay per metre [samples/m]."""
    most_delay: float
    """Largest variance of a delay [samples^2], which is known modulo the period only."""
    period: float
    """Period of the pilot [samples]."""
    window: float
    """Sync offsets are uniform in [0, window), at most a period [samples]; 0 if the offset is known to be 0."""


@njit(cache=True, fastmath=True, parallel=True)
def log_likelihoods(traced, seen, widths, components, table):
    """Log likelihood (snapshot, candidate), up to the factor per snapshot that ``seen.weight`` leaves out.

    ``traced``, ``seen``, ``widths`` and ``components`` are the tuples above; ``table`` is that of
    :func:`locus.score.strength.detection_table`.
    """
    num_candidates, num_snapshots = len(traced.count), len(seen.count)
    result = np.empty((num_snapshots, num_candidates))
    for block in prange((num_candidates + _BLOCK - 1) // _BLOCK):
        paths = np.empty((_ODDS + 1, traced.root.shape[1]))
        terms = np.empty((_SHARPNESS + 1, 2 * traced.root.shape[1] * seen.root.shape[1]))
        owner = np.empty((2, terms.shape[1]), dtype=np.int64)
        sums = np.empty(seen.root.shape[1])
        total = np.empty(num_snapshots)
        for c in range(block * _BLOCK, min((block + 1) * _BLOCK, num_candidates)):
            total[:] = 0.0
            for k in range(len(components.weight)):
                _believe(traced, c, components, k, widths, paths)
                for s in range(num_snapshots):
                    void = _void(paths, traced.count[c], seen.root_threshold[s], widths, components.miss[k], table)
                    void *= seen.weight[s, k]
                    count, most = _terms(paths, traced.count[c], seen, s, k, widths, terms, owner)
                    if count == 0 or void * most < NEGLIGIBLE * total[s]:
                        total[s] += void * SCALE
                    elif widths.window == 0.0:
                        total[s] += void * _product(terms, owner, count, 0.0, widths.period, sums)[0]
                    else:
                        total[s] += void * (SCALE + _over_offsets(terms, owner, count, widths, sums))
            for s in range(num_snapshots):
                result[s, c] = math.log(total[s]) - math.log(SCALE)
    return result


@njit(cache=True, fastmath=True)
def _believe(traced, c, components, k, widths, paths):
    """Write what component ``k`` expects of the paths of candidate ``c`` to the rows of ``paths``."""
    turn = components.heading[k]
    for j in range(traced.count[c]):
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
        moved = components.variance[k] + components.reflection_variance[k] * order
        gain = widths.gain_excess + components.gain_variance[k] * order
        angle = moved / (length * length) + components.turn_variance[k]
        paths[_SINE, j] = sine
        paths[_DELAY, j] = traced.delay[c, j]
        paths[_WEAKNESS, j] = 1.0 / max(root, _LEAST_ROOT)
        paths[_SINE_VARIANCE, j] = widths.sine_excess + (1.0 - sine * sine) * angle
        paths[_DELAY_VARIANCE, j] = widths.delay_excess + moved * widths.samples_per_metre**2
        paths[_CENTRE, j], paths[_INVERSE, j] = shape(root, gain)
        paths[_TAIL_CENTRE, j], paths[_TAIL_INVERSE, j] = shape(root, gain + widths.gain_tail)


@njit(cache=True, fastmath=True)
def _void(paths, count, root_threshold, widths, miss, table):
    """Probability that no path is reported; the odds of each go to ``paths``, without the density of what is seen."""
    void = 1.0
    for j in range(count):
        clean = detection(table, root_threshold, paths[_CENTRE, j], paths[_INVERSE, j])
        tail = detection(table, root_threshold, paths[_TAIL_CENTRE, j], paths[_TAIL_INVERSE, j])
        missed = 1.0 - (1.0 - miss) * (clean + widths.tail_share * (tail - clean))
        void *= missed
        paths[_ODDS, j] = (1.0 - miss) / missed
    return void


@njit(cache=True, fastmath=True)
def _terms(paths, num_traced, seen, s, k, widths, terms, owner):
    """Fill in the terms of a snapshot; return their number and a bound on the likelihood over that of clutter."""
    count, most = 0, 1.0
    for q in range(seen.count[s]):
        root, sine, delay, clutter = seen.root[s, q], seen.sine[s, q], seen.delay[s, q], seen.clutter[s, k, q]
        limit, tail_limit = seen.limit[s, k, q], seen.tail_limit[s, k, q]
        together = 1.0
        for j in range(num_traced):
            apart = abs(sine - paths[_SINE, j])
            apart = min(apart, 2.0 - apart)
            square = 0.5 * apart * apart
            weakness = paths[_WEAKNESS, j] / root
            sine_variance = min(widths.sine * weakness + paths[_SINE_VARIANCE, j], _MOST_SINE)
            for disturbed in range(2):
                if disturbed:
                    sine_variance = min(sine_variance + widths.sine_tail, _MOST_SINE)
                    if square > tail_limit * sine_variance:
                        continue
                    centre, inverse, share = paths[_TAIL_CENTRE, j], paths[_TAIL_INVERSE, j], widths.tail_share
                    bound = tail_limit
                else:
                    if square > limit * sine_variance:
                        continue
                    centre, inverse, share = paths[_CENTRE, j], paths[_INVERSE, j], 1.0 - widths.tail_share
                    bound = limit
                off = root * inverse - centre
                if off * off > bound:
                    continue
                delay_variance = widths.delay * weakness + paths[_DELAY_VARIANCE, j] + disturbed * widths.delay_tail
                delay_variance = min(delay_variance, widths.most_delay)
                height = share * paths[_ODDS, j] / clutter * density(root, centre, inverse)
                if widths.sine > 0.0:
                    height *= _wrapped(apart, sine_variance) / math.sqrt(sine_variance * delay_variance)
                else:
                    height *= _ROOT_HALF_PI / math.sqrt(delay_variance)
                height *= 1.0 / (2.0 * math.pi)
                if height < LEAST_HEIGHT:
                    continue
                terms[_OFFSET, count] = _between(paths[_DELAY, j] - delay, widths.period)
                terms[_HEIGHT, count] = height
                terms[_SHARPNESS, count] = 0.5 / delay_variance
                owner[_OWNER, count], owner[_ANCHOR, count] = q, 0
                count += 1
                together += height
        most *= together
    return count, most


@njit(cache=True, fastmath=True)
def _wrapped(apart, variance):
    """exp(-apart^2 / (2 variance)) for sines, which are known modulo 2 only; ``apart`` is in [0, 1]."""
    value = math.exp(-0.5 * apart * apart / variance)
    around = 2.0 - apart
    if around * around < 2.0 * _FAR * variance:
        value += math.exp(-0.5 * around * around / variance)
    return value


@njit(cache=True, fastmath=True)
def _between(offset, period):
    """Offset modulo the period, in about [-period / 2, period / 2]."""
    return offset - period * math.floor(offset / period + 0.5)


@njit(cache=True, fastmath=True)
def _over_offsets(terms, owner, count, widths, sums):
    """Integrate the likelihood over that of clutter, less 1, over the prior of the sync offset; times SCALE.

    It differs from 0 only near the offsets of the terms. Gauss-Hermite nodes about several of them are combined with
    weights that sum to 1 everywhere and favour the sharpest term nearby (balance heuristic).
    """
    for i in range(count):
        sharpness = terms[_SHARPNESS, i]
        wanted = terms[_HEIGHT, i] * math.sqrt(math.pi / sharpness) > LEAST_SHARE * widths.window
        for a in range(i):
            if owner[_ANCHOR, a]:
                apart = _between(terms[_OFFSET, i] - terms[_OFFSET, a], widths.period)
                near = apart * apart * terms[_SHARPNESS, a] < _NEAR
                wanted = wanted and not (near and sharpness <= _SIMILAR * terms[_SHARPNESS, a])
        owner[_ANCHOR, i] = wanted
    total = 0.0
    for a in range(count):
        if owner[_ANCHOR, a]:
            sharpness = terms[_SHARPNESS, a]
            width = 1.0 / math.sqrt(sharpness)
            for n in range(len(NODES)):
                offset = terms[_OFFSET, a] + NODES[n] * width
                if widths.window < widths.period and offset % widths.period > widths.window:
                    continue
                product, balance = _product(terms, owner, count, offset, widths.period, sums)
                total += NODE_WEIGHTS[n] * width * sharpness**2 / balance * (product - SCALE)
    return total / widths.window


@njit(cache=True, fastmath=True)
def _product(terms, owner, count, offset, period, sums):
    """Likelihood over that of clutter at one sync offset, times SCALE, and the summed weights of the anchors."""
    balance = 0.0
    last = owner[_OWNER, count - 1] + 1
    sums[:last] = 1.0
    for i in range(count):
        apart = abs(offset - terms[_OFFSET, i])
        apart = min(apart, abs(period - apart))
        exponent = terms[_SHARPNESS, i] * apart * apart
        if exponent < _FAR:
            value = math.exp(-exponent)
            sums[owner[_OWNER, i]] += terms[_HEIGHT, i] * value
            if owner[_ANCHOR, i]:
                balance += terms[_SHARPNESS, i] ** 2 * value
    product = SCALE
    for q in range(last):
        product *= sums[q]
    return product, balance
