"""netCDF files: small labelled results in, files that a kill cannot halve out, and back."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from locus.settings.atomic import replacing

_ENGINE: Literal["h5netcdf"] = "h5netcdf"


def save(path: Path, data: xr.Dataset, attributes: dict[str, Any], double: Container[Any] = ()) -> None:
    """Write to the side and rename: compressed, and in single precision but for coordinates and what is ``double``."""
    encoding: dict[Any, dict[str, Any]] = {}
    for name, value in data.data_vars.items():
        kind = {"dtype": "float32"} if value.dtype.kind == "f" and name not in double else {}
        encoding[name] = {**kind, **({"zlib": True} if value.ndim > 0 else {})}
    with replacing(path) as scratch:
        data.assign_attrs(attributes).to_netcdf(scratch, engine=_ENGINE, encoding=encoding)


def load(path: Path) -> xr.Dataset:
    """All of a file, in memory."""
    with xr.open_dataset(path, engine=_ENGINE) as data:
        return data.load()


def hash_of(path: Path) -> str | None:
    """Recipe hash that a file carries; none if it is not there, or damaged."""
    if not path.is_file():
        return None
    try:
        with xr.open_dataset(path, engine=_ENGINE) as data:
            return str(data.attrs.get("hash"))
    except OSError:  # damaged
        return None
