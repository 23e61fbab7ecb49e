"""Runs the chapters: jupytext sources in, notebooks executed by papermill with a run's parameters out."""

from __future__ import annotations

import hashlib
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from locus.run import Run, repository, write_text


class ChapterError(RuntimeError):
    """A chapter failed; the message names chapter, cell and error."""


def chapters(only: str | None = None) -> list[Path]:
    """Sources of the chapters in order, or just the one whose name begins with ``only``.

    Raises:
        ValueError: no chapter begins so.
    """
    found = sorted((repository() / "notebooks").glob("[0-9][0-9]_*.py"))
    kept = [path for path in found if only is None or path.stem.startswith(only)]
    if not kept:
        raise ValueError(f"Expected 'only' to begin one of {[path.stem for path in found]}, got {only!r}")
    return kept


def source_hash(source: Path) -> str:
    """What an executed chapter is compared with to see whether its source has changed since."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def reproduce(run: Run, only: str | None = None) -> None:
    """Execute the chapters of a run into its folder."""
    selected = chapters(only)
    run.save()
    for number, source in enumerate(selected, 1):
        print(f"[{number}/{len(selected)}] {source.stem} in run {run.name}", flush=True)
        start = time.monotonic()
        execute(source, run)
        print(f"[{number}/{len(selected)}] {source.stem} took {time.monotonic() - start:.0f} s", flush=True)


def execute(source: Path, run: Run) -> Path:
    """Execute one chapter with papermill.

    Raises:
        ChapterError: a cell failed; the partly executed notebook is kept beside the finished ones.
    """
    target = run.notebooks / f"{source.stem}.ipynb"
    failed = target.with_suffix(".failed.ipynb")
    with tempfile.TemporaryDirectory() as scratch:
        given, executed = Path(scratch, "given.ipynb"), Path(scratch, "executed.ipynb")
        jupytext.write(jupytext.read(source), given)
        try:
            papermill.execute_notebook(
                given, executed, {"run": run.name}, kernel_name="python3", language="python", cwd=str(source.parent)
            )
        except PapermillExecutionError as error:
            write_text(failed, executed.read_text(encoding="utf-8"))
            raise ChapterError(
                f"Chapter {source.stem} failed in cell {error.cell_index}: {error.ename}: {error.evalue}; see {failed}"
            ) from error
        notebook = nbformat.read(executed, as_version=4)
    _strip(notebook)
    notebook.metadata["locus"] = {"run": run.name, "source": source_hash(source)}
    write_text(target, nbformat.writes(notebook) + "\n")
    failed.unlink(missing_ok=True)
    return target


def _strip(notebook: nbformat.NotebookNode) -> None:
    """Drop what papermill notes about the machine: paths, times and durations."""
    for part in (notebook, *notebook.cells):
        for key in ("papermill", "execution"):
            part.metadata.pop(key, None)
