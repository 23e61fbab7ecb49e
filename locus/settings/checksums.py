"""Checksums: files in; SHA256SUMS beside them, by which a changed bit is found, out.

The format is that of ``sha256sum``, so that ``sha256sum -c SHA256SUMS`` checks a folder, too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from locus.settings.atomic import replacing, write_text

LEDGER = "SHA256SUMS"


class DamagedError(ValueError):
    """A file is not what was written."""


@contextmanager
def sealing(path: Path) -> Iterator[Path]:
    """Where to write what is to become ``path``, as :func:`locus.settings.atomic.replacing`; its checksum is noted."""
    with replacing(path) as scratch:
        yield scratch
        digest = checksum(scratch)
    with _alone(path.parent):
        kept = {name: value for name, value in _read(path.parent).items() if (path.parent / name).exists()}
        lines = (f"{value}  {name}\n" for name, value in sorted({**kept, path.name: digest}.items()))
        write_text(path.parent / LEDGER, "".join(lines))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from a folder's checksums: two writers would each lose the other's."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def intact(path: Path) -> bool:
    """Whether a file is there and has the checksum that was noted when it was written."""
    return path.is_file() and _read(path.parent).get(path.name) == checksum(path)


def damaged(path: Path) -> bool:
    """Whether a file is there and has another checksum than the one noted for it; one without passes."""
    noted = _read(path.parent).get(path.name)
    return noted is not None and path.is_file() and noted != checksum(path)


def check_intact(path: Path) -> None:
    """Raise a DamagedError if a file is damaged.

    A file without a checksum, like weights that a user copied somewhere else, passes.
    """
    if damaged(path):
        raise DamagedError(
            f"Expected {path} as it was written, got other bytes than {LEDGER} beside it says; "
            "`locus reproduce` makes it again, or restore it from a copy"
        )


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(folder: Path) -> dict[str, str]:
    """Checksums by file name; a line that cannot be read counts as absent."""
    ledger = folder / LEDGER
    if not ledger.is_file():
        return {}
    pairs = (line.split("  ", 1) for line in ledger.read_text(encoding="utf-8", errors="replace").splitlines())
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
