"""Credible sets against enumeration of all subsets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from locus.judge.credible import credible_level, smallest_set


@pytest.mark.parametrize("mass", [0.5, 0.9])
def test_no_smaller_set_holds_the_mass(mass: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        probability = rng.dirichlet(np.full(7, 0.5))
        inside = smallest_set(probability, mass)
        assert probability[inside].sum() >= mass - 1e-6
        smaller = itertools.combinations(probability, int(inside.sum()) - 1)
        assert all(sum(other) < mass for other in smaller)


def test_nine_tenths_are_enough_and_batches_are_separate() -> None:
    probability = np.array([[0.1] * 10, [1.0] + [0.0] * 9])
    np.testing.assert_array_equal(smallest_set(probability).sum(axis=1), [9, 1])


def test_the_level_is_the_mass_above_the_truth_and_a_share_of_its_own() -> None:
    logs = np.log([[0.5, 0.2, 0.2, 0.1]] * 3)
    levels = credible_level(logs, np.array([0, 1, 3]), np.array([0.5, 0.25, 1.0]))
    np.testing.assert_allclose(levels, [0.25, 0.5 + 0.1, 1.0])
