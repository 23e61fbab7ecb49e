"""The Cramér-Rao bound against finite differences of received samples and against the closed form of a single path."""

from __future__ import annotations

import numpy as np
import pytest

from locus import EstimatorOptions, Radio
from locus.receiver.crlb import cramer_rao, error_against_snr
from locus.receiver.observation import receive

RADIO = Radio()
CELL = 2 / RADIO.num_antennas, 1 / RADIO.bandwidth


def samples(parameters: np.ndarray) -> np.ndarray:
    """Noise-free samples, in units of the noise, of (angle [rad], delay [ns], real and imaginary gain) of each path."""
    aoa, delay, real, imaginary = parameters.reshape(-1, 4).T[:, np.newaxis]
    gain = (real + 1j * imaginary) * np.sqrt(RADIO.noise_power / RADIO.tx_power)
    zero = np.zeros(1)
    return receive(aoa, 1e-9 * delay, gain, zero, zero, RADIO).ravel() / np.sqrt(RADIO.noise_power)


def by_finite_differences(aoa: list[float], delay: list[float], gain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of angles and delays from central differences of the samples that the simulator returns."""
    gain = np.asarray(gain)
    point = np.stack([aoa, 1e9 * np.asarray(delay), gain.real, gain.imag], axis=1).ravel()
    steps = 1e-5 * np.eye(len(point))
    slopes = np.stack([(samples(point + step) - samples(point - step)) / 2e-5 for step in steps], axis=1)
    deviation = np.sqrt(np.diag(np.linalg.inv(2 * np.real(slopes.conj().T @ slopes))))
    return deviation[0::4], 1e-9 * deviation[1::4]


@pytest.mark.parametrize("phase", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("part", [0.25, 0.5, 3.0])
def test_joint_bound_is_that_of_the_samples(part: float, phase: float) -> None:
    first = 0.3
    aoa, delay = [first, np.arcsin(np.sin(first) - part * CELL[0])], [2e-8, 2e-8 + part * CELL[1]]
    gain = np.array([1.5, 0.7 * np.exp(1j * phase)])
    expected = by_finite_differences(aoa, delay, gain)
    for found, other in zip(cramer_rao(RADIO, aoa, delay, gain), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-5)


def closed_form(aoa: float, amplitude: float) -> tuple[float, float]:
    """Bounds of a single path: from the spread of antennas and of subcarriers about their centres."""
    n, m = RADIO.num_subcarriers, RADIO.num_antennas
    energy = amplitude**2 * n * m
    angle = np.sqrt(6 / (energy * (m * m - 1))) / (np.pi * np.cos(aoa))
    return angle, np.sqrt(6 / (energy * (n * n - 1))) * RADIO.period / (2 * np.pi)


def test_single_path_has_the_closed_form() -> None:
    for found, expected in zip(cramer_rao(RADIO, [0.4], [3e-8], [0.5j]), closed_form(0.4, 0.5), strict=True):
        np.testing.assert_allclose(found, [expected], rtol=1e-9)


def test_paths_far_apart_are_bounded_as_if_alone() -> None:
    found = cramer_rao(RADIO, [0.6, -0.5], [1e-8, 1e-8 + 30 * CELL[1]], [1.0, 0.3j])
    expected = np.array([closed_form(0.6, 1.0), closed_form(-0.5, 0.3)]).T
    np.testing.assert_allclose(found, expected, rtol=2e-2)


@pytest.mark.parametrize("num_paths", [1, 2, 6])
def test_a_path_needs_an_estimate_of_its_own(num_paths: int) -> None:
    """Two paths at nearly one place are one to the estimator, and so are two if it may report only one."""
    options, snr = EstimatorOptions(num_paths=num_paths), np.array([0.0])
    near = error_against_snr(RADIO, options, snr, [0.3, 0.301], [0.0, 1e-11], 20, 0)
    far = error_against_snr(RADIO, options, snr, [0.3, -0.3], [0.0, 1e-7], 20, 0)
    assert float(near.found[0]) == 0
    assert np.isnan(near.angle_error[0])
    assert float(far.found[0]) == (num_paths > 1)


def test_errors_do_not_depend_on_which_estimate_is_stronger() -> None:
    """Half of the snapshots report the second path first; errors are at the bound if each is compared with its own."""
    found = error_against_snr(RADIO, EstimatorOptions(), np.array([10.0]), [0.3, -0.3], [0.0, 1e-7], 100, 0)
    for name in ("angle", "delay"):
        # RMS of 200 errors: a relative standard deviation of 1 / sqrt(400)
        assert float(found[f"{name}_error"][0] / found[f"{name}_bound"][0]) == pytest.approx(1, abs=4 / 20)
