"""Candidates for your own data: a room and a radio in, places that stand for all of the free space, out."""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray

from locus.room.layout import Layout, Pose, away_from, draw_position
from locus.settings.checks import check_range
from locus.settings.config import SPEED_OF_LIGHT, Radio
from locus.settings.untrusted import whole_number

GRID_POINTS = 31
"""Points per axis of the grid that the networks are used with by default."""
MAX_CANDIDATES = 10_000

_MOST_CELLS = 10**6  # of the bounding box, however fine a spacing is asked for
_SPARSE = 0.01  # share of the bounding box
_SPARE = 100  # candidates that may be too close to the receiver
_MOST_EMPTY = 16  # points of the bounding box that are tried per candidate, at most
_PER_CELL = 4  # candidates per resolution cell c / bandwidth: a path above the noise is located to a fraction of it


def find_spacing(layout: Layout, radio: Radio) -> float:
    """Spacing of candidates [m] fine enough for what a capture can tell apart.

    A quarter of the radio's resolution in path length, :math:`c / B` with the bandwidth :math:`B`, or a thirtieth of
    the room's longer side if that is less; more in rooms that would otherwise have over 10,000 candidates.
    """
    x0, y0, x1, y1 = layout.room.bounds
    width, height = x1 - x0, y1 - y0
    fine = min(SPEED_OF_LIGHT / radio.bandwidth / _PER_CELL, max(width, height) / (GRID_POINTS - 1))
    most = math.sqrt(max(layout.free_space.area, width * height / _MOST_EMPTY) / MAX_CANDIDATES)
    return float(max(fine, most))


def cell_candidates(
    layout: Layout, pose: Pose | None, spacing: float, most: int = MAX_CANDIDATES
) -> tuple[NDArray[np.float64], float]:
    """Free centres [m] of equal cells that cover the room's bounding box, (n, 2), and the spacing used [m].

    The sides of a cell are at most that spacing: ``spacing``, or more if there would be more than ``most`` free
    centres. Centres too close to the receiver's ``pose`` are left out.
    """
    check_range("spacing", spacing, 0.0, open_low=True)
    x0, y0, x1, y1 = layout.room.bounds
    spacing = max(spacing, math.sqrt((x1 - x0) * (y1 - y0) / _MOST_CELLS), max(x1 - x0, y1 - y0) / _MOST_CELLS)
    while True:
        num_x, num_y = math.ceil((x1 - x0) / spacing), math.ceil((y1 - y0) / spacing)
        x = x0 + (np.arange(num_x) + 0.5) * (x1 - x0) / num_x
        y = y0 + (np.arange(num_y) + 0.5) * (y1 - y0) / num_y
        points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        xy = points[layout.is_free(points)]
        xy = away_from(pose, xy) if pose else xy
        if len(xy) <= most:
            return _some(layout, xy), spacing
        spacing *= 1.005 * math.sqrt(len(xy) / most)


def nearest_distance(xy: NDArray[np.float64]) -> float:
    """Median distance [m] from each point (n, 2) to its nearest neighbour; 0 for a single point.

    If the points form a grid, this is its step.
    """
    if len(xy) < 2:
        return 0.0
    points = shapely.points(xy)
    _, distance = shapely.STRtree(points).query_nearest(points, exclusive=True, return_distance=True, all_matches=False)
    return float(np.median(distance)) if len(distance) else 0.0


def grid_candidates(layout: Layout, pose: Pose | None, num_points: int = GRID_POINTS) -> NDArray[np.float64]:
    """Free points [m] of a grid over the room, ``num_points`` per axis, (n, 2), except the receiver's position."""
    num_points = whole_number("grid", num_points, 1, math.isqrt(MAX_CANDIDATES))
    xy = layout.grid(num_points)
    return _some(layout, away_from(pose, xy) if pose else xy)


def random_candidates(
    layout: Layout, pose: Pose | None, num_points: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Random points [m] in the free space, (num_points, 2)."""
    num_points = whole_number("candidates", num_points, 1, MAX_CANDIDATES)
    if layout.free_space.buffer(-layout.clearance).is_empty:
        raise ValueError(f"Expected free space, got none in {_space(layout)}")
    if pose is None:
        return layout.sample(num_points, rng)
    x0, y0, x1, y1 = layout.room.bounds
    if layout.free_space.area < _SPARSE * (x1 - x0) * (y1 - y0):  # one by one would take minutes
        return away_from(pose, layout.sample(num_points + _SPARE, rng))[:num_points]
    return np.stack([draw_position(layout, pose, rng) for _ in range(num_points)])


def extent(layout: Layout) -> str:
    """Size of the room in words, such as ``80 m x 60 m``."""
    x0, y0, x1, y1 = layout.room.bounds
    return f"{x1 - x0:.3g} m x {y1 - y0:.3g} m"


def _some(layout: Layout, xy: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(xy) == 0:
        raise ValueError(f"Expected a grid with free points, got none in {_space(layout)}")
    return xy


def _space(layout: Layout) -> str:
    return f"a room of {extent(layout)}, {layout.clearance} m from every wall; lengths are in metres"
