"""Files of own data: room, capture and radio in, checked values out; and where results may be written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import xarray as xr
import yaml
from numpy.typing import NDArray

from locus.capture.locate import MAX_WALLS
from locus.experiment import netcdf
from locus.room.layout import Layout, Pose, read_json
from locus.settings.atomic import replacing
from locus.settings.checks import build
from locus.settings.config import Radio

MAX_IQ_BYTES = 64 * 2**20
MAX_TEXT_BYTES = 2**20
"""Of a room's or a radio's file."""
FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


def read_layout(path: Path) -> Layout:
    """A room in GeoJSON; errors name the file."""
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
    """Numbers of a ``.npy`` file, of which nothing is executed and nothing read before its size is known.

    Raises:
        ValueError: it is of another kind, too large, cut short, or holds Python objects.
    """
    _check_size(path, MAX_IQ_BYTES)
    try:
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except ValueError as error:
        raise ValueError(f"Expected a NumPy array of complex numbers in {path}, got what is not: {error}") from error


def read_radio(path: Path) -> Radio:
    """Fields of :class:`locus.Radio` in YAML; those that are missing are the paper's."""
    _check_size(path, MAX_TEXT_BYTES)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected a radio in YAML in {path}, got what is not: {error}") from error
    try:
        radio: Radio = build(Radio, values, "radio.")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return radio


def parse_pose(text: str) -> Pose:
    """Pose from the command line, like ``20,35,0.4``."""
    try:
        x, y, heading = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"Expected 'pose' as x,y,heading like 20,35,0.4, got {text!r}") from error
    return Pose(x, y, heading)


def check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise an OSError or a ValueError unless a file of one of the ``suffixes`` can be written to ``path``."""
    if path.suffix not in suffixes:
        raise ValueError(f"Expected a file that ends in {' or '.join(suffixes)}, got {path}")
    if path.is_dir():
        raise ValueError(f"Expected a file to write, got the folder {path}")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(f"Expected a folder to write {path.name} to, got {path.parent} ({error.strerror})") from error


def save(data: xr.Dataset, out: Path, figure: Path | None = None) -> None:
    """Write what :func:`locus.locate` returns and, if asked for, its map, each to the side and renamed."""
    netcdf.save(out, data, {}, double=("map_x", "map_y"))  # they may be map coordinates: millions of metres
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
