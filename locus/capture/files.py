"""Files of your own data: reads room, capture and radio, and writes the result, with checks."""

from __future__ import annotations

import math
import string
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr
import yaml
from numpy.typing import NDArray

from locus.capture.locate import MAX_WALLS
from locus.experiment import netcdf
from locus.room.layout import Layout, Pose, read_json
from locus.score.tolerance import Tolerance
from locus.settings.atomic import replacing
from locus.settings.checks import from_mapping
from locus.settings.config import Radio

MAX_IQ_BYTES = 64 * 2**20
MAX_TEXT_BYTES = 2**20
"""Maximum size of the files that describe the room and the radio."""
_LENGTHS = {"m": 1.0, "cm": 0.01}
_UNITS = {
    "plan": _LENGTHS,
    "position": _LENGTHS,
    "heading": {"rad": 1.0, "deg": math.pi / 180},
    "material_db": {"dB": 1.0},
}  # of each field of a tolerance, the field's own first

FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


def read_layout(path: Path) -> Layout:
    """Read a room from GeoJSON; errors name the file."""
    _check_size(path, MAX_TEXT_BYTES)
    collection = read_json(path)
    features = collection.get("features") if isinstance(collection, dict) else None
    if isinstance(features, list) and 3 * len(features) > MAX_WALLS:
        raise ValueError(f"{path}: Expected a room of at most {MAX_WALLS} walls, got {len(features)} polygons")
    try:
        return Layout.from_geojson(collection)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_iq(path: Path) -> NDArray[np.complex128]:
    """Read a ``.npy`` file; its size is checked before it is read, and no pickled objects are loaded.

    Raises:
        ValueError: the file is not a ``.npy`` file, too large, truncated, or contains Python objects.
    """
    _check_size(path, MAX_IQ_BYTES)
    try:
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except ValueError as error:
        raise ValueError(f"Expected complex samples as .npy in {path}, got an unreadable file: {error}") from error


def read_radio(path: Path) -> Radio:
    """Read fields of :class:`locus.Radio` from YAML; missing fields take the paper's values."""
    _check_size(path, MAX_TEXT_BYTES)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected the radio as YAML in {path}, got invalid YAML: {error}") from error
    try:
        radio: Radio = from_mapping(Radio, values, "radio.")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return radio


def parse_pose(text: str) -> Pose:
    """Parse a pose from the command line, e.g. ``20,35,0.4``."""
    try:
        x, y, heading = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"Expected 'pose' as x,y,heading, e.g. 20,35,0.4, got {text!r}") from error
    return Pose(x, y, heading)


def parse_position(text: str) -> tuple[float, float]:
    """Parse a position [m] from the command line, e.g. ``20,35``."""
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"Expected 'truth' as x,y, e.g. 20,35, got {text!r}") from error
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f"Expected a finite 'truth', got {text!r}")
    return x, y


def parse_tolerance(text: str) -> Tolerance:
    """Parse a tolerance from the command line, e.g. ``heading=1deg,plan=0.1``; what is not named keeps its default."""
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = "material_db" if name == "material" else name
        if name not in _UNITS or not equals:
            raise ValueError(f"Expected 'tolerance' as NAME=SIZE,... with names in {[*_UNITS]}, got {part!r}")
        if name in values:
            raise ValueError(f"Expected each name of 'tolerance' once, got {text!r}")
        values[name] = _size(name, value)
    return Tolerance(**values)


def _size(name: str, text: str) -> float:
    """Number with an optional unit, in the unit of the tolerance's field."""
    number = text.rstrip(string.ascii_letters)
    unit = text[len(number) :]
    try:
        size = float(number)
    except ValueError as error:
        raise ValueError(f"Expected 'tolerance.{name}' as a number and a unit, got {text!r}") from error
    units = _UNITS[name]
    if unit and unit not in units:
        raise ValueError(f"Expected 'tolerance.{name}' in {' or '.join(units)}, got {text!r}")
    return size * units[unit] if unit else size


def check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise an OSError or a ValueError unless ``path`` has one of the ``suffixes`` and can be written."""
    if path.suffix not in suffixes:
        raise ValueError(f"Expected a file that ends in {' or '.join(suffixes)}, got {path}")
    if path.is_dir():
        raise ValueError(f"Expected a file to write, got the folder {path}")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(f"Expected a writable folder for {path.name}, got {path.parent} ({error.strerror})") from error


def save(data: xr.Dataset, out: Path, figure: Path | None = None) -> None:
    """Write the result of :func:`locus.locate` and, optionally, its map; both atomically."""
    netcdf.save(out, data, {}, double=("map_x", "map_y"), sealed=False)  # map coordinates can be millions of metres
    if figure is None:
        return
    from locus.capture.figure import location_figure

    with replacing(figure) as scratch:
        location_figure(data).savefig(scratch, dpi=150)


def _check_size(path: Path, most: int) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    if path.stat().st_size > most:
        raise ValueError(f"Expected {path} of at most {most // 2**20} MiB, got {path.stat().st_size / 2**20:.1f} MiB")
