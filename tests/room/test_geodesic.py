"""Shortest ways around walls, against hand calculation and a dense graph of shapely's lines of sight."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from scipy.sparse.csgraph import connected_components, dijkstra

from locus import Layout, Room
from locus.room.geodesic import geodesic_distances, neighbours


def test_ways_bend_at_corners() -> None:
    """Over a wall of 2 m by 6 m that stands in the middle of the lower side: up its left side, along its top, down."""
    layout = Layout(shapely.box(0, 0, 12, 10), (shapely.box(5, 0, 7, 6),))
    points = [[2.0, 2.0], [10.0, 2.0], [2.0, 9.0], [8.0, 6.5]]
    found = geodesic_distances(layout, points)
    assert found[0, 1] == pytest.approx(5 + 2 + 5, abs=1e-5)  # legs of 3 m and 4 m
    assert found[0, 2] == pytest.approx(7)
    assert found[0, 3] == pytest.approx(5 + np.hypot(3, 0.5), abs=1e-5)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0)


def test_separate_halves_are_infinitely_far_apart() -> None:
    layout = Layout(shapely.box(0, 0, 12, 10), (shapely.box(5, 0, 7, 10),))
    found = geodesic_distances(layout, [[2.0, 2.0], [10.0, 2.0], [3.0, 2.0]])
    assert np.isinf(found[0, 1])
    assert found[0, 2] == pytest.approx(1)
    assert neighbours(found).tolist() == [[False, False, True], [False, False, False], [True, False, False]]


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_a_graph_of_sights(seed: int) -> None:
    """Edges between all points and true corners that shapely finds in the closed free space; small and large rooms."""
    rng = np.random.default_rng(seed)
    layout = Layout.random(rng, Room(size=100) if seed % 2 else Room(size=10))
    points = layout.sample(40, rng)
    nodes = np.concatenate([points, layout.corners])
    i, j = np.triu_indices(len(nodes), 1)
    lines = shapely.linestrings(np.stack([nodes[i], nodes[j]], axis=1))
    seen = shapely.covers(layout.free_space, lines)
    graph = np.zeros((len(nodes), len(nodes)))
    graph[i[seen], j[seen]] = shapely.length(lines[seen])
    expected = dijkstra(graph, directed=False)[: len(points), : len(points)]
    # Ways pass within 1e-6 m of each of a few corners
    np.testing.assert_allclose(geodesic_distances(layout, points), expected, atol=2e-5)


def test_neighbours_on_a_grid_are_the_four_next_and_connect_all(rng: np.random.Generator) -> None:
    layout = Layout(shapely.box(0, 0, 10, 10))
    x, y = np.meshgrid(np.arange(5) + 0.5, np.arange(4) + 0.5)
    grid = np.stack([x.ravel(), y.ravel()], axis=1)
    distance = geodesic_distances(layout, grid)
    np.testing.assert_array_equal(neighbours(distance), np.isclose(distance, 1))
    found = neighbours(geodesic_distances(layout, layout.sample(60, rng)))
    assert connected_components(found)[0] == 1


def test_points_in_walls_are_refused() -> None:
    layout = Layout(shapely.box(0, 0, 12, 10), (shapely.box(5, 0, 7, 6),))
    with pytest.raises(ValueError, match=r"Expected 'points' in free space, got \[6. 3.\] at index 1"):
        geodesic_distances(layout, [[1.0, 1.0], [6.0, 3.0]])
