"""Shortest routes in a room: walking distances between points, around walls, and which points are neighbours.

A shortest path that is not straight bends only at corners that stick out into the free space. So the distances follow
from what the points and these corners see of each other.
"""

from __future__ import annotations

import numpy as np
import shapely
from numba import njit
from numpy.typing import ArrayLike, NDArray

from locus.room.layout import Layout, check_points

# mypy: disable-error-code="no-untyped-def"

_ASIDE = 1e-6  # distance of a path from the corner at which it bends [m]


def geodesic_distances(layout: Layout, points: ArrayLike) -> NDArray[np.float64]:
    """Length [m] of the shortest path between any two points (n, 2) of the free space, (n, n).

    It is infinite where obstacles separate two points. Walls have no clearance here: a path may touch them.

    Raises:
        ValueError: a point is not in the free space.
    """
    from scipy.sparse.csgraph import floyd_warshall  # not above: a single snapshot starts without SciPy

    xy = check_points("points", points)
    free = layout.is_free(xy, 0.0)
    if not free.all():
        raise ValueError(f"Expected 'points' in free space, got {xy[free.argmin()]} at index {int(free.argmin())}")
    corners = _bends(layout)
    between = _sights(layout.walls, corners, corners)
    if len(corners):
        between = floyd_warshall(between, directed=False)
    return np.asarray(_shortest(layout.walls, xy, _sights(layout.walls, xy, corners), between))


def neighbours(distance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pairs (n, n) with no third point that is nearer to both than they are to each other: the relative neighbourhood.

    On a square grid, the four nearest points. All points that have a finite distance are connected through neighbours.
    """
    return np.asarray(_relative_neighbours(distance))


def _bends(layout: Layout) -> NDArray[np.float64]:
    """Points (n, 2) beside the corners at which a path may bend: those with more than half a turn of free space."""
    way = layout.walls[:, 2:] - layout.walls[:, :2]
    way /= np.hypot(way[:, 0], way[:, 1])[:, np.newaxis]
    before = np.empty_like(way)
    for polygon in np.unique(layout.wall_polygons):
        own = layout.wall_polygons == polygon
        before[own] = np.roll(way[own], 1, axis=0)
    outwards = before[:, 0] * way[:, 1] - before[:, 1] * way[:, 0] < 0  # free space is on the left of every wall
    normal = np.stack([-(before + way)[:, 1], (before + way)[:, 0]], axis=1)[outwards]
    points = layout.corners[outwards] + _ASIDE * normal / np.hypot(normal[:, 0], normal[:, 1])[:, np.newaxis]
    return np.asarray(points[shapely.contains_xy(layout.free_space, points[:, 0], points[:, 1])])


@njit(cache=True)
def _sees(walls, ax, ay, bx, by):
    """Whether no wall touches the segment a-b."""
    dx, dy = bx - ax, by - ay
    for w in range(len(walls)):
        ux, uy, vx, vy = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
        if (dx * (uy - ay) - dy * (ux - ax)) * (dx * (vy - ay) - dy * (vx - ax)) > 0.0:
            continue
        ex, ey = vx - ux, vy - uy
        if (ex * (ay - uy) - ey * (ax - ux)) * (ex * (by - uy) - ey * (bx - ux)) <= 0.0:
            return False
    return True


@njit(cache=True)
def _sights(walls, points, others):
    """Straight distance from each point to each of the others, infinite where a wall is between, (n, m)."""
    length = np.full((len(points), len(others)), np.inf)
    for i in range(len(points)):
        for j in range(len(others)):
            if _sees(walls, points[i, 0], points[i, 1], others[j, 0], others[j, 1]):
                length[i, j] = np.hypot(others[j, 0] - points[i, 0], others[j, 1] - points[i, 1])
    return length


@njit(cache=True)
def _shortest(walls, points, sights, between):
    """Distances (n, n), from those of each point to each corner that it sees (n, m) and between corners (m, m)."""
    num_points, num_corners = sights.shape
    onwards = np.full((num_corners, num_points), np.inf)
    for a in range(num_corners):
        for b in range(num_corners):
            for j in range(num_points):
                onwards[a, j] = min(onwards[a, j], between[a, b] + sights[j, b])
    distance = np.zeros((num_points, num_points))
    for i in range(num_points):
        for j in range(i):
            if _sees(walls, points[i, 0], points[i, 1], points[j, 0], points[j, 1]):
                least = np.hypot(points[j, 0] - points[i, 0], points[j, 1] - points[i, 1])
            else:
                least = np.inf
                for a in range(num_corners):
                    least = min(least, sights[i, a] + onwards[a, j])
            distance[i, j] = distance[j, i] = least
    return distance


@njit(cache=True)
def _relative_neighbours(distance):
    found = np.zeros(distance.shape, dtype=np.bool_)
    for i in range(len(distance)):
        for j in range(i):
            apart = distance[i, j]
            near = apart < np.inf
            for k in range(len(distance)):
                if distance[i, k] < apart and distance[j, k] < apart:
                    near = False
                    break
            found[i, j] = found[j, i] = near
    return found
