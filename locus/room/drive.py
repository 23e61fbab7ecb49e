"""A robot's drive: a room and a start in; a route past all walls, and where the robot believes itself to be, out."""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from locus.room.layout import Layout, Pose
from locus.settings.checks import check_range

ROBOT = 0.4
"""Distance that the robot's centre keeps from every wall [m]."""
REACH = 12.0
"""The drive comes within this distance [m] of all walls and places that it can see from somewhere."""
STEP = 0.5
"""Distance between two scans [m]."""

_NEIGHBOURS, _NUM_LATTICE = 1.0, 50  # least distance of the points between which it drives [m]; most along the room
_PIECE, _BEFORE = 0.5, 0.05  # length of a piece of wall that is seen as a whole, and distance of its middle [m]
_EFFORT = 5.0  # metres that a detour counts, however short it is: it would leave much behind for later
_GRAZING = 0.25  # cosine of the angle of incidence from which on a wall is seen
_TURN = math.radians(1)  # error of the heading that goes with an error of 1 m


def drive(layout: Layout, start: Pose) -> NDArray[np.float64]:
    """Poses (pose, 3) of scans on a drive through a room: x, y [m] and heading [rad], the first at the start.

    The robot always heads for the place from which it would see most that is new, relative to the distance there,
    until it has seen every piece of wall and floor that it can.
    """
    nodes, distance = _lattice(layout, start)
    reachable = np.isfinite(csgraph.dijkstra(distance, directed=False, indices=0))
    pieces, normals = _pieces(layout)
    points, facing = np.concatenate([pieces, nodes]), np.concatenate([normals, np.zeros_like(nodes)])
    visible = _visible(layout, nodes, points, facing)
    waiting = visible[reachable].sum(axis=0) > 0
    way, here = [0], 0
    while True:
        waiting[visible[[here]].indices] = False
        gain = np.where(reachable, visible @ waiting.astype(np.int64), 0)
        if not gain.any():
            return _scans(nodes[way], start)
        costs, before = csgraph.dijkstra(distance, directed=False, indices=here, return_predecessors=True)
        leg = [int((gain / (costs + _EFFORT)).argmax())]
        while before[leg[-1]] != here:
            leg.append(int(before[leg[-1]]))
        for here in reversed(leg):
            waiting[visible[[here]].indices] = False
            way.append(here)


def _lattice(layout: Layout, start: Pose) -> tuple[NDArray[np.float64], sparse.csr_array]:
    """Places (n, 2) [m] between which the robot may drive, the start first, and distances of neighbours (n, n) [m]."""
    x0, y0, x1, y1 = layout.room.bounds
    spacing = max(_NEIGHBOURS, max(x1 - x0, y1 - y0) / _NUM_LATTICE)
    axes = [np.arange(low + ROBOT, high, spacing) for low, high in ((x0, x1), (y0, y1))]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    nodes = np.concatenate([[[start.x, start.y]], points[layout.is_free(points, ROBOT)]])
    first, second = _pairs(nodes, nodes, 1.01 * math.sqrt(2) * spacing)
    first, second = first[first < second], second[first < second]
    lines = shapely.linestrings(np.stack([nodes[first], nodes[second]], axis=1))
    free = shapely.distance(lines, layout.free_space.boundary) >= ROBOT * (1 - 1e-9)
    free |= (first == 0) & ~shapely.intersects(lines, layout.free_space.boundary)  # it gets away from a close wall
    first, second = first[free], second[free]
    lengths = np.hypot(*(nodes[first] - nodes[second]).T)
    return nodes, sparse.csr_array((lengths, (first, second)), shape=(len(nodes), len(nodes)))


def _pieces(layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points (n, 2) [m] just in front of short pieces of all walls, and the unit normals (n, 2) of these."""
    points, normals = [], []
    for x0, y0, x1, y1 in layout.walls:
        count = math.ceil(math.hypot(x1 - x0, y1 - y0) / _PIECE)
        share = (np.arange(count)[:, np.newaxis] + 0.5) / count
        normal = np.array([y0 - y1, x1 - x0]) / math.hypot(x1 - x0, y1 - y0)  # free space is on the left
        points.append([x0, y0] + share * [x1 - x0, y1 - y0] + _BEFORE * normal)
        normals.append(np.tile(normal, (count, 1)))
    return np.concatenate(points), np.concatenate(normals)


def _visible(
    layout: Layout, places: NDArray[np.float64], points: NDArray[np.float64], facing: NDArray[np.float64]
) -> sparse.csr_array:
    """Whether a robot at each of the places (place, 2) sees points (point, 2) within reach, (place, point).

    A wall that a point is ``facing`` (point, 2), as unit normal, must not be seen at a grazing angle.
    """
    place, point = _pairs(places, points, REACH)
    there = places[place] - points[point]
    steep = (facing[point] == 0).all(axis=1) | ((there * facing[point]).sum(axis=1) > _GRAZING * np.hypot(*there.T))
    place, point = place[steep], point[steep]
    walls = layout.free_space.boundary
    shapely.prepare(walls)
    seen = ~shapely.intersects(walls, shapely.linestrings(np.stack([places[place], points[point]], axis=1)))
    entries = np.ones(np.count_nonzero(seen), dtype=np.int64)
    return sparse.csr_array((entries, (place[seen], point[seen])), shape=(len(places), len(points)))


def _pairs(first: NDArray[np.float64], second: NDArray[np.float64], distance: float) -> NDArray[np.int64]:
    """Indices (2, pair) of points (n, 2) of both lists that are at most ``distance`` [m] apart."""
    tree = shapely.STRtree(shapely.points(second))
    return np.asarray(tree.query(shapely.points(first), predicate="dwithin", distance=distance))


def _scans(way: NDArray[np.float64], start: Pose) -> NDArray[np.float64]:
    """Poses (pose, 3) every ``STEP`` along a route (n, 2), looking along it."""
    if len(way) == 1:
        return np.array([[start.x, start.y, start.heading]])
    steps = np.diff(way, axis=0)
    mileage = np.concatenate([[0.0], np.cumsum(np.hypot(*steps.T))])
    at = np.append(np.arange(0.0, mileage[-1], STEP), mileage[-1])
    heading = np.arctan2(steps[:, 1], steps[:, 0])[np.searchsorted(mileage[1:-1], at, side="right")]
    return np.column_stack([np.interp(at, mileage, way[:, 0]), np.interp(at, mileage, way[:, 1]), heading])


def drifted(poses: NDArray[np.float64], drift: float, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Poses (pose, 3) at which the robot believes itself to be when it is at ``poses``.

    Every metre driven adds independent errors, with standard deviations of ``drift`` metres to each coordinate and
    of ``drift`` degrees to the heading. They add up to a random walk: with a drift of 0.01, to 20 cm and 0.2 degrees
    after 400 m. ``noise`` (step, 3) holds the errors of the steps between poses, in standard deviations.
    """
    check_range("drift", drift, 0.0)
    metres = np.hypot(*np.diff(poses[:, :2], axis=0).T)
    sizes = drift * np.sqrt(metres)[:, np.newaxis] * [1.0, 1.0, _TURN]
    return np.asarray(poses + np.concatenate([np.zeros((1, 3)), np.cumsum(sizes * noise, axis=0)]))
