"""Images against rooms that are traced again: with a wall, an obstacle, the receiver or the transmitter displaced."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import shapely
from shapely import affinity

import locus
from locus.score.path_arrays import arrange_traced
from locus.score.tolerance import Constants
from locus.score.walk_images import MOST_PLAN, PLAN, RECEIVER, TRANSMITTER, Images, find_bodies, find_images

RADIO = locus.Radio(tx_power_dbm=40.0)
POSE = locus.Pose(12.0, 9.0, 0.3)
ROOM = locus.Layout(
    shapely.box(0, 0, 40, 30),
    (shapely.box(18, 8, 25, 14), shapely.Polygon([(6, 18), (14, 20), (11, 25)])),
)
CANDIDATES = np.array([[30.0, 20.0], [33.0, 6.0], [5.0, 13.0], [20.0, 24.0], [28.0, 12.0]])
SIZE = 0.2  # [m]: images move linearly, so that a large step does no harm


def trace(layout: locus.Layout, pose: locus.Pose = POSE, points: np.ndarray = CANDIDATES) -> tuple[Images, np.ndarray]:
    """Images, and where they are relative to the receiver, (candidate, path, 2)."""
    paths = locus.make_twin("image", RADIO).trace(layout, pose, points)
    traced = arrange_traced(paths, RADIO, Constants())
    images = find_images(layout, find_bodies(layout), traced, (pose.x, pose.y, pose.heading), points, known=True)
    return images, traced.length[..., np.newaxis] * images.direction


def displaced() -> dict[int, tuple[locus.Layout, locus.Pose, np.ndarray]]:
    """Room, pose and candidates with each unknown in turn displaced."""
    found = {}
    for axis, shift in enumerate(np.eye(2) * SIZE):
        found[RECEIVER + axis] = ROOM, locus.Pose(POSE.x + shift[0], POSE.y + shift[1], POSE.heading), CANDIDATES
        found[TRANSMITTER + axis] = ROOM, POSE, CANDIDATES + shift
        for number, obstacle in enumerate(ROOM.obstacles):
            moved = list(ROOM.obstacles)
            moved[number] = affinity.translate(obstacle, *shift)
            layout = dataclasses.replace(ROOM, obstacles=tuple(moved))
            found[PLAN + 4 + 2 * number + axis] = layout, POSE, CANDIDATES
    for side in range(4):
        corners, (x0, y0, x1, y1) = ROOM.walls[:4, :2].copy(), ROOM.walls[side]
        normal = np.array([y0 - y1, x1 - x0]) / np.hypot(x1 - x0, y1 - y0)
        corners[[side, (side + 1) % 4]] += SIZE * normal
        found[PLAN + side] = dataclasses.replace(ROOM, room=shapely.Polygon(corners)), POSE, CANDIDATES
    return found


@pytest.mark.parametrize("unknown", sorted(displaced()))
def test_images_move_as_those_of_a_displaced_room(unknown: int) -> None:
    """The same sequence of walls, traced again. Angles of traced paths are good to 1e-9 rad, at up to 100 m."""
    images, before = trace(ROOM)
    others, after = trace(*displaced()[unknown])
    compared = 0
    for c in range(len(CANDIDATES)):
        for j, chain in enumerate(images.chain[c]):
            same = np.flatnonzero(others.chain[c] == chain)
            if chain >= 0 and len(same):
                moved = (after[c, same[0]] - before[c, j]) / SIZE
                np.testing.assert_allclose(moved, images.slope[c, j, :, unknown], atol=1e-5)
                compared += 1
    assert compared > 20
    assert np.abs(images.slope[..., unknown]).max() > 0.3


def test_there_is_a_body_for_every_obstacle_and_every_side() -> None:
    bodies = find_bodies(ROOM)
    assert bodies.is_side.tolist() == [True] * 4 + [False] * 4
    assert bodies.column.tolist() == [PLAN, PLAN + 1, PLAN + 2, PLAN + 3] + [PLAN + 4] * 4 + [PLAN + 6] * 3


def test_walls_of_large_plans_and_paths_of_unknown_walls_err_independently() -> None:
    boxes = tuple(shapely.box(x, y, x + 2, y + 2) for x in range(2, 38, 5) for y in (3, 22, 26))
    many = dataclasses.replace(ROOM, obstacles=boxes, materials=())
    assert 4 + 2 * len(boxes) > MOST_PLAN
    images, _ = trace(many)
    assert images.slope.shape[-1] == PLAN
    traced = arrange_traced(locus.make_twin("image", RADIO).trace(many, POSE, CANDIDATES), RADIO, Constants())
    there = np.arange(images.apart.shape[1]) < traced.num_paths[:, np.newaxis]
    assert (images.apart[there] == 0).all()  # the transmitter's place in its cell is shared all the same
    np.testing.assert_array_equal(images.bounces[there], traced.order[there])

    traced = arrange_traced(locus.make_twin("image", RADIO).trace(ROOM, POSE, CANDIDATES), RADIO, Constants())
    elsewhere = find_images(ROOM, find_bodies(ROOM), traced, (12.0, 9.0, 0.3), CANDIDATES + 1.0, known=True)
    assert (elsewhere.apart[elsewhere.chain < 0] == 1).all()  # paths that do not end at their candidates
    assert (elsewhere.chain < 0).mean() > 0.9
