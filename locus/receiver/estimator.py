"""The online estimator: IQ samples in, the strongest paths that explain them, out.

Maximum likelihood, eq. (23); the fit itself is in :mod:`locus.receiver.fit_numpy`, on GPUs in
:mod:`locus.receiver.fit`. PyTorch is only imported on machines that may have a GPU.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.receiver import fit_numpy
from locus.receiver.fit_numpy import Fit, State, model, times, to_corner
from locus.receiver.observation import pilot
from locus.settings.config import EstimatorOptions, Radio
from locus.settings.driver import may_have_gpu
from locus.twin.base import ATTRIBUTES, snr_db

RECIPE = 1

MAX_SAMPLE = 1e30
"""Largest magnitude of a sample [√W]: the square of its energy must not overflow."""

_BATCH = 256  # snapshots fitted together: enough to be fast, few enough to stay in the cache


def estimate(
    iq: xr.Dataset | NDArray[np.complex128],
    options: EstimatorOptions | None = None,
    radio: Radio | None = None,
    *,
    residual: bool = False,
) -> xr.Dataset:
    r"""Estimate the multipath of one or more snapshots, eq. (7).

    Args:
        iq: Dataset from :func:`locus.observe`, or an array (sample, antenna) or (snapshot, sample, antenna).
        options: number of paths, false-alarm rate and iterations; by default those of ``EstimatorOptions()``.
        radio: waveform, antennas and noise; by default the radio stored in ``iq``, else the paper's.
        residual: also return what the paths do not explain, which :class:`locus.PathSet` makes use of.

    Returns:
        Dataset (path) or (snapshot, path) with ``aoa`` in :math:`[-\pi/2, \pi/2]`, ``delay`` in [0, period), ``gain``,
        ``snr_db`` and ``valid``, strongest first. Padding has ``valid`` False, zero gain and an SNR of -inf. The
        attribute ``estimator`` holds the options. With ``residual``, a variable of that name holds the channel without
        its paths ([snapshot,] subcarrier, antenna), in units of the noise's standard deviation.

    Raises:
        ValueError: the samples have the wrong shape or type, or are not finite.
    """
    radio = radio or Radio.carried_by(iq) or Radio()
    options = options or EstimatorOptions()
    samples = np.asarray(iq.iq if isinstance(iq, xr.Dataset) else iq)
    check_samples(samples, radio)
    single = samples.ndim == 2
    samples = samples[np.newaxis] if single else samples
    level = threshold(options, radio) * radio.num_subcarriers * radio.num_antennas
    parts, rest = [], []
    for first in range(0, len(samples), _BATCH):
        channel = despread(samples[first : first + _BATCH], radio)
        parts.append(_fit(channel, options, level))
        if residual:
            rest.append(_left_of(channel, parts[-1]))
    data = _label(Fit(*(np.concatenate(column) for column in zip(*parts, strict=True))), radio)
    if residual:
        attributes = {"units": "1", "long_name": "channel without the estimated paths, relative to the noise"}
        data["residual"] = (("snapshot", "subcarrier", "antenna"), np.concatenate(rest), attributes)
    data.attrs["estimator"] = json.dumps(dataclasses.asdict(options))
    return data.isel(snapshot=0) if single else data


def threshold(options: EstimatorOptions, radio: Radio) -> float:
    r"""Detection threshold: linear SNR per sample and antenna.

    The highest peak of pure noise exceeds it at the false-alarm rate. The matched filter's response to white noise is a
    random field over angle and delay. For high levels :math:`x`, in units of its mean power, the expected number of
    peaks above :math:`x` is that of its excursion sets, :math:`C (x - 1/2)\, e^{-x}`. The spread of :math:`N`
    subcarriers and :math:`M` antennas gives :math:`C = \tfrac{\pi}{3} \sqrt{(N^2 - 1)(M^2 - 1)}`.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    cells = math.pi / 3 * math.sqrt((n * n - 1) * max(m * m - 1, 1))
    wanted = -math.log1p(-options.false_alarm)
    low, high = 1.5, 100.0  # the formula decreases for x > 3/2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cells * (middle - 0.5) * math.exp(-middle) > wanted else (low, middle)
    return low / (n * m)


def matched_filter(
    iq: NDArray[np.complex128], radio: Radio, padding: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Matched filter of one snapshot (sample, antenna), for plots.

    Returns:
        Sines of the angles, delays [s], and the filter's output power (delay, angle) relative to its noise power.
    """
    channel = despread(iq[np.newaxis], radio)[0]
    n, m = channel.shape
    surface = np.fft.ifft2(channel, s=(2 * n, padding * m), norm="forward")
    power = np.fft.fftshift(np.abs(surface) ** 2 / (n * m), axes=1)
    sine = (np.arange(padding * m) - padding * m // 2) * 2 / (padding * m)
    return sine, np.arange(2 * n) / (2 * n) * radio.period, power


def check_samples(samples: NDArray[np.complex128], radio: Radio) -> None:
    """Raise a ValueError unless ``samples`` is a finite complex array ([snapshot,] sample, antenna)."""
    shape = (radio.num_subcarriers, radio.num_antennas)
    if samples.ndim not in (2, 3) or samples.shape[-2:] != shape or len(samples) == 0:
        raise ValueError(
            f"Expected 'iq' of shape (sample, antenna) = {shape} or (snapshot, sample, antenna), got {samples.shape}"
        )
    if samples.dtype.kind != "c":
        raise ValueError(f"Expected complex 'iq', got {samples.dtype}")
    if not np.isfinite(samples).all():
        raise ValueError(f"Expected finite 'iq', got NaN or infinity at index {np.argwhere(~np.isfinite(samples))[0]}")
    largest = float(np.abs(samples).max())
    if largest > MAX_SAMPLE:
        raise ValueError(f"Expected 'iq' of at most {MAX_SAMPLE:g} W^0.5, got a sample of {largest:.3g}")


def despread(iq: NDArray[np.complexfloating], radio: Radio) -> NDArray[np.complex128]:
    """Channel (snapshot, subcarrier, antenna) of eq. (21), in units of the noise's standard deviation."""
    spectrum = np.fft.fft(pilot(radio), norm="ortho")
    received = np.fft.fft(iq.astype(np.complex128), axis=1, norm="ortho")
    channel = times(received, spectrum.conj()[:, np.newaxis])  # the pilot's spectrum has unit amplitude
    return channel / math.sqrt(radio.noise_power)


def _left_of(channel: NDArray[np.complex128], fit: Fit) -> NDArray[np.complex64]:
    """Channel (snapshot, subcarrier, antenna) without its valid paths."""
    paths = State(fit.delay, fit.angle, np.where(fit.valid, fit.gain, 0), np.empty(0))
    return np.asarray(channel - model(paths, *channel.shape[1:]), dtype=np.complex64)


def _fit(channel: NDArray[np.complex128], options: EstimatorOptions, level: float) -> Fit:
    if may_have_gpu():
        import torch

        from locus.receiver import fit
        from locus.settings.device import device

        if device().type != "cpu":
            found = fit.fit(torch.from_numpy(channel).to(device()), options, level)
            return Fit(*(part.cpu().numpy() for part in found))
    return fit_numpy.fit(channel, options, level)


def _label(fit: Fit, radio: Radio) -> xr.Dataset:
    corner = to_corner(fit.delay, fit.angle, radio.num_subcarriers, radio.num_antennas)
    gain = times(fit.gain, corner) * math.sqrt(radio.noise_power / radio.tx_power)
    delay, angle, valid = fit.delay % (2 * np.pi), (fit.angle + np.pi) % (2 * np.pi) - np.pi, fit.valid
    values = {
        "aoa": np.arcsin(angle / np.pi),
        "delay": delay / (2 * np.pi) * radio.period,
        "gain": gain,
        "valid": valid,
    }
    data = xr.Dataset({name: (("snapshot", "path"), np.where(valid, value, 0)) for name, value in values.items()})
    for name in data.data_vars:
        data[name].attrs = dict(ATTRIBUTES[str(name)])
    data.delay.attrs["long_name"] = "delay after the start of the snapshot, modulo the pilot's period"
    data["valid"] = data.valid.astype(bool)
    data["snr_db"] = snr_db(data.gain, radio)
    return data
