"""Credible sets: posteriors over candidates in, the smallest set of a mass and the level of the truth out."""

from __future__ import annotations

import numpy as np

from locus.judge.bootstrap import ROUNDING, Booleans, Floats, Integers

CREDIBLE_MASS = 0.9
"""Mass of the sets whose area is reported."""


def smallest_set(probability: Floats, mass: float = CREDIBLE_MASS) -> Booleans:
    """Which candidates (..., candidate) are in the smallest set that holds the mass; of equals the first ones."""
    order = np.argsort(-probability, axis=-1, kind="stable")
    reached = np.cumsum(np.take_along_axis(probability, order, axis=-1), axis=-1)
    before = np.concatenate([np.zeros_like(reached[..., :1]), reached[..., :-1]], axis=-1)
    inside = np.empty(probability.shape, dtype=bool)
    # Nine times 0.1 is less than 0.9 in floating point, and still enough
    np.put_along_axis(inside, order, before < (mass - ROUNDING) * reached[..., -1:], axis=-1)
    return inside


def credible_level(logs: Floats, truth: Integers, share: Floats) -> Floats:
    """Mass of the smallest set that holds the truth, (snapshot), of log posteriors (snapshot, candidate).

    Candidates as probable as the truth count by ``share`` (snapshot): if it is uniform in [0, 1], so is the level of a
    calibrated posterior.
    """
    probability = np.exp(logs)
    true = np.take_along_axis(logs, truth[:, np.newaxis], axis=1)
    above = np.where(logs > true, probability, 0).sum(axis=1)
    tied = np.where(logs == true, probability, 0).sum(axis=1)
    return np.asarray(np.minimum(above + share * tied, 1.0))
