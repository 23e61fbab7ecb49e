"""netCDF files: labelled results in, files with checksums, written atomically, out; and back."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any, Literal

import h5netcdf
import xarray as xr

from locus.settings.atomic import replacing
from locus.settings.checksums import check_intact, intact, sealing

_ENGINE: Literal["h5netcdf"] = "h5netcdf"


def save(
    path: Path, data: xr.Dataset, attributes: dict[str, Any], double: Container[Any] = (), *, sealed: bool = True
) -> None:
    """Write a file atomically, compressed; single precision except for coordinates and the variables in ``double``.

    The checksum of a ``sealed`` file is recorded beside it, as for all files of a run.
    """
    encoding: dict[Any, dict[str, Any]] = {}
    for name, value in data.variables.items():
        single = value.dtype.kind == "f" and name in data.data_vars and name not in double
        packed = value.ndim > 0 and value.dtype.kind in "biuf"
        encoding[name] = {**({"dtype": "float32"} if single else {}), **({"zlib": True} if packed else {})}
    with (sealing if sealed else replacing)(path) as scratch:
        data.assign_attrs(attributes).to_netcdf(scratch, engine=_ENGINE, encoding=encoding)


def load(path: Path) -> xr.Dataset:
    """Load a whole file into memory.

    Raises:
        DamagedError: the file does not match its checksum.
    """
    check_intact(path)
    with xr.open_dataset(path, engine=_ENGINE) as data:
        return data.load()


def attributes_of(path: Path) -> dict[str, Any]:
    """Attributes of a file; empty if the file is missing or damaged."""
    if not intact(path):
        return {}
    with h5netcdf.File(path, "r") as file:  # a tenth of the time that xarray takes to open it
        return dict(file.attrs)
