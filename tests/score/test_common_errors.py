"""Errors that all paths share, against multivariate normals, exact geometry, and an average over sampled poses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from path_sets import Path, dataset
from scipy import stats

import locus
from locus.score.common_errors import NUM_COLUMNS, RESIDUAL, SLOPE, TOTAL, VARIANCE, agreement, delay_row, sine_row
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants
from locus.settings.config import SPEED_OF_LIGHT, EstimatorOptions, Radio

EXACT = locus.Tolerance(0, 0, 0, 0)
RADIO = Radio()
PER_METRE = RADIO.bandwidth / SPEED_OF_LIGHT
ONE_LEVEL = dataclasses.replace(Constants(), levels=(1.0,), compass=(1.0,), weights=(1.0,), num_headings=(1,))


def make_rows(num_pairs: int, rng: np.random.Generator) -> np.ndarray:
    rows = np.zeros((2 * num_pairs, NUM_COLUMNS))
    for pair in range(num_pairs):
        azimuth, length = rng.uniform(-3, 3), rng.uniform(10, 60)
        delay_row(rows[2 * pair], rng.normal(0, 0.5), rng.uniform(0.01, 0.1), azimuth, 0.7, PER_METRE)
        sine_row(rows[2 * pair + 1], rng.normal(0, 0.05), rng.uniform(1e-4, 1e-2), azimuth, 0.05, 0.7, length)
    return rows


def density(rows: np.ndarray, own: int, slopes: np.ndarray, synchronised: bool) -> float:
    """Log density of the residuals; an unknown offset has a standard deviation of 1000 samples."""
    covariance = np.diag(rows[:, own]) + slopes @ slopes.T
    if not synchronised:
        covariance += 1e6 * np.outer(rows[:, SLOPE], rows[:, SLOPE])
    return float(stats.multivariate_normal(np.zeros(len(rows)), covariance).logpdf(rows[:, RESIDUAL]))


@pytest.mark.parametrize("synchronised", [False, True])
def test_two_pairs_have_the_ratio_of_two_normal_densities(synchronised: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = make_rows(2, rng)
        expected = density(rows, VARIANCE, rows[:, SLOPE + 1 :], synchronised)
        expected -= density(rows, TOTAL, np.zeros((4, 1)), synchronised)
        found = agreement(rows, np.full(2, 10.0), np.empty(2), 2, 2, synchronised)
        assert math.log(found) == pytest.approx(expected, abs=1e-4)


def test_one_wrong_pair_is_left_out() -> None:
    """Three pairs agree, a fourth is far off: with few clutter (a height of 1e6) it counts, with much it does not."""
    rng = np.random.default_rng(1)
    rows = make_rows(4, rng)
    rows[:, RESIDUAL] = 0.0
    rows[6, RESIDUAL] = 3.0
    one, three = (agreement(rows, np.full(4, height), np.empty(4), 4, 2, False) for height in (1e9, 2.0))
    without = agreement(rows[:6], np.full(3, 2.0), np.empty(3), 3, 2, False)
    assert one < 1e-3 * without
    assert three > 0.1 * without


def moved(path: Path, shift: np.ndarray, turn: float) -> Path:
    """What a receiver that stands ``shift`` [m] and ``turn`` away from where it is believed sees of a path."""
    angle, delay, energy = path
    image = delay / PER_METRE * np.array([math.cos(angle), math.sin(angle)]) - shift
    return math.atan2(image[1], image[0]) - turn, float(np.hypot(*image)) * PER_METRE, energy


def test_derivatives_are_those_of_the_geometry() -> None:
    path, step = (0.4, 30.0, 100.0), 1e-5
    length = path[1] / PER_METRE
    delays, sines = np.zeros(NUM_COLUMNS), np.zeros(NUM_COLUMNS)
    delay_row(delays, 0.0, 1.0, path[0], 1.0, PER_METRE)
    sine_row(sines, 0.0, 1.0, path[0], 1.0, 1.0, length)
    for column, (shift, turn) in enumerate((([0, 0], step), ([step, 0], 0.0), ([0, step], 0.0)), SLOPE + 1):
        angle, delay, _ = moved(path, np.array(shift), turn)
        # The offset that brings a delay to its prediction falls when the delay grows
        assert delays[column] == pytest.approx(-(delay - path[1]) / step, abs=1e-4)
        assert sines[column] == pytest.approx((math.sin(angle) - math.sin(path[0])) / step, abs=1e-4)


@pytest.mark.parametrize("window", [0.0, 4e-6])
def test_the_likelihood_is_the_mean_over_sampled_poses(window: float) -> None:
    """Twenty thousand wrong poses, drawn from the tolerance and each believed exact, against one tolerant likelihood.

    Sampling is good to 0.1 nats here; angles and lengths are not quite linear in the errors. Independent errors of the
    same size would be off by more than a nat.
    """
    radio, rng = Radio(sync_window=window), np.random.default_rng(2)
    constants = dataclasses.replace(ONE_LEVEL, sine_excess=0.05, delay_excess=0.2, tail_share=1e-9, unknown=1e-9)
    constants = dataclasses.replace(constants, miss_per_metre=0.0, unknown_per_metre=0.0)
    tolerance = locus.Tolerance(plan=0, position=1.5, heading=math.radians(4), material_db=0)
    paths = [(0.3, 25.0, 2e4), (-0.5, 35.0, 1e4), (0.9, 42.0, 1e4), (-0.1, 50.0, 8e3)]
    seen = [moved(path, np.array([0.9, -0.6]), math.radians(3)) for path in paths]
    shifts = rng.normal(0, tolerance.position / math.sqrt(2), (20_000, 2))
    turns = rng.normal(0, tolerance.heading, 20_000)
    worlds = [[moved(path, shift, turn) for path in paths] for shift, turn in zip(shifts, turns, strict=True)]
    observed = dataset([seen], "snapshot", radio)
    options = EstimatorOptions()

    def likelihood(allowed: locus.Tolerance, sets: list[list[Path]]) -> np.ndarray:
        one = PathSet(radio, options, allowed, constants)
        return one.log_likelihood(dataset(sets, "candidate", radio), observed).values[0]

    sampled = likelihood(EXACT, worlds)
    expected = np.logaddexp.reduce(sampled) - math.log(len(sampled))
    (found,) = likelihood(tolerance, [paths])
    assert found == pytest.approx(expected, abs=0.3)
    swapped = [
        moved(path, np.array([0.9, -0.6]) * sign, math.radians(3) * sign)
        for path, sign in zip(paths, (1, -1, 1, -1), strict=True)
    ]
    observed = dataset([swapped], "snapshot", radio)
    assert likelihood(tolerance, [paths])[0] < found - 2
