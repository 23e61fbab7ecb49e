"""Readers of ``.tflite`` files: headers that are sealed and hostile, without TensorFlow or its runtime."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from numpy.random import Generator

from fuzz import Reader, file_reader
from fuzz.mutations import changed, damaged
from locus.experiment.weights import load_scorer
from locus.score import lite_file
from locus.score.lite_file import read_header

_HEADER = {"method": "locus_dt", "options": {"num_paths": 6, "size": 100.0, "encoding": "plain"}, "config": {}}


def model(header: Any) -> bytes:
    """A FlatBuffer with nothing but the header: one metadata entry, and the buffer that it names."""
    text = lite_file.write_header(header) if isinstance(header, dict) else json.dumps(header).encode()
    content = bytearray(struct.pack("<I4s", 28, b"TFL3"))
    content += struct.pack("<9H", 18, 12, 0, 0, 0, 0, 4, 0, 8) + bytes(2)  # fields of the model; 8 to 27
    content += struct.pack("<iII", 20, 8, 12)  # model at 28: its fields, buffers at 40, metadata at 48
    content += struct.pack("<II", 1, 24)  # one buffer, at 68
    content += struct.pack("<II", 1, 36)  # one entry, at 88
    content += struct.pack("<3H", 6, 8, 4) + bytes(6)  # fields of the buffer; 56 to 67
    content += struct.pack("<iI", 12, 32)  # buffer at 68: its bytes at 104
    content += struct.pack("<4H", 8, 12, 4, 8) + bytes(4)  # fields of the entry; 76 to 87
    content += struct.pack("<iII", 12, 156 - 92, 0)  # entry at 88; its name is put behind the bytes below
    content += bytes(4) + struct.pack("<I", len(text)) + text
    content[92:96] = struct.pack("<I", len(content) - 92)
    content += struct.pack("<I5s", len(lite_file.NAME), lite_file.NAME.encode())
    return bytes(content)


def sealed(header: Any) -> bytes:
    """The same with a checksum that fits."""
    content = model(header)
    return lite_file.seal(content) if isinstance(header, dict) else content


def _hostile(rng: Generator, folder: Path) -> Path:
    tree = changed(_HEADER, rng)
    try:
        content = sealed(tree)
    except (RecursionError, UnicodeEncodeError, AssertionError):  # a header that nobody can write
        content = b"TFL3" * 10
    (folder / "x.tflite").write_bytes(content)
    return folder / "x.tflite"


def _load(path: Path) -> Any:
    """Load a network; a file that is refused only since it holds no network was read to the end."""
    try:
        return load_scorer(str(path))
    except RuntimeError as error:
        if "Expected LiteRT to be installed" in str(error):
            return None
        raise
    except lite_file.LiteFileError as error:
        if "that LiteRT can run" in str(error):
            return None
        raise


def _ordinary(folder: Path) -> Path:
    (folder / "x.tflite").write_bytes(sealed(_HEADER))
    return folder / "x.tflite"


def _header(path: Path) -> Any:
    return read_header(path.read_bytes(), path.name)


READERS = [
    Reader("tflite, sealed header", _ordinary, _hostile, _load),
    file_reader("tflite, damaged", "x.tflite", [sealed(_HEADER)], [damaged], _header),
]
