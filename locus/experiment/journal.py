"""What makes a store safe: one writer at a time, and a journal of finished blocks with their checksums."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


class StoreError(RuntimeError):
    """A store cannot be built or opened; the message says why and what to do."""


@contextmanager
def exclusive(store: Path) -> Iterator[None]:
    """Hold a store for writing. The lock goes with the process, however that ends.

    Raises:
        StoreError: another process holds it; the message says which.
    """
    with store.with_suffix(".lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StoreError(
                f"Expected {store.name} free for writing, got it held by process {lock.read().strip() or 'unknown'}; "
                "wait for it or end it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@dataclass(frozen=True)
class Journal:
    """Lines of JSON beside a store, one a finished block: its number and the checksums of its files.

    A line that a kill cut short does not count. Of two lines of one block the later counts.
    """

    store: Path

    @property
    def path(self) -> Path:
        """The journal's file."""
        return self.store.with_suffix(".journal")

    def start(self) -> None:
        """Begin an empty journal."""
        self.path.write_text("", encoding="utf-8")

    def note(self, block: int, files: list[Path]) -> None:
        """Add a block whose files are all written."""
        sums = {str(file.relative_to(self.store)): _checksum(file) for file in files if file.exists()}
        with self.path.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps({"block": block, "files": sums}) + "\n")
            journal.flush()
            os.fsync(journal.fileno())

    def finished(self) -> dict[int, dict[str, str]]:
        """Checksums of the files of each finished block."""
        blocks = {}
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.split("\n"):
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            blocks[int(entry["block"])] = entry["files"]
        return blocks

    def damaged(self) -> dict[int, str]:
        """Finished blocks of which a file is missing or differs, and that file's name."""
        return {
            block: name
            for block, files in self.finished().items()
            for name, checksum in files.items()
            if not (self.store / name).exists() or _checksum(self.store / name) != checksum
        }

    def clean(self) -> None:
        """Remove files that a kill left half written, and end a line that it cut short."""
        for scratch in self.store.rglob("*.partial"):
            scratch.unlink()
        with self.path.open("a+b") as journal:
            if journal.tell() > 0:
                journal.seek(-1, os.SEEK_END)
                if journal.read(1) != b"\n":
                    journal.write(b"\n")


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
