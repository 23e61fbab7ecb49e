"""Polygons of occupancy grids: known rooms come back, walls lie where echoes were, and errors are stated."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import Polygon, affinity

import locus
from locus.room import polygons
from locus.room.polygons import layout_of
from locus.room.ros_map import RosMap, write_ros_map

ROOM = shapely.box(1, 1, 9, 7)


def drawn(space: Polygon, resolution: float = 0.1, size: float = 10.0, shift: float = 0.0) -> RosMap:
    """A perfect map: cells that a wall passes are occupied, cells in free space free, all others unknown."""
    side = round(size / resolution)
    row, column = (one.ravel() for one in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    low = np.array([column, row]) * resolution + shift
    cells = shapely.box(*low, *(low + resolution))
    shapely.prepare(space)
    hit = shapely.intersects(space.boundary, cells)
    free = shapely.contains(space, cells)
    occupancy = np.where(hit, 1.0, np.where(free, 0.0, np.nan)).reshape(side, side).astype(np.float32)
    return RosMap(occupancy, resolution, (shift, shift, 0.0))


def signed_errors(layout: locus.Layout, true: Polygon) -> np.ndarray:
    """Distances [m] of points on the layout's walls from the true walls, positive inside the true free space."""
    points = shapely.get_coordinates(shapely.segmentize(layout.free_space.boundary, 0.05))
    distance = shapely.distance(shapely.points(points), true.boundary)
    return np.where(shapely.contains_xy(true, *points.T), distance, -distance)


def same(layout: locus.Layout, true: Polygon) -> float:
    """Largest distance between two outlines, in either direction [m]."""
    return float(shapely.hausdorff_distance(layout.free_space.boundary, true.boundary, densify=0.01))


@pytest.mark.parametrize("angle", [0, 17, 45])
def test_a_known_room_comes_back_within_a_cell(angle: float) -> None:
    bench = affinity.rotate(shapely.box(2.5, 2.5, 5, 3.6), 30)
    corner = shapely.box(6.5, 4.2, 9, 7)
    true = affinity.rotate(ROOM - bench - corner, angle, origin=(5, 4))
    layout = layout_of(drawn(true, 0.05, 13.0, -1.525))
    assert len(layout.walls) == 10  # an L-shaped room and a box
    assert same(layout, true) < 0.05
    assert layout.map_error is not None
    assert layout.map_error.num_dropped == 0


def test_walls_lie_on_average_where_they_are() -> None:
    """Free cells end half a cell in front of a wall on average; the layout's walls do not."""
    resolution, errors, edges = 0.1, [], []
    for shift in np.linspace(0, resolution, 10, endpoint=False):
        grid = drawn(ROOM, resolution, 10.0, -float(shift))
        errors.append(signed_errors(layout_of(grid), ROOM))
        edges.append(np.flatnonzero(grid.free.any(axis=0))[0] * resolution - shift - 1)
    assert np.mean(edges) == pytest.approx(resolution / 2, abs=resolution / 10)
    assert abs(np.mean(np.concatenate(errors))) < 0.05 * resolution
    assert max(np.abs(one).max() for one in errors) < 0.6 * resolution
    turned = [affinity.rotate(ROOM, angle, origin=(5, 4)) for angle in range(5, 45, 5)]
    means = [signed_errors(layout_of(drawn(one, resolution, 13.0, -1.5)), one).mean() for one in turned]
    assert np.abs(means).max() < 0.2 * resolution


def test_origin_and_yaw_move_and_turn_the_room(tmp_path: Path) -> None:
    plain = drawn(ROOM)
    turned = RosMap(plain.occupancy, plain.resolution, (-3.0, 20.0, math.radians(30)))
    write_ros_map(tmp_path / "map.yaml", turned)
    layout = locus.Layout.from_ros_map(tmp_path / "map.yaml")
    expected = affinity.translate(affinity.rotate(ROOM, 30, origin=(0, 0)), -3, 20)
    assert same(layout, expected) < 0.1
    inside = locus.Layout.from_ros_map(tmp_path / "map.yaml", inside=expected.centroid.coords[0])
    np.testing.assert_array_equal(inside.walls, layout.walls)


def test_unknown_is_not_free() -> None:
    grid = drawn(ROOM)
    unknown = grid.occupancy.copy()
    unknown[30:40, 30:50] = np.nan
    layout = layout_of(RosMap(unknown, 0.1))
    (obstacle,) = layout.obstacles
    assert obstacle.symmetric_difference(shapely.box(3, 3, 5, 4)).area < 0.05
    unknown[:, 60:62] = np.nan  # nobody looked behind it
    half = layout_of(RosMap(unknown, 0.1))
    assert half.room.bounds == pytest.approx((1, 1, 6, 7), abs=0.1)


def test_the_largest_part_or_the_one_that_is_asked_for() -> None:
    both = drawn(ROOM - shapely.box(6, 1, 6.3, 7))
    assert layout_of(both).room.bounds == pytest.approx((1, 1, 6, 7), abs=0.1)
    assert layout_of(both, inside=(8, 3)).room.bounds == pytest.approx((6.3, 1, 9, 7), abs=0.1)
    for point, what in (((6.15, 3.0), "not free"), ((50.0, 3.0), "outside the map"), ((0.2, 0.2), "not free")):
        with pytest.raises(ValueError, match=f"Expected 'inside' in free space of the map, got .* which is {what}"):
            layout_of(both, inside=point)
    with pytest.raises(ValueError, match="Expected finite 'inside'"):
        layout_of(both, inside=(math.nan, 1.0))


def test_a_door_of_a_few_cells_stays_open_and_if_it_closed_the_part_that_is_asked_for_counts() -> None:
    grid = drawn(ROOM)
    grid.occupancy[10:71, 60] = 1.0
    grid.occupancy[40:43, 60] = 0.0
    for tolerance in (None, 0.8):
        assert layout_of(grid, (2, 4), tolerance=tolerance).room.bounds == pytest.approx((1, 1, 9, 7), abs=0.1)
    outlines = [shapely.box(0, 0, 10, 5), shapely.box(6, -1, 7, 6)]
    bounds = {True: (0, 0, 6, 5), False: (7, 0, 10, 5)}
    for point, left in ((None, True), (shapely.Point(8, 2), False), (shapely.Point(3, 2), True)):
        space = polygons._space(outlines, point)
        assert space is not None
        assert space.bounds == pytest.approx(bounds[left], abs=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_thin_walls_stay_walls(width: int) -> None:
    grid = drawn(ROOM)
    grid.occupancy[20:50, 45 : 45 + width] = 1.0  # stands free
    grid.occupancy[10:50, 65 : 65 + width] = 1.0  # begins at the outer wall
    layout = layout_of(grid)
    (obstacle,) = layout.obstacles
    # Faces seen from both sides are at the edges of single cells, and in the middles of wider walls' outer cells
    thick = 0.1 if width == 1 else 0.1 * (width - 1)
    assert obstacle.area == pytest.approx(3.0 * thick, rel=0.3)
    middle = 4.5 + 0.05 * width
    assert obstacle.bounds == pytest.approx((middle - thick / 2, 2.0, middle + thick / 2, 5.0), abs=0.08)
    missing = layout_of(drawn(ROOM)).room.area - layout.room.area
    assert missing == pytest.approx(4.0 * thick, rel=0.3)
    assert not layout.room.contains(shapely.Point(6.5 + 0.05 * width, 4.0))


def test_noise_and_cracks_are_no_obstacles() -> None:
    grid = drawn(ROOM)
    grid.occupancy[20:60:8, 20:80:8] = 1.0  # single cells
    grid.occupancy[40, 89:] = 0.0  # a beam through the wall
    layout = layout_of(grid)
    assert layout.obstacles == ()
    assert layout.map_error is not None
    assert layout.map_error.num_dropped == 40
    assert same(layout, ROOM) < 0.1


@pytest.mark.parametrize("most", [250, 60, 12, 4])
def test_walls_are_few_enough_and_their_error_is_stated(most: int) -> None:
    round_room = shapely.Point(5, 5).buffer(4.5, quad_segs=64)
    grid = drawn(round_room, 0.04)
    layout = layout_of(grid, max_walls=most, tolerance=1e-3)
    assert 4 <= len(layout.walls) <= most
    error = layout.map_error
    assert error is not None
    assert error.tolerance > 1e-3
    # What is stated is measured from the map's walls, which are within a cell of the true ones
    true = shapely.hausdorff_distance(layout.room.exterior, round_room.exterior, densify=0.01)
    assert error.largest == pytest.approx(true, abs=0.04)
    apart = shapely.distance(shapely.points(np.asarray(round_room.exterior.coords)), layout.room.exterior)
    assert error.mean == pytest.approx(apart.mean(), abs=0.04)


def test_walls_are_parallel_where_they_nearly_are() -> None:
    """Five walls of a hall in two directions, and one at 20 degrees to them."""
    hall = Polygon([(0.5, 0.5), (9.5, 0.5), (9.5, 6.0), (6.0, 7.3), (6.0, 9.5), (0.5, 9.5)])
    walls = layout_of(drawn(hall, 0.05)).walls
    assert len(walls) == 6
    angles = np.degrees(np.arctan2(walls[:, 3] - walls[:, 1], walls[:, 2] - walls[:, 0])) % 90
    straight = np.abs((angles + 45) % 90 - 45) < 10
    assert straight.sum() == 5
    np.testing.assert_allclose((angles[straight] + 45) % 90 - 45, 0, atol=0.3)
    slanted = math.degrees(math.atan2(1.3, 3.5))
    assert angles[~straight][0] == pytest.approx(90 - slanted, abs=1.5)


@pytest.mark.parametrize(
    ("occupancy", "message"),
    [
        (np.ones((20, 20)), "Expected a map with free space, got none"),
        (np.full((20, 20), np.nan), "Expected a map with free space, got none"),
        (np.eye(20), ""),
        (np.zeros((1, 1)), "Expected a map with free space, got none"),
    ],
)
def test_maps_without_a_room(occupancy: np.ndarray, message: str) -> None:
    grid = RosMap(occupancy.astype(np.float32), 0.1)
    if message:
        with pytest.raises(ValueError, match=message):
            layout_of(grid)
    else:
        assert layout_of(grid).room.area > 0


def test_noise_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polygons, "_MAX_BOUNDARY", 100)
    with pytest.raises(ValueError, match="Expected a map with at most 100 cells along walls, got more: it is noise"):
        layout_of(drawn(ROOM))


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.05, 0.6), size=st.integers(2, 24), block=st.integers(1, 4))
def test_any_map_becomes_a_room_or_is_refused(seed: int, share: float, size: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    coarse = rng.choice([0.0, 1.0, np.nan], size=(size, size), p=[1 - share, share / 2, share / 2])
    grid = RosMap(np.kron(coarse, np.ones((block, block))).astype(np.float32), 0.1, (5.0, -2.0, 1.0))
    try:
        layout = layout_of(grid, max_walls=60)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
        assert len(layout.walls) <= 60
        assert layout.map_error is not None
        assert 0 <= layout.map_error.mean <= layout.map_error.largest
        assert layout.free_space.is_valid
    assert message in ("", "Expected a map with free space, got none") or "at most 60 walls" in message
