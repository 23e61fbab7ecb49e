"""Strength of detected paths against SciPy's noncentral chi-square distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from locus.score.strength import bessel_over, density, detection, detection_table, shape

ENERGIES = [0.0, 0.2, 3.0, 10.0, 40.0, 1e3, 1e6]


def full_density(energy: float, root_energy: float, gain_variance: float) -> float:
    """Density of the strength at ``energy``."""
    centre, inverse = shape(root_energy, gain_variance)
    y = np.sqrt(energy) * inverse
    return float(density(y, centre, inverse) * np.exp(-((y - centre) ** 2)))


def test_the_scaled_bessel_function_is_scipys() -> None:
    z = np.geomspace(1e-6, 1e6, 500)
    np.testing.assert_allclose([bessel_over(one) for one in z], special.i1e(z) / z, rtol=1e-6)


@pytest.mark.parametrize("energy", ENERGIES)
def test_a_certain_amplitude_gives_four_degrees_of_freedom(energy: float) -> None:
    root = np.sqrt(energy)
    for x in np.maximum(root + np.linspace(-2, 3, 11), 0.3) ** 2:
        expected = 2 * stats.ncx2.pdf(2 * x, 4, 2 * energy) if energy else stats.gamma.pdf(x, 2)
        assert full_density(x, root, 0.0) == pytest.approx(expected, rel=2e-6, abs=1e-12)


@pytest.mark.parametrize("energy", ENERGIES)
def test_detection_is_marcums_function(energy: float) -> None:
    """Bilinear interpolation errs by less than 1/8 of the squared step times the curvature: 1e-3."""
    centre, inverse = shape(np.sqrt(energy), 0.0)
    for threshold in [*np.linspace(5, 15, 21), *(np.maximum(np.sqrt(energy) + np.linspace(-3, 3, 21), 0.1) ** 2)]:
        expected = stats.ncx2.sf(2 * threshold, 4, 2 * energy) if energy else stats.gamma.sf(threshold, 2)
        found = detection(detection_table(), np.sqrt(threshold), centre, inverse)
        assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("energy", [0.2, 10.0, 300.0])
@pytest.mark.parametrize("decibels", [0.0, 0.3, 2.0, 4.0])
def test_an_uncertain_amplitude_keeps_mass_and_mean(energy: float, decibels: float) -> None:
    variance = (np.log(10) / 20 * decibels) ** 2
    root = np.sqrt(energy)

    def moment(power: int, low: float = 0.0) -> float:
        # over the root of the strength, which has a width of about 1
        high = root * (1 + 9 * np.sqrt(variance)) + 9
        return integrate.quad(
            lambda u: u ** (2 * power) * 2 * u * full_density(u * u, root, variance), low, high, limit=400
        )[0]

    assert moment(0) == pytest.approx(1, abs=1e-5)
    assert moment(1) == pytest.approx(energy + 2, rel=1e-4)
    for threshold in (6.9, 10.3, 50.0):
        found = detection(detection_table(), np.sqrt(threshold), *shape(root, variance))
        assert found == pytest.approx(moment(0, np.sqrt(threshold)), abs=1e-3)
