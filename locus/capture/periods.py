"""Long recordings: samples of a receiver tuned to the middle of the band, in; a snapshot for :func:`locus.locate` out.

A recording holds several periods of a pilot, starting anywhere. The frequency offset between the two oscillators is
estimated and removed, the periods are averaged coherently, and the pilot is exchanged for that of
:func:`locus.receiver.observation.pilot`. Spectra run from the lowest subcarrier to the highest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from locus.receiver.observation import pilot
from locus.settings.config import Radio

FLAT_DB = 3.0
"""How much the strongest subcarrier of a pilot may exceed the weakest [dB]."""
MAX_PERIODS = 2**18
"""Maximum number of periods in a recording: the search for the frequency offset takes 256 bytes per period."""

_BLOCK = 2**20  # samples processed at once, 16 MiB as complex128
_FALSE_ALARM = 1e-3  # share of recordings of noise in which a frequency offset is found
_FINER = 4  # steps of the search per point of the periodogram: Newton's method converges from the best of them
_MOST_STEPS = 20


@dataclass(frozen=True)
class Average:
    """Mean period of a recording, tuned to the middle of the band as the recording is."""

    period: NDArray[np.complex128]
    """(sample, antenna); its noise power is that of the recording divided by ``num_periods``."""
    num_periods: int
    frequency_offset: float
    """Offset that was removed [Hz]; 0 if it cannot be told from the noise, or with a single period."""
    found_offset: bool
    """Whether the offset was estimated."""
    noise_power: float
    """Noise power per sample of the recording, measured from the differences between periods; NaN for one period."""


def average(samples: NDArray[np.complexfloating], num_subcarriers: int, sample_rate: float) -> Average:
    """Estimate and remove the frequency offset, common to all antennas, and average whole periods coherently.

    Args:
        samples: (sample, antenna), at least one period; what exceeds whole periods is not used.
        num_subcarriers: samples per period.
        sample_rate: sample rate [Hz].

    Raises:
        ValueError: there are too many periods, or not even one.
    """
    num_periods = len(samples) // num_subcarriers
    if not 1 <= num_periods <= MAX_PERIODS:
        raise ValueError(
            f"Expected 1 to {MAX_PERIODS} pilot periods of {num_subcarriers} samples, got {len(samples)} samples"
        )
    periods = samples[: num_periods * num_subcarriers].reshape(num_periods, -1)
    advance = find_advance(periods)
    turn = np.exp(-1j * (advance or 0.0) * np.arange(num_periods)) / num_periods
    parts = [(turn @ block, float(np.vdot(block, block).real)) for block in _blocks(periods)]
    mean = np.concatenate([part for part, _ in parts])
    energy, kept = math.fsum(energy for _, energy in parts), float(np.vdot(mean, mean).real)
    spread = math.nan if num_periods == 1 else max(energy - num_periods * kept, 0.0) / (num_periods - 1) / mean.size
    within = np.exp(-1j * (advance or 0.0) * np.arange(num_subcarriers) / num_subcarriers)
    offset = (advance or 0.0) / (2 * np.pi) * sample_rate / num_subcarriers
    period = mean.reshape(num_subcarriers, -1) * within[:, np.newaxis]
    return Average(period, num_periods, offset, advance is not None, spread)


def find_advance(periods: NDArray[np.complexfloating]) -> float | None:
    r"""Phase advance per period [rad], in :math:`[-\pi, \pi)`; None if it cannot be told from noise.

    ``periods`` are (period, sample × antenna).

    Maximum likelihood with an arbitrary mean period: the peak of the periodogram over periods, summed over samples and
    antennas. Its inverse transform is the autocorrelation, from which the sum is known at every frequency.
    """
    from scipy.special import gammainccinv

    num_periods, num_cells = periods.shape
    if num_periods == 1:
        return None
    length = 2 ** math.ceil(math.log2(2 * num_periods))
    power = np.zeros(length)
    for block in _blocks(periods, 2 * length // num_periods):
        power += (np.abs(np.fft.fft(block, length, axis=0)) ** 2).sum(axis=1)
    lag = np.arange(1, num_periods)
    correlation = np.fft.ifft(power)[:num_periods]
    if correlation[0].real <= 0:
        return None
    correlation = correlation / correlation[0].real
    padded = np.zeros(_FINER * length, dtype=complex)
    padded[:num_periods] = correlation
    surface = 2 * np.fft.fft(padded).real - 1
    advance = 2 * np.pi * float(surface.argmax()) / len(padded)
    for _ in range(_MOST_STEPS):
        terms = correlation[1:] * np.exp(-1j * advance * lag)
        slope, curvature = float((terms * lag).sum().imag), float(-(terms * lag**2).sum().real)
        if curvature >= 0:
            break
        step = -slope / curvature
        advance += float(np.clip(step, -np.pi / length, np.pi / length))
        if abs(step) < 1e-12:
            break
    # noise alone: each of about num_periods independent sums is gamma-distributed, with the same mean
    most = gammainccinv(num_cells, _FALSE_ALARM / (2 * num_periods)) / num_cells
    return (advance + np.pi) % (2 * np.pi) - np.pi if surface.max() > most else None


def spectrum_of(own: NDArray[np.inexact]) -> NDArray[np.complex128]:
    """Spectrum of a pilot, one period (sample) as sent in the middle of the band, with unit mean power.

    Raises:
        ValueError: the pilot is not one-dimensional, complex, finite and flat within 3 dB.
    """
    if own.ndim != 1 or len(own) < 2 or own.dtype.kind != "c":
        raise ValueError(f"Expected 'pilot' as one period of complex samples, got {own.dtype} of shape {own.shape}")
    if not np.isfinite(own).all():
        raise ValueError(f"Expected a finite 'pilot', got NaN or infinity at index {np.argwhere(~np.isfinite(own))[0]}")
    values = own.astype(np.complex128) / max(float(np.abs(own).max()), np.finfo(float).tiny)
    spectrum = np.fft.fftshift(np.fft.fft(values, norm="ortho"))
    power = np.abs(spectrum) ** 2
    weakest, strongest = int(power.argmin()), float(power.max())
    if not power[weakest] * 10 ** (FLAT_DB / 10) >= strongest * (1 - 1e-9) > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            range_db = 10 * np.log10(strongest / power[weakest])
        raise ValueError(
            f"Expected 'pilot' with subcarriers equally strong within {FLAT_DB:g} dB, got {range_db:.3g} dB between "
            f"the strongest and the weakest, which is {weakest - len(own) // 2} from the middle"
        )
    return np.asarray(spectrum / math.sqrt(float(power.mean())))


def expected_spectrum(radio: Radio) -> NDArray[np.complex128]:
    """Spectrum of the pilot of :func:`locus.observe`, from the lowest subcarrier."""
    return np.asarray(np.fft.fft(pilot(radio), norm="ortho"))


def to_contract(
    period: NDArray[np.complex128], spectrum: NDArray[np.complex128], radio: Radio
) -> NDArray[np.complex128]:
    """Snapshot (sample, antenna) as from :func:`locus.observe`: its pilot, on subcarriers above the carrier.

    Where the pilot's spectrum is weak, noise becomes stronger: its mean power rises by :func:`noise_rise`.
    """
    channel = np.fft.fftshift(np.fft.fft(period, axis=0), axes=0) / spectrum[:, np.newaxis]
    return np.asarray(np.fft.ifft(channel * expected_spectrum(radio)[:, np.newaxis], axis=0))


def noise_rise(spectrum: NDArray[np.complex128]) -> float:
    """Factor by which dividing by a pilot's spectrum raises the power of white noise; 1 if it is flat."""
    return float((1 / np.abs(spectrum) ** 2).mean())


def measure_noise(samples: NDArray[np.inexact], spectrum: NDArray[np.complex128]) -> float:
    """Mean power per sample of a recording of noise (sample, antenna), after division by the pilot's spectrum."""
    length = len(spectrum)
    periods = samples[: len(samples) // length * length].reshape(-1, length, samples.shape[1])
    weights = np.fft.ifftshift(1 / np.abs(spectrum) ** 2)
    step = max(1, _BLOCK // (length * samples.shape[1]))
    total = math.fsum(
        float((np.abs(np.fft.fft(periods[i : i + step], axis=1, norm="ortho")) ** 2).sum(axis=(0, 2)) @ weights)
        for i in range(0, len(periods), step)
    )
    return total / periods.size


def _blocks(periods: NDArray[np.inexact], times: int = 1) -> Iterator[NDArray[np.complex128]]:
    """Columns of (period, sample and antenna), so many at once that ``times`` their size stays small."""
    step = max(1, _BLOCK // (len(periods) * times))
    for i in range(0, periods.shape[1], step):
        yield periods[:, i : i + step].astype(np.complex128)
