"""Furniture: small boxes, which no plan shows, are added to a room."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely import Polygon, affinity

from locus.room.layout import Layout, check_points
from locus.settings.checks import check_range

SIDES = (0.6, 2.4)
"""Shortest and longest side of a piece of furniture [m]."""
MATERIAL = "wood"
"""Material of all furniture."""
GAP = 1.0
"""Least distance of a piece from walls, other pieces and places to keep clear [m], wide enough for a robot to pass
everywhere."""

_MAX_DRAWS = 100  # per piece


def furnish(layout: Layout, num_pieces: int, rng: np.random.Generator, keep_clear: ArrayLike) -> Layout:
    """Add boxes of random size, place and orientation to the obstacles of a room.

    Args:
        layout: the room without furniture.
        num_pieces: number of boxes.
        rng: draws them.
        keep_clear: positions (n, 2) [m] that all boxes stay away from, for instance the receiver's.

    Raises:
        ValueError: they do not fit into the room.
    """
    check_range("num_pieces", num_pieces, 0)
    clear = shapely.multipoints(check_points("keep_clear", keep_clear))
    pieces: list[Polygon] = []
    for _ in range(_MAX_DRAWS * num_pieces):
        if len(pieces) == num_pieces:
            break
        width, height = rng.uniform(*SIDES, size=2)
        box = affinity.rotate(shapely.box(-width / 2, -height / 2, width / 2, height / 2), rng.uniform(0, 180))
        piece = affinity.translate(box, *layout.sample(1, rng)[0])
        apart = all(piece.distance(one) >= GAP for one in (layout.free_space.boundary, clear, *pieces))
        if apart and layout.free_space.contains(piece):
            pieces.append(piece)
    if len(pieces) < num_pieces:
        raise ValueError(
            f"Expected a room with space for {num_pieces} pieces of furniture, got space for {len(pieces)}"
        )
    obstacles = (*layout.obstacles, *pieces)
    return Layout(layout.room, obstacles, (*layout.materials, *(MATERIAL,) * num_pieces), layout.clearance)
