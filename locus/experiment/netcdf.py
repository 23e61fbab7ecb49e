"""netCDF files: small labelled results in, files that a kill cannot halve and that show damage out, and back."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from locus.settings.atomic import replacing
from locus.settings.checksums import check_intact, intact, sealing

_ENGINE: Literal["h5netcdf"] = "h5netcdf"


def save(
    path: Path, data: xr.Dataset, attributes: dict[str, Any], double: Container[Any] = (), *, sealed: bool = True
) -> None:
    """Write to the side and rename: compressed, and in single precision but for coordinates and what is ``double``.

    A ``sealed`` file has its checksum noted beside it, as all files of a run do.
    """
    encoding: dict[Any, dict[str, Any]] = {}
    for name, value in data.variables.items():
        single = value.dtype.kind == "f" and name in data.data_vars and name not in double
        packed = value.ndim > 0 and value.dtype.kind in "biuf"
        encoding[name] = {**({"dtype": "float32"} if single else {}), **({"zlib": True} if packed else {})}
    with (sealing if sealed else replacing)(path) as scratch:
        data.assign_attrs(attributes).to_netcdf(scratch, engine=_ENGINE, encoding=encoding)


def load(path: Path) -> xr.Dataset:
    """All of a file, in memory.

    Raises:
        DamagedError: the file is not what was written.
    """
    check_intact(path)
    with xr.open_dataset(path, engine=_ENGINE) as data:
        return data.load()


def attributes_of(path: Path) -> dict[str, Any]:
    """Attributes of a file; none if it is not there, or damaged."""
    if not intact(path):
        return {}
    with xr.open_dataset(path, engine=_ENGINE) as data:
        return dict(data.attrs)
