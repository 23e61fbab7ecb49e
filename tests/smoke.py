"""One smoke run for all tests that need trained networks: each asks for its part, which is made if it is not there."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import locus
from locus.experiment.artifact import Artifact, due, make_all


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let only one process at a time work in a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def smoke_run(folder: Path, make: Callable[[locus.Run], object]) -> Iterator[locus.Run]:
    """The smoke run of a data folder, which is ``LOCUS_DATA`` meanwhile, after ``make`` made what is missing.

    Two processes may share a folder: only one makes something at a time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(folder))
        run = locus.open_run("smoke")
        with locked(folder):
            run.save()
            make(run)
        yield run


def make(artifacts: Iterable[Artifact]) -> None:
    """Make what is missing."""
    make_all(due(artifacts))
