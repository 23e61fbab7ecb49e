"""Readers of rooms and poses: GeoJSON, and the public functions around :class:`locus.Layout`."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import shapely
from numpy.random import Generator

import locus
from fuzz import file_reader, function_reader
from fuzz.mutations import damaged, json_changed, nested, number_replaced
from locus.capture import files


def _feature(ring: Any, role: str) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {"role": role, "material": "brick"},
    }


_SQUARE = [[0.0, 0.0], [50.0, 0.0], [50.0, 40.0], [0.0, 40.0], [0.0, 0.0]]
_PILLAR = [[20.0, 20.0], [30.0, 20.0], [30.0, 25.0], [20.0, 25.0], [20.0, 20.0]]
ROOM = json.dumps(
    {"type": "FeatureCollection", "features": [_feature(_SQUARE, "room"), _feature(_PILLAR, "obstacle")]}
).encode()


def is_room(layout: locus.Layout) -> None:
    """A room has finite walls and free space."""
    assert np.isfinite(layout.walls).all(), "walls that are not finite"
    assert layout.free_space.area >= 0, "a negative area"
    assert math.isfinite(layout.free_space.area), "an area that is not finite"


def many_vertices(_: bytes, rng: Generator) -> bytes:
    """A ring with many vertices, one of them not a number."""
    count = int(rng.choice([1000, 40_000]))
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1).round(4).tolist()
    ring[int(rng.integers(count))][0] = float(rng.choice([np.nan, np.inf, 1e308]))
    return json.dumps({"type": "FeatureCollection", "features": [_feature([*ring, ring[0]], "room")]}).encode()


def _square() -> locus.Layout:
    return locus.Layout(shapely.box(0, 0, 50, 40), (shapely.box(20, 20, 30, 25),))


def _is_points(found: Any) -> None:
    xy = np.asarray(found)
    assert xy.dtype == np.float64, xy.dtype
    assert np.isfinite(xy).all(), "points that are not finite"


READERS = [
    file_reader(
        "room as geojson",
        "room.geojson",
        [ROOM],
        [json_changed, damaged, nested, number_replaced, many_vertices],
        files.read_layout,
        is_room,
    ),
    file_reader(
        "layout from geojson",
        "room.geojson",
        [ROOM],
        [json_changed, damaged, nested, many_vertices],
        locus.Layout.from_geojson,
        is_room,
    ),
    function_reader("pose", (20.0, 30.0, 0.4), locus.Pose, lambda pose: _is_points([pose.x, pose.y, pose.heading])),
    function_reader("grid", (7,), lambda count: _square().grid(count), _is_points),
    function_reader("sample", (7,), lambda count: _square().sample(count, np.random.default_rng(0)), _is_points),
    function_reader("points", ([[1.0, 2.0]], 0.5), lambda points, clearance: _square().is_free(points, clearance)),
    function_reader("translation", (1.0, 2.0), lambda x, y: _square().moved(x, y), is_room),
    function_reader(
        "layout",
        (shapely.box(0, 0, 10, 10), (shapely.box(2, 2, 4, 4),), ("brick", "wood"), 0.5),
        locus.Layout,
        is_room,
    ),
    function_reader("pose on the command line", ("20,35,0.4",), lambda text: files.parse_pose(str(text))),
    function_reader("truth on the command line", ("20,35",), lambda text: files.parse_position(str(text)), _is_points),
    function_reader("tolerance on the command line", ("plan=0.1",), lambda text: files.parse_tolerance(str(text))),
]
