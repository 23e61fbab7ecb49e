"""Credible sets: posteriors over candidates in, highest-posterior sets and the credible level of the truth out."""

from __future__ import annotations

import numpy as np

from locus.judge.bootstrap import ROUNDING, Booleans, Floats, Integers

CREDIBLE_MASS = 0.9
"""Probability mass of the sets whose area is reported."""


def smallest_set(probability: Floats, mass: float = CREDIBLE_MASS) -> Booleans:
    """Mask (..., candidate) of the smallest set that holds ``mass``; among ties, the first candidates."""
    order = np.argsort(-probability, axis=-1, kind="stable")
    reached = np.cumsum(np.take_along_axis(probability, order, axis=-1), axis=-1)
    before = np.concatenate([np.zeros_like(reached[..., :1]), reached[..., :-1]], axis=-1)
    inside = np.empty(probability.shape, dtype=bool)
    # In floating point, nine times 0.1 is less than 0.9, but must be enough
    np.put_along_axis(inside, order, before < (mass - ROUNDING) * reached[..., -1:], axis=-1)
    return inside


def credible_level(logs: Floats, truth: Integers, share: Floats) -> Floats:
    """Mass of the smallest credible set that contains the truth, (snapshot), from log posteriors (snapshot, candidate).

    Of the mass tied with the truth, the fraction ``share`` (snapshot) counts: if it is uniform in [0, 1], so is the
    level of a calibrated posterior.
    """
    probability = np.exp(logs)
    true = np.take_along_axis(logs, truth[:, np.newaxis], axis=1)
    above = np.where(logs > true, probability, 0).sum(axis=1)
    tied = np.where(logs == true, probability, 0).sum(axis=1)
    return np.asarray(np.minimum(above + share * tied, 1.0))
