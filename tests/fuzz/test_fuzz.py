"""A slice of the fuzzer: every reader refuses hostile input in one line, or accepts it with a sane result."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzz import Reader, readers
from fuzz.run import _too_long, fuzz, try_one

SLICE = 100
"""Inputs per reader; `make fuzz` runs more."""


def test_hostile_input_is_refused_in_one_line_or_understood() -> None:
    found: list[str] = []
    counts = fuzz(list(readers()), SLICE, 0, lambda *one: found.append(": ".join(map(str, one))))
    assert not found
    for name, reader in readers().items():
        assert sum(counts[name].values()) == min(SLICE, reader.most)


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _too_long)
    yield
    signal.signal(signal.SIGPROF, before)


def refuse(message: str) -> Callable[[Any], Any]:
    def call(_: Any) -> Any:
        raise ValueError(message)

    return call


def loop(_: Any) -> Any:
    while True:
        pass


def negative(_: Any) -> None:
    raise AssertionError("a negative power")


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(
    ("call", "outcome", "detail"),
    [
        (refuse("Expected one"), "refused", "Expected one"),
        (refuse("Expected " + "x" * 500), "wrong", "message of 509 characters"),
        (refuse("Expected\none"), "wrong", "message of 12 characters"),
        (refuse(""), "wrong", "message of 0 characters"),
        (lambda _: {}["x"], "wrong", "KeyError: 'x' (test_fuzz.py:"),
        (lambda _: bytearray(10**9), "wrong", "took more than 200 MB"),
        (loop, "wrong", "took more than 1.0 s"),
        (lambda _: 0, "wrong", "silently wrong: a negative power"),
    ],
)
def test_the_fuzzer_notices(call: Callable[[Any], Any], outcome: str, detail: str, tmp_path: Path) -> None:
    reader = Reader("toy", lambda _: 0, lambda *_: 0, call, negative)
    found = try_one(reader, 0, tmp_path)
    assert found[0] == outcome
    assert found[1].startswith(detail)
