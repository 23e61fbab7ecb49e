"""The laser scanner: ranges against geometry by hand and by shapely, cells of a beam against shapely, and log odds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

from locus import Layout
from locus.room.laser import CERTAIN, HIT, MISS, Laser, log_odds


def test_ranges_in_a_square_room_are_those_of_geometry(square: Layout) -> None:
    laser = Laser(num_beams=360, range_noise=0.0)
    found = laser.scan(square, np.array([[5.0, 5.0, 0.3]]), np.random.default_rng(0))[0]
    angle = laser.angles + 0.3
    np.testing.assert_allclose(found, 5 / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle))), rtol=1e-12)


def test_ranges_in_random_rooms_are_those_of_shapely(rng: np.random.Generator) -> None:
    layout = Layout.random(rng)
    walls = layout.free_space.boundary
    laser = Laser(num_beams=25, max_range=1000.0, range_noise=0.0)
    poses = np.column_stack([layout.sample(20, rng), rng.uniform(-np.pi, np.pi, 20)])
    found = laser.scan(layout, poses, rng)
    for (x, y, heading), ranges in zip(poses, found, strict=True):
        for angle, distance in zip(laser.angles + heading, ranges, strict=True):
            beam = shapely.LineString([(x, y), (x + 200 * math.cos(angle), y + 200 * math.sin(angle))])
            assert distance == pytest.approx(shapely.Point(x, y).distance(beam.intersection(walls)), abs=1e-9)


def test_far_walls_have_no_echo_and_near_ones_have_noise(square: Layout) -> None:
    laser = Laser(num_beams=4, max_range=6.0, range_noise=0.02)
    poses = np.tile([2.0, 5.0, 0.0], (5000, 1))
    found = laser.scan(square, poses, np.random.default_rng(0))
    assert np.isinf(found[:, 0]).all()  # 8 m to the wall ahead
    errors = found[:, 1:] - [5.0, 2.0, 5.0]
    # Standard errors of 15,000 values: sigma / sqrt(n) of the mean and sigma / sqrt(2 n) of the deviation
    assert abs(errors.mean()) < 5 * 0.02 / math.sqrt(errors.size)
    assert abs(errors.std() - 0.02) < 5 * 0.02 / math.sqrt(2 * errors.size)


def one_beam(x: float, y: float, angle: float, length: float, shape: tuple[int, int]) -> np.ndarray:
    laser = Laser(num_beams=1, max_range=100.0)
    return log_odds(laser, np.array([[length]]), np.array([[x, y, angle]]), shape, 0.5)


def test_a_beam_clears_the_cells_that_it_passes(rng: np.random.Generator) -> None:
    rows, columns = 12, 16
    row, column = (one.ravel() for one in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    cells = shapely.box(0.5 * column, 0.5 * row, 0.5 * column + 0.5, 0.5 * row + 0.5)
    for _ in range(200):
        x, y, angle, length = rng.uniform(-1, 9), rng.uniform(-1, 7), rng.uniform(-4, 4), rng.uniform(0, 9)
        found = one_beam(x, y, angle, length, (rows, columns))
        end = x + length * math.cos(angle), y + length * math.sin(angle)
        crossed = shapely.length(shapely.intersection(cells, shapely.LineString([(x, y), end])))
        passed = (crossed > 1e-9).reshape(rows, columns)
        expected = np.where(passed, np.float32(MISS), 0)
        last = math.floor(end[1] / 0.5), math.floor(end[0] / 0.5)
        if 0 <= last[0] < rows and 0 <= last[1] < columns:
            expected[last] = np.float32(HIT)
        np.testing.assert_array_equal(found, expected)


def test_beams_along_the_grid() -> None:
    np.testing.assert_allclose(one_beam(0.25, 0.25, 0.0, 1.5, (1, 6)), [[MISS, MISS, MISS, HIT, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(one_beam(2.75, 0.25, math.pi, 1.0, (1, 6)), [[0, 0, 0, HIT, MISS, MISS]], rtol=1e-6)
    no_echo = one_beam(0.25, 0.25, 0.0, math.inf, (1, 6))
    np.testing.assert_allclose(no_echo, [[MISS] * 6], rtol=1e-6)


def test_a_cell_counts_once_per_scan_and_echoes_win() -> None:
    """Of two beams, one ends in the cell that the other one passes."""
    laser = Laser(num_beams=2, max_range=100.0)
    poses = np.array([[0.25, 0.25, 0.0]])  # the second beam looks back, out of the grid
    both = np.array([[1.0, 0.1]])
    grid = log_odds(laser, both, poses, (1, 4), 0.5)
    np.testing.assert_allclose(grid, [[HIT, MISS, HIT, 0]], rtol=1e-6)  # the first cell: passed, and with an echo
    again = log_odds(laser, np.repeat(both, 50, axis=0), np.repeat(poses, 50, axis=0), (1, 4), 0.5)
    np.testing.assert_allclose(again, [[CERTAIN, -CERTAIN, CERTAIN, 0]], rtol=1e-6)


def test_bad_lasers() -> None:
    with pytest.raises(ValueError, match=r"Expected 'laser.num_beams' in \[1, inf\), got 0"):
        Laser(num_beams=0)
    with pytest.raises(ValueError, match=r"Expected 'laser.range_noise'"):
        Laser(range_noise=math.nan)
