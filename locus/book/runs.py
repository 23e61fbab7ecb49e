"""Runs as a whole: the data folder in; a list of them with what made each out, or one of them removed."""

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
    """One line per run: name, profile, size on disk, how many of its steps are fresh, and what was changed."""
    chapters()  # a copy without its repository has none, whatever LOCUS_DATA says
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
    """Remove a run and say what that frees: out of the way first, so that a kill leaves nothing that looks like a run.

    Raises:
        ValueError: the name is no run's, or git keeps files of it.
        StoreError: another process builds one of its stores.
    """
    check_name(name)
    path = data_root() / name
    if not (path / "run.yml").is_file():
        raise ValueError(f"Expected a run that `locus runs` lists, got {name!r}")
    if _tracked(path):
        raise ValueError(f"Expected a run that git does not keep, got {name!r}; `git rm -r` removes such a one")
    freed = _size(path)
    aside = data_root() / ".removed"
    shutil.rmtree(aside, ignore_errors=True)  # of a removal that was killed
    with ExitStack() as stack:
        for lock in path.glob("*/*.lock"):
            stack.enter_context(exclusive(lock.with_suffix(".zarr")))
        aside.mkdir()
        path.rename(aside / name)
    shutil.rmtree(aside)
    return f"Removed run {name}: {freed} freed"


def _size(path: Path) -> str:
    """Of all files below a folder."""
    return f"{sum(file.stat().st_size for file in path.rglob('*') if file.is_file()) / 2**20:.1f} MiB"


def _tracked(path: Path) -> bool:
    """Whether git keeps files of a folder, whoever owns it; without git nothing does."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    return bool(shutil.which("git")) and bool(
        subprocess.run(command, cwd=path, capture_output=True, check=False).stdout
    )
