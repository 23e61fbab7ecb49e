"""Checksums: files in; SHA256SUMS beside them, which reveals any later change, out.

The format is that of ``sha256sum``: ``sha256sum -c SHA256SUMS`` checks a folder.
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
    """A file does not match its checksum."""


@contextmanager
def sealing(path: Path) -> Iterator[Path]:
    """Yield a temporary path like :func:`locus.settings.atomic.replacing`, and record the checksum of the new file."""
    with replacing(path) as scratch:
        yield scratch
        digest = checksum(scratch)
    _record(path.parent, {path.name: digest})


def remove(path: Path) -> None:
    """Delete a file and its recorded checksum."""
    path.unlink()
    _record(path.parent, {})


def _record(folder: Path, new: dict[str, str]) -> None:
    """Add checksums to those of a folder, and drop those of files that no longer exist."""
    with _alone(folder):
        kept = {name: value for name, value in _read(folder).items() if (folder / name).exists()}
        lines = (f"{value}  {name}\n" for name, value in sorted({**kept, **new}.items()))
        write_text(folder / LEDGER, "".join(lines))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder's checksums, so that concurrent writers do not overwrite each other's entries."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def intact(path: Path) -> bool:
    """Whether a file exists and matches its recorded checksum."""
    return path.is_file() and _read(path.parent).get(path.name) == checksum(path)


def damaged(path: Path) -> bool:
    """Whether a file exists and differs from its recorded checksum; False without a recorded one."""
    noted = _read(path.parent).get(path.name)
    return noted is not None and path.is_file() and noted != checksum(path)


def check_intact(path: Path) -> None:
    """Raise a DamagedError if a file is damaged.

    A file without a recorded checksum, such as weights copied to another folder, passes.
    """
    if damaged(path):
        raise DamagedError(
            f"Expected {path} to match {LEDGER} beside it, got another checksum; "
            "`locus reproduce` computes it again, or restore it from a copy"
        )


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(folder: Path) -> dict[str, str]:
    """Checksums by file name; malformed lines are skipped."""
    ledger = folder / LEDGER
    if not ledger.is_file():
        return {}
    pairs = (line.split("  ", 1) for line in ledger.read_text(encoding="utf-8", errors="replace").splitlines())
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
