"""Simulated recordings: traced paths of a transmitter in, many periods of its pilot at the receiver, in noise, out."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.capture.periods import expected_spectrum, spectrum_of
from locus.receiver.observation import receive
from locus.settings.checks import check_range
from locus.settings.config import Radio


def record(
    paths: xr.Dataset,
    rng: np.random.Generator,
    radio: Radio | None = None,
    *,
    num_periods: int = 1,
    pilot: NDArray[np.complexfloating] | None = None,
    frequency_offset: float = 0.0,
) -> xr.Dataset:
    """Simulate a recording as :func:`locus.observe` does a snapshot, but of several periods.

    Args:
        paths: path set of one transmitter, (path).
        rng: generator of sync offset, carrier phase and noise.
        radio: link budget and waveform; by default the radio that the paths were traced with.
        num_periods: periods of the pilot.
        pilot: one period (sample) as sent in the middle of the band, of any power and flat within 3 dB; by default that
            of :func:`locus.observe`.
        frequency_offset: offset of the transmitter's oscillator against the receiver's [Hz].

    Returns:
        Dataset with ``iq`` (sample, antenna) on subcarriers above the carrier, as that of :func:`locus.observe`, and as
        ground truth ``sync_offset``, ``carrier_phase`` and ``frequency_offset``.
        :func:`locus.capture.sigmf_writer.write_sigmf` writes it.
    """
    radio = radio or Radio.carried_by(paths) or Radio()
    check_range("num_periods", num_periods, 1)
    if paths.aoa.dims != ("path",):
        raise ValueError(f"Expected 'paths' of one transmitter with dims (path), got {paths.aoa.dims}")
    offset, phase = rng.uniform(0, radio.sync_window), rng.uniform(0, 2 * np.pi)
    gain = np.where(paths.valid, paths.gain, 0).astype(complex)
    aoa, delay = (paths[name].values.astype(float)[np.newaxis] for name in ("aoa", "delay"))
    period = receive(aoa, delay, gain[np.newaxis], np.array([offset]), np.array([phase]), radio)[0]
    if pilot is not None:
        own = spectrum_of(np.asarray(pilot))
        if len(own) != radio.num_subcarriers:
            raise ValueError(f"Expected 'pilot' of {radio.num_subcarriers} samples, got {len(own)}")
        ratio = own / expected_spectrum(radio)
        period = np.fft.ifft(np.fft.fft(period, axis=0) * ratio[:, np.newaxis], axis=0)
    iq = np.tile(period, (num_periods, 1))
    iq *= np.exp(2j * np.pi * frequency_offset / radio.bandwidth * np.arange(len(iq)))[:, np.newaxis]
    noise = rng.standard_normal((*iq.shape, 2)) @ np.array([1, 1j])
    iq += np.sqrt(radio.noise_power / 2) * noise
    return xr.Dataset(
        {
            "iq": (("sample", "antenna"), iq, {"units": "W^0.5", "long_name": "received samples"}),
            "sync_offset": ((), offset, {"units": "s", "long_name": "start of the recording after the pilot's"}),
            "carrier_phase": ((), phase, {"units": "rad", "long_name": "phase between both oscillators"}),
            "frequency_offset": ((), frequency_offset, {"units": "Hz", "long_name": "offset of the transmitter"}),
        },
        attrs={"noise_power": radio.noise_power, "radio": json.dumps(dataclasses.asdict(radio))},
    )
