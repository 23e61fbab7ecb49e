"""Snapshots: traced paths of a transmitter in, the IQ samples at the receiver out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.settings.config import Radio
from locus.twin.antenna import array_response
from locus.twin.check import check_dataset, check_paths

RECIPE = 1


def observe(
    paths: xr.Dataset, rng: np.random.Generator | Sequence[np.random.Generator], radio: Radio | None = None
) -> xr.Dataset:
    """Simulate IQ snapshots :math:`y` of eq. (5): a pilot period over all paths, of unknown timing and phase, in noise.

    Args:
        paths: path set of one transmitter, (path), or of several, (snapshot, path).
        rng: generator of sync offset, carrier phase and noise; a sequence of one per snapshot if there are several.
        radio: link budget and waveform; by default the radio that the paths were traced with.

    Returns:
        Dataset with ``iq`` (sample, antenna) or (snapshot, sample, antenna) and, as ground truth, ``sync_offset`` and
        ``carrier_phase``. Noise power and radio are in the attributes.

    Raises:
        ValueError: ``paths`` has other dimensions, or numbers that are not finite or far too large, or the number of
            generators is not that of the snapshots.
    """
    check_dataset(paths, "paths")
    radio = radio or Radio.carried_by(paths) or Radio()
    single = "aoa" not in paths or paths.aoa.dims == ("path",)
    if not single and paths.aoa.dims != ("snapshot", "path"):
        raise ValueError(f"Expected 'paths' with dims (path) or (snapshot, path), got {paths.aoa.dims}")
    check_paths(paths, "paths", ("path",) if single else ("snapshot", "path"), ("aoa", "delay", "gain", "valid"))
    batch = paths.expand_dims("snapshot") if single else paths
    generators = [rng] if isinstance(rng, np.random.Generator) else list(rng)
    if len(generators) != batch.sizes["snapshot"]:
        raise ValueError(f"Expected one 'rng' per snapshot, {batch.sizes['snapshot']}, got {len(generators)}")
    shape = (radio.num_subcarriers, radio.num_antennas)
    offset, phase, noise = (
        np.array(column)
        for column in zip(
            *(
                (one.uniform(0, radio.sync_window), one.uniform(0, 2 * np.pi), one.standard_normal((*shape, 2)))
                for one in generators
            ),
            strict=True,
        )
    )
    gain = np.where(batch.valid, batch.gain, 0).astype(complex)
    iq = receive(batch.aoa.values.astype(float), batch.delay.values.astype(float), gain, offset, phase, radio)
    iq = iq + np.sqrt(radio.noise_power / 2) * (noise[..., 0] + 1j * noise[..., 1])
    if not np.isfinite(iq).all():
        raise ValueError("Expected 'paths' with gains and delays of a radio, got some so large that samples overflow")
    data = xr.Dataset(
        {
            "iq": (("snapshot", "sample", "antenna"), iq, {"units": "W^0.5", "long_name": "received samples"}),
            "sync_offset": ("snapshot", offset, {"units": "s", "long_name": "start of the snapshot after the pilot's"}),
            "carrier_phase": ("snapshot", phase, {"units": "rad", "long_name": "phase between both oscillators"}),
        },
        attrs={"noise_power": radio.noise_power, "radio": json.dumps(dataclasses.asdict(radio))},
    )
    return data.isel(snapshot=0) if single else data


def pilot(radio: Radio) -> NDArray[np.complex128]:
    """One period of the pilot, (sample): a Zadoff-Chu sequence, with unit amplitude in time and frequency."""
    n = np.arange(radio.num_subcarriers)
    return np.asarray(np.exp(-1j * np.pi * n * (n + radio.num_subcarriers % 2) / radio.num_subcarriers))


def receive(
    aoa: NDArray[np.float64],
    delay: NDArray[np.float64],
    gain: NDArray[np.complex128],
    offset: NDArray[np.float64],
    phase: NDArray[np.float64],
    radio: Radio,
) -> NDArray[np.complex128]:
    """Noise-free samples (snapshot, sample, antenna): the pilot convolved with the impulse response of each antenna.

    Angles [rad], delays [s] and gains are (snapshot, path); ``offset`` of the clock [s] and ``phase`` of the carrier
    [rad] are (snapshot).
    """
    length = radio.num_subcarriers
    arrival = (delay - offset[:, np.newaxis]) * radio.bandwidth  # [samples]
    pulses = _band_limited_pulse(np.arange(length) - arrival[..., np.newaxis], length)
    weights = gain[..., np.newaxis] * array_response(aoa, radio.num_antennas)
    taps = np.swapaxes(pulses, 1, 2) @ weights
    sequence = pilot(radio)
    n = np.arange(length)
    periodic = sequence[(n[:, np.newaxis] - n) % length]
    amplitude = np.sqrt(radio.tx_power) * np.exp(1j * phase)
    return np.asarray(amplitude[:, np.newaxis, np.newaxis] * (periodic @ taps))


def _band_limited_pulse(time: NDArray[np.float64], length: int) -> NDArray[np.complex128]:
    """Unit impulse at time 0 [samples], with period ``length``, band-limited to the subcarriers 0 to ``length - 1``."""
    time = time - length * np.round(time / length)
    half_turn = np.pi * time / length
    near = np.abs(time) < 1e-9
    ratio = np.sin(np.pi * time) / (length * np.sin(np.where(near, 1.0, half_turn)))
    return np.asarray(np.where(near, 1.0, ratio) * np.exp(1j * (length - 1) * half_turn))
