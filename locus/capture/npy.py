"""NumPy's files: a ``.npy`` from anywhere in, its numbers out; header and size are checked before memory is taken.

The header states type and shape as a Python literal. NumPy believes it: it maps terabytes of zero-sized elements, and
passes on whatever parsing the literal raises. Here a header may only be what ``np.save`` writes.
"""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from locus.settings.untrusted import short

KINDS = {f"{order}{kind}": f"{order}{kind}" for order in "<>" for kind in ("c8", "c16", "f4", "f8")}
"""Types that are read: real and complex, in single and double precision."""

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 2000  # np.save writes 118 bytes or a little more
_MAX_DIMS = 8
_FIELDS = re.compile(
    r"\{\s*'descr'\s*:\s*'([^'\\]{1,8})'\s*,\s*'fortran_order'\s*:\s*(True|False)\s*,\s*'shape'\s*:\s*"
    r"\(([\d, ]{0,100})\)\s*,?\s*\}\s*"
)


def read_npy(path: Path, most: int) -> NDArray[np.inexact]:
    """Read an array of real or complex numbers; ``most`` bytes at most.

    Raises:
        ValueError: the file is not a ``.npy`` file, has another type, is truncated or too large, or does not match its
            header.
    """
    with path.open("rb") as stream:
        start = stream.read(8)
        if start[:6] != _MAGIC or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
            raise _unreadable(path, f"a file that begins with {short(start)}")
        width = 2 if start[6] == 1 else 4
        field = stream.read(width)
        length = struct.unpack("<H" if width == 2 else "<I", field)[0] if len(field) == width else 0
        header = stream.read(length) if 0 < length <= _MAX_HEADER else b""
        fields = _FIELDS.fullmatch(header.decode("latin-1"))
        if len(header) != length or fields is None:
            raise _unreadable(path, f"a header that np.save does not write: {short(header.decode('latin-1'))}")
        kind, order, sizes = fields.groups()
        if kind not in KINDS:
            raise _unreadable(path, f"type {short(kind)}; use {', '.join(k for k in KINDS if k[0] == '<')}")
        shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
        if len(shape) > _MAX_DIMS or math.prod(size or 1 for size in shape) > most:
            raise _unreadable(path, f"shape {short(shape)}")
        needed = math.prod(shape) * np.dtype(kind).itemsize
        left = path.stat().st_size - stream.tell()
        if needed != left or needed > most:
            raise _unreadable(path, f"{left} bytes of samples where shape {short(shape)} of {kind} needs {needed}")
        values = np.frombuffer(stream.read(needed), dtype=kind)
    if len(values) != math.prod(shape):
        raise _unreadable(path, "a file that changed while it was read")
    return values.reshape(shape, order="F" if order == "True" else "C").astype(np.dtype(kind).newbyteorder("="))


def _unreadable(path: Path, got: str) -> ValueError:
    return ValueError(f"Expected complex samples as .npy in {path}, got {got}")
