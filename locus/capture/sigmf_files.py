"""SigMF files: a recording, an archive or a collection in; samples of all antennas, and what is known of them, out."""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from locus.capture import sigmf_array
from locus.capture.sigmf_array import whole
from locus.capture.sigmf_metadata import (
    MAX_METADATA_BYTES,
    SUFFIXES,
    Stored,
    check_elements,
    check_extensions,
    check_total,
    complex_bytes,
    content_of,
    load,
    open_archive,
    open_pair,
    sample_bytes_of,
)

_CHUNK = 2**20  # samples that are converted at once
_MOST = 1e30  # magnitude of a sample: powers of larger ones would overflow
_NAME = re.compile(r"[^/\\:\x00-\x1f]{1,200}")
_SAME = ("core:datatype", "core:sample_rate")  # of all recordings in a collection
_SAME_START = ("core:frequency", "core:sample_start", "core:datetime", "core:global_index")


@dataclass(frozen=True)
class Recording:
    """Samples of an array, and what their metadata says."""

    samples: NDArray[np.complexfloating]
    """(sample, antenna), leftmost antenna first; integers are scaled to [-1, 1)."""
    sample_rate: float | None
    """Sample rate [Hz]."""
    frequency: float | None
    """Frequency that the receiver is tuned to [Hz]."""
    heading: float | None
    """Direction of broadside [rad], counter-clockwise from x."""
    datatype: str
    radio: dict[str, Any]
    """Further fields of :class:`locus.Radio`, from the extension ``locus``."""

    @property
    def is_integer(self) -> bool:
        """Whether the samples are integers, which have no unit."""
        return "f" not in self.datatype


def read_recording(path: Path) -> Recording:
    """Read one recording with a channel per antenna, as files or as an archive, or a collection of one per antenna.

    Raises:
        ValueError: metadata is invalid or does not fit the samples, needs an unknown extension, or describes an array
            that is not linear with half a wavelength between antennas; or there are too many samples.
        FileNotFoundError: a file is missing.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"Expected a file that ends in {', '.join(SUFFIXES)}, got {path}")
    if path.suffix == ".sigmf-collection":
        return _read_collection(path)
    stored = open_archive(path) if path.suffix == ".sigmf" else open_pair(path)
    geometry = stored.capture.get("spatial:element_geometry")
    check_elements(stored, stored.num_channels, 0)
    return _assemble([stored], geometry, stored.name)


def _read_collection(path: Path) -> Recording:
    from sigmf.hashing import calculate_sha512

    name = str(path)
    collection = load(content_of(path, MAX_METADATA_BYTES), name).get("collection")
    if not isinstance(collection, dict) or not isinstance(collection.get("core:streams"), list):
        raise ValueError(f"{name}: Expected 'collection' with a list 'core:streams', got none")
    check_extensions(collection, name)
    streams = [_stream(one, name) for one in collection["core:streams"]]
    if not streams or len({stream for stream, _ in streams}) < len(streams):
        raise ValueError(f"{name}: Expected different recordings in 'core:streams', got {len(streams)}")
    parts, total = [], 0
    for stream, digest in streams:
        meta = path.with_name(f"{stream}.sigmf-meta")
        if meta.resolve().parent != path.resolve().parent:
            raise ValueError(f"{name}: Expected recordings in the same folder, got a link to another, {stream!r}")
        part = open_pair(meta)
        if digest and calculate_sha512(filename=meta) != digest.lower():
            raise ValueError(f"{name}: Expected {meta.name} with the hash in 'core:streams', got another")
        if part.num_channels != 1:
            raise ValueError(
                f"{part.name}: Expected one channel per recording of a collection, got {part.num_channels}"
            )
        total += complex_bytes(part)
        check_total(total, name)
        parts.append(part)
    first = parts[0]
    for part in parts[1:]:
        for keys, one, other in ((_SAME, part.of_all, first.of_all), (_SAME_START, part.capture, first.capture)):
            for key in keys:
                if one.get(key) != other.get(key):
                    values = f"{reprlib.repr(other.get(key))}, got {reprlib.repr(one.get(key))}"
                    raise ValueError(f"{part.name}: Expected '{key}' as in {Path(first.name).name}, {values}")
        if part.size != first.size:
            raise ValueError(f"{part.name}: Expected as many samples as {Path(first.name).name}, got another length")
    indices = [whole(part.of_all, "spatial:channel_index", part.name) for part in parts]
    if any(index is not None for index in indices):
        if sorted(-1 if index is None else index for index in indices) != list(range(len(parts))):
            raise ValueError(
                f"{name}: Expected 'spatial:channel_index' 0 to {len(parts) - 1}, each once, got "
                f"{reprlib.repr(indices)}"
            )
        parts = [part for _, part in sorted(zip(indices, parts, strict=True), key=lambda pair: pair[0] or 0)]
    for i, part in enumerate(parts):
        check_elements(part, len(parts), i)
    return _assemble(parts, _geometry(parts, collection), name)


def _geometry(parts: list[Stored], collection: Mapping[str, Any]) -> Any:
    """``spatial:element_geometry`` of all antennas; that of a capture takes precedence over the collection's."""
    own = [part.capture.get("spatial:element_geometry") for part in parts]
    alone = [one[0] for one in own if isinstance(one, list) and len(one) == 1]
    if len(alone) == len(parts):
        return alone
    return next((one for one in own if one is not None), collection.get("spatial:element_geometry"))


def _assemble(parts: list[Stored], geometry: Any, name: str) -> Recording:
    """Read the samples, remove phase offsets, and put the antennas in order."""
    first = parts[0]
    frequency, sample_rate = first.capture.get("core:frequency"), first.of_all.get("core:sample_rate")
    heading = sigmf_array.find_heading([part.capture for part in parts], name)
    num_antennas = sum(part.num_channels for part in parts)
    points, order = sigmf_array.find_points(geometry, name), np.arange(num_antennas)
    if points is not None:
        if len(points) != num_antennas:
            raise ValueError(
                f"{name}: Expected 'spatial:element_geometry' of {num_antennas} antennas, got {len(points)}"
            )
        if not frequency or frequency < 0:
            raise ValueError(f"{name}: Expected 'core:frequency' with 'spatial:element_geometry', got {frequency!r}")
        order = sigmf_array.order_from_left(points, float(frequency), name)
    samples = _read_samples(parts, order)
    prefix = "locus:"
    radio = {key.removeprefix(prefix): value for key, value in first.of_all.items() if key.startswith(prefix)}
    return Recording(
        samples,
        None if sample_rate is None else float(sample_rate),
        None if frequency is None else float(frequency),
        heading,
        first.of_all["core:datatype"],
        radio,
    )


def _read_samples(parts: list[Stored], order: NDArray[np.intp]) -> NDArray[np.complexfloating]:
    from sigmf import SigMFFile

    first = parts[0]
    length = first.size // sample_bytes_of(first)
    kind = np.complex128 if "f64" in first.of_all["core:datatype"] else np.complex64
    samples = np.empty((length, len(order)), dtype=kind)
    column = np.argsort(order)  # where each channel goes
    for i, part in enumerate(parts):
        columns = column[i : i + 1] if len(parts) > 1 else column
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = SigMFFile(metadata=part.metadata)
            file.set_data_file(part.data, skip_checksum=True, offset=part.start, size_bytes=part.size)
        turn = np.exp(-1j * sigmf_array.find_phase(part.capture, part.name)).astype(kind)
        step = max(1, _CHUNK // len(columns))
        for at in range(0, length, step):
            chunk = np.asarray(file[at : at + step]).reshape(-1, len(columns))
            with np.errstate(all="ignore"):
                bad = ~(np.abs(chunk) < _MOST)  # NaN is not below anything
            if bad.any():
                where = tuple((np.argwhere(bad)[0] + [at, 0]).tolist())
                raise ValueError(f"{part.name}: Expected finite samples, below {_MOST:g}, got another at {where}")
            samples[at : at + step, columns] = chunk * turn
    return samples


def _stream(one: Any, name: str) -> tuple[str, str]:
    """Name and hash of a recording: the schema has a list of both, the library an object."""
    pair = [one.get("name"), one.get("hash")] if isinstance(one, dict) else one
    if not isinstance(pair, list) or not pair or not isinstance(pair[0], str) or not _NAME.fullmatch(pair[0]):
        raise ValueError(f"{name}: Expected names of files in this folder in 'core:streams', got {reprlib.repr(one)}")
    digest = pair[1] if len(pair) > 1 and isinstance(pair[1], str) else ""
    return pair[0].removesuffix(".sigmf-meta"), digest
