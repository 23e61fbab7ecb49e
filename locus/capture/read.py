"""Captures from files: a SigMF recording or a ``.npy`` file in, a snapshot that :func:`locus.locate` takes, out."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.capture import files, periods
from locus.capture.sigmf_array import HEADING_TOLERANCE, wrapped
from locus.capture.sigmf_files import Recording, read_recording
from locus.capture.sigmf_metadata import SUFFIXES
from locus.room.layout import Pose
from locus.settings.checks import check_range, from_mapping
from locus.settings.config import Radio

_SAME = 1e-6  # relative difference of two statements that agree
_LEAST_POWER = 1e-200  # of noise: less could not be divided by
_MOST_NOISE = 2.0  # noise between periods over the noise that is expected, or its inverse, before a warning


def read_capture(
    path: Path | str,
    *,
    radio: Mapping[str, Any] | None = None,
    pilot: Path | str | None = None,
    noise: Path | str | None = None,
    noise_power: float | None = None,
) -> xr.Dataset:
    """Read a SigMF recording and turn it into one snapshot.

    Sample rate, centre frequency and channels become bandwidth, carrier (the lowest subcarrier) and antennas of the
    radio. A frequency offset below half a subcarrier's spacing is estimated, unless there is only one period, and
    removed. All whole periods of the pilot are averaged, and the noise figure of the returned radio is lowered by that
    gain.

    Args:
        path: ``.sigmf-meta``, ``.sigmf-data``, ``.sigmf`` or ``.sigmf-collection``, tuned to the middle of the band,
            with at least one period of the pilot, starting anywhere.
        radio: fields of :class:`locus.Radio` that the recording does not state, e.g. ``{"tx_power_dbm": 10.0}``.
        pilot: ``.npy`` file with one period of the pilot (sample), complex, as sent in the middle of the band, of any
            power and flat within 3 dB; by default that of :func:`locus.observe`.
        noise: recording without the transmitter at the same gain, SigMF or ``.npy`` (sample, antenna), whose power is
            the noise power.
        noise_power: mean squared magnitude of a noise sample, in the units of the recording; integers count as
            fractions of full scale. If neither is given, the samples are floats in √W.

    Returns:
        Dataset with ``iq`` (sample, antenna) [√W], ready for :func:`locus.locate` and :func:`locus.estimate`. In its
        attributes: ``radio``, ``noise_power``, ``num_periods``, ``frequency_offset`` [Hz] and, if the recording has an
        azimuth, ``heading`` [rad].

    Raises:
        ValueError: a file is damaged or too large, or contradicts itself or ``radio``.
        FileNotFoundError: a file is missing.
    """
    path = Path(path)
    if noise is not None and noise_power is not None:
        raise ValueError("Expected 'noise' or 'noise_power', got both")
    recording = read_recording(path)
    own = None if pilot is None else periods.spectrum_of(files.read_iq(Path(pilot)))
    full = _merge(recording, dict(radio or {}), None if own is None else len(own), path)
    spectrum = periods.expected_spectrum(full) if own is None else own
    expected = _noise_power(recording, full, spectrum, noise, noise_power, path)
    check_range(f"noise power of {path}", min(expected, full.noise_power), _LEAST_POWER)
    average = periods.average(recording.samples, full.num_subcarriers, full.bandwidth)
    _warn(average, expected / periods.noise_rise(spectrum), recording.samples.shape[1])
    rise_db = 10 * math.log10(periods.noise_rise(spectrum) / average.num_periods)
    lower = dataclasses.replace(full, noise_figure_db=full.noise_figure_db + rise_db)
    scale = math.sqrt(lower.noise_power / (expected / average.num_periods))
    iq = scale * periods.to_contract(average.period, spectrum, lower)
    attributes = {
        "noise_power": lower.noise_power,
        "radio": json.dumps(dataclasses.asdict(lower)),
        "num_periods": average.num_periods,
        "frequency_offset": average.frequency_offset,
    }
    if recording.heading is not None:
        attributes["heading"] = recording.heading
    variable = (("sample", "antenna"), iq, {"units": "W^0.5", "long_name": "received samples, mean of all periods"})
    return xr.Dataset({"iq": variable}, attrs=attributes)


class Capture(NamedTuple):
    """What ``locus locate`` passes on to :func:`locus.locate`."""

    pose: Pose | None
    iq: xr.Dataset | NDArray[np.inexact]
    radio: Radio | None
    noise_power: float | None


def read_with_pose(
    path: Path,
    pose: str | None,
    *,
    radio: Path | None = None,
    pilot: Path | None = None,
    noise: Path | None = None,
    noise_power: float | None = None,
) -> Capture:
    """Read a SigMF or ``.npy`` capture and a pose, ``x,y`` with an azimuth in the capture or ``x,y,heading``.

    Without a pose, the poses of the snapshots come from elsewhere.
    """
    if path.suffix in SUFFIXES:
        fields = files.read_radio_fields(radio) if radio else {}
        data = read_capture(path, radio=fields, pilot=pilot, noise=noise, noise_power=noise_power)
        return Capture(find_pose(pose, data.attrs.get("heading"), path) if pose else None, data, None, None)
    if pilot is not None:
        raise ValueError(f"Expected 'pilot' with a SigMF recording, which says what it is tuned to, got it with {path}")
    if noise is not None:
        if noise_power is not None:
            raise ValueError("Expected 'noise' or 'noise_power', got both")
        noise_power = float((np.abs(_read_noise(noise, path).astype(np.complex128)) ** 2).mean())
    found = files.parse_pose(pose) if pose else None
    return Capture(found, files.read_iq(path), files.read_radio(radio) if radio else None, noise_power)


def find_pose(text: str, heading: float | None, path: Path) -> Pose:
    """Pose from the command line, with the heading that a capture states."""
    if heading is None:
        return files.parse_pose(text)
    if text.count(",") == 1:
        return files.parse_pose(f"{text},{heading!r}")
    pose = files.parse_pose(text)
    if abs(wrapped(pose.heading - heading)) > HEADING_TOLERANCE:
        raise ValueError(
            f"Expected 'heading' within {math.degrees(HEADING_TOLERANCE):g} degree of the aperture's azimuth in "
            f"{path}, {heading:.4f} rad, got {pose.heading!r}; --pose x,y takes the azimuth"
        )
    return pose


def _merge(recording: Recording, stated: dict[str, Any], length: int | None, path: Path) -> Radio:
    """Radio of a recording: its metadata, the pilot's length and what is stated beside it, which must not differ."""
    try:
        own = dataclasses.asdict(from_mapping(Radio, recording.radio, "locus:"))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {str(error)[:300]}") from error
    told = dataclasses.asdict(from_mapping(Radio, stated, "radio."))
    known: dict[str, tuple[Any, str]] = {key: (own[key], f"locus:{key} of {path}") for key in recording.radio}

    def add(key: str, value: Any, where: str) -> None:
        if key in known and not math.isclose(value, known[key][0], rel_tol=_SAME):
            raise ValueError(f"Expected 'radio.{key}' {known[key][0]:.12g}, {known[key][1]}, got {value:.12g}, {where}")
        known.setdefault(key, (value, where))

    add("num_antennas", recording.samples.shape[1], f"the channels of {path}")
    if recording.sample_rate is not None:
        add("bandwidth", recording.sample_rate, f"core:sample_rate of {path}")
    if length is not None:
        add("num_subcarriers", length, "the length of the pilot")
    for key in stated:
        if key != "carrier":
            add(key, told[key], "of the radio")
    if "bandwidth" not in known:
        raise ValueError(f"{path}: Expected 'core:sample_rate', got none; give 'bandwidth' in the radio")
    if recording.frequency is not None:
        count = int(known["num_subcarriers"][0]) if "num_subcarriers" in known else Radio().num_subcarriers
        lowest = recording.frequency - count // 2 / count * known["bandwidth"][0]
        check_range(f"carrier of {path}, core:frequency less half of the band", lowest, 0.0, open_low=True)
        add("carrier", lowest, f"core:frequency of {path} less half of the band")
    if "carrier" in stated:
        add("carrier", told["carrier"], "of the radio")
    if "carrier" not in known:
        raise ValueError(f"{path}: Expected 'core:frequency', got none; give 'carrier' in the radio")
    return Radio(**{key: value for key, (value, _) in known.items()})


def _noise_power(
    recording: Recording,
    radio: Radio,
    spectrum: NDArray[np.complex128],
    noise: Path | str | None,
    noise_power: float | None,
    path: Path,
) -> float:
    """Noise power per sample in the recording's units, after division by the pilot's spectrum."""
    if noise is not None:
        return periods.measure_noise(_noise_like(recording, radio, Path(noise), path), spectrum)
    if noise_power is not None:
        check_range("noise_power", noise_power, 0.0, open_low=True)
    elif recording.is_integer:
        raise ValueError(
            f"{path}: Expected 'noise' or 'noise_power' with integers ({recording.datatype}), which have no unit, got "
            "none"
        )
    return periods.noise_rise(spectrum) * (radio.noise_power if noise_power is None else noise_power)


def _noise_like(recording: Recording, radio: Radio, noise: Path, path: Path) -> NDArray[np.inexact]:
    """Samples of noise, recorded as the capture was."""
    if noise.suffix not in SUFFIXES:
        samples = _read_noise(noise, path)
    else:
        other = read_recording(noise)
        for name in ("datatype", "sample_rate", "frequency"):
            if getattr(other, name) != getattr(recording, name):
                values = f"{getattr(recording, name)!r}, got {getattr(other, name)!r}"
                raise ValueError(f"{noise}: Expected '{name}' as in {path}, {values}")
        samples = other.samples
    if samples.shape[1] != recording.samples.shape[1] or len(samples) < radio.num_subcarriers:
        raise ValueError(
            f"Expected noise in {noise} of at least {radio.num_subcarriers} samples x {recording.samples.shape[1]} "
            f"antennas, got {samples.shape}"
        )
    if not samples.any():
        raise ValueError(f"Expected noise in {noise}, got only zeros")
    return samples


def _read_noise(noise: Path, path: Path) -> NDArray[np.inexact]:
    """Samples (sample, antenna) of a ``.npy`` file."""
    if noise.suffix in SUFFIXES:
        raise ValueError(f"Expected noise as .npy with a capture as .npy, {path}, got {noise}")
    samples = files.read_iq(noise)
    if samples.ndim != 2 or samples.size == 0 or samples.dtype.kind != "c" or not np.isfinite(samples).all():
        raise ValueError(
            f"Expected finite complex noise (sample, antenna) in {noise}, got {samples.dtype} of shape {samples.shape}"
        )
    return samples


def _warn(average: periods.Average, expected: float, num_antennas: int) -> None:
    """Warn of an offset that could not be estimated, and of noise between periods that is not what it should be."""
    if average.num_periods == 1:
        return
    if not average.found_offset:
        warnings.warn(
            "The frequency offset cannot be told from the noise, so none was removed: a longer recording, or "
            "oscillators that are locked to each other, would help",
            stacklevel=3,
        )
    freedom = (average.num_periods - 1) * len(average.period) * num_antennas
    most = _MOST_NOISE * (1 + 5 / math.sqrt(freedom))
    ratio = average.noise_power / expected
    if not 1 / most < ratio < most:
        warnings.warn(
            f"Pilot periods differ from each other by {10 * math.log10(max(ratio, 1e-30)):+.1f} dB compared with the "
            "noise power: check 'noise', 'noise_power', the pilot and its length; clocks may drift, or something moved",
            stacklevel=3,
        )
