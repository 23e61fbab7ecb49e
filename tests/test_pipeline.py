"""The pipeline on made-up chapters: parameters arrive, failures are named, nothing of the machine is kept."""

from pathlib import Path

import nbformat
import pytest

import locus
from locus import book, pipeline

HEAD = "# %% [markdown]\n# # A chapter\n\n# %% tags=['parameters']\nrun = 'quick'\n\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path / "data"))
    return tmp_path / "01_made_up.py"


def test_parameters_arrive_and_nothing_of_the_machine_is_kept(source: Path) -> None:
    source.write_text(HEAD + "# %%\nimport locus\nprint(run, locus.open_run(run).config.twin_check.num_layouts)\n")
    executed = pipeline.execute(source, locus.open_run("smoke"))
    notebook = nbformat.read(executed, as_version=4)
    assert notebook.cells[-1].outputs[0].text == "smoke 2\n"
    text = executed.read_text()
    assert str(source.parent) not in text
    assert "papermill" not in notebook.metadata
    assert all("papermill" not in cell.metadata for cell in notebook.cells)


def test_a_failure_names_chapter_cell_and_error_and_keeps_what_ran(source: Path) -> None:
    source.write_text(HEAD + "# %%\nprint('so far')\n\n# %%\nraise ValueError('no such wall')\n")
    run = locus.open_run("smoke")
    with pytest.raises(
        pipeline.ChapterError, match=r"Chapter 01_made_up failed in cell \d: ValueError: no such wall; see"
    ):
        pipeline.execute(source, run)
    assert [path.name for path in run.notebooks.iterdir()] == ["01_made_up.failed.ipynb"]
    assert "so far" in (run.notebooks / "01_made_up.failed.ipynb").read_text()
    source.write_text(HEAD)
    pipeline.execute(source, run)
    assert [path.name for path in run.notebooks.iterdir()] == ["01_made_up.ipynb"]


def test_a_chapter_older_than_its_source_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source.write_text(HEAD)
    run = locus.open_run("smoke")
    pipeline.execute(source, run)
    source.write_text(HEAD + "# %% [markdown]\n# A new word.\n")
    monkeypatch.setattr(book, "chapters", lambda: [source])
    with pytest.raises(FileNotFoundError, match=r"Expected chapter 01_made_up as its source is now, got an older one"):
        book.stage(run)
