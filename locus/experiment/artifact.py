"""Artifacts: what a run makes and keeps. Each names what goes into it, what it needs, and whether it is fresh.

An artifact is fresh when all its files are there with the bytes that were written, and carry the hash of the recipe
that would be followed now. It stands although what it was made from is absent.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import xarray as xr
from distributed import Client

from locus.experiment import cluster, netcdf
from locus.experiment.run import Run, fingerprint, versions
from locus.settings import checksums
from locus.settings.recording import unrecorded

Workers = Callable[[], Client | None]
"""Gives the Dask client, if any, when there is work for it."""


def here() -> None:
    """Workers of those who compute in this process."""


class Artifact(ABC):
    """One thing that a run makes."""

    run: Run
    is_store: ClassVar[bool] = False
    """Whether it is large, and only kept for what is made from it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Path below the run's folder, without a suffix."""

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """All that its numbers depend on, ready for JSON."""

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """What it is made from."""
        return ()

    @property
    @abstractmethod
    def files(self) -> list[Path]:
        """Files that it makes."""

    @abstractmethod
    def make(self, workers: Workers = here) -> None:
        """Compute and write it; what is finished is kept."""

    @abstractmethod
    def fresh(self) -> bool:
        """Whether it is there, undamaged, and what would be made now."""

    @property
    def max_bytes(self) -> int:
        """Disk that it takes at most, if that is worth telling."""
        return 0

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - of a small one
        """About how long it takes on so many workers, for ``--dry-run``."""
        return 2.0

    @unrecorded()
    def hash(self) -> str:
        """Short name of the recipe: equal for what holds the same numbers."""
        return fingerprint(self.recipe())

    def damaged(self) -> list[str]:
        """Names of files that are there, but not as they were written."""
        return [path.name for path in self.files if checksums.damaged(path)]


@dataclass(frozen=True)
class Result(Artifact):
    """One netCDF file of a run's results."""

    run: Run
    stem: ClassVar[str]
    """Name of the file, without its suffix."""

    @property
    def name(self) -> str:
        """Path below the run's folder, without a suffix."""
        return f"results/{self.stem}"

    @property
    def path(self) -> Path:
        """The file."""
        return self.run.path / f"{self.name}.nc"

    @property
    def files(self) -> list[Path]:
        """The file."""
        return [self.path]

    def fresh(self) -> bool:
        """Whether the file is there, undamaged, and what would be made now."""
        return netcdf.attributes_of(self.path).get("hash") == self.hash()

    def save(self, data: xr.Dataset, double: Container[Any] = (), **attributes: Any) -> None:
        """Write the file, in single precision but for the variables in ``double``."""
        netcdf.save(self.path, data, {"hash": self.hash(), "versions": json.dumps(versions()), **attributes}, double)

    def open(self) -> xr.Dataset:
        """The file."""
        return netcdf.load(self.path)


def due(targets: Iterable[Artifact], again: Container[str] = ()) -> list[Artifact]:
    """What to make, in order, so that all targets are fresh; those named in ``again`` although they are."""
    found: dict[str, Artifact] = {}
    fresh: set[str] = set()  # what was looked at: many need the same

    def visit(artifact: Artifact) -> None:
        if artifact.name in fresh or artifact.name in found:
            return
        if artifact.name not in again and artifact.fresh():
            fresh.add(artifact.name)
        else:
            for need in artifact.needs:
                visit(need)
            found[artifact.name] = artifact

    for target in targets:
        visit(target)
    return list(found.values())


def make_all(
    artifacts: Iterable[Artifact],
    num_workers: int | None = None,
    scheduler: str | None = None,
    done: Callable[[Artifact, float], None] = lambda *_: None,
) -> None:
    """Make artifacts in this order, on local processes or a Dask scheduler; ``done`` hears of each, with its seconds.

    Files that were damaged are named; a kill loses nothing of those before.
    """
    with cluster.connect_lazily(num_workers, scheduler) as workers:
        for artifact in artifacts:
            for name in artifact.damaged():
                print(f"{artifact.name}: {name} is damaged; it is made again", flush=True)
            start = time.perf_counter()
            artifact.make(workers)
            done(artifact, time.perf_counter() - start)
