"""The image twin against a brute-force search without beams, and its parts against closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import locus
from locus import Layout, Pose, Twin
from locus.settings.config import SPEED_OF_LIGHT
from locus.twin.antenna import array_response, element_gain_db
from locus.twin.image import slab_reflection


def mirror(point: NDArray[np.float64], wall: NDArray[np.float64]) -> NDArray[np.float64]:
    along = (wall[2:] - wall[:2]) / math.dist(wall[:2], wall[2:])
    offset = point - wall[:2]
    return wall[:2] + 2 * (offset @ along) * along - offset


def first_hit(
    walls: NDArray[np.float64], start: NDArray[np.float64], ray: NDArray[np.float64], leaving: int
) -> tuple[float, int]:
    """Distance along ``ray`` to the nearest wall, and its index, by solving a 2 x 2 system for each wall."""
    nearest = (math.inf, -1)
    for index, wall in enumerate(walls):
        system = np.column_stack([ray, wall[:2] - wall[2:]])
        if index == leaving or abs(np.linalg.det(system)) < 1e-12:
            continue
        t, s = np.linalg.solve(system, wall[:2] - start)
        if t > 0 and 0 <= s <= 1 and t < nearest[0]:
            nearest = (t, index)
    return nearest


def exists(
    walls: NDArray[np.float64], source: NDArray[np.float64], target: NDArray[np.float64], chain: tuple[int, ...]
) -> float:
    """Length of the path via this sequence of walls, or 0: aim at the target's image and check every wall hit."""
    image = target
    for wall in reversed(chain):
        image = mirror(image, walls[wall])
    length = math.dist(source, image)
    ray, point, left, leaving = (image - source) / length, source, length, -1
    for wall in chain:
        distance, met = first_hit(walls, point, ray, leaving)
        if met != wall or distance >= left:
            return 0.0
        point, left, leaving = point + distance * ray, left - distance, wall
        ray = mirror(walls[wall][:2] + ray, walls[wall]) - walls[wall][:2]
    return length if first_hit(walls, point, ray, leaving)[0] >= left else 0.0


ROOMS = {
    "L with a triangle": Layout(
        shapely.Polygon([(0, 0), (20, 0), (20, 9), (9, 9), (9, 20), (0, 20)]),
        (shapely.Polygon([(4, 3), (7, 4), (5, 6)]),),
    ),
    "slanted with a box": Layout(shapely.Polygon([(0, 1), (18, -2), (21, 13), (6, 17)]), (shapely.box(8, 5, 11, 7.5),)),
}


@pytest.mark.parametrize("name", ROOMS)
def test_every_path_is_found_and_no_other(image: Twin, name: str) -> None:
    layout = ROOMS[name]
    rng = np.random.default_rng(7)
    pose, candidates = Pose.random(layout, rng), layout.sample(5, rng)
    data = locus.make_twin("image", options=locus.TwinOptions(max_paths=100)).trace(layout, pose, candidates)
    source, total = np.array([pose.x, pose.y]), 0
    for i, candidate in enumerate(candidates):
        lengths = []
        for order in range(4):
            for chain in itertools.product(range(len(layout.walls)), repeat=order):
                length = exists(layout.walls, source, candidate, chain)
                lengths.append((length, order))
        expected = sorted((length, order) for length, order in lengths if length)
        one = data.isel(candidate=i, path=data.valid.values[i])
        found = sorted(zip((one.delay.values * SPEED_OF_LIGHT).tolist(), one.order.values.tolist(), strict=True))
        assert [order for _, order in found] == [order for _, order in expected]
        np.testing.assert_allclose([length for length, _ in found], [length for length, _ in expected], rtol=1e-12)
        total += len(found)
    assert total > 40


def test_slab_has_the_known_limits() -> None:
    wavelength = 0.025
    assert slab_reflection(0.7, 1.0 + 0.0j, 0.2, wavelength) == pytest.approx(0)  # vacuum: no slab
    assert slab_reflection(0.7, 1 - 1e12j, 0.2, wavelength) == pytest.approx(-1, abs=1e-5)  # a perfect conductor
    # At normal incidence a lossless half-wave slab is transparent; a quarter-wave slab reflects (1 - eps) / (1 + eps)
    assert abs(slab_reflection(1.0, 4.0 + 0.0j, wavelength / 4, wavelength)) == pytest.approx(0, abs=1e-12)
    assert abs(slab_reflection(1.0, 4.0 + 0.0j, wavelength / 8, wavelength)) == pytest.approx(3 / 5)
    # Thick and lossy: nothing returns from the back face, which leaves the Fresnel coefficient
    assert slab_reflection(1.0, 4 - 1j, 50.0, wavelength) == pytest.approx(
        (1 - (4 - 1j) ** 0.5) / (1 + (4 - 1j) ** 0.5)
    )


def test_element_is_that_of_tr_38901() -> None:
    assert element_gain_db(0.0) == 8.0
    assert element_gain_db(math.radians(32.5)) == pytest.approx(5.0)  # half power at half the beamwidth
    assert element_gain_db(math.pi) == -22.0  # front-to-back ratio of 30 dB


def test_array_turns_half_a_period_for_each_half_wavelength_of_extra_way() -> None:
    response = array_response(math.radians(30), 8)
    # At 30 degrees the path is a quarter wavelength longer for each element: -90 degrees
    np.testing.assert_allclose(response, (-1j) ** np.arange(8), atol=1e-12)
    assert array_response(np.zeros((3, 2)), 5).shape == (3, 2, 5)
