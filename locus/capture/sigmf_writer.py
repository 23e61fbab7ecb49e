"""Writing SigMF: simulated samples and a heading become a recording, an archive or a collection of recordings."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.capture.sigmf_array import wrapped
from locus.capture.sigmf_metadata import SUFFIXES
from locus.receiver.estimator import check_samples
from locus.settings.atomic import replacing
from locus.settings.config import SPEED_OF_LIGHT, Radio

DATATYPES = {"cf32_le": "<c8", "cf64_le": "<c16", "ci16_le": "<i2", "ci8": "i1"}
"""SigMF types that can be written, and NumPy's type of a sample or, for integers, of its real and imaginary parts."""

_FULL = {"ci16_le": 2**15, "ci8": 2**7}  # that the largest integer stands just below
_HEADROOM = 0.9  # of full scale: the largest part of a sample
_FROM_FILE = ("carrier", "bandwidth", "num_antennas")  # fields of a radio that SigMF has fields for


def write_sigmf(
    path: Path | str,
    data: xr.Dataset,
    *,
    heading: float | None = None,
    datatype: str = "cf32_le",
    full_scale: float | None = None,
) -> list[Path]:
    """Write samples as SigMF, tuned to the middle of the band.

    Args:
        path: ends in ``.sigmf-meta`` (with ``.sigmf-data`` beside it), ``.sigmf`` (an archive of both) or
            ``.sigmf-collection`` (one recording per antenna). Existing files are overwritten.
        data: Dataset from :func:`locus.observe` or :func:`locus.capture.simulated.record`; its ``iq`` (sample, antenna)
            is some periods of the pilot.
        heading: direction of broadside [rad], written as azimuth of the aperture.
        datatype: ``"cf32_le"``, ``"cf64_le"``, ``"ci16_le"`` or ``"ci8"``. Floats are in √W, integers have no unit.
        full_scale: what the largest integer stands for [√W], the receiver's gain; by default a little more than the
            largest sample.

    Returns:
        The files.

    Raises:
        ValueError: an argument is not as described.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES or path.suffix == ".sigmf-data":
        raise ValueError(f"Expected a file that ends in .sigmf-meta, .sigmf or .sigmf-collection, got {path}")
    if datatype not in DATATYPES:
        raise ValueError(f"Expected 'datatype' in {list(DATATYPES)}, got {datatype!r}")
    radio = Radio.carried_by(data) or Radio()
    iq = np.asarray(data.iq)
    if iq.ndim != 2 or len(iq) % radio.num_subcarriers:
        raise ValueError(f"Expected 'iq' as (sample, antenna) of whole pilot periods, got {iq.shape}")
    check_samples(iq.reshape(-1, radio.num_subcarriers, iq.shape[-1]), radio)
    middle = radio.num_subcarriers // 2
    samples = iq * np.exp(-2j * np.pi * middle / radio.num_subcarriers * np.arange(len(iq)))[:, np.newaxis]
    frequency = radio.carrier + middle / radio.num_subcarriers * radio.bandwidth
    encoded = _encode(samples, datatype, full_scale)
    of_all: dict[str, Any] = {
        "core:datatype": datatype,
        "core:sample_rate": radio.bandwidth,
        "core:description": "Simulated by locus",
        "core:extensions": [
            {"name": "spatial", "version": "1.1.0", "optional": True},
            {"name": "locus", "version": "1.0.0", "optional": True},
        ],
        "spatial:num_elements": radio.num_antennas,
        "spatial:channel_index": 0,
        **{f"locus:{key}": value for key, value in dataclasses.asdict(radio).items() if key not in _FROM_FILE},
    }
    capture: dict[str, Any] = {"core:frequency": frequency}
    if heading is not None:
        capture["spatial:aperture_azimuth"] = math.degrees(math.pi / 2 - wrapped(heading)) % 360.0
    geometry = _geometry(radio.num_antennas, frequency)
    if path.suffix == ".sigmf-collection":
        return _write_collection(path, encoded, of_all, capture, geometry)
    of_all["core:num_channels"] = radio.num_antennas
    return _write_recording(path, encoded, of_all, {**capture, "spatial:element_geometry": geometry})


def _encode(samples: NDArray[np.complex128], datatype: str, full_scale: float | None) -> NDArray[Any]:
    """Samples (sample, antenna) as they are stored; integers as (sample, antenna, part)."""
    kind = np.dtype(DATATYPES[datatype])
    if kind.kind == "c":
        return samples.astype(kind)
    parts = np.stack([samples.real, samples.imag], axis=-1)
    full = full_scale or max(float(np.abs(parts).max()), np.finfo(float).tiny) / _HEADROOM
    return np.clip(np.round(parts / full * _FULL[datatype]), -_FULL[datatype], _FULL[datatype] - 1).astype(kind)


def _geometry(num_antennas: int, frequency: float) -> list[dict[str, list[float]]]:
    """Places of the antennas, leftmost first, about the array's middle."""
    step = SPEED_OF_LIGHT / frequency / 2
    return [{"point": [0.0, (num_antennas - 1) / 2 * step - i * step, 0.0]} for i in range(num_antennas)]


def _write_collection(
    path: Path, encoded: NDArray[Any], of_all: dict[str, Any], capture: dict[str, Any], geometry: list[Any]
) -> list[Path]:
    from sigmf import SigMFCollection

    files = []
    for antenna in range(encoded.shape[1]):
        name = path.with_name(f"{path.stem}-{antenna}.sigmf-meta")
        files += _write_recording(name, encoded[:, antenna], {**of_all, "spatial:channel_index": antenna}, capture)
    names = [file.name for file in files if file.suffix == ".sigmf-meta"]
    collection = SigMFCollection(names, base_path=path.parent)
    collection.set_collection_field("core:extensions", of_all["core:extensions"])
    collection.set_collection_field("spatial:element_geometry", geometry)
    with replacing(path) as scratch:
        collection.tofile(scratch, overwrite=True)
    return [path, *files]


def _write_recording(path: Path, encoded: NDArray[Any], of_all: dict[str, Any], capture: dict[str, Any]) -> list[Path]:
    from sigmf import SigMFFile

    content = np.ascontiguousarray(encoded).tobytes()
    file = SigMFFile(global_info={**of_all, "core:sha512": hashlib.sha512(content).hexdigest()})
    file.add_capture(0, dict(capture))
    if path.suffix == ".sigmf":
        with tempfile.TemporaryDirectory() as folder:  # the library archives files only
            data = Path(folder) / path.with_suffix(".sigmf-data").name
            data.write_bytes(content)
            file.set_data_file(data, skip_checksum=True)
            with replacing(path) as scratch, scratch.open("wb") as out:
                file.archive(path.stem, out)
        return [path]
    data = path.with_suffix(".sigmf-data")
    text = io.StringIO()
    file.validate()
    file.dump(text)
    with replacing(data) as scratch:
        scratch.write_bytes(content)
    with replacing(path) as scratch:
        scratch.write_text(text.getvalue() + "\n", encoding="utf-8")
    return [path, data]
