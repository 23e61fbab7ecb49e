"""Safety of a store: a lock that admits one writer, and a journal of finished blocks with their checksums."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locus.settings.checksums import checksum


class StoreError(RuntimeError):
    """A store cannot be built or opened; the message says why and what to do."""


@contextmanager
def exclusive(store: Path, name: str | None = None) -> Iterator[None]:
    """Lock a store for writing; messages call it ``name``. The lock ends with the process, even if it is killed.

    Raises:
        StoreError: another process holds the lock; the message gives its process id.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.with_suffix(".lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StoreError(
                f"Expected {name or store.name} free for writing, got it held by process "
                f"{lock.read().strip() or 'unknown'}; "
                "wait for it to finish, or end it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@dataclass(frozen=True)
class Journal:
    """Lines of JSON in a file beside a store, each preceded by its own checksum.

    The first line holds the hash of the store's recipe and the checksums of its ``zarr.json`` files; one line per
    finished block follows. Lines that are truncated or damaged are ignored. A later line overrides an earlier one on
    the same subject.
    """

    store: Path

    @property
    def path(self) -> Path:
        """File of the journal."""
        return self.store.with_suffix(".journal")

    def start(self) -> None:
        """Start an empty journal."""
        self.path.write_text("", encoding="utf-8")

    def note_metadata(self, recipe: str, folder: Path) -> None:
        """Record the hash of the recipe and the checksums of the ``zarr.json`` files, which are still in ``folder``."""
        sums = {str(file.relative_to(folder)): checksum(file) for file in sorted(folder.rglob("zarr.json"))}
        self._add({"recipe": recipe, "files": sums})

    def note(self, block: int, files: Iterable[Path]) -> None:
        """Record a finished block and the checksums of its files."""
        sums = {str(file.relative_to(self.store)): checksum(file) for file in files if file.exists()}
        self._add({"block": block, "files": sums})

    @property
    def recipe(self) -> str | None:
        """Hash of the recipe that the store was built with; None without a valid journal."""
        return next((line["recipe"] for line in reversed(self._lines()) if "recipe" in line), None)

    def finished(self) -> dict[int, dict[str, str]]:
        """Finished blocks, each with the checksums of its files by name."""
        return {line["block"]: line["files"] for line in self._lines() if "block" in line}

    def damaged_metadata(self) -> str | None:
        """Name of a ``zarr.json`` file that is missing or differs from its checksum; None if there is none."""
        noted: dict[str, str] = next((one["files"] for one in reversed(self._lines()) if "recipe" in one), {})
        return next((name for name, value in noted.items() if self._differs(name, value)), None)

    def damaged(self) -> dict[int, str]:
        """Finished blocks with a missing or changed file, and the name of that file."""
        return {
            block: name
            for block, files in self.finished().items()
            for name, value in files.items()
            if self._differs(name, value)
        }

    def clean(self) -> None:
        """Clean up after a kill: remove partial files, and terminate a truncated last line."""
        for scratch in self.store.rglob("*.partial"):
            scratch.unlink()
        with self.path.open("a+b") as journal:
            if journal.tell() > 0:
                journal.seek(-1, os.SEEK_END)
                if journal.read(1) != b"\n":
                    journal.write(b"\n")

    def _differs(self, name: str, value: str) -> bool:
        return not (self.store / name).is_file() or checksum(self.store / name) != value

    def _add(self, entry: dict[str, Any]) -> None:
        text = json.dumps(entry)
        with self.path.open("a", encoding="utf-8") as journal:
            journal.write(f"{_short_sum(text)} {text}\n")
            journal.flush()
            os.fsync(journal.fileno())

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.is_file():
            return []
        pairs = (line.partition(" ") for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"))
        return [json.loads(text) for noted, _, text in pairs if text and noted == _short_sum(text)]


def _short_sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
