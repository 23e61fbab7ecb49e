"""Furniture stands in free space, apart from walls, other pieces and what is to be kept clear."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from locus import Layout
from locus.room.furniture import GAP, MATERIAL, SIDES, furnish


def test_furniture_stands_free(rng: np.random.Generator) -> None:
    layout = Layout.random(rng)
    clear = layout.sample(5, rng)
    furnished = furnish(layout, 20, rng, clear)
    assert furnished.room.equals(layout.room)
    assert furnished.obstacles[:3] == layout.obstacles
    pieces = furnished.obstacles[3:]
    assert len(pieces) == 20
    assert furnished.materials == ("concrete",) * 4 + (MATERIAL,) * 20
    for number, piece in enumerate(pieces):
        assert layout.free_space.contains(piece)
        assert piece.distance(layout.free_space.boundary) >= GAP
        assert piece.distance(shapely.MultiPoint(clear)) >= GAP
        assert all(piece.distance(other) >= GAP for other in pieces[:number])
        sides = np.hypot(*np.diff(np.asarray(piece.exterior.coords), axis=0).T)
        assert SIDES[0] - 1e-9 <= sides.min() <= sides.max() <= SIDES[1] + 1e-9
        assert piece.area == pytest.approx(sides[0] * sides[1])


def test_too_much_furniture(rng: np.random.Generator) -> None:
    small = Layout(shapely.box(0, 0, 8, 8))
    with pytest.raises(ValueError, match="Expected a room with space for 12 pieces of furniture, got space for"):
        furnish(small, 12, rng, [[4.0, 4.0]])
    assert furnish(small, 0, rng, [[4.0, 4.0]]).obstacles == ()
