"""Rooms in degrees: longitude and latitude in, metres about the room's middle out; and back."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely import Polygon

_RADIUS = 6378137.0  # [m], equator of WGS 84
_FLATTENING = 1 / 298.257223563  # of WGS 84
_NARROW = 0.02  # a room as wide as this, in metres, would be none; in degrees it is up to 2.2 km wide
_POLAR = 89.0  # [degrees], beyond which meridians converge too fast for a plane


@dataclass(frozen=True)
class Frame:
    """The plane that touches the Earth at a point: x points east, y north [m]."""

    longitude: float
    """Longitude of the point, in degrees east."""
    latitude: float
    """Latitude of the point, in degrees north."""
    x: float = 0.0
    """Coordinate of the point in the room [m], not 0 if the room was moved."""
    y: float = 0.0
    """Coordinate of the point in the room [m], not 0 if the room was moved."""

    @property
    def words(self) -> str:
        """A remark: that the room was in degrees, and the point about which it was projected."""
        return (
            f"the room is in degrees: projected to metres east and north of longitude {self.longitude:.7f}, "
            f"latitude {self.latitude:.7f}"
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Metres per degree of longitude and of latitude, from the ellipsoid's radii of curvature at the point."""
        squared = _FLATTENING * (2 - _FLATTENING)  # eccentricity
        sine = math.sin(math.radians(self.latitude))
        across = _RADIUS / math.sqrt(1 - squared * sine**2)
        along = across * (1 - squared) / (1 - squared * sine**2)
        return math.radians(across * math.cos(math.radians(self.latitude))), math.radians(along)

    def metres(self, degrees: ArrayLike) -> NDArray[np.float64]:
        """Convert longitude and latitude (..., 2) to metres (..., 2)."""
        return (np.asarray(degrees, dtype=float) - (self.longitude, self.latitude)) * self.scale + (self.x, self.y)

    def degrees(self, metres: ArrayLike) -> NDArray[np.float64]:
        """Convert metres (..., 2) to longitude and latitude (..., 2)."""
        return (np.asarray(metres, dtype=float) - (self.x, self.y)) / self.scale + (self.longitude, self.latitude)

    def moved(self, x: float, y: float) -> Frame:
        """The frame of a room that was translated by ``x`` and ``y`` [m]."""
        return replace(self, x=self.x + x, y=self.y + y)


def find_frame(room: Polygon) -> Frame | None:
    """The frame about a room's middle if the room is in degrees, else None."""
    bounds = shapely.bounds(room)
    west, south, east, north = bounds
    if not np.isfinite(bounds).all() or not (0 < east - west < _NARROW and 0 < north - south < _NARROW):
        return None
    if max(abs(west), abs(east)) > 180 or max(abs(south), abs(north)) > _POLAR:
        return None
    return Frame(float(west + east) / 2, float(south + north) / 2)


def to_metres(polygon: Polygon, frame: Frame) -> Polygon:
    """Convert a polygon from degrees to metres."""
    return _transformed(polygon, frame.metres)


def to_degrees(shape: Any, frame: Frame) -> Any:
    """Convert a geometry from metres to degrees."""
    return _transformed(shape, frame.degrees)


def _transformed(shape: Any, function: Any) -> Any:
    return shapely.transform(shapely.force_2d(shape), function)
