"""A survey: a known room comes back from its scan within two cells, wherever the grid lies, and drift moves walls."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from shapely import affinity

import locus
from locus.room.furniture import furnish
from locus.room.polygons import layout_of
from locus.room.ros_map import write_ros_map
from locus.room.survey import Survey, survey

HALL = shapely.box(0, 0, 24, 16)
SHELF = affinity.rotate(shapely.box(5, 4, 12, 6), 25)
NICHE = shapely.box(18, 11, 24, 16)
LAYOUT = locus.Layout(HALL - NICHE, (SHELF, shapely.box(15, 3, 17, 5)))
START = locus.Pose(2.0, 13.0, 0.0)


@pytest.fixture(scope="module")
def drive() -> Survey:
    return survey(LAYOUT, START, np.random.default_rng(1))


def apart(layout: locus.Layout) -> float:
    """Largest distance between the walls of a layout and the true ones, in either direction [m]."""
    return float(shapely.hausdorff_distance(layout.free_space.boundary, LAYOUT.free_space.boundary, densify=0.002))


@pytest.mark.parametrize("resolution", [0.05, 0.1, 0.2])
def test_a_known_room_comes_back_within_two_cells(drive: Survey, resolution: float, tmp_path: Path) -> None:
    write_ros_map(tmp_path / "map.yaml", drive.grid(resolution))
    layout = locus.Layout.from_ros_map(tmp_path / "map.yaml", inside=(START.x, START.y))
    assert len(layout.obstacles) == 2
    assert apart(layout) < 2 * resolution
    # On average, walls lie where they are, to less than a quarter of a cell
    points = shapely.get_coordinates(shapely.segmentize(layout.free_space.boundary, 0.05))
    distance = shapely.distance(shapely.points(points), LAYOUT.free_space.boundary)
    signed = np.where(shapely.contains_xy(LAYOUT.free_space, *points.T), distance, -distance)
    assert abs(signed.mean()) < resolution / 4


def test_the_grid_may_be_turned_and_shifted(drive: Survey) -> None:
    for yaw, shift in ((0.0, (0.0, 0.0)), (0.7, (0.3, 0.9)), (-3.0, (0.5, 0.1))):
        turned = Survey(drive.laser, drive.poses, drive.ranges, drive.bounds, drive.noise, yaw, shift)
        grid = turned.grid(0.1)
        assert grid.origin[2] == yaw
        column, row = np.floor(grid.to_cells(np.array([[START.x, START.y]]))[0]).astype(int)
        assert grid.free[row, column]
        assert apart(layout_of(grid, (START.x, START.y))) < 0.2


def test_drift_moves_walls_and_furniture_is_seen(drive: Survey) -> None:
    errors = []
    for drift in (0.0, 0.01, 0.03):
        layout = layout_of(drive.grid(0.05, drift))
        points = shapely.points(shapely.get_coordinates(shapely.segmentize(layout.free_space.boundary, 0.05)))
        errors.append(float(shapely.distance(points, LAYOUT.free_space.boundary).mean()))
    # A way of some 100 m: about 0.01 sqrt(100) = 10 cm at its end, less before it, and three times as much
    assert errors[0] < 0.02 < errors[1] < 0.15
    assert errors[1] < errors[2] < 0.5
    furnished = furnish(LAYOUT, 4, np.random.default_rng(0), [[START.x, START.y]])
    seen = layout_of(survey(furnished, START, np.random.default_rng(1)).grid(0.05))
    assert len(seen.obstacles) == 6


def test_the_drive_and_its_noise_do_not_depend_on_the_grid() -> None:
    first, second = (survey(LAYOUT, START, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.ranges, second.ranges)
    np.testing.assert_array_equal(first.grid(0.2, 0.01).occupancy, second.grid(0.2, 0.01).occupancy)
    assert -math.pi <= first.yaw < math.pi
    with pytest.raises(ValueError, match=r"Expected 'resolution' in \[0.01, 1\], got 0"):
        first.grid(0.0)
