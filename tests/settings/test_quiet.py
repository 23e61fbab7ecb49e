"""Standard error is kept, and shown if the block raises."""

from __future__ import annotations

import os

import pytest

from locus.settings.quiet import quietly


def test_what_compiled_code_writes_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    with quietly():
        os.write(2, b"from C++\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_it_is_shown_if_the_block_raises(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        os.write(2, b"why\n")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"), quietly():
        fail()
    assert capfd.readouterr().err == "why\n"
