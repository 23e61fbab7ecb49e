"""A survey by a robot with a laser scanner: a room in; the occupancy grids that it can make of one drive, out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from locus.room.drive import drifted, drive
from locus.room.laser import Laser, log_odds
from locus.room.layout import Layout, Pose
from locus.room.ros_map import RosMap
from locus.settings.checks import check_range

_MARGIN = 2.0  # of the grid around the room, since walls drift [m]


@dataclass(frozen=True)
class Survey:
    """Scans of one drive. All maps made of them have the same noise, and drift in the same directions."""

    laser: Laser
    poses: NDArray[np.float64]
    """True poses of the scans, (pose, 3): x, y [m] and heading [rad]."""
    ranges: NDArray[np.float64]
    """Measured ranges [m], (pose, beam)."""
    bounds: tuple[float, float, float, float]
    """Least x and y, then largest x and y of the room [m]."""
    noise: NDArray[np.float64]
    """Errors that each step between poses adds (step, 3), in standard deviations."""
    yaw: float
    """Direction of the rows of the grid [rad]."""
    shift: tuple[float, float]
    """Where the grid begins, as shares of a cell: walls are not aligned with it."""

    def grid(self, resolution: float, drift: float = 0.0) -> RosMap:
        """Occupancy grid with cells of side ``resolution`` [m], and a drift as in :func:`locus.room.drive.drifted`."""
        check_range("resolution", resolution, 0.01, 1.0)
        cosine, sine = math.cos(self.yaw), math.sin(self.yaw)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        x0, y0, x1, y1 = self.bounds
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) @ turn
        low = corners.min(axis=0) - _MARGIN - resolution * np.array(self.shift)
        columns, rows = np.ceil((corners.max(axis=0) + _MARGIN - low) / resolution).astype(int)
        believed = drifted(self.poses, drift, self.noise)
        there = np.column_stack([believed[:, :2] @ turn - low, believed[:, 2] - self.yaw])
        odds = log_odds(self.laser, self.ranges, there, (int(rows), int(columns)), resolution)
        x, y = turn @ low
        occupancy = np.where(odds == 0, np.nan, 1 / (1 + np.exp(-odds))).astype(np.float32)
        return RosMap(occupancy, resolution, (float(x), float(y), self.yaw))


def survey(layout: Layout, start: Pose, rng: np.random.Generator, laser: Laser | None = None) -> Survey:
    """Drive through a room from the start, past all walls, and scan."""
    laser = laser or Laser()
    poses = drive(layout, start)
    ranges = laser.scan(layout, poses, rng)
    noise = rng.standard_normal((len(poses) - 1, 3))
    return Survey(
        laser, poses, ranges, layout.room.bounds, noise, rng.uniform(-np.pi, np.pi), tuple(rng.uniform(size=2))
    )
