"""Products of terms over the sync offset: terms of the path-set likelihood as arrays in, their integral out.

A *term* is a pair of a traced and an observed path (:mod:`locus.score.path_set_cpu`): as a function of the offset, a
Gaussian.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

LEAST_SHARE = 1e-2
"""Products of terms count if they can add more than this share to the likelihood."""
NODES, NODE_WEIGHTS = np.polynomial.hermite.hermgauss(4)
"""Gauss-Hermite quadrature."""
SCALE = 1e-150
"""Factor that keeps products of up to ``MOST_SEEN`` large ratios within double precision."""
CLOSE, SIMILAR = 0.125, 1.5
"""A term gets no nodes if a term with nodes is so near that its exponent is below ``CLOSE``, half a standard deviation,
and the sharpness of one is at most ``SIMILAR`` times that of the other."""
FAR = 18.0
"""Exponent beyond which a Gaussian counts as zero."""
OVERLAP = 8.0
"""Exponent up to which two terms overlap."""

OFFSET, HEIGHT, SHARPNESS = range(3)
"""Rows of ``terms``."""
OWNER, ANCHOR, NEIGHBOUR, PATH, KIND = range(5)
"""Rows of ``owner``: of each term, its observed path, whether it gets nodes, a neighbour, its traced path, and whether
the estimate is disturbed."""


@njit(cache=True, fastmath=True)
def over_offsets(terms, owner, count, widths):
    """Products of terms of different observed paths, integrated over the prior of the sync offset, times ``SCALE``.

    Also returns the offset at which they are largest. They differ from 0 only where such terms overlap. Gauss-Hermite
    nodes about several of them are combined with weights that sum to 1 everywhere and favour the sharpest term nearby
    (balance heuristic).
    """
    _find_anchors(terms, owner, count, widths)
    total, largest, best = 0.0, 0.0, 0.0
    for a in range(count):
        if owner[ANCHOR, a]:
            sharpness = terms[SHARPNESS, a]
            width = 1.0 / math.sqrt(sharpness)
            num_near = find_neighbours(terms, owner, count, a, NODES[-1] * width, widths.period)
            for n in range(len(NODES)):
                offset = terms[OFFSET, a] + NODES[n] * width
                if widths.window < widths.period and offset % widths.period > widths.window:
                    continue
                product, balance, alone = product_at(terms, owner, num_near, offset, widths.period)
                total += NODE_WEIGHTS[n] * width * sharpness**2 / balance * (product - SCALE * (1.0 + alone))
                if product > largest:
                    largest, best = product, offset
    return total / widths.window, best


@njit(cache=True, fastmath=True)
def _find_anchors(terms, owner, count, widths):
    """Mark the terms that get nodes."""
    highest = 0.0
    for i in range(count):
        highest = max(highest, terms[HEIGHT, i])
    least = (LEAST_SHARE * widths.window) ** 2 / math.pi
    for i in range(count):
        offset, height, sharpness = terms[OFFSET, i], terms[HEIGHT, i], terms[SHARPNESS, i]
        if (height * highest) ** 2 > least * sharpness:
            for a in range(i):
                together = sharpness + terms[SHARPNESS, a]
                if (height * terms[HEIGHT, a]) ** 2 > least * together and owner[OWNER, a] != owner[OWNER, i]:
                    apart = abs(offset - terms[OFFSET, a])
                    apart = min(apart, abs(widths.period - apart))
                    if apart * apart * sharpness * terms[SHARPNESS, a] < OVERLAP * together:
                        owner[ANCHOR, i] = owner[ANCHOR, a] = 1
    for i in range(count):
        for a in range(i if owner[ANCHOR, i] else 0):
            if owner[ANCHOR, a]:
                apart = abs(terms[OFFSET, i] - terms[OFFSET, a])
                apart = min(apart, abs(widths.period - apart))
                near = apart * apart * terms[SHARPNESS, a] < CLOSE
                if near and terms[SHARPNESS, i] <= SIMILAR * terms[SHARPNESS, a]:
                    owner[ANCHOR, i] = 0


@njit(cache=True, fastmath=True)
def find_neighbours(terms, owner, count, a, width, period):
    """List the terms that are not zero within ``width`` of the offset of term ``a``; return their number."""
    found = 0
    for i in range(count):
        apart = abs(terms[OFFSET, a] - terms[OFFSET, i])
        apart = max(min(apart, abs(period - apart)) - width, 0.0)
        if apart * apart * terms[SHARPNESS, i] < FAR:
            owner[NEIGHBOUR, found] = i
            found += 1
    return found


@njit(cache=True, fastmath=True)
def product_at(terms, owner, num_near, offset, period):
    """Likelihood over that of clutter at one sync offset, times ``SCALE``, from the terms that are neighbours.

    Also returns the summed weights of the anchors, and the sum of all terms.
    """
    product, balance, alone, together, last = SCALE, 0.0, 0.0, 1.0, -1
    for n in range(num_near):
        i = owner[NEIGHBOUR, n]
        if owner[OWNER, i] != last:  # terms are sorted by observed path
            product *= together
            together, last = 1.0, owner[OWNER, i]
        apart = abs(offset - terms[OFFSET, i])
        apart = min(apart, abs(period - apart))
        value = math.exp(-terms[SHARPNESS, i] * apart * apart)
        together += terms[HEIGHT, i] * value
        alone += terms[HEIGHT, i] * value
        if owner[ANCHOR, i]:
            balance += terms[SHARPNESS, i] ** 2 * value
    return product * together, balance, alone


@njit(cache=True, fastmath=True)
def between(offset, period):
    """Offset modulo the period :math:`P`, in about :math:`[-P / 2, P / 2]`."""
    return offset - period * math.floor(offset / period + 0.5)
