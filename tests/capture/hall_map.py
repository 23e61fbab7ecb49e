"""Makes the small ROS map of the tests, ``hall.yaml`` and ``hall.pgm``: ``python tests/capture/hall_map.py``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import shapely
from shapely import affinity

from locus import Layout, Pose
from locus.room.ros_map import RosMap, write_ros_map
from locus.room.survey import survey

PATH = Path(__file__).with_name("hall.yaml")

SHELF, PILLAR = affinity.rotate(shapely.box(5, 4, 11, 5.5), 20), shapely.box(14, 8, 15.2, 9.2)
LAYOUT = Layout(shapely.box(0, 0, 20, 14) - shapely.box(15, 0, 20, 4), (SHELF, PILLAR))
"""The true hall: L-shaped, with a shelf that is not parallel to the walls, and a pillar."""
START = Pose(2.0, 12.0, 0.0)


def scanned() -> RosMap:
    """What a robot maps, with cells of 20 cm and a frame turned by 0.2 rad, without unknown borders."""
    grid = replace(survey(LAYOUT, START, np.random.default_rng(0)), yaw=0.2).grid(0.2)
    known = np.argwhere(np.isfinite(grid.occupancy))
    (first_row, first_column), (last_row, last_column) = known.min(axis=0) - 1, known.max(axis=0) + 2
    x, y = grid.to_world(np.array([[first_column, first_row]]))[0]
    kept = grid.occupancy[first_row:last_row, first_column:last_column]
    return replace(grid, occupancy=kept, origin=(round(float(x), 6), round(float(y), 6), 0.2))


if __name__ == "__main__":
    write_ros_map(PATH, scanned())
