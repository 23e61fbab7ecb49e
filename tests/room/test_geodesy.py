"""Rooms in degrees: recognised by their size, and projected like an independent formula of the ellipsoid."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import locus
from locus.room.geodesy import Frame, find_frame

FILE = Path(__file__).parents[1] / "files" / "room_degrees.geojson"
RADIUS, SQUARED = 6378137.0, 0.00669437999014  # WGS 84


def in_space(longitude: float, latitude: float) -> np.ndarray:
    """Cartesian coordinates [m] of a point on the ellipsoid."""
    turn, tilt = math.radians(longitude), math.radians(latitude)
    across = RADIUS / math.sqrt(1 - SQUARED * math.sin(tilt) ** 2)
    flat = across * math.cos(tilt)
    return np.array([flat * math.cos(turn), flat * math.sin(turn), across * (1 - SQUARED) * math.sin(tilt)])


@given(st.floats(-179.9, 179.9), st.floats(-85, 85), st.floats(-0.004, 0.004), st.floats(-0.004, 0.004))
def test_metres_are_those_of_the_tangent_plane(longitude: float, latitude: float, east: float, north: float) -> None:
    """Cartesian coordinates, turned so that x points east and y north: another way than radii of curvature."""
    frame = Frame(longitude, latitude)
    difference = in_space(longitude + east, latitude + north) - in_space(longitude, latitude)
    turn, tilt = math.radians(longitude), math.radians(latitude)
    axes = np.array(
        [
            [-math.sin(turn), math.cos(turn), 0.0],
            [-math.sin(tilt) * math.cos(turn), -math.sin(tilt) * math.sin(turn), math.cos(tilt)],
        ]
    )
    x, y = frame.metres((longitude + east, latitude + north))
    # Meridians converge: over a distance d the difference is of the order d^2 tan(latitude) / radius
    bend = 1e-4 + (x**2 + y**2) * (1 + abs(math.tan(tilt))) / RADIUS
    np.testing.assert_allclose((x, y), axes @ difference, atol=bend)
    np.testing.assert_allclose(frame.degrees((x, y)), (longitude + east, latitude + north), atol=1e-12)


def test_a_hall_of_a_hundred_metres_is_flat_to_a_millimetre() -> None:
    longitude, latitude = 11.568, 48.1495
    frame = Frame(longitude, latitude)
    corners = np.array([[-50.0, -50.0], [50.0, -50.0], [50.0, 50.0], [-50.0, 50.0]])
    there = np.array([in_space(*degrees) for degrees in frame.degrees(corners)])
    apart, flat = (np.linalg.norm(p[:, np.newaxis] - p, axis=2) for p in (there, corners))
    np.testing.assert_allclose(apart, flat, atol=1e-3)


def test_a_room_in_degrees_is_recognised_and_says_so() -> None:
    layout = locus.Layout.from_geojson(FILE)
    np.testing.assert_allclose(layout.room.bounds, (-20, -15, 20, 15), atol=1e-3)
    np.testing.assert_allclose(layout.obstacles[0].bounds, (3, -2, 9, 4), atol=1e-3)
    assert layout.materials == ("concrete", "metal", "concrete")
    assert layout.frame is not None
    assert layout.remarks == (layout.frame.words,)
    assert "longitude 11.5680000, latitude 48.1495000" in layout.frame.words
    moved = layout.moved(100.0, -7.0)
    assert moved.frame is not None
    corners = json.loads(FILE.read_text())["features"][0]["geometry"]["coordinates"][0]
    np.testing.assert_allclose(moved.frame.degrees(moved.corners[:4]), corners[:4], atol=1e-9)


@pytest.mark.parametrize(
    ("bounds", "degrees"),
    [
        ((11.568, 48.1495, 11.5685, 48.1498), True),
        ((-0.005, 51.47, 0.005, 51.48), True),
        ((0, 0, 10, 10), False),  # a room in metres that would be a continent in degrees
        ((0, 0, 0.05, 0.01), False),
        ((4e5, 5e6, 4e5 + 50, 5e6 + 40), False),  # a map projection
        ((200.0, 10, 200.01, 10.01), False),
        ((10, 89.999, 10.001, 90), False),
    ],
)
def test_only_what_is_too_small_to_be_a_room_in_metres_is_in_degrees(bounds: tuple[float, ...], degrees: bool) -> None:
    assert (find_frame(shapely.box(*bounds)) is not None) == degrees
