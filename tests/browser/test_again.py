"""An up-to-date book is not rebuilt."""

from __future__ import annotations

from pathlib import Path

import pytest

import locus
from locus.book import build, pages
from locus.cli import main


def test_a_second_build_of_the_same_run_does_nothing(
    built: Path, smoke_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = built.parents[1]
    monkeypatch.setenv("LOCUS_DATA", str(smoke_folder))
    monkeypatch.delenv("LOCUS_REPOSITORY", raising=False)
    before = {path: path.stat().st_mtime_ns for path in built.rglob("*")}
    assert main(["book", "--run", "smoke", "--out", str(folder)]) == 0
    assert capsys.readouterr().out == f"The book of run smoke is up to date\nOpen {built / 'index.html'}\n"
    assert {path: path.stat().st_mtime_ns for path in built.rglob("*")} == before


def test_what_is_staged_twice_is_the_same_twice_unless_the_address_changes() -> None:
    """Run and address affect the staged files only, whose order and names are deterministic."""
    paper, address = locus.open_run("paper"), "https://github.com/someone/locus-dt"
    found = []
    for options in ((), (address,), (address, "other"), ()):
        build.stage(paper, *options)
        if not options:
            pages.write_pages(paper)
        found.append(build.inputs())
    assert found[0] == found[-1]
    assert len(set(found)) == 3
