"""Header of a LiteRT file: bytes of a ``.tflite`` in, what ``locus export`` wrote into its metadata, out.

A ``.tflite`` is a FlatBuffer: tables that point to each other. Only those that lead to the header are read here, every
offset is checked before use, and a checksum over the whole file comes before any runtime sees the rest.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

from locus.settings.untrusted import short

NAME = "locus"
"""Name of the metadata entry whose buffer holds the header, as JSON."""
FORMAT = 1
"""Version of the header."""

_MAGIC = b"TFL3"
_MODEL_BUFFERS, _MODEL_METADATA = 4, 6  # numbers of the fields in TensorFlow's schema
_METADATA_NAME, _METADATA_BUFFER = 0, 1
_BUFFER_DATA = 0
_CHECKSUM = "checksum"
_BLANK = "0" * 64


class LiteFileError(ValueError):
    """A file is not one that ``locus export`` made, or it is damaged."""


def read_header(content: bytes, name: str) -> dict[str, Any]:
    """Header of a LiteRT file; ``name`` is the file's, for errors.

    Raises:
        LiteFileError: the file is not a LiteRT file, has no header, or has changed since it was made.
    """
    if content[4:8] != _MAGIC:
        raise LiteFileError(f"Expected a .tflite file in {name}, got other content")
    try:
        text = _find(content)
    except struct.error:
        raise LiteFileError(f"Expected a whole .tflite file in {name}, got a truncated or damaged one") from None
    if text is None:
        raise LiteFileError(f"Expected a .tflite file that `locus export` made in {name}, got one without its header")
    try:
        header = json.loads(text)
        stated, version = header[_CHECKSUM], header["format"]
    except (ValueError, TypeError, KeyError):  # json's and the decoding's errors are ValueErrors
        raise LiteFileError(f"Expected a header in {name}, got a damaged one") from None
    if version != FORMAT:
        raise LiteFileError(f"Expected a header of format {FORMAT} in {name}, got {short(version)}; export it again")
    if not isinstance(stated, str) or len(stated) != len(_BLANK) or stated != _checksum(content, stated):
        raise LiteFileError(f"Expected {name} as `locus export` wrote it, got another checksum; export it again")
    return {key: value for key, value in header.items() if key != _CHECKSUM}


def write_header(header: dict[str, Any]) -> bytes:
    """Header as the bytes of a metadata buffer, with room for the checksum."""
    return json.dumps({**header, "format": FORMAT, _CHECKSUM: _BLANK}).encode()


def seal(content: bytes) -> bytes:
    """Fill in the checksum of a file that contains a new header."""
    blank = _BLANK.encode()
    assert content.count(blank) == 1
    return content.replace(blank, _checksum(content, _BLANK).encode())


def _checksum(content: bytes, stated: str) -> str:
    """SHA-256 of a file in which the stated checksum is blank."""
    return hashlib.sha256(content.replace(stated.encode(), _BLANK.encode())).hexdigest()


def _find(content: bytes) -> bytes | None:
    """Content of the header's buffer; None if there is no such entry. Raises struct.error outside the file."""
    model = _follow(content, 0)
    entries, buffers = (_vector(content, _field(content, model, field)) for field in (_MODEL_METADATA, _MODEL_BUFFERS))
    for entry in entries:
        table = _follow(content, entry)
        label, number = (_field(content, table, field) for field in (_METADATA_NAME, _METADATA_BUFFER))
        if label is None or _bytes(content, label) != NAME.encode():
            continue
        index = 0 if number is None else _number(content, number, "I")
        if index >= len(buffers):
            raise struct.error
        data = _field(content, _follow(content, buffers[index]), _BUFFER_DATA)
        return None if data is None else _bytes(content, data)
    return None


def _number(content: bytes, position: int, kind: str) -> int:
    if position < 0:  # struct would count from the end
        raise struct.error
    (value,) = struct.unpack_from(f"<{kind}", content, position)
    return int(value)


def _follow(content: bytes, position: int) -> int:
    """Where the offset at a position points to."""
    return position + _number(content, position, "I")


def _field(content: bytes, table: int, number: int) -> int | None:
    """Position of a field of a table; None if the table does not have it."""
    fields = table - _number(content, table, "i")
    place = 4 + 2 * number
    if place + 2 > _number(content, fields, "H"):
        return None
    inside = _number(content, fields + place, "H")
    return table + inside if inside else None


def _vector(content: bytes, position: int | None) -> range:
    """Positions of the elements of a vector of offsets."""
    if position is None:
        return range(0)
    start = _follow(content, position)
    length = _number(content, start, "I")
    if start + 4 + 4 * length > len(content):
        raise struct.error
    return range(start + 4, start + 4 + 4 * length, 4)


def _bytes(content: bytes, position: int) -> bytes:
    """Content of a string, or of a vector of bytes."""
    start = _follow(content, position)
    length = _number(content, start, "I")
    if start + 4 + length > len(content):
        raise struct.error
    return content[start + 4 : start + 4 + length]
