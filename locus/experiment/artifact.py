"""Artifacts: the files that a run computes and keeps. Each has a recipe and its inputs, and knows if it is up to date.

An artifact is fresh when all its files exist, match their checksums, and carry the hash of the current recipe. It stays
fresh when its inputs have been deleted.
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

from locus.experiment import netcdf
from locus.experiment.run import Run, fingerprint, versions
from locus.settings import checksums
from locus.settings.recording import unrecorded

Workers = Callable[[], Client | None]
"""Returns the Dask client, started on the first call; None to compute in this process."""


def here() -> None:
    """Return no workers, so that everything is computed in this process."""


def silent(*_: object) -> None:
    """Report nothing, whatever has been done."""


class Artifact(ABC):
    """One output of a run: one or more files with one recipe."""

    run: Run

    @property
    @abstractmethod
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """Everything that its numbers depend on, ready for JSON."""

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Artifacts that it is made from."""
        return ()

    @property
    @abstractmethod
    def files(self) -> list[Path]:
        """Files that it writes."""

    @abstractmethod
    def make(self, workers: Workers = here) -> None:
        """Compute and write it; parts finished by an interrupted call are kept."""

    @abstractmethod
    def fresh(self) -> bool:
        """Whether it exists, is undamaged, and matches the current recipe."""

    @property
    def is_store(self) -> bool:
        """Whether it is large and intermediate: needed only to make other artifacts, and absent when they are fresh."""
        return False

    @property
    def max_bytes(self) -> int:
        """Upper bound of its size on disk [bytes]; 0 if negligible."""
        return 0

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - default for small artifacts
        """Estimated time [s] on ``num_workers`` workers, for ``--dry-run``."""
        return 2.0

    @unrecorded()
    def hash(self) -> str:
        """Hash of the recipe: equal recipes give the same results."""
        return fingerprint(self.recipe())

    def damaged(self) -> list[str]:
        """Names of files that no longer match their checksums."""
        return [path.name for path in self.files if checksums.damaged(path)]


@dataclass(frozen=True)
class Result(Artifact):
    """One netCDF file of a run's results."""

    run: Run
    stem: ClassVar[str]
    """Name of the file, without suffix."""

    @property
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""
        return f"results/{self.stem}"

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.run.path / f"{self.name}.nc"

    @property
    def files(self) -> list[Path]:
        """The one netCDF file."""
        return [self.path]

    def fresh(self) -> bool:
        """Whether the file exists, is undamaged, and matches the current recipe."""
        return netcdf.attributes_of(self.path).get("hash") == self.hash()

    def save(self, data: xr.Dataset, double: Container[Any] = (), **attributes: Any) -> None:
        """Write the file, in single precision except for the variables in ``double``."""
        netcdf.save(self.path, data, {"hash": self.hash(), "versions": json.dumps(versions()), **attributes}, double)

    def open(self) -> xr.Dataset:
        """Load the file.

        Raises:
            DamagedError: the file does not match its checksum.
        """
        return netcdf.load(self.path)


def due(targets: Iterable[Artifact], again: Container[str] = ()) -> list[Artifact]:
    """Artifacts to make, inputs first, so that all targets are fresh; those named in ``again`` are always included."""
    found: dict[str, Artifact] = {}
    fresh: set[str] = set()  # already checked: many artifacts share inputs

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
    workers: Workers = here,
    done: Callable[[Artifact, float], None] = silent,
) -> None:
    """Make artifacts in this order.

    ``done`` is called after each one with the artifact and the time [s] it took. Damaged files are reported. If the
    process is killed, at most the artifact in progress is lost.
    """
    for artifact in artifacts:
        for name in artifact.damaged():
            print(f"{artifact.name}: {name} is damaged; computing it again", flush=True)
        start = time.perf_counter()
        artifact.make(workers)
        done(artifact, time.perf_counter() - start)
