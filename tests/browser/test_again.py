"""An up-to-date book is not rebuilt."""

from __future__ import annotations

from pathlib import Path

import pytest

from locus.cli import main


def test_a_second_build_of_the_same_run_does_nothing(
    built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = built.parents[1]
    monkeypatch.setenv("LOCUS_DATA", str(folder / "data"))
    monkeypatch.delenv("LOCUS_REPOSITORY", raising=False)
    before = {path: path.stat().st_mtime_ns for path in built.rglob("*")}
    assert main(["book", "--run", "smoke", "--out", str(folder)]) == 0
    assert capsys.readouterr().out == f"The book of run smoke is up to date\nOpen {built / 'index.html'}\n"
    assert {path: path.stat().st_mtime_ns for path in built.rglob("*")} == before
