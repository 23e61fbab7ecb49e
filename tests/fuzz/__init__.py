"""Hostile input for every reader and public function: each is refused in one line, or accepted with a sane result.

To add a reader, put a module ``readers_<topic>.py`` with a list ``READERS`` here; nothing else needs to know it:

    from fuzz import file_reader
    from fuzz.mutations import damaged, json_changed

    def check(capture): assert np.isfinite(capture.samples).all()   # of whatever was accepted

    READERS = [file_reader("sigmf meta", "x.sigmf-meta", [VALID_BYTES], [json_changed, damaged], read_sigmf, check)]

A mutation maps (valid bytes, rng) to hostile bytes. Functions of plain arguments are a ``function_reader``, others a
``Reader``. It may raise a ValueError or an OSError with one line under 500 characters, in one CPU second and 200 MB
beyond its valid input. Anything else is a finding: another exception, a long message, a hang, a crash, a failed
``check``. ``make fuzz`` runs thousands per reader (``python -m fuzz.run --help``), ``test_fuzz.py`` a slice of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.mutations import odd_argument

Mutation = Callable[[bytes, np.random.Generator], bytes]


def anything(_: Any) -> None:
    """Accept every result."""


@dataclass(frozen=True)
class Reader:
    """Something that takes input from strangers."""

    name: str
    valid: Callable[[Path], Any]
    """Makes an input that is accepted, in a folder; called once before limits are set, so that imports do not count."""
    hostile: Callable[[np.random.Generator, Path], Any]
    """Makes one hostile input in a folder."""
    call: Callable[[Any], Any]
    """Reads an input."""
    check: Callable[[Any], None] = anything
    """Raises an AssertionError if the result of an accepted input is wrong."""
    refuses: tuple[type[Exception], ...] = (ValueError, OSError)
    """What it may raise; FileNotFoundError is an OSError."""
    most: int = 10**9
    """Number of different inputs that it has."""


def file_reader(
    name: str,
    file: str,
    examples: Sequence[bytes],
    mutations: Sequence[Mutation],
    call: Callable[[Path], Any],
    check: Callable[[Any], None] = anything,
) -> Reader:
    """Reader of a single file named ``file``; the first example must be accepted."""

    def write(folder: Path, content: bytes) -> Path:
        (folder / file).write_bytes(content)
        return folder / file

    def hostile(rng: np.random.Generator, folder: Path) -> Path:
        example = examples[int(rng.integers(len(examples)))]
        return write(folder, mutations[int(rng.integers(len(mutations)))](example, rng))

    return Reader(name, lambda folder: write(folder, examples[0]), hostile, call, check)


def function_reader(
    name: str, valid: Sequence[Any], call: Callable[..., Any], check: Callable[[Any], None] = anything
) -> Reader:
    """A function whose ``valid`` arguments are accepted; one or more of them are exchanged for something odd."""

    def hostile(rng: np.random.Generator, _: Path) -> list[Any]:
        which = rng.random(len(valid)) < 0.2
        which[int(rng.integers(len(valid)))] = True
        return [odd_argument(rng) if odd else one for odd, one in zip(which, valid, strict=True)]

    return Reader(name, lambda _: list(valid), hostile, lambda given: call(*given), check)


def readers() -> dict[str, Reader]:
    """All readers of this folder by name."""
    found: dict[str, Reader] = {}
    for module in sorted(one.name for one in pkgutil.iter_modules(__path__) if one.name.startswith("readers_")):
        for reader in importlib.import_module(f"{__name__}.{module}").READERS:
            assert reader.name not in found, f"two readers are named {reader.name!r}"
            found[reader.name] = reader
    return found
