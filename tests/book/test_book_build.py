"""When the book is rebuilt: the hash covers all inputs of its pages, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import locus
from locus.book import build

FILES = (
    "_config.yml",
    "_toc.yml",
    "book/equations.md",
    "book/references.bib",
    "book/_static/book.css",
    "book/_static/explorer/settings.json",
    "book/_static/generated/sensitivity.svg",
    "book/chapters/01_digital_twin.ipynb",
    "notebooks/01_digital_twin.py",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A minimal repository."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a word")
    monkeypatch.setattr(build, "repository", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_every_file_counts_by_content_and_name(folder: Path, name: str) -> None:
    before = build.inputs()
    (folder / name).write_text("a word")
    assert build.inputs() == before, "written again, but the same"
    (folder / name).write_text("a wort")
    assert build.inputs() != before
    (folder / name).write_text("a word")
    (folder / name).rename(folder / f"{name}.moved")
    assert build.inputs() != before


def test_options_and_versions_count_and_pairs_of_chapters_do_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.inputs()
    (folder / "notebooks/01_digital_twin.ipynb").write_text("made by `make lab`")
    assert build.inputs() == before
    with monkeypatch.context() as patch:
        patch.setattr(build, "_OPTIONS", ("--all",))
        assert build.inputs() != before
    monkeypatch.setattr(build, "distributions", lambda: [SimpleNamespace(name="sphinx", version="0.1")])
    assert build.inputs() != before


def test_a_stamp_of_other_inputs_or_without_pages_is_no_book(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sphinx runs in either case, and a failed build leaves no stamp."""
    calls = []
    monkeypatch.setattr(build, "stage", lambda *_: None)
    monkeypatch.setattr(build, "write_pages", lambda *_: None)
    monkeypatch.setattr(build, "vendor_mathjax", lambda: None)
    index, stamp = folder / "_build/html/index.html", folder / "_build/.inputs"

    def sphinx(*_: object, **__: object) -> SimpleNamespace:
        calls.append(stamp.exists())
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(f"page of build {len(calls)}")
        return SimpleNamespace(returncode=int(len(calls) == 4))

    monkeypatch.setattr(build.subprocess, "run", sphinx)
    run = locus.open_run("smoke")
    assert build.build_book(run) == build.build_book(run) == index
    assert len(calls) == 1
    (folder / "book/equations.md").write_text("another word")
    build.build_book(run)
    index.unlink()
    build.build_book(run)
    assert len(calls) == 3
    with pytest.raises(RuntimeError, match="The book of run smoke has errors or warnings"):
        build.build_book(run, force=True)
    assert not stamp.exists()
    build.build_book(run)
    assert calls == [False] * 5
