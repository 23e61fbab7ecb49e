"""SigMF's extension ``spatial``: metadata of a recording in, order, phases and heading of its antennas out.

In its coordinates the array looks along x, and y points to the left.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from locus.settings.config import SPEED_OF_LIGHT

HEADING_TOLERANCE = math.radians(1.0)
"""How far two statements of the heading may differ [rad]."""
PLACE_TOLERANCE = 1 / 20
"""How far an antenna may be from its place in a uniform half-wavelength line, in wavelengths."""

_HORIZONTAL = math.radians(1.0)  # elevation and rotation below this count as 0


def find_heading(captures: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Heading [rad], counter-clockwise from x, of a boresight in degrees clockwise from y (north); None if not stated.

    Raises:
        ValueError: the statements contradict one another, or the array is not upright.
    """
    stated = []
    for capture in captures:
        bearing = capture.get("spatial:aperture_bearing", {})
        if not isinstance(bearing, Mapping):
            raise ValueError(f"{name}: Expected 'spatial:aperture_bearing' as an object, got {reprlib.repr(bearing)}")
        for key, values in (("elevation", bearing), ("spatial:aperture_rotation", capture)):
            angle = number(values, key, name)
            if angle is not None and abs(wrapped(math.radians(angle))) > _HORIZONTAL:
                raise ValueError(f"{name}: Expected an upright array that looks along the floor, got '{key}' {angle:g}")
        for key, values in (("spatial:aperture_azimuth", capture), ("azimuth", bearing)):
            azimuth = number(values, key, name)
            if azimuth is not None:
                stated.append(wrapped(math.pi / 2 - math.radians(math.fmod(azimuth, 360.0))))
    for heading in stated[1:]:
        if abs(wrapped(heading - stated[0])) > HEADING_TOLERANCE:
            raise ValueError(
                f"{name}: Expected one azimuth of the aperture, within {math.degrees(HEADING_TOLERANCE):g} degree, got "
                f"headings of {stated[0]:.3f} and {heading:.3f} rad"
            )
    return stated[0] if stated else None


def find_phase(capture: Mapping[str, Any], name: str) -> float:
    """Phase [rad] that is to be removed from the samples of a recording."""
    return math.radians(math.fmod(number(capture, "spatial:phase_offset", name) or 0.0, 360.0))


def order_from_left(points: NDArray[np.float64], frequency: float, name: str) -> NDArray[np.intp]:
    """Indices of antennas at ``points`` (antenna, xyz) [m], leftmost first.

    Raises:
        ValueError: they are not half a wavelength of ``frequency`` [Hz] apart, in a line across the boresight.
    """
    wavelength = SPEED_OF_LIGHT / frequency
    order = np.argsort(-points[:, 1], kind="stable")
    there = points[order] - points.mean(axis=0)
    ideal = np.zeros_like(there)
    ideal[:, 1] = ((len(points) - 1) / 2 - np.arange(len(points))) * wavelength / 2
    error = float(np.abs(there - ideal).max())
    if not error <= PLACE_TOLERANCE * wavelength:
        raise ValueError(
            f"{name}: Expected 'spatial:element_geometry' of a uniform line along y, half a wavelength "
            f"({1e3 * wavelength / 2:.4g} mm) apart, got an antenna {1e3 * error:.4g} mm from its place"
        )
    return order


def find_points(geometry: Any, name: str) -> NDArray[np.float64] | None:
    """Places (antenna, xyz) [m] of ``spatial:element_geometry``; None if there is none, or if one is unknown."""
    if geometry is None:
        return None
    if not isinstance(geometry, list) or not all(isinstance(one, Mapping) for one in geometry) or not geometry:
        raise ValueError(
            f"{name}: Expected 'spatial:element_geometry' as a list of objects with 'point', got "
            f"{reprlib.repr(geometry)}"
        )
    if any(one.get("unknown") is True for one in geometry):
        return None
    points = []
    for i, one in enumerate(geometry):
        point = one.get("point")
        if not isinstance(point, list) or len(point) != 3 or not all(_finite(value) for value in point):
            raise ValueError(
                f"{name}: Expected 'point' {i} of 'spatial:element_geometry' as [x, y, z], got {reprlib.repr(point)}"
            )
        points.append([float(value) for value in point])
    return np.array(points)


def number(values: Mapping[str, Any], key: str, name: str) -> float | None:
    """A finite number, or None if there is none."""
    value = values.get(key)
    if value is None:
        return None
    if not _finite(value):
        raise ValueError(f"{name}: Expected '{key}' as a finite number, got {reprlib.repr(value)}")
    return float(value)


def whole(values: Mapping[str, Any], key: str, name: str) -> int | None:
    """A whole number from 0 to 2³¹, or None if there is none."""
    value = number(values, key, name)
    if value is not None and not (0 <= value <= 2**31 and value == int(value)):
        raise ValueError(f"{name}: Expected '{key}' as a whole number from 0, got {reprlib.repr(values[key])}")
    return None if value is None else int(value)


def wrapped(angle: float) -> float:
    r"""Wrap an angle [rad] to :math:`[-\pi, \pi)`."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300
