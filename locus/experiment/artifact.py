"""Results: what a run found, in one netCDF file each, with the recipe that tells whether it is fresh."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import xarray as xr
from distributed import Client

from locus.experiment import netcdf
from locus.experiment.run import Run, fingerprint, versions
from locus.settings.recording import unrecorded


@dataclass(frozen=True)
class Result(ABC):
    """One file of a run's results."""

    run: Run
    name: ClassVar[str]

    @property
    def path(self) -> Path:
        """The file."""
        return self.run.results / f"{self.name}.nc"

    @abstractmethod
    def recipe(self) -> dict[str, Any]:
        """All that the file depends on."""

    @unrecorded()
    def hash(self) -> str:
        """Short name of the recipe."""
        return fingerprint(self.recipe())

    def fresh(self) -> bool:
        """Whether the file is there and is what would be made now."""
        return netcdf.hash_of(self.path) == self.hash()

    @abstractmethod
    def make(self, workers: Callable[[], Client] | None = None) -> None:
        """Compute and save, here if there are no workers."""

    def save(self, data: xr.Dataset, double: Container[Any] = (), **attributes: Any) -> None:
        """Write the file, in single precision but for the variables in ``double``."""
        netcdf.save(self.path, data, {"hash": self.hash(), "versions": json.dumps(versions()), **attributes}, double)

    def open(self) -> xr.Dataset:
        """The file."""
        return netcdf.load(self.path)
