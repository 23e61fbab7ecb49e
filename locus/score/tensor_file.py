"""Safetensors files with our header: a path in, tensors of torch or NumPy and the header out. Needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from locus.settings.checksums import check_intact
from locus.settings.untrusted import parse_json

MAX_BYTES = 2**26
"""Size limit of a file of weights."""
MAX_HEADER_BYTES = 2**22
"""Size limit of its header, which holds settings and the history of the training."""


def read(path: Path, framework: Literal["pt", "np"]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and header of a safetensors file.

    Raises:
        ValueError: the file is damaged, or was not written by this project.
    """
    check_intact(path)
    _check_file(path)
    try:
        with safe_open(path, framework=framework) as file:
            header = parse_json((file.metadata() or {})["locus"])
            if not isinstance(header, dict):
                raise KeyError("locus")
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118 - not a mapping
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"Expected weights made by `locus train` in {path}, got a file without their header"
        ) from error


def _check_file(path: Path) -> None:
    """Raise a ValueError if a file is too large, or says that its header is."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(8)
    length = int.from_bytes(start, "little")
    if size > MAX_BYTES or length > MAX_HEADER_BYTES:
        raise ValueError(
            f"Expected weights made by `locus train` in {path}, at most {MAX_BYTES // 2**20} MiB with a header of at "
            f"most {MAX_HEADER_BYTES // 2**20} MiB, got {size} bytes and a header of {length}"
        )
