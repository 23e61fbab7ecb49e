"""Atomic file writes: write to a temporary file in the same folder, then rename it.

Names of temporary files carry the process ID and a hash of the host name, so that a later process can recognise and
remove what a killed one left behind.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MACHINE = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, same folder and suffix, that replaces ``path`` when the block succeeds.

    Readers see either the old file or the complete new one. If the block raises, the old file stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clean(path.parent, f".{path.stem}.", path.suffix)
    scratch = path.with_name(f".{path.stem}.{_own()}{path.suffix}")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Yield a temporary folder, which is removed afterwards; the next call removes those of killed processes."""
    home, start = Path(tempfile.gettempdir()), f"locus-{purpose}-"
    clean(home, start)
    folder = Path(tempfile.mkdtemp(prefix=f"{start}{_own()}-", dir=home))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def clean(folder: Path, start: str, end: str = "") -> None:
    """Remove what dead processes of this machine left in a folder under names that start and end like this."""
    pattern = re.compile(rf"{re.escape(start)}(\d+)-{_MACHINE}(-\w+)?{re.escape(end)}")
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(start)]
        for name in names:
            found = pattern.fullmatch(name)
            if found and not _alive(int(found[1])):
                left = folder / name
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)


def _own() -> str:
    return f"{os.getpid()}-{_MACHINE}"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
