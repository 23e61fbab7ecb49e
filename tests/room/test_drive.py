"""The drive: it stays clear of walls, comes close to everything that it can reach, and drifts as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

from locus import Layout, Pose
from locus.room.drive import REACH, ROBOT, STEP, drifted, drive


@pytest.mark.parametrize("seed", range(3))
def test_the_robot_passes_all_free_space_and_no_wall(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout.random(rng)
    start = Pose.random(layout, rng)
    poses = drive(layout, start)
    np.testing.assert_allclose(poses[0, :2], [start.x, start.y])
    way = shapely.LineString(poses[:, :2])
    assert layout.free_space.contains(way)
    assert layout.is_free(poses[1:, :2], 0.9 * ROBOT).all()
    steps = np.hypot(*np.diff(poses[:, :2], axis=0).T)
    assert (steps <= STEP + 1e-9).all()
    # Places between the points that the robot drives on are a little farther away
    farthest = shapely.distance(shapely.points(layout.sample(2000, rng)), way).max()
    assert farthest < REACH + 2.5
    # Along straight legs, the heading is that of the next step
    ahead = np.stack([np.cos(poses[:-1, 2]), np.sin(poses[:-1, 2])], axis=1)
    along = (ahead * np.diff(poses[:, :2], axis=0)).sum(axis=1)
    assert np.median(along / steps) == pytest.approx(1)


def test_what_cannot_be_reached_is_left_out() -> None:
    wall = shapely.box(9.9, 0, 10.1, 20)  # from side to side
    layout = Layout(shapely.box(0, 0, 20, 20), (wall,))
    poses = drive(layout, Pose(3, 3, 0))
    assert poses[:, 0].max() < 9.9
    assert poses[:, 1].max() > 20 - REACH - 2


def test_a_robot_that_cannot_move_scans_once() -> None:
    assert drive(Layout(shapely.box(0, 0, 0.7, 0.7)), Pose(0.35, 0.35, 1.0)).tolist() == [[0.35, 0.35, 1.0]]


def test_drift_is_a_random_walk() -> None:
    way = np.column_stack([np.linspace(0, 400, 201), np.zeros(201), np.zeros(201)])
    rng = np.random.default_rng(0)
    ends = np.array([(drifted(way, 0.01, rng.standard_normal((200, 3))) - way)[[50, 200]] for _ in range(2000)])
    expected = 0.01 * np.array([1, 1, math.radians(1)]) * np.sqrt([[100], [400]])
    # The standard error of a standard deviation is sigma / sqrt(2 n)
    np.testing.assert_allclose(ends.std(axis=0), expected, rtol=5 / math.sqrt(2 * 2000))
    noise = rng.standard_normal((200, 3))
    np.testing.assert_array_equal(drifted(way, 0.0, noise), way)
    np.testing.assert_allclose(drifted(way, 0.03, noise) - way, 3 * (drifted(way, 0.01, noise) - way), atol=1e-12)
