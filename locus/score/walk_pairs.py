"""Pairs of a snapshot: terms of traced and observed paths in, the assignment that fits best, out."""

from __future__ import annotations

import math

from numba import njit

from locus.score.path_offsets import HEIGHT, OFFSET, OWNER, PATH, SHARPNESS, between

# mypy: disable-error-code="no-untyped-def"


@njit(cache=True, fastmath=True)
def assign(terms, owner, count, offset, together, widths, pairs):
    """Fill in ``pairs`` and return their number.

    If ``together``, these are the best pair of every observed path at one sync offset, otherwise the single best pair,
    at the offset that suits it. Rows of ``pairs``: index of the term, its height (at the offset, or integrated over all
    offsets), and the probability of the pair.
    """
    num_pairs, i = 0, 0
    while i < count:
        q, best, highest, total, first = owner[OWNER, i], -1, 0.0, 1.0, i
        while i < count and owner[OWNER, i] == q:  # terms are sorted by observed path
            if together:
                apart = between(terms[OFFSET, i] - offset, widths.period)
                height = terms[HEIGHT, i] * math.exp(-terms[SHARPNESS, i] * apart * apart)
            else:
                height = terms[HEIGHT, i] * math.sqrt(math.pi / terms[SHARPNESS, i]) / max(widths.window, 1.0)
            total += height
            if height > highest:
                best, highest = i, height
            i += 1
        if best < 0 or (together and highest <= 1.0):  # only paths that are more likely traced than clutter
            continue
        both = 0.0
        for n in range(first, i):
            if owner[PATH, n] == owner[PATH, best]:
                if together:
                    apart = between(terms[OFFSET, n] - offset, widths.period)
                    both += terms[HEIGHT, n] * math.exp(-terms[SHARPNESS, n] * apart * apart)
                else:
                    both += terms[HEIGHT, n] * math.sqrt(math.pi / terms[SHARPNESS, n]) / max(widths.window, 1.0)
        if not together and num_pairs:
            if both <= pairs[1, 0]:
                continue
            num_pairs = 0
        pairs[0, num_pairs], pairs[1, num_pairs] = best, highest if together else both
        pairs[2, num_pairs] = both / total
        num_pairs += 1
    return num_pairs


@njit(cache=True, fastmath=True)
def drop_doubles(owner, pairs, heights, kept, num_pairs):
    """Keep one observed path per traced one: the one that fits better."""
    for one in range(num_pairs):
        for other in range(one):
            same = owner[PATH, int(pairs[0, one])] == owner[PATH, int(pairs[0, other])]
            if same and kept[one] > 0.0 and kept[other] > 0.0:
                kept[one if heights[one] < heights[other] else other] = 0.0
