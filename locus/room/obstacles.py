"""Obstacles drawn at random (Sec. III-A): settings of a room in; rectangles, Ls and Ts with gaps between them out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from shapely import Polygon, affinity

from locus.settings.config import Room

SHAPES_PER_OBSTACLE = 100
"""Maximum number of shapes tried per obstacle before the whole room is redrawn."""


def draw_obstacles(
    rng: np.random.Generator, room: Room, num_obstacles: int, given: Sequence[Polygon] = ()
) -> tuple[tuple[Polygon, ...], int]:
    """Draw obstacles that keep the required gaps, including from those ``given``.

    Returns the given ones followed by those drawn, possibly too few, and the number of attempts.
    """
    obstacles = list(given)
    tries, wanted = 0, len(given) + num_obstacles
    while len(obstacles) < wanted and tries < SHAPES_PER_OBSTACLE * num_obstacles:
        tries += 1
        shape = affinity.rotate(draw_shape(rng, room), 90 * int(rng.integers(4)), origin=(0, 0))
        x0, y0, x1, y1 = shape.bounds
        low = np.array([room.wall_gap - x0, room.wall_gap - y0])
        high = np.array([room.size - room.wall_gap - x1, room.size - room.wall_gap - y1])
        if (high < low).any():
            continue
        obstacle = affinity.translate(shape, *rng.uniform(low, high))
        if all(obstacle.distance(other) >= room.obstacle_gap for other in obstacles):
            obstacles.append(obstacle)
    return tuple(obstacles), tries


def draw_shape(rng: np.random.Generator, room: Room) -> Polygon:
    """Draw a rectangle, an L or a T with equal probability; its bounding box starts at the origin."""
    kind = ("rectangle", "L", "T")[int(rng.integers(3))]
    if kind == "rectangle":
        return shapely.box(0, 0, *rng.uniform(*room.rectangle_side, size=2))
    width, height = rng.uniform(*room.bent_side, size=2)
    foot, stem = rng.uniform(*room.arm_thickness, size=2)
    left = 0.0 if kind == "L" else (width - stem) / 2
    return shapely.union(shapely.box(0, 0, width, foot), shapely.box(left, 0, left + stem, height))
