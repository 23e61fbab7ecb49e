"""Recording of settings: a configuration in; the names of the settings that a process reads from it, out.

Only the kernel of a chapter records. There, ``open_run`` returns a view of the configuration that logs every field when
it is read, by any code. In other processes it returns the configuration itself, at no cost.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from locus.settings.config import Config


@dataclass
class _Record:
    """Log of the settings of one run: a file with one line per setting, written when it is first read."""

    run: str
    file: Path
    seen: set[str] = field(default_factory=set)
    paused: bool = False

    def note(self, name: str) -> None:
        if not self.paused and name not in self.seen:
            self.seen.add(name)
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(f"{name}\n")


_record: _Record | None = None


def start(run: str, file: str) -> None:
    """Log the settings of ``run`` that are read, from now to the end of this process, in ``file``."""
    global _record
    _record = _Record(run, Path(file))
    _record.file.touch()  # an empty file means that nothing was read; a missing one, that nothing was recorded


def watched(run: str, config: Config) -> Config:
    """Return the configuration of a run, as a view that logs reads if this run is recorded."""
    if _record is None or _record.run != run:
        return config
    views = {
        name: _view(section, vars(section), {key: f"{name}.{key}" for key in vars(section)}, _record)
        for name, section in vars(config).items()
        if dataclasses.is_dataclass(section)
    }
    loose = {name: name for name in vars(config) if name not in views}
    return typing.cast("Config", _view(config, {**vars(config), **views}, loose, _record))


@contextmanager
def unrecorded() -> Iterator[None]:
    """Suspend recording, for code that reads settings to check or hash them rather than to compute with them."""
    if _record is None or _record.paused:
        yield
        return
    _record.paused = True
    try:
        yield
    finally:
        _record.paused = False


def _view(section: Any, values: dict[str, Any], names: dict[str, str], record: _Record) -> Any:
    """View of ``section`` with ``values``; reading a field in ``names`` logs it under its full name.

    The view behaves like its section: it compares equal and has the same class. Copies made by ``replace`` or pickle
    are plain, as copying already reads, and logs, every field that is kept. Hashing logs nothing, as it only looks up
    caches.
    """
    kind = type(section)

    def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
        for read in names if name == "__dict__" else (name,):
            if read in names:
                record.note(names[read])
        return object.__getattribute__(self, name)

    own = {
        "__class__": property(lambda _: kind),
        "__getattribute__": __getattribute__,
        "__hash__": lambda _: hash(section),
        "__reduce__": lambda self: (kind, tuple(getattr(self, one.name) for one in dataclasses.fields(kind))),
    }
    view: Any = object.__new__(type(kind.__name__, (kind,), own))
    object.__getattribute__(view, "__dict__").update(values)
    return view
