"""Files that a kill cannot halve: a path in, a place to write beside it out, renamed when all is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what is to become ``path``, in the same folder and with the same suffix.

    A reader sees the old file or the new one, never half of one. If the block fails, the old one stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
