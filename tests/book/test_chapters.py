"""Chapters from synthetic sources: parameters are passed, failures are named, no trace of the machine is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import papermill
import pytest

import locus
from locus.book import build, sources
from locus.book.chapters import Chapter, ChapterError, chapters, glued
from locus.settings import recording

HEAD = """# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     notebook_metadata_filter: locus
#   locus:
#     needs: []
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
    one.make()
    notebook = nbformat.read(one.path, as_version=4)
    assert notebook.cells[-1].outputs[0].text == "smoke 2\n"
    assert str(source.parent) not in one.path.read_text()
    assert "papermill" not in notebook.metadata
    assert all("papermill" not in cell.metadata for cell in notebook.cells)


def test_glued_numbers_keep_the_digits_that_repeat(source: Path) -> None:
    """On one machine the same number once came out as both of these; pages show three or four digits."""
    cell = "from myst_nb import glue\nfor name, value in {}.items():\n    glue(name, value, display=False)\n"
    values = {"one": 0.9932878400637856, "two": 0.9932878417672397, "count": 8000000, "text": "1.23456789 m"}
    source.write_text(HEAD + f"# %%\n{cell.format(values)}")
    one = chapter(source)
    one.make()
    assert glued(one.path) == {"one": "0.993288", "two": "0.993288", "count": "8000000", "text": "'1.23456789 m'"}


def test_a_failure_names_chapter_cell_and_error_and_keeps_what_ran(source: Path) -> None:
    source.write_text(HEAD + "# %%\nprint('so far')\n\n# %%\nraise ValueError('no such wall')\n")
    one = chapter(source)
    with pytest.raises(ChapterError, match=r"Chapter 01_made_up failed in cell \d: ValueError: no such wall; see"):
        one.make()
    assert [path.name for path in one.run.notebooks.iterdir()] == ["01_made_up.failed.ipynb"]
    assert "so far" in (one.run.notebooks / "01_made_up.failed.ipynb").read_text()
    source.write_text(HEAD)
    one.make()
    assert [path.name for path in one.run.notebooks.glob("*.ipynb")] == ["01_made_up.ipynb"]


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
        one.make()
    assert not one.path.exists()


def test_interactive_cells_are_left_out(source: Path) -> None:
    source.write_text(HEAD + '# %% tags=["interactive"]\nraise RuntimeError("widgets")\n\n# %%\nprint("batch")\n')
    one = chapter(source)
    one.make()
    assert "widgets" not in one.path.read_text()
    assert "batch" in one.path.read_text()


READS = """# %%
import dataclasses
import locus
from locus.room.layout import Layout
config = locus.open_run(run).config
print(dataclasses.asdict(config.room), config.training.num_epochs)
"""


def test_it_is_fresh_until_something_changes_that_it_read(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source.write_text(HEAD + READS)
    one = chapter(source)
    one.run.save()
    assert not one.fresh()
    one.make()
    notes = nbformat.read(one.path, as_version=4).metadata["locus"]
    room = {f"room.{name}": value for name, value in one.run.config.to_dict()["room"].items()}
    assert notes["settings"] == {**room, "training.num_epochs": one.run.config.training.num_epochs}
    # Materials are covered by the twin, and rooms may be read from maps
    assert notes["recipes"].keys() == {"room.layout", "room.polygons", "twin.base"}
    assert notes["hash"] == one.hash()
    assert one.fresh()
    assert chapter(source, training__batch=3, radio__carrier=13e9).fresh(), "it does not read these"
    assert not chapter(source, room__clearance=0.7).fresh()
    assert not chapter(source, training__num_epochs=31).fresh()
    monkeypatch.setattr("locus.receiver.estimator.RECIPE", 99)
    assert one.fresh(), "it does not call the estimator"
    monkeypatch.setattr("locus.room.layout.RECIPE", 99)
    assert not one.fresh()
    monkeypatch.undo()


def stub_kernel(given: Path, executed: Path, *_: object, extra_arguments: list[str], **options: object) -> None:
    """Start recording as a real kernel does, but execute nothing."""
    (line,) = [one.partition("=")[2] for one in extra_arguments if "exec_lines" in one]
    exec(line, {})
    shutil.copy(given, executed)


@pytest.fixture
def stubbed(source: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The synthetic source, with a kernel that executes nothing."""
    monkeypatch.setattr(recording, "_record", None)
    monkeypatch.setattr(papermill, "execute_notebook", stub_kernel)
    return source


@pytest.mark.parametrize("damage", [lambda text: text[:-99], lambda _: "", lambda _: "{}", lambda _: "[1]"])
def test_a_damaged_notebook_counts_as_absent(stubbed: Path, damage: Callable[[str], str]) -> None:
    one = chapter(stubbed)
    absent = one.hash()
    one.make()
    assert one.fresh()
    one.path.write_text(damage(one.path.read_text()))
    assert not one.fresh()
    assert one.hash() == absent
    one.make()
    assert one.fresh()


def test_a_kernel_that_does_not_record_is_refused(stubbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "start", lambda *_: None)
    with pytest.raises(ChapterError, match=r"Expected the kernel of 01_made_up to record settings, got no record"):
        chapter(stubbed).make()


def test_cells_that_are_no_python_are_named(stubbed: Path) -> None:
    stubbed.write_text(HEAD + "# %%\nlet x = 3\n")
    with pytest.raises(ChapterError, match=r"Expected Python in the cells of 01_made_up.py, got 'let x = 3"):
        chapter(stubbed).hash()


@pytest.mark.parametrize(
    ("module", "old", "new", "due"),
    [
        ("book/figures/stage_figures.py", "width=", "linewidth=", ["01", "02"]),
        ("book/figures/error_figures.py", "linewidth=1.2", "linewidth=1.3", ["07", "08"]),
        ("book/figures/result_figures.py", "#009E73", "#009E74", ["05"]),
        ("book/studies/score_behaviour.py", "num_draws: int = 400", "num_draws: int = 401", ["03", "04"]),
        ("book/tables.py", "math.isinf", "math.isnan", ["03", "04", "05", "06", "07", "08"]),
        ("draw.py", 'SOLID = "#D9D9D9"', 'SOLID = "#D0D0D0"', ["01", "02", "03", "04", "05", "06", "07", "08", "09"]),
        ("experiment/twin_agreement.py", "SHORT = 0.05", "SHORT = 0.06", ["01"]),
        ("explorer/__init__.py", "needs JavaScript", "requires JavaScript", ["09"]),
        ("draw.py", '"""', '"""In better English: ', []),
        ("book/figures/stage_figures.py", "\nimport ", "\n# As every figure does\nimport ", []),
        ("experiment/journal.py", "import json", "import json, math", []),
    ],
)
def test_a_corrected_figure_makes_due_the_chapters_that_use_it(
    stubbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str, due: list[str]
) -> None:
    run = locus.open_run("smoke")
    steps = [Chapter(run, source) for source in chapters()]
    for step in steps:
        step.make()
    assert all(step.fresh() for step in steps)
    copy = tmp_path / "locus"
    shutil.copytree(sources.ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sources, "ROOT", copy)
    assert all(step.fresh() for step in steps), "an identical copy of the package changes nothing"
    text = (copy / module).read_text()
    assert old in text
    (copy / module).write_text(text.replace(old, new, 1))
    assert [step.name.removeprefix("notebooks/")[:2] for step in steps if not step.fresh()] == due


def test_what_it_needs_is_part_of_its_hash(source: Path) -> None:
    source.write_text(HEAD.replace("needs: []", "needs: [models/locus_dt]"))
    one, other = chapter(source), chapter(source, training__batch=3)
    assert [need.name for need in one.needs] == ["models/locus_dt"]
    assert one.hash() != other.hash()
    source.write_text(HEAD.replace("needs: []", "needs: [models/magic]"))
    with pytest.raises(ChapterError, match=r"Expected 01_made_up.py to need some of \[.*\], got \['models/magic'\]"):
        one.hash()


def test_a_header_that_does_not_say_what_it_needs_is_refused(source: Path) -> None:
    source.write_text("# %%\n1\n")
    with pytest.raises(ChapterError, match=r"Expected 'locus' with 'needs' in the header of 01_made_up"):
        chapter(source).hash()


def test_a_stale_chapter_is_not_put_into_the_book(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = chapter(source)
    one.make()
    source.write_text(HEAD + "# %% [markdown]\n# A new word.\n")
    monkeypatch.setattr(build, "chapters", lambda: [source])
    with pytest.raises(FileNotFoundError, match=r"Expected an up-to-date chapter 01_made_up, got a stale one"):
        build.stage(one.run)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_headers_of_all_chapters_name_what_exists(path: Path) -> None:
    """Every artifact in the header exists, so that the chapter has a hash."""
    assert len(Chapter(locus.open_run("smoke"), path).hash()) == 16
