"""Ray geometry: angle, number of bounces and length of traced paths in, their polylines out.

A ray launched at a path's angle and reflected at each wall reproduces the path, whichever twin found it. Checking that
it ends at the candidate shares no code with either twin.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numba import njit
from numpy.typing import NDArray

from locus.room.layout import Layout
from locus.settings.config import SPEED_OF_LIGHT

# mypy: disable-error-code="no-untyped-def"


def ray_points(layout: Layout, paths: xr.Dataset, *, aimed: bool = False) -> NDArray[np.float64]:
    """Polylines of traced paths [m], (candidate, path, point, 2), from the receiver to the candidate.

    Each path has ``max_depth + 2`` points; paths with fewer bounces repeat the last one, padding is NaN. With
    ``aimed``, the angle only determines the sequence of walls, and the ray is then aimed at the candidate's image in
    them: an angle in single precision misses the candidate by centimetres after three bounces.
    """
    shape = paths.aoa.shape
    order, x, y = paths.order.values.ravel(), float(paths.rx_x), float(paths.rx_y)
    direction = paths.aoa.values.astype(float).ravel() + float(paths.rx_heading)
    length = paths.delay.values.ravel() * SPEED_OF_LIGHT
    num_points = int(paths.attrs["max_depth"]) + 2
    points, chains = _follow(layout.walls, x, y, direction, order, length, num_points)
    if aimed:
        image_x, image_y = np.repeat(paths.x.values, shape[1]), np.repeat(paths.y.values, shape[1])
        _unfold(layout.walls, chains, order, image_x, image_y)
        direction, length = np.arctan2(image_y - y, image_x - x), np.hypot(image_x - x, image_y - y)
        points, _ = _follow(layout.walls, x, y, direction, order, length, num_points)
    return np.asarray(points.reshape(*shape, num_points, 2))


def wall_chains(
    layout: Layout,
    x: float,
    y: float,
    direction: NDArray[np.float64],
    order: NDArray[np.int64],
    length: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Walls (ray, bounce) that rays from (x, y) hit, nearest first; -1 from where a ray has no bounce or hits nothing.

    ``direction`` [rad], ``order`` (-1: no ray) and ``length`` [m] are (ray).
    """
    num_points = max(int(order.max(initial=0)), 0) + 2
    return np.asarray(_follow(layout.walls, x, y, direction, order, length, num_points)[1][:, :-2])


def shortest_segment(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Length of the shortest segment of each polyline [m], ignoring repeated end points."""
    length = np.hypot(*np.moveaxis(np.diff(points, axis=-2), -1, 0))
    return np.asarray(np.where(length > 0, length, np.inf).min(axis=-1))


def corner_distance(layout: Layout, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimum distance between each polyline and any corner of the layout [m]."""
    flat = points.reshape(-1, *points.shape[-2:])
    return np.asarray(_corner_distance(flat, layout.corners).reshape(points.shape[:-2]))


@njit(cache=True)
def _follow(walls, x, y, directions, orders, lengths, num_points):
    """Points of each ray (ray, point, 2), and the walls that it hits (ray, point), padded with -1."""
    points = np.full((len(directions), num_points, 2), np.nan)
    chains = np.full((len(directions), num_points), -1, dtype=np.int64)
    for i in range(len(directions)):
        if orders[i] < 0:
            continue
        px, py = x, y
        dx, dy = math.cos(directions[i]), math.sin(directions[i])
        left, last = lengths[i], -1
        points[i, 0, 0], points[i, 0, 1] = px, py
        for bounce in range(orders[i]):
            distance, wall = np.inf, -1
            for w in range(len(walls)):
                ux, uy = walls[w, 0], walls[w, 1]
                ex, ey = walls[w, 2] - ux, walls[w, 3] - uy
                slope = dx * ey - dy * ex
                if w == last or slope == 0.0:
                    continue
                t = ((ux - px) * ey - (uy - py) * ex) / slope
                s = ((ux - px) * dy - (uy - py) * dx) / slope
                if 0.0 < t < distance and 0.0 <= s <= 1.0:
                    distance, wall = t, w
            if wall < 0:
                break
            ex, ey = walls[wall, 2] - walls[wall, 0], walls[wall, 3] - walls[wall, 1]
            px, py, left, last = px + distance * dx, py + distance * dy, left - distance, wall
            twice = 2.0 * (dx * ex + dy * ey) / (ex * ex + ey * ey)
            dx, dy = twice * ex - dx, twice * ey - dy
            points[i, bounce + 1, 0], points[i, bounce + 1, 1] = px, py
            chains[i, bounce] = wall
        for rest in range(orders[i] + 1, num_points):
            points[i, rest, 0], points[i, rest, 1] = px + left * dx, py + left * dy
    return points, chains


@njit(cache=True)
def _unfold(walls, chains, orders, x, y):
    """Replace the points (x, y) by their images in the walls of each sequence, last wall first."""
    for i in range(len(x)):
        for bounce in range(orders[i] - 1, -1, -1):
            w = chains[i, bounce]
            if w < 0:
                continue
            ux, uy = walls[w, 0], walls[w, 1]
            ex, ey = walls[w, 2] - ux, walls[w, 3] - uy
            shift = 2.0 * ((x[i] - ux) * ey - (y[i] - uy) * ex) / (ex * ex + ey * ey)
            x[i], y[i] = x[i] - shift * ey, y[i] + shift * ex


@njit(cache=True)
def _corner_distance(points, corners):
    least = np.full(len(points), np.inf)
    for i in range(len(points)):
        for j in range(points.shape[1] - 1):
            ax, ay = points[i, j]
            dx, dy = points[i, j + 1] - points[i, j]
            square = dx * dx + dy * dy
            if not square > 0.0:
                continue
            for c in range(len(corners)):
                t = min(max(((corners[c, 0] - ax) * dx + (corners[c, 1] - ay) * dy) / square, 0.0), 1.0)
                distance = math.hypot(corners[c, 0] - ax - t * dx, corners[c, 1] - ay - t * dy)
                least[i] = min(least[i], distance)
    return least
