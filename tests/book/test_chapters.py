"""Chapters from synthetic sources: parameters are passed, failures are named, no trace of the machine is kept."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

import locus
from locus.book import build
from locus.book.chapters import Chapter, ChapterError, chapters

HEAD = """# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     notebook_metadata_filter: locus
#   locus:
#     needs: []
#     reads: [room, training.num_epochs]
#     recipes: [layout]
# ---

# %% [markdown]
# # A chapter

# %% tags=["parameters"]
run = "quick"

"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path / "data"))
    path = tmp_path / "01_made_up.py"
    path.write_text(HEAD)
    return path


def chapter(source: Path, **changes: object) -> Chapter:
    settings = {name.replace("__", "."): value for name, value in changes.items()}
    return Chapter(locus.open_run("smoke", settings, "mine"), source)


def test_parameters_arrive_and_nothing_of_the_machine_is_kept(source: Path) -> None:
    source.write_text(HEAD + "# %%\nimport locus\nprint(run, locus.open_run(run).config.twin_check.num_layouts)\n")
    one = Chapter(locus.open_run("smoke"), source)
    one.execute({})
    notebook = nbformat.read(one.path, as_version=4)
    assert notebook.cells[-1].outputs[0].text == "smoke 2\n"
    assert str(source.parent) not in one.path.read_text()
    assert "papermill" not in notebook.metadata
    assert all("papermill" not in cell.metadata for cell in notebook.cells)


def test_a_failure_names_chapter_cell_and_error_and_keeps_what_ran(source: Path) -> None:
    source.write_text(HEAD + "# %%\nprint('so far')\n\n# %%\nraise ValueError('no such wall')\n")
    one = chapter(source)
    with pytest.raises(ChapterError, match=r"Chapter 01_made_up failed in cell \d: ValueError: no such wall; see"):
        one.execute({})
    assert [path.name for path in one.run.notebooks.iterdir()] == ["01_made_up.failed.ipynb"]
    assert "so far" in (one.run.notebooks / "01_made_up.failed.ipynb").read_text()
    source.write_text(HEAD)
    one.execute({})
    assert [path.name for path in one.run.notebooks.iterdir()] == ["01_made_up.ipynb"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("import warnings\nwarnings.warn('mind the step')", r"cell \d, printed a warning: .*mind the step"),
        ("from pathlib import Path\nPath.cwd()", r"cell \d, names this machine: "),
        ("print(locus_folder)", r"cell \d, names this machine: "),
    ],
)
def test_a_chapter_that_warns_or_names_the_machine_fails(source: Path, cell: str, message: str) -> None:
    source.write_text(HEAD + f"# %%\nlocus_folder = {str(source.parent / 'data')!r}\n\n# %%\n{cell}\n")
    one = chapter(source)
    with pytest.raises(ChapterError, match=r"(?s)Chapter 01_made_up, " + message):
        one.execute({})
    assert not one.path.exists()


def test_interactive_cells_are_left_out(source: Path) -> None:
    source.write_text(HEAD + '# %% tags=["interactive"]\nraise RuntimeError("widgets")\n\n# %%\nprint("batch")\n')
    one = chapter(source)
    one.execute({})
    assert "widgets" not in one.path.read_text()
    assert "batch" in one.path.read_text()


def test_it_is_fresh_until_something_changes_that_it_reads(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = chapter(source)
    assert not one.fresh({})
    one.execute({})
    assert one.fresh({})
    assert chapter(source, training__batch=3, radio__carrier=13e9).fresh({}), "it does not read these"
    assert not chapter(source, room__clearance=0.7).fresh({})
    assert not chapter(source, training__num_epochs=31).fresh({})
    monkeypatch.setattr("locus.receiver.estimator.RECIPE", 99)
    assert one.fresh({}), "it does not call the estimator"
    monkeypatch.setattr("locus.room.layout.RECIPE", 99)
    assert not one.fresh({})
    monkeypatch.undo()


def test_what_it_needs_is_part_of_its_hash(source: Path) -> None:
    source.write_text(HEAD.replace("needs: []", "needs: [models/locus_dt]"))
    one = chapter(source)
    assert one.needs == ["models/locus_dt"]
    assert one.hash({"models/locus_dt": "a"}) != one.hash({"models/locus_dt": "b"})


def test_a_header_that_does_not_say_what_it_reads_is_refused(source: Path) -> None:
    source.write_text("# %%\n1\n")
    with pytest.raises(
        ChapterError, match=r"Expected 'locus' with needs, reads and recipes in the header of 01_made_up"
    ):
        chapter(source).hash({})


def test_a_stale_chapter_is_not_put_into_the_book(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = chapter(source)
    one.execute({})
    source.write_text(HEAD + "# %% [markdown]\n# A new word.\n")
    monkeypatch.setattr(build, "chapters", lambda: [source])
    with pytest.raises(
        FileNotFoundError, match=r"Expected chapter 01_made_up as it would be made now, got a stale one"
    ):
        build.stage(one.run)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_headers_of_all_chapters_name_what_exists(path: Path) -> None:
    """Steps, settings and modules; every step that a chapter needs has a hash of its own."""
    from locus.book.reproduce import ExecutedChapter

    assert len(ExecutedChapter(locus.open_run("smoke"), path).hash()) == 16
