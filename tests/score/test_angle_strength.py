"""The likelihood of angles and strengths against SciPy and loops, and what it must not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from path_sets import Path, dataset, draw_paths
from scipy import stats

from locus.receiver.estimator import threshold
from locus.score import angle_strength as module
from locus.score.angle_strength import AngleStrength
from locus.settings.config import EstimatorOptions, Radio

RADIO = Radio(num_subcarriers=16, num_antennas=4)
OPTIONS = EstimatorOptions(num_paths=3)
LEVEL = threshold(OPTIONS, RADIO) * 64


def posterior(sets: list[list[Path]], seen: list[list[Path]], radio: Radio = RADIO, padding: int = 0) -> np.ndarray:
    """Posterior (snapshot, candidate)."""
    paths, observed = dataset(sets, "candidate", radio, padding), dataset(seen, "snapshot", radio, padding)
    return AngleStrength(radio, OPTIONS).posterior(paths, observed).values


def kinds() -> list[tuple[float, float, float]]:
    """Share, and errors of sine and of strength [dB] beyond the noise, of clean and of disturbed estimates."""
    cell, clean = 2 / RADIO.num_antennas, (module.SINE_EXCESS, module.STRENGTH_EXCESS_DB)
    extra = module.DISTURBED_CELLS, module.DISTURBED_DB
    shares = (1 - module.DISTURBED, clean), (module.DISTURBED, tuple(map(math.hypot, clean, extra)))
    return [(share, cell * sine, decibels) for share, (sine, decibels) in shares]


def root(energy: float, decibels: float) -> stats.rv_continuous:
    return stats.norm(math.sqrt(energy + 1.5), math.sqrt(0.5 + (math.log(10) / 20 * decibels) ** 2 * energy))


def reported(energy: float, level: float) -> float:
    return (1 - module.MISS) * sum(share * root(energy, one).sf(math.sqrt(level)) for share, _, one in kinds())


def density(path: Path, seen: Path) -> float:
    """Density of an observed path in energy and sine, if it stems from a traced one."""
    total = 0.0
    for share, sine, decibels in kinds():
        bound = 6 / (math.pi**2 * (RADIO.num_antennas**2 - 1) * math.sqrt(path[2] * seen[2]))
        apart = (math.sin(path[0]) - math.sin(seen[0]) + 1) % 2 - 1
        strength = root(path[2], decibels).pdf(math.sqrt(seen[2])) / (2 * math.sqrt(seen[2]))
        total += share * strength * stats.norm.pdf(apart, 0, math.hypot(math.sqrt(bound), sine))
    return (1 - module.MISS) * total


def likelihood(paths: list[Path], seen: list[Path]) -> float:
    level = min(path[2] for path in seen) if len(seen) == OPTIONS.num_paths else LEVEL
    cells = math.pi / 3 * math.sqrt(255 * 15)
    value = math.prod(1 - reported(path[2], level) for path in paths)
    for one in seen:
        x = one[2]
        clutter = (cells * (x - 1.5) * math.exp(-x) + module.UNKNOWN / 2 * math.sqrt(LEVEL) * x**-1.5) / 2
        value *= clutter + sum(density(path, one) / (1 - reported(path[2], level)) for path in paths)
    return value


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_product_over_observed_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [draw_paths(rng, n, RADIO) for n in (0, 1, 2, 5)]
    seen = [[(a + 0.03, d, 1.2 * e + LEVEL) for a, d, e in sets[n][:count]] for n, count in ((1, 1), (3, 2), (3, 3))]
    seen = [[(math.asin(math.sin(a)), d, e) for a, d, e in one] for one in seen]
    for one, found in zip([*seen, []], posterior(sets, [*seen, []]), strict=True):
        values = np.array([likelihood(paths, one) for paths in sets])
        expected = (1 - module.FLOOR) * values / values.sum() + module.FLOOR / len(sets)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("energy", [1.0, 8.0, 40.0, 1000.0])
def test_every_traced_path_has_mass_one(energy: float) -> None:
    """The density of what one path may give, integrated above the threshold, and the probability of a miss sum to 1."""
    roots, sines = np.linspace(math.sqrt(LEVEL), math.sqrt(energy) * 4 + 8, 400), np.linspace(-1, 1, 801)
    pairs = [
        [module._pair(energy, u * u, min(abs(s - 0.3), 2 - abs(s - 0.3)), RADIO.num_antennas) for s in sines]
        for u in roots
    ]
    mass = np.trapezoid(np.trapezoid(pairs, sines, axis=1) * 2 * roots, roots)
    assert mass == pytest.approx(module._exceeds(energy, LEVEL), abs=2e-3)


@pytest.mark.parametrize("energy", [2.0, 8.0, 12.0, 30.0])
def test_detection_is_close_to_that_of_a_maximum_over_angle_and_delay(energy: float) -> None:
    """Noncentral chi-square with four degrees of freedom, of which the root is nearly Gaussian."""
    for level in (7.0, 10.3, 15.0):
        centre, variance = module._root(energy, 0.0)
        found = stats.norm.sf(math.sqrt(level), centre, math.sqrt(variance))
        assert found == pytest.approx(stats.ncx2.sf(2 * level, 4, 2 * energy), abs=0.03)


def test_it_does_not_depend_on_delays_order_padding_and_the_side_of_the_array() -> None:
    rng = np.random.default_rng(1)
    sets = [draw_paths(rng, n, RADIO) for n in (0, 2, 4, 6)]
    seen = [[(a / 2, d, e + LEVEL) for a, d, e in one[:3]] for one in sets]
    before = posterior(sets, seen)
    late = [[(a, rng.uniform(0, 16), e) for a, _, e in one] for one in seen]
    np.testing.assert_allclose(posterior(sets, late), before, rtol=1e-9)
    behind = [[(math.pi - a, d, e) for a, d, e in one] for one in sets]
    np.testing.assert_allclose(posterior(behind, seen), before, rtol=1e-9)
    turned = posterior([one[::-1] for one in sets], [one[::-1] for one in seen], padding=2)
    np.testing.assert_allclose(turned, before, rtol=1e-9)


def test_both_ends_of_a_linear_array_are_one_direction() -> None:
    near, far = posterior([[(1.5, 3.0, 500.0)], [(1.0, 3.0, 500.0)]], [[(-1.5, 3.0, 500.0)]])[0]
    assert near > 10 * far


def test_a_single_antenna_sees_no_angles() -> None:
    radio = Radio(num_antennas=1)
    sets = [[(a, 3.0, 40.0)] for a in (0.1, 1.0)] + [[(0.1, 3.0, 400.0)]]
    found = posterior(sets, [[(0.0, 3.0, 40.0)]], radio)[0]
    assert found[0] == pytest.approx(found[1])
    assert found[0] > 10 * found[2]


def test_strengths_from_nothing_to_huge_and_many_paths_are_finite() -> None:
    rng = np.random.default_rng(3)
    sets = [draw_paths(rng, 16, RADIO, (-60, 60)), draw_paths(rng, 1, RADIO, (200, 300)), []]
    seen = [draw_paths(rng, 16, RADIO, (-60, 60)), draw_paths(rng, 1, RADIO, (200, 300)), []]
    found = posterior(sets, seen)
    assert np.isfinite(np.log(found)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
