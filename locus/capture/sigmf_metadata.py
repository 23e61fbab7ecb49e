"""SigMF metadata: a recording on disk, two files or an archive, in; what it says, and where its samples are, out.

The library ``sigmf`` checks metadata against the schema. What it would read or follow without a bound is checked
before: sizes, names of files, nesting.
"""

from __future__ import annotations

import json
import re
import reprlib
import tarfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locus.capture.sigmf_array import number, whole

SUFFIXES = (".sigmf-meta", ".sigmf-data", ".sigmf", ".sigmf-collection")
"""Metadata and samples of a recording, an archive of both, and a collection of recordings."""
MAX_RECORDING_BYTES = 256 * 2**20
"""Maximum size of the samples of all antennas as complex numbers: 8 bytes each, or 16 if the file has doubles."""
MAX_METADATA_BYTES = 2**20
EXTENSIONS = ("spatial", "locus")
"""Extensions that are understood; a recording that needs another is refused."""

_MAX_MEMBERS = 100
_DATATYPE = re.compile(r"(c|r)((f32|f64|i32|i16|u32|u16)(_le|_be)|i8|u8)")
_NOT_READ = ("core:dataset", "core:trailing_bytes", "core:metadata_only")


@dataclass(frozen=True)
class Stored:
    """One recording as it lies on disk: checked metadata, and the bytes of its samples."""

    name: str
    """File that messages name."""
    metadata: dict[str, Any]
    data: Path
    """File with the samples."""
    start: int
    """Offset of the samples in ``data`` [bytes]."""
    size: int
    """Size of the samples [bytes]."""

    @property
    def of_all(self) -> dict[str, Any]:
        """Fields of the section ``global``."""
        found: dict[str, Any] = self.metadata["global"]
        return found

    @property
    def capture(self) -> dict[str, Any]:
        """Fields of the only segment."""
        found: dict[str, Any] = self.metadata["captures"][0]
        return found

    @property
    def num_channels(self) -> int:
        """Antennas in this recording."""
        return int(self.of_all.get("core:num_channels", 1))


def open_pair(path: Path) -> Stored:
    """Find a recording from its metadata or sample file; the other must lie beside it."""
    meta, data = path.with_suffix(".sigmf-meta"), path.with_suffix(".sigmf-data")
    content, size = content_of(meta, MAX_METADATA_BYTES), _size(data)
    return _check(Stored(str(meta), _parse(content, str(meta)), data, 0, size))


def open_archive(path: Path) -> Stored:
    """Find the recording in a tar archive, without extracting it."""
    limit = _size(path)
    check_most(path, limit, 2 * MAX_RECORDING_BYTES)
    found: dict[str, tarfile.TarInfo] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for _ in range(_MAX_MEMBERS + 1):
                member = archive.next()
                if member is None:
                    break
                suffix = Path(member.name).suffix
                if suffix not in SUFFIXES[:2]:
                    continue
                whole_file = member.isreg() and not member.issparse()
                if not (whole_file and 0 <= member.size <= limit - member.offset_data) or suffix in found:
                    raise ValueError(f"Expected one whole file that ends in {suffix}, got {member.name[:80]!r}")
                found[suffix] = member
            else:
                raise ValueError(f"Expected at most {_MAX_MEMBERS} files, got more")
            if len(found) < 2:
                raise ValueError("Expected a file that ends in .sigmf-meta and one in .sigmf-data, got not both")
            meta, data = (found[suffix] for suffix in SUFFIXES[:2])
            check_most(path, meta.size, MAX_METADATA_BYTES)
            archive.fileobj.seek(meta.offset_data)
            content = archive.fileobj.read(meta.size)
    except (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError) as error:
        text = " ".join(str(error).split())[:200]
        raise ValueError(f"Expected an uncompressed SigMF archive of one recording in {path}, got: {text}") from error
    return _check(Stored(str(path), _parse(content, str(path)), path, data.offset_data, data.size))


def _check(stored: Stored) -> Stored:
    """Check what can be known before samples are read."""
    from sigmf.hashing import calculate_sha512

    name, values, captures = stored.name, stored.of_all, stored.metadata["captures"]
    check_extensions(values, name)
    for key in _NOT_READ:
        if values.get(key):
            raise ValueError(f"{name}: Expected a conforming recording, got '{key}', which is not supported")
    datatype = values["core:datatype"]
    if not _DATATYPE.fullmatch(datatype) or datatype[0] != "c":
        raise ValueError(
            f"{name}: Expected complex samples, e.g. 'core:datatype' cf32_le or ci16_le, got {reprlib.repr(datatype)}"
        )
    if len(captures) != 1:
        raise ValueError(f"{name}: Expected one segment in 'captures', got {len(captures)}; cut the recording")
    capture = captures[0]
    if capture.get("core:header_bytes"):
        raise ValueError(f"{name}: Expected a conforming recording, got 'core:header_bytes', which is not supported")
    if capture["core:sample_start"] != values.get("core:offset", 0):
        raise ValueError(
            f"{name}: Expected 'captures' from the first sample, got 'core:sample_start' {capture['core:sample_start']}"
        )
    if "spatial:calibration" in capture:
        raise ValueError(f"{name}: Expected a capture, got a calibration ('spatial:calibration')")
    sample_bytes = sample_bytes_of(stored)
    if stored.size == 0 or stored.size % sample_bytes:
        raise ValueError(
            f"{name}: Expected samples of {sample_bytes} bytes ({datatype}, {stored.num_channels} channels), got "
            f"{stored.size} bytes, which is no whole number of them"
        )
    check_total(complex_bytes(stored), name)
    digest = values.get("core:sha512")
    if digest and calculate_sha512(stored.data, offset=stored.start, size=stored.size) != digest.lower():
        raise ValueError(f"{name}: Expected samples with the hash in 'core:sha512', got others; the file is damaged")
    return stored


def check_elements(stored: Stored, num_antennas: int, index: int) -> None:
    """Check the number of antennas and the index of the first channel, where given."""
    for key, expected in (("spatial:num_elements", num_antennas), ("spatial:channel_index", index)):
        found = whole(stored.of_all, key, stored.name)
        if found is not None and found != expected:
            raise ValueError(f"{stored.name}: Expected '{key}' {expected}, as there are channels, got {found}")


def check_extensions(values: Mapping[str, Any], name: str) -> None:
    """Refuse metadata that cannot be understood without an extension that we do not know."""
    extensions = values.get("core:extensions", [])
    if not isinstance(extensions, list) or not all(isinstance(one, Mapping) for one in extensions):
        raise ValueError(f"{name}: Expected 'core:extensions' as a list of objects, got {reprlib.repr(extensions)}")
    for one in extensions:
        if one.get("name") not in EXTENSIONS and one.get("optional") is not True:
            raise ValueError(
                f"{name}: Expected no required extension but {' and '.join(EXTENSIONS)}, got "
                f"{reprlib.repr(one.get('name'))}"
            )


def _parse(content: bytes, name: str) -> dict[str, Any]:
    """Metadata that follows the schema of SigMF."""
    import jsonschema
    from sigmf import validate

    metadata = load(content, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of extensions that are used but not declared
            validate.validate(metadata)
    except jsonschema.ValidationError as error:
        place = error.json_path if len(error.json_path) < 80 else "$"
        text = " ".join(error.message.split())
        text = text if len(text) < 150 else f"{text[:70]} ... {text[-70:]}"
        raise ValueError(f"{name}: Expected metadata as SigMF defines it, got at {place}: {text}") from error
    except (RecursionError, AttributeError, TypeError) as error:  # nested too deeply, or sections of another type
        raise ValueError(f"{name}: Expected metadata as SigMF defines it, got sections of another form") from error
    for section in ("core:sample_rate", "core:num_channels"):
        number(metadata["global"], section, name)
    return metadata


def load(content: bytes, name: str) -> dict[str, Any]:
    """Parse metadata: JSON whose outermost value is an object, as SigMF's sections are."""
    try:
        found = json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # not text, not JSON, or nested too deeply
        raise ValueError(f"Expected SigMF metadata in {name}, got invalid JSON: {str(error)[:200]}") from error
    if not isinstance(found, dict):
        raise ValueError(f"Expected SigMF metadata in {name}, got JSON without sections")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def sample_bytes_of(stored: Stored) -> int:
    """Bytes of one sample of all channels."""
    from sigmf.sigmffile import dtype_info

    return int(dtype_info(stored.of_all["core:datatype"])["sample_size"]) * stored.num_channels


def complex_bytes(stored: Stored) -> int:
    """Bytes of all samples as complex numbers."""
    item = 16 if "f64" in stored.of_all["core:datatype"] else 8
    return stored.size // sample_bytes_of(stored) * stored.num_channels * item


def content_of(path: Path, most: int) -> bytes:
    """Contents of a file of at most ``most`` bytes."""
    check_most(path, _size(path), most)
    with path.open("rb") as file:
        return file.read(most)


def _size(path: Path) -> int:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    return path.stat().st_size


def check_most(path: Path, size: int, most: int) -> None:
    """Refuse a file that is too large."""
    if size > most:
        raise ValueError(f"Expected {path} of at most {most // 2**20} MiB, got {size / 2**20:.1f} MiB")


def check_total(size: int, name: str) -> None:
    """Raise a ValueError if samples of this size [bytes], as complex numbers, exceed ``MAX_RECORDING_BYTES``."""
    if size > MAX_RECORDING_BYTES:
        raise ValueError(
            f"{name}: Expected samples of at most {MAX_RECORDING_BYTES // 2**20} MiB as complex numbers, got "
            f"{size / 2**20:.1f} MiB; cut the recording"
        )
