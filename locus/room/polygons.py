"""Polygons of a mapped room: an occupancy grid in; a layout with straight walls, and how far they are off, out."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import contourpy
import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from scipy.spatial import KDTree
from shapely import Point, Polygon

from locus.room import straighten
from locus.room.layout import Layout, check_points
from locus.room.ros_map import RosMap
from locus.settings.checks import check_range

RECIPE = 2

MAX_WALLS = 250
"""Most walls of a layout, by default: as many as :func:`locus.locate` accepts."""
TOLERANCE_CELLS, TOLERANCE = 2.0, 0.003
"""What stays within so many cells of a line, or this share of the room's size, is one straight wall."""
SMALLEST = 4
"""Least number of cells of an obstacle; smaller ones are taken for noise."""

_CRACK = 2  # width of the free space that a crack does not have [cells]
_LOOSER = 1.4  # factor of the tolerance, until there are few enough walls
_LOOSEST = 0.25  # tolerance relative to the room's size
_MAX_BOUNDARY = 300_000  # cells along walls: more is noise, not a room
_JUST_BEHIND = 1e-3
_DISTORTED = 0.5  # relative change of the area of an outline by which straightening has failed
_SAMPLED = 0.2  # distance of the points between which distances are measured [cells]
_SLIT = 0.02  # half the width of free space that is none [cells]
_FINE, _FINEST = 0.5, 0.6  # tolerance for an outline relative to its width, so that it keeps its shape; in cells

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MapError:
    """How far the walls of a layout are from those of the map that they come from."""

    mean: float
    """Mean distance of the map's walls from the layout's [m]."""
    largest: float
    """Largest distance between the map's walls and the layout's, in either direction [m]."""
    tolerance: float
    """Tolerance with which walls were straightened [m]."""
    num_dropped: int
    """Number of specks taken for noise: smaller than a few cells, or than the tolerance."""

    def __str__(self) -> str:
        return (
            f"walls were straightened, which moved them by {100 * self.mean:.1f} cm on average and by "
            f"{100 * self.largest:.0f} cm at most; {self.num_dropped} specks were left out"
        )


class Face(NamedTuple):
    """The face of a wall or an obstacle, as far as a map shows it; lengths in cells."""

    ring: Floats
    """Points (n, 2) around it."""
    hits: Floats
    """Centres (n, 2) of the occupied cells that touch free ones, near the ring."""


def layout_of(
    grid: RosMap,
    inside: ArrayLike | None = None,
    max_walls: int = MAX_WALLS,
    material: str = "concrete",
    clearance: float = 0.5,
    tolerance: float | None = None,
) -> Layout:
    """Layout of the free space of a map; its attribute ``map_error`` says how far its walls are from the map's.

    Free space is the largest connected part, or the one around ``inside``. Unknown cells are not free. An occupied cell
    is one in which an echo was seen, so the wall's face lies in its middle on average, half a cell behind the edge of
    the free cells; that is where the wall is placed, unless the cells on both sides are free.

    Args:
        grid: the map.
        inside: a point (2) [m] in the part of the free space to use; by default the largest.
        max_walls: largest number of walls; the tolerance is raised until there are at most this many.
        material: ITU-R P.2040 name of the material of all walls.
        clearance: minimum distance of drawn candidates and poses from any wall [m].
        tolerance: how far straight walls may be from the map's [m], to begin with.

    Raises:
        ValueError: there is no free space, none at ``inside``, or no layout with so few walls.
    """
    check_range("max_walls", max_walls, 4)
    free, num_specks = _without_specks(_part(grid, inside))
    faces = _faces(free, grid.occupied)
    sizes = grid.resolution * np.array([math.sqrt(Polygon(one.ring).area) for one in faces])
    if tolerance is None:
        tolerance = max(TOLERANCE_CELLS * grid.resolution, TOLERANCE * float(sizes[0]))
    check_range("tolerance", tolerance, 0.0, open_low=True)
    point = None if inside is None else shapely.Point(grid.to_cells(np.asarray(inside, dtype=float)))
    first, space = tolerance, None
    while True:
        kept = [faces[0], *(faces[i] for i in 1 + np.flatnonzero(sizes[1:] >= tolerance))]
        if 3 * len(kept) <= max_walls:
            space = _space(_straight(kept, tolerance / grid.resolution, tolerance / first), point)
        if space is not None and _num_walls(space) <= max_walls:
            break
        tolerance *= _LOOSER
        if tolerance > _LOOSEST * sizes[0]:
            raise ValueError(f"Expected a map of a room with at most {max_walls} walls, got a more complicated one")
    mean, largest = (grid.resolution * one for one in _distances([one.ring for one in kept], space))
    error = MapError(mean, largest, tolerance, num_specks + len(faces) - len(kept))
    outlines = [Polygon(grid.to_world(np.asarray(one.coords))) for one in (space.exterior, *space.interiors)]
    room = max(_simple(outlines[0]), key=lambda part: part.area)
    obstacles = tuple(part for ring in outlines[1:] for part in _simple(ring))
    return Layout(room, obstacles, (material,) * (1 + len(obstacles)), clearance, map_error=error)


def _simple(polygon: Polygon) -> list[Polygon]:
    """Simple polygons of which a polygon consists whose outline touches itself."""
    return [
        part for part in shapely.get_parts(shapely.make_valid(polygon)) if isinstance(part, Polygon) and part.area > 0
    ]


def _part(grid: RosMap, inside: ArrayLike | None) -> Mask:
    """Mask (row, column) of the largest free part of a map, or of the one around a point (2) [m]."""
    # A single row of free cells is where a beam went through a crack
    labels, count = ndimage.label(ndimage.binary_opening(grid.free, np.ones((_CRACK, _CRACK))))
    if not count:
        raise ValueError("Expected a map with free space, got none")
    if inside is None:
        return np.asarray(labels == 1 + int(np.bincount(labels.ravel())[1:].argmax()))
    point = check_points("inside", np.asarray(inside)[np.newaxis])
    column, row = np.floor(grid.to_cells(point)[0])
    within = 0 <= row < labels.shape[0] and 0 <= column < labels.shape[1]
    label = labels[int(row), int(column)] if within else 0
    if not label:
        what = "not free" if within else "outside the map"
        raise ValueError(
            f"Expected 'inside' in free space of the map, got ({point[0, 0]:g}, {point[0, 1]:g}), which is {what}"
        )
    return np.asarray(labels == label)


def _without_specks(free: Mask) -> tuple[Mask, int]:
    """Fill holes that are smaller than an obstacle; returns the mask, and how many there were."""
    labels, _ = ndimage.label(np.pad(~free, 1, constant_values=True), np.ones((3, 3)))
    small = np.bincount(labels.ravel()) < SMALLEST
    small[[0, labels[0, 0]]] = False  # free cells, and what surrounds the map
    return free | small[labels[1:-1, 1:-1]], int(small.sum())


def _faces(free: Mask, occupied: Mask) -> list[Face]:
    """Faces of the walls around free cells: the outer one, then those of obstacles."""
    rows, columns = (np.flatnonzero(free.any(axis=axis)) for axis in (1, 0))
    window = (slice(rows[0], rows[-1] + 3), slice(columns[0], columns[-1] + 3))  # one cell more on each side
    inner, hit = np.pad(free, 1)[window], np.pad(occupied & ~free, 1)[window]
    if np.count_nonzero(inner & ~ndimage.binary_erosion(inner)) > _MAX_BOUNDARY:
        raise ValueError(f"Expected a map with at most {_MAX_BOUNDARY} cells along walls, got more: it is noise")
    left, right, below, above = (np.roll(inner, step, axis) for axis in (1, 0) for step in (1, -1))
    one_sided = hit & ~((left & right) | (below & above))
    # Contours at 0.5: at the edge of unknown cells, and just in front of the middle of occupied ones
    height = np.where(inner, 1.0, np.where(one_sided, 0.5 - _JUST_BEHIND, 0.0))
    x = columns[0] - 0.5 + np.arange(height.shape[1])
    y = rows[0] - 0.5 + np.arange(height.shape[0])
    generator = contourpy.contour_generator(x, y, height, fill_type=contourpy.FillType.OuterOffset)
    found: Any = generator.filled(0.5, 2.0)  # free cells are connected, so there is one polygon
    (points,), (offsets,) = found
    rings = [points[first : last - 1] for first, last in itertools.pairwise(offsets)]
    row, column = np.nonzero(one_sided & ndimage.binary_dilation(inner, np.ones((3, 3))))
    hits = np.stack([x[column], y[row]], axis=1)
    owner = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])[
        KDTree(np.concatenate(rings)).query(hits)[1]
    ]
    order = np.argsort(owner, kind="stable")
    parts = np.split(hits[order], np.searchsorted(owner[order], np.arange(1, len(rings))))
    return [Face(ring, own) for ring, own in zip(rings, parts, strict=True)]


def _straight(faces: list[Face], tolerance: float, looser: float) -> list[Polygon]:
    """Polygons with straight walls along faces, in cells.

    Narrow outlines have a smaller tolerance, which also is ``looser`` by a factor if there are too many walls.
    """
    fine = [min(tolerance, looser * max(_FINEST, _FINE * _width(one.ring))) for one in faces]
    runs = [straighten.split(face.ring, one, face.hits) for face, one in zip(faces, fine, strict=True)]
    main = straighten.directions([run for part in runs for run in part])
    found = []
    for part, one, face in zip(runs, fine, faces, strict=True):
        plain, found_corners = Polygon(face.ring), straighten.corners(part, main, one)
        polygon = Polygon(found_corners) if len(found_corners) > 2 else plain
        distorted = not polygon.is_valid or abs(polygon.area / plain.area - 1) > _DISTORTED
        found.append(plain.simplify(one) if distorted else polygon)
    return found


def _space(outlines: list[Polygon], point: Point | None) -> Polygon | None:
    """The first polygon less the others, in cells, without slits; None if nothing is left.

    If it falls apart, the part with the point counts, or the largest one.
    """
    room, *obstacles = outlines
    space = room.difference(shapely.union_all(obstacles))
    # What touches becomes one outline, so that rounding cannot make it overlap
    space = space.buffer(-_SLIT, join_style="mitre").buffer(_SLIT, join_style="mitre").simplify(_SLIT)
    parts = shapely.get_parts(space)
    around = [one for one in parts if point is not None and one.contains(point)]
    return max(around or parts, key=lambda one: float(one.area), default=None)


def _num_walls(space: Polygon) -> int:
    return sum(len(ring.coords) - 1 for ring in (space.exterior, *space.interiors))


def _width(ring: Floats) -> float:
    """Width of a long rectangle with the area and the length of a ring."""
    polygon = Polygon(ring)
    return float(2 * polygon.area / polygon.length)


def _distances(rings: list[Floats], space: Polygon) -> tuple[float, float]:
    """Mean distance of rings from the boundary of a polygon, and the largest in either direction, in cells."""
    faces = [shapely.get_coordinates(shapely.segmentize(shapely.linearrings(ring), _SAMPLED)) for ring in rings]
    walls = shapely.get_coordinates(shapely.segmentize(space.boundary, _SAMPLED))
    there, back = KDTree(walls).query(np.concatenate(faces))[0], KDTree(np.concatenate(faces)).query(walls)[0]
    return float(there.mean()), float(max(there.max(), back.max()))
