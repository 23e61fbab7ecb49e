"""Runs in the data folder: list them with their settings, or remove one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from locus.book import reproduce
from locus.book.chapters import chapters
from locus.experiment.journal import exclusive
from locus.experiment.run import check_name, data_root, open_run
from locus.settings import listing


def list_runs() -> Iterator[str]:
    """One line per run: name, profile, size on disk, number of fresh steps, and changed settings."""
    chapters()  # fails early in an installed copy, which has no chapters, even if LOCUS_DATA is set
    rows = [("run", "profile", "size", "fresh", "changes")]
    for recipe in sorted(data_root().glob("*/run.yml")):
        try:
            run = open_run(recipe.parent.name)
        except ValueError as error:
            rows.append((recipe.parent.name, "", _size(recipe.parent), f"{error}", ""))
            continue
        kept = [step for step in reproduce.all_steps(run) if not step.is_store]
        fresh = f"{sum(step.fresh() for step in kept)} of {len(kept)} steps"
        changes = listing.changes(run.config, run.profile)
        changed = " ".join(f"{name}={listing.words(value)}" for name, value in changes.items())
        rows.append((run.name, run.profile, _size(run.path), fresh, changed))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def remove_run(name: str) -> str:
    """Remove a run and return a line with the space freed. It is moved away first, so that a kill leaves no half run.

    Raises:
        ValueError: there is no run of this name, or git tracks files of it.
        StoreError: another process is building one of its stores.
    """
    check_name(name)
    aside = data_root() / ".removed"
    shutil.rmtree(aside, ignore_errors=True)  # left by a killed removal
    path = data_root() / name
    if not (path / "run.yml").is_file():
        raise ValueError(f"Expected a run that `locus runs` lists, got {name!r}")
    if _tracked(path):
        raise ValueError(f"Expected a run that git does not track, got {name!r}; use `git rm -r`")
    freed = _size(path)
    with ExitStack() as stack:
        for lock in (*path.glob("*.lock"), *path.glob("*/*.lock")):
            stack.enter_context(exclusive(lock.with_suffix(".zarr")))
        aside.mkdir()
        path.rename(aside / name)
    shutil.rmtree(aside)
    return f"Removed run {name}: {freed} freed"


def _size(path: Path) -> str:
    """Total size of all files below a folder, as text."""
    return f"{sum(file.stat().st_size for file in path.rglob('*') if file.is_file()) / 2**20:.1f} MiB"


def _tracked(path: Path) -> bool:
    """Whether git tracks files of a folder, whoever owns it; False without git."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    return bool(shutil.which("git")) and bool(
        subprocess.run(command, cwd=path, capture_output=True, check=False).stdout
    )
