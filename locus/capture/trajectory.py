"""Trajectory files: a TUM or CSV file of a walk in, times and poses out, checked line by line.

TUM, as SLAM systems write it (``.tum`` or ``.txt``): a line per pose, ``time x y z qx qy qz qw``, comments after ``#``.
CSV (``.csv``): the header ``time,x,y,heading``, then a line per pose. Seconds, metres, radians; x and y in the room's
frame. The quaternion of TUM turns the x axis to broadside of the array.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.capture.walk import MAX_POSES
from locus.room.layout import Pose

MAX_BYTES = 2**20
"""Largest size of a file."""
MAX_TILT = math.radians(5)
"""Largest tilt of the receiver's own z axis from the vertical [rad]: the twin is two-dimensional."""
MAX_RISE = 1.0
"""Largest difference of heights along a walk [m]."""

_MAX_NORM_ERROR = 0.01  # of a quaternion, whose numbers may be rounded to two digits
_TUM = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")
_CSV = ("time", "x", "y", "heading")


class Trajectory(NamedTuple):
    """Poses of a walk, and when each was taken."""

    poses: list[Pose]
    times: NDArray[np.float64]
    """Seconds (pose), increasing."""


class _Row(NamedTuple):
    time: float
    x: float
    y: float
    heading: float
    z: float = 0.0


def read_trajectory(path: Path) -> Trajectory:
    """Read the poses of a walk from a TUM or CSV file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not what the format asks for, which the message names; or the file holds no pose, too
            many, or poses whose heights differ by more than ``MAX_RISE``.
    """
    readers: dict[str, Callable[[list[str]], Iterator[tuple[int, _Row]]]] = {
        ".csv": _read_csv,
        ".tum": _read_tum,
        ".txt": _read_tum,
    }
    if path.suffix not in readers:
        raise ValueError(f"Expected a trajectory in a file that ends in {' or '.join(readers)}, got {path}")
    try:
        rows = [row for _, row in _in_order(readers[path.suffix](_lines(path)))]
        if not rows:
            raise ValueError(f"Expected 1 to {MAX_POSES} poses, got none")
        heights = [row.z for row in rows]
        if max(heights) - min(heights) > MAX_RISE:
            raise ValueError(
                f"Expected a walk on one floor, z within {MAX_RISE:g} m, got {min(heights):g} to {max(heights):g} m; "
                "if y is the height, exchange the axes"
            )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Trajectory([Pose(row.x, row.y, row.heading) for row in rows], np.array([row.time for row in rows]))


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"Expected at most {MAX_BYTES // 2**20} MiB, got {path.stat().st_size / 2**20:.1f} MiB")
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected text, got bytes that are not UTF-8: {error.reason}") from error


def _in_order(rows: Iterator[tuple[int, _Row]]) -> Iterator[tuple[int, _Row]]:
    """The rows, unless there are too many or their times do not increase."""
    before = -math.inf
    for count, (number, row) in enumerate(rows, 1):
        if count > MAX_POSES:
            raise ValueError(f"Expected at most {MAX_POSES} poses, got more on line {number}; leave some out")
        if row.time <= before:
            raise ValueError(f"Expected increasing times, got {row.time:.15g} s after {before:.15g} s on line {number}")
        before = row.time
        yield number, row


def _read_tum(lines: list[str]) -> Iterator[tuple[int, _Row]]:
    for number, line in enumerate(lines, 1):
        parts = line.partition("#")[0].split()
        if parts:
            time, x, y, z, *quaternion = _numbers(parts, _TUM, number)
            yield number, _Row(time, x, y, _heading(quaternion, number), z)


def _read_csv(lines: list[str]) -> Iterator[tuple[int, _Row]]:
    named = False
    for number, line in enumerate(lines, 1):
        try:
            parts = [part.strip() for part in next(csv.reader([line]), [])]
        except csv.Error as error:  # a field of more than 128 KiB
            raise ValueError(f"Expected {len(_CSV)} numbers, {' '.join(_CSV)}, got {error} on line {number}") from error
        if not any(parts):
            continue
        if not named:
            if tuple(parts) != _CSV:
                raise ValueError(f"Expected the header {','.join(_CSV)}, got {line[:80]!r} on line {number}")
            named = True
            continue
        time, x, y, heading = _numbers(parts, _CSV, number)
        if abs(heading) > 2 * math.pi:
            raise ValueError(f"Expected 'heading' in radians, within [-2 pi, 2 pi], got {heading:g} on line {number}")
        yield number, _Row(time, x, y, _wrapped(heading))


def _numbers(parts: list[str], names: tuple[str, ...], number: int) -> list[float]:
    if len(parts) != len(names):
        raise ValueError(f"Expected {len(names)} numbers, {' '.join(names)}, got {len(parts)} on line {number}")
    values = []
    for name, part in zip(names, parts, strict=True):
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"Expected a finite number as '{name}', got {part[:40]!r} on line {number}")
        values.append(value)
    return values


def _heading(quaternion: list[float], number: int) -> float:
    """Angle [rad] from the x axis to where a quaternion (qx, qy, qz, qw) turns it."""
    norm = math.hypot(*quaternion)  # without overflow
    if abs(norm - 1) > _MAX_NORM_ERROR:
        raise ValueError(f"Expected a quaternion of length 1, got {norm:.3g} on line {number}")
    x, y, z, w = (value / norm for value in quaternion)
    tilt = math.acos(min(max(1 - 2 * (x * x + y * y), -1.0), 1.0))
    if tilt > MAX_TILT:
        raise ValueError(
            f"Expected a rotation about z, tilted by at most {math.degrees(MAX_TILT):.0f} degrees, got "
            f"{math.degrees(tilt):.0f} degrees on line {number}; is z up in this trajectory?"
        )
    return _wrapped(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def _wrapped(angle: float) -> float:
    """Angle [rad] in [-pi, pi)."""
    turned = (angle + math.pi) % (2 * math.pi) - math.pi
    return turned if turned < math.pi else -math.pi  # a tiny negative number modulo 2 pi rounds to 2 pi
