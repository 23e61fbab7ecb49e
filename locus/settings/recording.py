"""Which settings are read: a process that records and a configuration in, the names of those that it reads out.

A chapter's kernel records, and no other process: there ``open_run`` hands out a view of the configuration that notes
every field that is read, whoever reads it. Elsewhere it hands out the configuration itself, at no cost.
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
    """What is recorded: the settings of one run, each name a line of a file when it is first read."""

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
    """Record in ``file``, from here to the end of this process, which settings of ``run`` are read."""
    global _record
    _record = _Record(run, Path(file))
    _record.file.touch()  # a file without a line: nothing was read; no file: nothing was recorded


def watched(run: str, config: Config) -> Config:
    """The configuration of a run that was opened just now; as a view that notes what is read, if it is recorded."""
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
    """Read settings without recording it: to check them, or what was made with them, not to compute with them."""
    if _record is None or _record.paused:
        yield
        return
    _record.paused = True
    try:
        yield
    finally:
        _record.paused = False


def _view(section: Any, values: dict[str, Any], names: dict[str, str], record: _Record) -> Any:
    """``section`` with ``values``, of which those in ``names`` are noted when they are read.

    It passes for what it views: it is equal to it, and a copy by ``replace`` or pickle is not watched, as making one
    reads every field that is kept. A hash reads none: it finds what is cached, and says nothing of it.
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
