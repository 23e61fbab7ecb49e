"""Files of your own data: reads room, capture and radio, and writes the result, with checks."""

from __future__ import annotations

import math
import string
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import xarray as xr
from numpy.typing import NDArray

from locus.capture.locate import MAX_WALLS
from locus.capture.npy import read_npy
from locus.capture.outputs import save_result
from locus.room.geojson import read_json
from locus.room.layout import Layout, Pose
from locus.score.tolerance import Tolerance
from locus.score.walk import Odometry
from locus.settings.atomic import replacing
from locus.settings.checks import from_mapping
from locus.settings.config import Radio
from locus.settings.untrusted import MAX_YAML_BYTES, parse_yaml, read_text, short

MAX_IQ_BYTES = 64 * 2**20
MAX_TEXT_BYTES = 2**20
"""Maximum size of a file that describes the room."""
_LENGTHS = {"m": 1.0, "cm": 0.01}
_ANGLES = {"rad": 1.0, "deg": math.pi / 180}
_UNITS = {
    "plan": _LENGTHS,
    "position": _LENGTHS,
    "heading": _ANGLES,
    "material_db": {"dB": 1.0},
}  # of each field of a tolerance, the field's own first
_ODOMETRY = {"position": _LENGTHS, "heading": _ANGLES, "turn": _ANGLES}  # after a metre; turn: after a radian

FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


def read_layout(path: Path, height: float | None = None) -> Layout:
    """Read a room from GeoJSON or a ROS map (``.yaml``), or cut a Sionna scene (``.xml``) at ``height`` [m].

    Errors name the file.
    """
    if path.suffix in (".yaml", ".yml"):
        return Layout.from_ros_map(path)
    if path.suffix == ".pgm":
        raise ValueError(f"Expected the YAML file of a ROS map, which names its image, got the image {path}")
    if path.suffix == ".xml":
        return Layout.from_sionna_scene(path, *(() if height is None else (height,)))
    if height is not None:
        raise ValueError(f"Expected 'height' with a Sionna scene (.xml) only, got it with {path}")
    _check_size(path, MAX_TEXT_BYTES)
    collection = read_json(path)
    features = collection.get("features") if isinstance(collection, dict) else None
    if isinstance(features, list) and 3 * len(features) > MAX_WALLS:
        raise ValueError(f"{path}: Expected a room of at most {MAX_WALLS} walls, got {len(features)} polygons")
    try:
        return Layout.from_geojson(collection)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_iq(path: Path) -> NDArray[np.inexact]:
    """Read a ``.npy`` file; its size is checked before it is read, and no pickled objects are loaded.

    Raises:
        ValueError: the file is not a ``.npy`` file, too large, truncated, or contains Python objects.
    """
    _check_size(path, MAX_IQ_BYTES)
    return read_npy(path, MAX_IQ_BYTES)


def read_radio(path: Path) -> Radio:
    """Read a radio from YAML; missing fields take the paper's values."""
    return Radio(**read_radio_fields(path))


def read_radio_fields(path: Path) -> dict[str, Any]:
    """Read the fields of :class:`locus.Radio` that a YAML file states."""
    text = read_text(path, MAX_YAML_BYTES, "the radio as YAML")
    try:
        values = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"Expected the radio as YAML in {path}, {error}") from error
    try:
        radio: Radio = from_mapping(Radio, values, "radio.")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return {name: getattr(radio, name) for name in values}


def parse_pose(text: str) -> Pose:
    """Parse a pose from the command line, e.g. ``20,35,0.4`` or ``20,35,23deg``."""
    number, degrees = (text[:-3], True) if text.endswith("deg") else (text, False)
    try:
        x, y, heading = (float(part) for part in number.split(","))
    except ValueError as error:
        raise ValueError(
            f"Expected 'pose' as x,y,heading, e.g. 20,35,0.4 or 20,35,23deg, got {short(text)}; the heading may be "
            "left out only with a recording that states its azimuth"
        ) from error
    return Pose(x, y, (math.radians(heading) + math.pi) % (2 * math.pi) - math.pi if degrees else heading)


def parse_position(text: str) -> tuple[float, float]:
    """Parse a position [m] from the command line, e.g. ``20,35``."""
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"Expected 'truth' as x,y, e.g. 20,35, got {short(text)}") from error
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f"Expected a finite 'truth', got {short(text)}")
    return x, y


def in_metres(layout: Layout, pose: Pose, truth: tuple[float, float] | None) -> tuple[Pose, tuple[float, float] | None]:
    """Convert the pose and true position from the coordinates of the room's file to metres."""
    if layout.frame is None:
        return pose, truth
    x, y = layout.frame.metres((pose.x, pose.y))
    if not layout.room.covers(shapely.Point(x, y)):
        west, south, east, north = layout.frame.degrees(np.reshape(layout.room.bounds, (2, 2))).ravel()
        raise ValueError(
            f"Expected 'pose' as longitude,latitude,heading, since the room is in degrees ({west:.7f} to {east:.7f}, "
            f"{south:.7f} to {north:.7f}), got {pose.x:.10g},{pose.y:.10g}"
        )
    here = None if truth is None else layout.frame.metres(truth)
    return Pose(x, y, pose.heading), None if here is None else (float(here[0]), float(here[1]))


def parse_tolerance(text: str) -> Tolerance:
    """Parse a tolerance from the command line, e.g. ``heading=1deg,plan=0.1``; what is not named keeps its default."""
    return Tolerance(**_sizes("tolerance", text, _UNITS))


def parse_odometry(text: str) -> Odometry:
    """Parse growing errors from the command line, e.g. ``position=2cm,heading=0.1deg``; what is not named is exact."""
    values = _sizes("odometry", text, _ODOMETRY)
    return Odometry(values.get("position", 0.0), values.get("heading", 0.0), values.get("turn", 0.0))


def _sizes(option: str, text: str, known: dict[str, dict[str, float]]) -> dict[str, float]:
    """Named sizes with optional units, e.g. ``heading=1deg,plan=0.1``; units of each name are ``known``."""
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = "material_db" if name == "material" else name
        if name not in known or not equals:
            raise ValueError(f"Expected '{option}' as NAME=SIZE,... with names in {[*known]}, got {short(part)}")
        if name in values:
            raise ValueError(f"Expected each name of '{option}' once, got {short(text)}")
        values[name] = _size(f"{option}.{name}", value, known[name])
    return values


def _size(name: str, text: str, units: dict[str, float]) -> float:
    """Number with an optional unit, in the first of the ``units``."""
    number = text.rstrip(string.ascii_letters)
    unit = text[len(number) :]
    try:
        size = float(number)
    except ValueError as error:
        raise ValueError(f"Expected '{name}' as a number and a unit, got {short(text)}") from error
    if unit and unit not in units:
        raise ValueError(f"Expected '{name}' in {' or '.join(units)}, got {short(text)}")
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


def check_apart(outputs: list[Path], inputs: list[Path]) -> None:
    """Raise a ValueError if a file to write is one that is read: plan, map and its image, captures."""
    beside = {".yaml": ".pgm", ".sigmf-meta": ".sigmf-data"}

    def with_data(paths: list[Path]) -> set[Path]:
        data = [one.with_suffix(beside[one.suffix]) for one in paths if one.suffix in beside]
        return {one.resolve() for one in (*paths, *data)}

    for path in sorted(with_data(outputs) & with_data(inputs)):
        raise ValueError(f"Expected another name than {path.name} to write to, got that of a file that is read")


def save(
    data: xr.Dataset,
    out: Path,
    figure: Path | None = None,
    animation: Path | None = None,
    truth: tuple[float, float] | None = None,
) -> list[Path]:
    """Write the result of :func:`locus.locate` and, optionally, its map and the animation of a walk; all atomically.

    Returns the files written.
    """
    written = save_result(data, out)
    if figure is not None:
        from locus.capture.figure import location_figure

        with replacing(figure) as scratch:
            location_figure(data, truth=truth).savefig(scratch, dpi=150)
        written = [*written, figure]
    if animation is not None:
        from locus.capture.animation import save_animation

        save_animation(data, animation, truth)
        written = [*written, animation]
    return written


def _check_size(path: Path, most: int) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    if path.stat().st_size > most:
        raise ValueError(f"Expected {path} of at most {most // 2**20} MiB, got {path.stat().st_size / 2**20:.1f} MiB")
