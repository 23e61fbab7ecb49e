"""A laser scanner: a room and poses in, measured ranges out; ranges and believed poses in, an occupancy grid out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from locus.room.layout import Layout
from locus.settings.checks import check_range

# mypy does not understand numba's decorator, so the kernels below have no annotations; their docstrings give shapes.
# mypy: disable-error-code="no-untyped-def"

RECIPE = 1

HIT, MISS = math.log(0.7 / 0.3), math.log(0.4 / 0.6)
"""Change of a cell's log odds when a scan sees an echo in it, or looks through it; OctoMap's defaults."""
CERTAIN = 3.5
"""Log odds that a cell cannot exceed, in either direction, so that later scans can still change it."""


@dataclass(frozen=True)
class Laser:
    """A scanner that looks all around in a plane. The defaults are those of a simple one."""

    num_beams: int = 360
    """Number of beams, evenly spaced over the full circle."""
    max_range: float = 25.0
    """Largest range at which a wall is seen [m]."""
    range_noise: float = 0.01
    """Standard deviation of a range [m]."""

    def __post_init__(self) -> None:
        check_range("laser.num_beams", self.num_beams, 1)
        check_range("laser.max_range", self.max_range, 0.0, open_low=True)
        check_range("laser.range_noise", self.range_noise, 0.0)

    @property
    def angles(self) -> NDArray[np.float64]:
        """Direction of each beam relative to the heading [rad], (beam)."""
        return np.asarray(np.arange(self.num_beams) * (2 * np.pi / self.num_beams))

    def scan(self, layout: Layout, poses: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Measured ranges [m] (pose, beam) at poses (pose, 3) of x, y [m] and heading [rad]; infinite without echo."""
        found: NDArray[np.float64] = _ranges(layout.walls, poses, self.angles)
        found[found > self.max_range] = np.inf
        found += self.range_noise * rng.standard_normal(found.shape)
        return found.clip(min=0.0)


def log_odds(
    laser: Laser,
    ranges: NDArray[np.float64],
    poses: NDArray[np.float64],
    shape: tuple[int, int],
    resolution: float,
) -> NDArray[np.float32]:
    """Log odds (row, column) that the cells of a grid are occupied; 0 where nothing was seen.

    Each scan counts a cell once: as hit if any echo lies in it, else as looked through if any beam passes it.

    Args:
        laser: the scanner.
        ranges: measured ranges (pose, beam) [m], infinite without an echo.
        poses: poses (pose, 3) that the scans are believed to come from: x, y [m] in the frame of the grid, whose
            origin is the outer corner of cell (0, 0), and heading [rad].
        shape: number of rows, along y, and of columns, along x.
        resolution: side of a cell [m].
    """
    grid = np.zeros(shape, dtype=np.float32)
    seen = np.zeros(shape, dtype=np.int32)
    _update(grid, seen, ranges, poses, laser.angles, laser.max_range, resolution)
    return grid


@njit(cache=True)
def _ranges(walls, poses, angles):
    """Distance (pose, beam) to the nearest of ``walls`` (wall, 4) along each beam; infinite if there is none."""
    found = np.full((len(poses), len(angles)), np.inf)
    for p in range(len(poses)):
        x, y, heading = poses[p]
        for b in range(len(angles)):
            dx, dy = math.cos(heading + angles[b]), math.sin(heading + angles[b])
            for w in range(len(walls)):
                ux, uy = walls[w, 0] - x, walls[w, 1] - y
                ex, ey = walls[w, 2] - walls[w, 0], walls[w, 3] - walls[w, 1]
                across = dx * ey - dy * ex
                if across == 0.0:
                    continue
                along = (ux * dy - uy * dx) / across
                distance = (ux * ey - uy * ex) / across
                if 0.0 <= along <= 1.0 and 0.0 < distance < found[p, b]:
                    found[p, b] = distance
    return found


@njit(cache=True)
def _update(grid, seen, ranges, poses, angles, max_range, resolution):
    """Add scans to log odds ``grid`` (row, column); ``seen`` (row, column) holds the last scan that changed a cell."""
    rows, columns = grid.shape
    for p in range(len(poses)):
        x, y, heading = poses[p, 0] / resolution, poses[p, 1] / resolution, poses[p, 2]
        for b in range(len(angles)):
            if ranges[p, b] <= max_range:
                length = ranges[p, b] / resolution
                column = math.floor(x + length * math.cos(heading + angles[b]))
                row = math.floor(y + length * math.sin(heading + angles[b]))
                if 0 <= row < rows and 0 <= column < columns and seen[row, column] != p + 1:
                    seen[row, column] = p + 1
                    grid[row, column] = min(grid[row, column] + HIT, CERTAIN)
        for b in range(len(angles)):
            length = min(ranges[p, b], max_range) / resolution
            _clear(grid, seen, p + 1, x, y, math.cos(heading + angles[b]), math.sin(heading + angles[b]), length)


@njit(cache=True)
def _clear(grid, seen, scan, x, y, dx, dy, length):
    """Count the cells that a beam passes, except the one that it ends in, as looked through; lengths in cells."""
    rows, columns = grid.shape
    row, column = math.floor(y), math.floor(x)
    last_row, last_column = math.floor(y + length * dy), math.floor(x + length * dx)
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    next_x = ((column + (dx > 0)) - x) / dx if dx != 0.0 else np.inf  # lengths at which the beam enters another cell
    next_y = ((row + (dy > 0)) - y) / dy if dy != 0.0 else np.inf
    for _ in range(abs(last_row - row) + abs(last_column - column)):
        if 0 <= row < rows and 0 <= column < columns and seen[row, column] != scan:
            seen[row, column] = scan
            grid[row, column] = max(grid[row, column] + MISS, -CERTAIN)
        if next_x < next_y:
            column += step_x
            next_x += abs(1.0 / dx)
        else:
            row += step_y
            next_y += abs(1.0 / dy)
