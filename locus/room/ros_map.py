"""ROS maps: a ``map.yaml`` and the PGM image that it names, in; an occupancy grid out; and back.

The rules are those of ROS's ``map_server``: row 0 of the image is the top of the map, ``origin`` is the pose of the
outer corner of the lower left pixel, and a pixel :math:`x` stands for the probability :math:`(255 - x) / 255` of being
occupied, or for :math:`x / 255` with ``negate``, except in mode ``raw``.
"""

from __future__ import annotations

import math
import re
import reprlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from locus.settings.atomic import replacing, write_text
from locus.settings.checks import check_range, from_mapping
from locus.settings.untrusted import parse_yaml, reason

MAX_PIXELS = 16_000_000
"""Maximum number of pixels of a map."""
MAX_YAML_BYTES = 2**13
"""Maximum size of a map's YAML file."""
MODES = ("trinary", "scale", "raw")
"""How ``map_server`` interprets pixels. For free and occupied cells, the first two are the same."""

_OCCUPIED, _UNKNOWN, _FREE = 0, 205, 254  # pixels of ROS's map_saver
_SPACE = rb"(?:\s|#[^\n\r]*[\n\r])+"  # comments end with the line
_HEADER = re.compile(rb"P([25])" + 3 * (_SPACE + rb"([0-9]{1,9})") + rb"\s")
_MAX_HEADER = 2**12


@dataclass(frozen=True)
class RosMap:
    """An occupancy grid in a plane."""

    occupancy: NDArray[np.float32]
    """Probability (row, column) that a cell is occupied, NaN if unknown; rows along y, columns along x."""
    resolution: float
    """Side of a cell [m]."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Pose of the outer corner of cell (0, 0): x, y [m] and yaw [rad], counter-clockwise."""
    occupied_thresh: float = 0.65
    """Cells with a higher probability are occupied. The default is that of ``map_saver``, of ROS 1 and of Nav2."""
    free_thresh: float = 0.196
    """Cells with a lower probability are free; those in between are unknown. The default is that of ``map_saver`` of
    ROS 1; Nav2's writes 0.25."""
    remarks: tuple[str, ...] = ()
    """What was changed when it was read, one line each."""

    def __post_init__(self) -> None:
        check_range("resolution", self.resolution, 1e-3, 100.0)
        for name, value in zip(("x", "y", "yaw"), self.origin, strict=True):
            check_range(f"origin: {name}", value, -1e8, 1e8)
        check_range("occupied_thresh", self.occupied_thresh, 0.0, 1.0)
        check_range("free_thresh", self.free_thresh, 0.0, self.occupied_thresh)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Mask (row, column) of the free cells."""
        return np.asarray(self.occupancy < self.free_thresh)

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Mask (row, column) of the occupied cells."""
        return np.asarray(self.occupancy > self.occupied_thresh)

    def to_world(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World coordinates [m] of points (n, 2) given in cells from the outer corner of cell (0, 0)."""
        x, y, yaw = self.origin
        turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
        return np.asarray(self.resolution * (points @ turn) + [x, y])

    def to_cells(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inverse of :meth:`to_world`: column and row of each point, with fractions."""
        x, y, yaw = self.origin
        turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        return np.asarray((points - [x, y]) @ turn / self.resolution)


@dataclass(frozen=True)
class _Metadata:
    image: str
    resolution: float
    origin: tuple[float, float, float]
    negate: int
    occupied_thresh: float
    free_thresh: float
    mode: str = "trinary"

    def __post_init__(self) -> None:
        if self.negate not in (0, 1):
            raise ValueError(f"Expected 'negate' 0 or 1, got {self.negate}")
        if self.mode not in MODES:
            raise ValueError(f"Expected 'mode' in {list(MODES)}, got {reprlib.repr(self.mode)}")
        if self.mode == "raw" and self.negate:
            raise ValueError("Expected 'negate' 0 with mode raw, which ROS 1 and ROS 2 read differently, got 1")


def read_ros_map(path: str | Path) -> RosMap:
    """Read a map of at most 16 million pixels. Errors name the file.

    Raises:
        ValueError: a file is not what it should be; the message says how.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    try:
        about = _metadata(_bytes(path, MAX_YAML_BYTES))
        image = _image_path(path, about.image)
        pixels = read_pgm(image)
        occupancy = _probabilities(about)[pixels[::-1]]
        grid = RosMap(occupancy, about.resolution, about.origin, about.occupied_thresh, about.free_thresh)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if about.mode != "raw" and grid.free_thresh > (255 - _UNKNOWN) / 255 and not about.negate:
        values = np.flatnonzero(np.bincount(pixels.ravel(), minlength=256))
        if _UNKNOWN in values and set(values) <= {_OCCUPIED, _UNKNOWN, _FREE}:
            remark = (
                f"free_thresh {RosMap.free_thresh} is used instead of {grid.free_thresh:g}: map_saver wrote "
                f"the image, and its unknown pixels ({_UNKNOWN}) would be free"
            )
            return replace(grid, free_thresh=RosMap.free_thresh, remarks=(remark,))
    return grid


def write_ros_map(path: Path, grid: RosMap, mode: str = "trinary", notes: Sequence[str] = ()) -> None:
    """Write a map: the YAML file to ``path``, and the image beside it, with the suffix ``.pgm``; both atomically.

    Args:
        path: where to write the YAML file.
        grid: the map.
        mode: ``trinary``, which keeps free, occupied and unknown cells apart; ``scale``, which keeps probabilities in
            steps of 1 / 255, of maps without unknown cells; or ``raw``, which keeps them in steps of 1 %.
        notes: comments at the top of the YAML file, a line each.
    """
    if mode not in MODES:
        raise ValueError(f"Expected 'mode' in {list(MODES)}, got {mode!r}")
    thresholds = {"occupied_thresh": grid.occupied_thresh, "free_thresh": grid.free_thresh}
    unknown = np.isnan(grid.occupancy)
    if mode == "trinary":
        pixels = np.where(grid.free, _FREE, np.where(grid.occupied, _OCCUPIED, _UNKNOWN))
        thresholds = {key: getattr(RosMap, key) for key in thresholds}
    elif mode == "raw":
        pixels = np.where(unknown, 255, np.rint(100 * np.where(unknown, 0, grid.occupancy)))
    elif unknown.any():
        raise ValueError("Expected a map without unknown cells for mode 'scale', got some; use 'raw'")
    else:
        pixels = np.rint(255 * (1 - grid.occupancy))
    image = path.with_suffix(".pgm")
    about = {"image": image.name, "mode": mode, "resolution": grid.resolution, "origin": list(grid.origin), "negate": 0}
    write_pgm(image, pixels[::-1].astype(np.uint8))
    comments = "".join(f"# {line}\n" for line in notes)
    write_text(path, comments + yaml.safe_dump({**about, **thresholds}, sort_keys=False))


def read_pgm(path: Path) -> NDArray[np.uint8]:
    """Read pixels (row, column) of a PGM image, P5 or P2, with values up to 255; row 0 is the top."""
    content = _bytes(path, 4 * MAX_PIXELS + _MAX_HEADER)  # a pixel of P2 takes up to four bytes
    header = _HEADER.match(content[:_MAX_HEADER])
    if header is None:
        raise ValueError(f"Expected a PGM image, P5 or P2, in {path.name}, got {content[:8]!r}; convert it")
    kind, width, height, largest = (int(group) for group in header.groups())
    if largest != 255:
        raise ValueError(f"Expected a PGM image with values up to 255 in {path.name}, got up to {largest}")
    if not 0 < width * height <= MAX_PIXELS:
        raise ValueError(f"Expected 1 to {MAX_PIXELS} pixels in {path.name}, got {width} x {height}")
    if kind == 5:
        pixels = np.frombuffer(content, dtype=np.uint8, offset=header.end())
    else:
        pixels = _numbers(content[header.end() :], path.name)
    if len(pixels) != width * height:
        raise ValueError(
            f"Expected {width * height} pixels, {width} x {height}, in {path.name}, got {len(pixels)}: it is damaged"
        )
    return pixels.reshape(height, width)


def write_pgm(path: Path, pixels: NDArray[np.uint8]) -> None:
    """Write pixels (row, column) as a PGM image, P5; row 0 is the top."""
    height, width = pixels.shape
    with replacing(path) as scratch:
        scratch.write_bytes(f"P5\n{width} {height}\n255\n".encode() + np.ascontiguousarray(pixels).tobytes())


def _metadata(content: bytes) -> _Metadata:
    try:
        values = parse_yaml(content.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"Expected the description of a ROS map, {reason(error)}") from error
    if not isinstance(values, dict):
        raise ValueError(f"Expected the description of a ROS map, got {reprlib.repr(values)}")
    needed = [name for name in _Metadata.__annotations__ if name != "mode"]
    missing = [name for name in needed if name not in values]
    if missing:
        raise ValueError(f"Expected a ROS map with {needed}, got none of {missing}")
    known = {name: values[name] for name in (*needed, "mode") if name in values}
    for name, value in known.items():
        if isinstance(value, dict | list) and (name != "origin" or not _is_flat(value)):
            raise ValueError(f"Expected '{name}' as a plain value, got {reprlib.repr(value)}")
    if isinstance(known["negate"], bool):
        known["negate"] = int(known["negate"])
    about: _Metadata = from_mapping(_Metadata, known, "map.")
    return about


def _is_flat(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)


def _image_path(path: Path, image: str) -> Path:
    """Path of the image, which must be in the folder of the YAML file or below it."""
    folder = path.resolve().parent
    try:
        found = (folder / image).resolve()
    except (OSError, ValueError) as error:  # a loop of links, or a null character
        raise ValueError(f"Expected 'image' as the name of a file, got {reprlib.repr(image)}") from error
    if not found.is_relative_to(folder):
        raise ValueError(
            f"Expected 'image' in the folder of {path.name} or below, got {reprlib.repr(image)}; copy it there"
        )
    return found


def _probabilities(about: _Metadata) -> NDArray[np.float32]:
    """Probability of being occupied, for each value of a pixel, (256); NaN if unknown."""
    x = np.arange(256)
    if about.mode == "raw":
        return np.where(x <= 100, x / 100, np.nan).astype(np.float32)
    return ((x if about.negate else 255 - x) / 255).astype(np.float32)


def _numbers(text: bytes, name: str) -> NDArray[np.uint8]:
    """Pixels (n) written as decimal numbers."""
    if re.fullmatch(rb"[0-9\s]*", text) is None:
        raise ValueError(f"Expected decimal numbers as the pixels of {name}, got other characters")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy warns of what it cannot read
        try:
            found = np.fromstring(text, dtype=np.int32, sep=" ")
        except (DeprecationWarning, ValueError) as error:
            raise ValueError(f"Expected decimal numbers as the pixels of {name}, got others") from error
    if len(found) and not 0 <= found.min() <= found.max() <= 255:
        raise ValueError(f"Expected pixels from 0 to 255 in {name}, got others")
    return found.astype(np.uint8)


def _bytes(path: Path, most: int) -> bytes:
    try:
        there = path.is_file()
    except OSError as error:  # a name that is too long
        name = reprlib.repr(path.name)
        raise ValueError(f"Expected the name of a file, got {name}: {error.strerror}") from error
    if not there:
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    size = path.stat().st_size
    if size > most:
        raise ValueError(f"Expected {path.name} of at most {most / 2**20:.3g} MiB, got {size / 2**20:.3g} MiB")
    return path.read_bytes()


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200]
