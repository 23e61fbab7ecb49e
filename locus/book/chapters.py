"""Chapters: jupytext sources in, notebooks, executed by papermill with a run's parameters, out."""

from __future__ import annotations

import functools
import getpass
import hashlib
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from locus.book import sources
from locus.book.recipes import recipes
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.inventory import kept
from locus.experiment.run import Run, data_root, fingerprint, repository
from locus.settings.atomic import scratch_folder, write_text
from locus.settings.checks import plain
from locus.settings.checksums import intact, sealing
from locus.settings.listing import flat

BATCH_LEAVES_OUT = "interactive"
"""Tag of cells for JupyterLab only: in a page of the book, widgets would load scripts from other hosts."""


DIGITS = 6
"""Significant digits of glued numbers; pages show three or four."""

_START_SECONDS = 600  # for a kernel to start; generous, for a busy machine


class ChapterError(RuntimeError):
    """A chapter failed; the message names chapter, cell and error."""


def chapters(only: str | None = None) -> list[Path]:
    """Sources of the chapters in order, or those whose names start with ``only``.

    Raises:
        ValueError: no chapter's name starts with ``only``.
    """
    found = sorted((repository() / "notebooks").glob("[0-9][0-9]_*.py"))
    kept = [path for path in found if only is None or path.stem.startswith(only)]
    if not kept:
        raise ValueError(f"Expected 'only' to be the start of one of {[path.stem for path in found]}, got {only!r}")
    return kept


@dataclass(frozen=True)
class Chapter(Artifact):
    """One chapter of one run. Its header lists the artifacts that it opens; other dependencies are detected.

    These are the settings that it read when it was executed, and the modules that it imports, directly or not.
    """

    run: Run
    source: Path

    @property
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""
        return f"notebooks/{self.source.stem}"

    @property
    def path(self) -> Path:
        """Path of the executed notebook."""
        return self.run.notebooks / f"{self.source.stem}.ipynb"

    @property
    def files(self) -> list[Path]:
        """The executed notebook."""
        return [self.path]

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Artifacts that it opens.

        Raises:
            ChapterError: the header has no list of them, or names one that runs do not keep.
        """
        header = _read(self.source, self.source.stat().st_mtime_ns).metadata.get("locus", {})
        if "needs" not in header:
            raise ChapterError(f"Expected 'locus' with 'needs' in the header of {self.source.name}, got {header}")
        known = {one.name: one for one in kept(self.run)}
        unknown = [name for name in header["needs"] if name not in known]
        if unknown:
            raise ChapterError(f"Expected {self.source.name} to need some of {list(known)}, got {unknown}")
        return tuple(known[name] for name in header["needs"])

    def recipe(self) -> dict[str, Any]:
        """Everything that it depends on.

        The settings come from the executed notebook; without one they are unknown, and the recipe has none.
        """
        return self._recipe(_notes(self.path).get("settings", ()))

    def fresh(self) -> bool:
        """Whether the executed notebook exists, is undamaged, and matches the current recipe."""
        return intact(self.path) and _notes(self.path).get("hash") == self.hash()

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - runs in one kernel
        """Estimated time [s]."""
        return 30.0

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - runs in one kernel
        """Execute the chapter with papermill and save the notebook without traces of this machine.

        Raises:
            ChapterError: a cell failed, printed a warning or named this machine; ``.failed.ipynb`` shows where.
        """
        failed = self.path.with_suffix(".failed.ipynb")
        recipe = self._recipe()  # before execution, as sources may be edited meanwhile
        if "LOCUS_DATA" in os.environ:  # the kernel works in another folder
            os.environ["LOCUS_DATA"] = str(data_root())
        with scratch_folder("chapter") as scratch, _some_home(scratch):
            given, executed, read = (Path(scratch, name) for name in ("given.ipynb", "executed.ipynb", "settings"))
            notebook = jupytext.read(self.source)
            notebook.cells = _batch_cells(notebook)
            jupytext.write(notebook, given)
            record = f"from locus.settings.recording import start as _start; _start({self.run.name!r}, {str(read)!r})"
            try:
                papermill.execute_notebook(
                    given,
                    executed,
                    {"run": self.run.name},
                    kernel_name="python3",
                    language="python",
                    cwd=str(self.source.parent),
                    start_timeout=_START_SECONDS,
                    iopub_timeout=_START_SECONDS,
                    progress_bar={"desc": self.source.stem, "unit": "cell", "leave": True},
                    extra_arguments=[
                        "--IPKernelApp.log_level=50",  # hides messages about sockets, not output of cells
                        f"--IPKernelApp.exec_lines={record}",
                    ],
                )
            except PapermillExecutionError as error:
                write_text(failed, executed.read_text(encoding="utf-8"))
                raise ChapterError(
                    f"Chapter {self.source.stem} failed in cell {error.cell_index}: {error.ename}: {error.evalue}; "
                    f"see {failed}"
                ) from error
            except RuntimeError as error:  # the kernel died: out of memory, or a crash in compiled code
                if executed.is_file():
                    write_text(failed, executed.read_text(encoding="utf-8"))
                raise ChapterError(f"Chapter {self.source.stem} failed: {error}; see {failed}") from error
            result = nbformat.read(executed, as_version=4)
            if not read.is_file():
                raise ChapterError(f"Expected the kernel of {self.source.stem} to record settings, got no record")
            recipe["settings"] = self._settings(read.read_text(encoding="utf-8").split())
        _strip(result)
        _round_glued(result)
        result.metadata["locus"] = {**recipe, "hash": fingerprint(recipe)}
        try:
            _check_outputs(self.source.stem, result)
        except ChapterError:
            write_text(failed, nbformat.writes(result) + "\n")
            raise
        with sealing(self.path) as scratch_file:
            scratch_file.write_text(nbformat.writes(result) + "\n", encoding="utf-8")
        failed.unlink(missing_ok=True)

    def _recipe(self, read: Iterable[str] = ()) -> dict[str, Any]:
        """Its source, the settings that it read, the modules that it imports, and the hashes of what it opens."""
        cells = _batch_cells(_read(self.source, self.source.stat().st_mtime_ns))
        try:
            modules = sources.reached("\n".join(cell.source for cell in cells if cell.cell_type == "code"))
        except SyntaxError as error:
            raise ChapterError(f"Expected Python in the cells of {self.source.name}, got {error.text!r}") from error
        content = [[cell.cell_type, cell.source, plain(dict(cell.metadata))] for cell in cells]
        return {
            "source": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
            "run": self.run.name,
            "settings": self._settings(read),
            "recipes": recipes(modules),
            "modules": sources.hashes(modules),
            "needs": {need.name: need.hash() for need in self.needs},
        }

    def _settings(self, read: Iterable[str]) -> dict[str, Any]:
        """Current values of settings by name; None for a setting that no longer exists."""
        settings = flat(self.run.config)
        return {name: settings.get(name) for name in sorted(read)}


@contextmanager
def _some_home(folder: Path) -> Iterator[None]:
    """Let ``folder`` be the home of a user who has none, such as one without an entry in passwd: Jupyter wants one."""
    with suppress(RuntimeError):
        folder = Path.home()
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


def glued(executed: Path) -> dict[str, str]:
    """Values that an executed chapter glues into its prose, as text, by name; texts themselves are in quotes."""
    outputs = [out for cell in nbformat.read(executed, as_version=4).cells for out in cell.get("outputs", [])]
    named = {out.get("metadata", {}).get("scrapbook", {}).get("name"): out for out in outputs}
    return {
        name: str(out.data["application/papermill.record/text/plain"])
        for name, out in named.items()
        if name is not None
    }


@functools.cache
def _read(source: Path, _: int) -> nbformat.NotebookNode:
    """Parse a source; cached until it is modified."""
    return jupytext.read(source)


def _batch_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Cells that a batch run executes."""
    return [cell for cell in notebook.cells if BATCH_LEAVES_OUT not in cell.metadata.get("tags", [])]


def _notes(executed: Path) -> dict[str, Any]:
    """Recipe and hash stored in an executed chapter; empty if the file is missing or damaged."""
    try:
        return dict(json.loads(executed.read_text(encoding="utf-8"))["metadata"]["locus"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _strip(notebook: nbformat.NotebookNode) -> None:
    """Drop papermill's metadata: paths, times and durations on this machine."""
    for part in (notebook, *notebook.cells):
        for key in ("papermill", "execution"):
            part.metadata.pop(key, None)


def _round_glued(notebook: nbformat.NotebookNode) -> None:
    """Round the numbers that a chapter glues to what repeats.

    Libraries choose kernels for the processor, and those of matrix products round differently. The estimator stops
    where its cost no longer falls, so 1e-16 in its input becomes 1e-9 in its output.
    """
    key = "application/papermill.record/text/plain"
    for output in (one for cell in notebook.cells for one in cell.get("outputs", [])):
        text = output.get("data", {}).get(key)
        if text is not None and "scrapbook" in output.get("metadata", {}):
            output["data"][key] = _rounded(text)


def _rounded(text: str) -> str:
    """A float, as text, to the digits that repeat; anything else as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return text if value == round(value, 0) or value != value else repr(float(f"{value:.{DIGITS}g}"))


def _check_outputs(name: str, notebook: nbformat.NotebookNode) -> None:
    """Raise a ChapterError if a cell printed a warning, or a path, host or user name of this machine."""
    private = {str(repository()), tempfile.gettempdir(), socket.gethostname()}
    with suppress(RuntimeError):  # a user without an entry in passwd has no home
        private.add(str(Path.home()))
    if os.environ.get("LOCUS_DATA"):
        private.add(os.environ["LOCUS_DATA"])
    users = []
    with suppress(KeyError, OSError):
        users.append(rf"/home/{re.escape(getpass.getuser())}\b")
    pattern = "|".join([*(re.escape(text) for text in private if len(text) > 3), *users])
    for index, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ChapterError(f"Chapter {name}, cell {index}, printed a warning: {output.text.strip()}")
            text = "".join(
                str(output.get("text", "")) + str(v) for k, v in output.get("data", {}).items() if "image" not in k
            )
            found = re.search(pattern, text + str(output.get("text", "")))
            if found:
                raise ChapterError(f"Chapter {name}, cell {index}, names this machine: {found.group()!r}")
