"""A wrong twin: a room, a pose and errors in; what the twin believes instead, and what it traces there, out.

The receiver hears the true room. Its twin was made from a plan that is off, or is told a pose that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely
from numpy.random import Generator
from numpy.typing import NDArray
from shapely import Polygon, affinity

from locus.room.layout import MIN_DISTANCE, Layout, Pose
from locus.settings.checks import check_range

RECIPE = 1

KINDS = ("obstacles", "walls", "missing", "material", "position", "heading")
"""Errors: see :func:`believed`."""

_MAX_DRAWS = 1000


def believed(layout: Layout, pose: Pose, errors: Mapping[str, Any], rng: Generator) -> tuple[Layout, Pose]:
    """A room and a pose that are off by ``errors``; of what they leave open, like directions, ``rng`` decides.

    Args:
        layout: the true room.
        pose: the true pose.
        errors: ``obstacles``: each is so far off [m], in a direction of its own; ``walls``: the room's left, lower,
            right and upper end are each so far in or out [m]; ``missing``: so many obstacles are not in the plan;
            ``material``: name of what all is taken to be made of; ``position``: the receiver is so far off [m];
            ``heading``: it is turned by so much [rad], left or right.
        rng: drawn from again until obstacles lie in the room and apart, and the receiver in free space.

    Raises:
        ValueError: an error is of another kind, or leaves no such room.
    """
    for kind, size in errors.items():
        if kind not in KINDS:
            raise ValueError(f"Expected errors of {list(KINDS)}, got {kind!r}")
        if kind != "material":
            check_range(kind, size, 0, len(layout.obstacles) if kind == "missing" else math.inf)
    for _ in range(_MAX_DRAWS):
        room = _resized(layout.room, errors.get("walls", 0.0) * rng.choice([-1, 1], size=4))
        kept = np.sort(rng.permutation(len(layout.obstacles))[int(errors.get("missing", 0)) :])
        obstacles = [_shifted(layout.obstacles[i], errors.get("obstacles", 0.0), rng) for i in kept]
        x, y = np.array([pose.x, pose.y]) + errors.get("position", 0.0) * _direction(rng)
        turn = errors.get("heading", 0.0) * rng.choice([-1, 1])
        apart = all(a.distance(b) > 0 for i, a in enumerate(obstacles) for b in obstacles[:i])
        if not apart or not all(room.contains_properly(one) for one in obstacles):
            continue
        materials = tuple(layout.materials[i] for i in (0, *(kept + 1)))
        if "material" in errors:
            materials = (errors["material"],) * len(materials)
        wrong = Layout(room, tuple(obstacles), materials, layout.clearance)
        if wrong.is_free([[x, y]], MIN_DISTANCE).all():
            return wrong, Pose(x, y, (pose.heading + turn + math.pi) % (2 * math.pi) - math.pi)
    raise ValueError(f"Expected errors that leave a room with its receiver in free space, got {dict(errors)}")


def everything(size: float) -> dict[str, float]:
    """All errors of geometry at once: lengths off by ``size`` [m], and the heading by 5 degrees a metre."""
    return {**dict.fromkeys(("obstacles", "walls", "position"), size), "heading": size * math.radians(5)}


def _direction(rng: Generator) -> NDArray[np.float64]:
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def _shifted(polygon: Polygon, distance: float, rng: Generator) -> Polygon:
    return affinity.translate(polygon, *(distance * _direction(rng)))


def _resized(room: Polygon, steps: NDArray[np.float64]) -> Polygon:
    """The room with its left, lower, right and upper end moved outwards by ``steps``; all between follows."""
    x0, y0, x1, y1 = room.bounds
    corner, size = np.array([x0, y0]), np.array([x1 - x0, y1 - y0])
    scale = (size + steps[:2] + steps[2:]) / size
    return shapely.transform(room, lambda points: corner - steps[:2] + (points - corner) * scale)
