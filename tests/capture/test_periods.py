"""Long recordings: frequency offset against its bound, coherent averages, own pilots, and noise through all of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import locus
from locus.capture import periods
from locus.capture.simulated import record
from locus.receiver.crlb import cramer_rao
from locus.receiver.observation import pilot

RATE = 200e6


def noise(rng: np.random.Generator, shape: tuple[int, ...], power: float = 1.0) -> np.ndarray:
    return np.sqrt(power / 2) * (rng.standard_normal((*shape, 2)) @ np.array([1, 1j]))


def turning(period: np.ndarray, num_periods: int, offset: float) -> np.ndarray:
    """Periods (sample, antenna) of a transmitter that is ``offset`` [Hz] off."""
    samples = np.tile(period, (num_periods, 1))
    return samples * np.exp(2j * np.pi * offset / RATE * np.arange(len(samples)))[:, np.newaxis]


@pytest.mark.parametrize("offset", [0.0, 1.0, -123_456.7, 0.499 * RATE / 32, -0.499 * RATE / 32])
def test_a_clean_offset_is_found_and_removed(offset: float, rng: np.random.Generator) -> None:
    period = noise(rng, (32, 3))
    found = periods.average(turning(period, 11, offset), 32, RATE)
    assert found.frequency_offset == pytest.approx(offset, abs=1e-3)  # rounding: 1e-12 of a turn per period
    assert found.num_periods == 11
    np.testing.assert_allclose(found.period, period, atol=1e-9)
    assert found.noise_power < 1e-18


def test_an_offset_of_a_subcarrier_cannot_be_seen(rng: np.random.Generator) -> None:
    """The unambiguous range is half a subcarrier's spacing to either side, as the page says."""
    period = noise(rng, (32, 2))
    found = periods.average(turning(period, 8, RATE / 32 + 1000.0), 32, RATE)
    assert found.frequency_offset == pytest.approx(1000.0, abs=1e-3)


def test_the_offset_reaches_its_bound() -> None:
    """For a mean period that is arbitrary, var(advance) >= 6 / (energy P (P^2 - 1)), energy over noise of one period.

    At 10 dB per sample; the variance of 300 trials spreads by 8 %, so 4 sigma are 33 %.
    """
    rng, num_periods, num_trials = np.random.default_rng(1), 12, 300
    period = np.sqrt(10.0) * np.exp(2j * np.pi * rng.random((16, 2)))
    bound = 6 / (10.0 * period.size * num_periods * (num_periods**2 - 1))
    errors = []
    for _ in range(num_trials):
        true = rng.uniform(-0.4, 0.4) * RATE / 16
        samples = turning(period, num_periods, true) + noise(rng, (16 * num_periods, 2))
        found = periods.average(samples, 16, RATE)
        errors.append(2 * np.pi * (found.frequency_offset - true) * 16 / RATE)
    assert np.mean(np.square(errors)) / bound == pytest.approx(1.0, abs=0.33)


def test_noise_has_no_offset_and_says_so() -> None:
    """One recording of noise in a thousand may seem to have an offset: at most 3 of 300, with 99.97 %."""
    rng = np.random.default_rng(2)
    found = [periods.average(noise(rng, (16 * 8, 4)), 16, RATE) for _ in range(300)]
    assert sum(one.found_offset for one in found) <= 3
    assert np.mean([one.noise_power for one in found]) == pytest.approx(1.0, abs=5 / np.sqrt(300 * 7 * 64))
    power = np.mean([np.mean(np.abs(one.period) ** 2) for one in found if not one.found_offset])
    assert power == pytest.approx(1 / 8, rel=5 / np.sqrt(300 * 64))


def test_single_precision_in_blocks_gives_the_same(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = turning(noise(rng, (32, 3)), 9, 54_321.0) + noise(rng, (32 * 9, 3), 0.1)
    whole = periods.average(samples, 32, RATE)
    monkeypatch.setattr(periods, "_BLOCK", 100)
    parts = periods.average(samples, 32, RATE)
    np.testing.assert_allclose(parts.period, whole.period, atol=1e-12)
    single = periods.average(samples.astype(np.complex64), 32, RATE)
    np.testing.assert_allclose(single.period, whole.period, atol=1e-5)  # 24 bits
    assert single.frequency_offset == pytest.approx(whole.frequency_offset, abs=5.0)


def test_too_many_periods_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected 1 to 262144 pilot periods of 2 samples, got 524290 samples"):
        periods.average(np.ones((2 * 2**18 + 2, 1), np.complex64), 2, RATE)


def direct(
    aoa: float, delay: float, radio: locus.Radio, own: np.ndarray, start: float, num_periods: int, offset: float
) -> np.ndarray:
    """Recording of one path, summed subcarrier by subcarrier about the middle of the band, with nothing of the package.

    The pilot's period begins ``start`` seconds before the recording does.
    """
    count, time = len(own), np.arange(num_periods * len(own)) / radio.bandwidth
    spectrum = np.fft.fft(own) / count
    samples = np.zeros((len(time), radio.num_antennas), dtype=complex)
    for bin_ in range(-(count // 2), (count + 1) // 2):
        frequency = bin_ * radio.bandwidth / count
        tone = spectrum[bin_ % count] * np.exp(2j * np.pi * frequency * (time + start - delay))
        samples += tone[:, np.newaxis] * np.exp(-1j * np.pi * np.arange(radio.num_antennas) * np.sin(aoa))
    return samples * np.exp(2j * np.pi * offset * time)[:, np.newaxis]


@pytest.mark.parametrize("count", [128, 75])
def test_a_path_comes_back_with_angle_and_delay(count: int) -> None:
    """Arbitrary start, frequency offset, own pilot, a receiver tuned to the middle of the band; odd and even length."""
    rng = np.random.default_rng(3)
    radio = locus.Radio(num_subcarriers=count, bandwidth=100e6, num_antennas=5)
    level = 10 ** (rng.uniform(-1.4, 1.4, count) / 20)
    own = np.fft.ifft(level * np.exp(2j * np.pi * rng.random(count)))
    start = 0.377 * radio.period
    two = sum(
        gain * direct(aoa, delay, radio, own, start, 6, 33_000.0)
        for aoa, delay, gain in ((0.6, 123.456e-9, 1e-3), (-0.9, 333.3e-9, 0.5e-3))
    )
    average = periods.average(two, count, radio.bandwidth)
    found = locus.estimate(periods.to_contract(average.period, periods.spectrum_of(own), radio), radio=radio)
    np.testing.assert_allclose(found.aoa[:2], [0.6, -0.9], atol=1e-5)
    expected = (np.array([123.456e-9, 333.3e-9]) - start) % radio.period
    np.testing.assert_allclose(found.delay[:2], expected, atol=1e-13)
    level_of_own = np.sqrt(np.mean(np.abs(own) ** 2))  # tx_power is the mean power of whatever pilot there is
    expected = np.array([1e-3, 0.5e-3]) * level_of_own / np.sqrt(radio.tx_power)
    np.testing.assert_allclose(np.abs(found.gain[:2]), expected, rtol=1e-4)


def test_the_expected_pilot_is_the_contracts(rng: np.random.Generator) -> None:
    """The contract's pilot, moved down by half of the band, is what a receiver in the middle hears."""
    radio = locus.Radio()
    period = noise(rng, (128, 8))
    moved = period * (-1.0) ** np.arange(128)[:, np.newaxis]
    back = periods.to_contract(moved, periods.expected_spectrum(radio), radio)
    np.testing.assert_allclose(back, period, atol=1e-12)
    there = periods.spectrum_of(pilot(radio) * (-1.0) ** np.arange(128))
    np.testing.assert_allclose(there, periods.expected_spectrum(radio), atol=1e-12)


def test_averaging_lowers_the_error_as_theory_says() -> None:
    """Errors of angle and delay over 16 periods reach the Cramér-Rao bound of a noise figure that is 12 dB lower.

    One path at 5 dB per sample, 100 trials: a variance spreads by 14 %, so 4 sigma are 57 %.
    """
    radio, num_periods = locus.Radio(), 16
    path = xr.Dataset(
        {"aoa": ("path", [0.4]), "delay": ("path", [1e-7]), "valid": ("path", [True])},
    )
    path["gain"] = ("path", [np.sqrt(10**0.5 * radio.noise_power / radio.tx_power) + 0j])
    lower = locus.Radio(noise_figure_db=radio.noise_figure_db - 10 * np.log10(num_periods))
    bound = np.square(cramer_rao(lower, [0.4], [1e-7], [np.sqrt(10**0.5 * num_periods)])).ravel()
    snapshots, offsets = [], []
    for trial in range(100):
        data = record(path, np.random.default_rng(trial), radio, num_periods=num_periods, frequency_offset=2e5)
        samples = data.iq.values * (-1.0) ** np.arange(num_periods * 128)[:, np.newaxis]
        average = periods.average(samples, 128, radio.bandwidth)
        snapshots.append(periods.to_contract(average.period, periods.expected_spectrum(radio), lower))
        offsets.append(float(data.sync_offset))
    found = locus.estimate(np.stack(snapshots), locus.EstimatorOptions(num_paths=1), lower).isel(path=0)
    turns = (found.delay.values - 1e-7 + np.array(offsets)) / radio.period
    errors = np.stack([found.aoa.values - 0.4, (turns - np.round(turns)) * radio.period])
    np.testing.assert_allclose(np.mean(errors**2, axis=1) / bound, 1.0, atol=0.57)


def test_noise_is_measured_through_the_same_division() -> None:
    """White noise divided by a pilot rises by the mean inverse power of its spectrum; measured on 2e5 samples."""
    rng = np.random.default_rng(4)
    own = np.fft.ifft(np.where(np.arange(64) % 2, 1.0, 1.4) * np.exp(2j * np.pi * rng.random(64)))
    spectrum = periods.spectrum_of(own)
    samples = noise(rng, (64 * 800, 4), 2.0)
    expected = 2.0 * (1 / 1.0**2 + 1 / 1.4**2) / 2 * (1.0**2 + 1.4**2) / 2
    assert periods.noise_rise(spectrum) == pytest.approx(expected / 2.0)
    assert periods.measure_noise(samples, spectrum) == pytest.approx(expected, rel=5 / np.sqrt(samples.size))
    channel = periods.to_contract(samples[:64], spectrum, locus.Radio(num_subcarriers=64))
    alone = periods.measure_noise(samples[:64], spectrum)
    assert np.mean(np.abs(channel) ** 2) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (np.ones((2, 64), complex), "one period of complex samples, got complex128 of shape"),
        (np.ones(64), "one period of complex samples, got float64"),
        (np.ones(1, complex), "one period of complex samples"),
        (np.full(64, np.nan, complex), "Expected a finite 'pilot', got NaN or infinity at index"),
        (np.ones(64, complex), "within 3 dB, got inf dB between the strongest and the weakest"),
        (np.zeros(64, complex), "within 3 dB, got nan dB"),
        (
            np.fft.ifft(np.where(np.arange(64) == 63, 1 / np.sqrt(2.1), 1.0)),
            "got 3.22 dB .* which is -1 from the middle",
        ),
    ],
)
def test_bad_pilots(own: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        periods.spectrum_of(own)


def test_three_decibels_are_flat_enough() -> None:
    level = np.where(np.arange(64) % 3, 1.0, 1 / np.sqrt(1.99))
    assert np.mean(np.abs(periods.spectrum_of(np.fft.ifft(level + 0j))) ** 2) == pytest.approx(1.0)
