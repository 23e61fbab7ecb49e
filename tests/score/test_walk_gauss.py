"""Gaussians of shared errors against multivariate normals and textbook conditioning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from locus.score.walk_gauss import IS_DELAY, NUM_COLUMNS, OWN, RESIDUAL, agreement, correct

FLAT = 1e6  # variance of a sync offset that is as good as unknown


class Problem:
    """Random residuals of some pairs: a delay and a sine each."""

    def __init__(self, num_pairs: int, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.num_pairs, self.size = num_pairs, size
        root = rng.normal(size=(size, size)) / 3
        self.spread = root @ root.T
        self.mean = rng.normal(size=size)
        self.slope = rng.normal(size=(2 * num_pairs, size))
        self.rows = np.zeros((2 * num_pairs, NUM_COLUMNS))
        self.rows[:, RESIDUAL] = rng.normal(size=2 * num_pairs)
        self.rows[:, OWN] = rng.uniform(0.1, 1.0, 2 * num_pairs)
        self.rows[::2, IS_DELAY] = 1.0
        self.covariance = self.slope @ self.spread @ self.slope.T + np.diag(self.rows[:, OWN])

    def density(self, covariance: np.ndarray, synchronised: bool) -> float:
        delay = self.rows[:, IS_DELAY]
        total = covariance + (0.0 if synchronised else FLAT) * np.outer(delay, delay)
        return float(stats.multivariate_normal(np.zeros(len(total)), total).logpdf(self.rows[:, RESIDUAL]))


@pytest.mark.parametrize("synchronised", [False, True])
def test_two_pairs_have_the_ratio_of_two_normal_densities(synchronised: bool) -> None:
    """An offset with a variance of 1e6 is flat to 1e-5."""
    for seed in range(10):
        one = Problem(2, 5, seed)
        expected = one.density(one.covariance, synchronised)
        expected -= one.density(np.diag(np.diag(one.covariance)), synchronised)
        found = agreement(one.rows, one.covariance, np.empty((4, 4)), np.full(2, 9.0), np.empty(2), 2, 2, synchronised)
        assert math.log(found) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("synchronised", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_errors_are_conditioned_on_the_kept_pairs(synchronised: bool, share: float) -> None:
    """Conditioning with the offset as one more unknown; with a share, the moments of a mixture."""
    one = Problem(4, 6, 3)
    kept = np.array([1.0, 0.0, 1.0, 1.0])
    used = np.repeat(kept > 0, 2)
    slope = np.column_stack([one.slope, one.rows[:, IS_DELAY]])[used]
    prior = np.zeros((7, 7))
    prior[:6, :6], prior[6, 6] = one.spread, 0.0 if synchronised else FLAT
    gain = prior @ slope.T @ np.linalg.inv(slope @ prior @ slope.T + np.diag(one.rows[used, OWN]))
    pull = (gain @ one.rows[used, RESIDUAL])[:6]
    after = (prior - gain @ slope @ prior)[:6, :6]
    expected = share * after + (1 - share) * one.spread + share * (1 - share) * np.outer(pull, pull)

    mean, spread = one.mean.copy(), one.spread.copy()
    work = np.empty((8, 8)), one.slope @ one.spread
    correct(one.rows, one.covariance, work[0], work[1], kept, 4, 2, synchronised, share, mean, spread)
    np.testing.assert_allclose(mean, one.mean + share * pull, atol=1e-5)
    np.testing.assert_allclose(spread, expected, atol=1e-5)
    assert np.linalg.eigvalsh(spread).min() > 0


def test_a_pair_that_contradicts_the_others_is_left_out() -> None:
    """Much clutter (a height of 2) makes it easy to leave a pair out, little clutter (1e9) makes it dear."""
    one = Problem(4, 3, 1)
    one.rows[:, RESIDUAL], one.rows[:, OWN] = 0.0, 0.01
    one.rows[7, RESIDUAL] = 3.0
    one.covariance = one.slope @ one.spread @ one.slope.T + np.diag(one.rows[:, OWN])
    for height, left in ((2.0, [1, 1, 1, 0]), (1e300, [1, 1, 1, 1])):
        kept = np.empty(4)
        agreement(one.rows, one.covariance, np.empty((8, 8)), np.full(4, height), kept, 4, 2, False)
        assert kept.tolist() == left
