"""Errors of the twin: a true room and pose in, the erroneous room and pose that the twin uses, out.

The signal always propagates in the true room; only the twin's floor plan, or the pose given to it, is wrong.
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
from locus.room.obstacles import draw_obstacles
from locus.settings.checks import check_range
from locus.settings.config import Room

RECIPE = 1

KINDS = ("obstacles", "walls", "missing", "material", "position", "heading", "scale")
"""Kinds of errors, described in :func:`believed`."""

_MAX_DRAWS = 1000
_MAX_SCALE = 0.9  # a plan keeps a tenth of its size


def believed(layout: Layout, pose: Pose, errors: Mapping[str, Any], rng: Generator) -> tuple[Layout, Pose]:
    """Room and pose with ``errors`` of given sizes; their directions and signs are drawn from ``rng``.

    Args:
        layout: the true room.
        pose: the true pose.
        errors: ``obstacles``: displacement of each obstacle [m], each in its own random direction; ``walls``:
            displacement of the room's left, lower, right and upper side [m], each inwards or outwards; ``missing``:
            number of obstacles missing from the plan; ``material``: material assumed for every wall; ``position``:
            error of the receiver's position [m]; ``heading``: error of its heading [rad], to either side; ``scale``:
            relative error of all lengths of the plan, which is too large or too small about the room's centre, while
            the receiver stays where it is.
        rng: draws the errors, again until the obstacles lie in the room without touching and the receiver in free
            space.

    Raises:
        ValueError: a kind of error is unknown, or no valid room is found.
    """
    for kind, size in errors.items():
        if kind not in KINDS:
            raise ValueError(f"Expected 'errors' in {list(KINDS)}, got {kind!r}")
        if kind != "material":
            check_range(kind, size, 0, {"missing": len(layout.obstacles), "scale": _MAX_SCALE}.get(kind, math.inf))
    for _ in range(_MAX_DRAWS):
        room = _resized(layout.room, errors.get("walls", 0.0) * rng.choice([-1, 1], size=4))
        kept = np.sort(rng.permutation(len(layout.obstacles))[int(errors.get("missing", 0)) :])
        obstacles = [_shifted(layout.obstacles[i], errors.get("obstacles", 0.0), rng) for i in kept]
        x, y = np.array([pose.x, pose.y]) + errors.get("position", 0.0) * _direction(rng)
        turn = errors.get("heading", 0.0) * rng.choice([-1, 1])
        if "scale" in errors:  # drawn only then: errors without it stay as they are
            room, *obstacles = _scaled([room, *obstacles], 1 + errors["scale"] * rng.choice([-1, 1]))
        apart = all(a.distance(b) > 0 for i, a in enumerate(obstacles) for b in obstacles[:i])
        if not apart or not all(room.contains_properly(one) for one in obstacles):
            continue
        materials = tuple(layout.materials[i] for i in (0, *(kept + 1)))
        if "material" in errors:
            materials = (errors["material"],) * len(materials)
        wrong = Layout(room, tuple(obstacles), materials, layout.clearance)
        if wrong.is_free([[x, y]], MIN_DISTANCE).all():
            return wrong, Pose(x, y, (pose.heading + turn + math.pi) % (2 * math.pi) - math.pi)
    raise ValueError(
        f"Expected errors that leave a valid room with the receiver in free space, got {dict(errors)}; reduce them"
    )


def possible(layout: Layout, pose: Pose, errors: Mapping[str, Any], rng: Generator, room: Room) -> tuple[Layout, Pose]:
    """A room and pose, drawn at random, for which a twin with ``errors`` may have this layout and pose.

    The opposite of :func:`believed`: geometric errors are drawn anew, since they are as likely in either direction;
    missing obstacles are added, drawn like those of a random ``room``; a wrong material is replaced by one that is
    drawn from ``materials``.

    Args:
        layout: the room that the twin assumes.
        pose: the pose that the twin assumes.
        errors: sizes of errors as in :func:`believed`, but with ``materials``, a sequence of names, for ``material``.
        rng: draws everything.
        room: settings of the obstacles to add.

    Raises:
        ValueError: a kind of error is unknown, or no valid room is found.
    """
    moved = {kind: size for kind, size in errors.items() if kind not in ("missing", "materials")}
    missing, materials = int(errors.get("missing", 0)), errors.get("materials")
    for _ in range(_MAX_DRAWS):
        world, there = believed(layout, pose, moved, rng)
        count = len(world.obstacles) + missing
        obstacles, _ = draw_obstacles(rng, room, missing, world.obstacles)
        names = (*world.materials, *(world.materials[0],) * missing)
        if materials is not None:
            names = (str(rng.choice(list(materials))),) * len(names)
        if len(obstacles) == count:
            world = Layout(world.room, obstacles, names, world.clearance)
            if world.is_free([[there.x, there.y]], MIN_DISTANCE).all():
                return world, there
    raise ValueError(f"Expected errors that some room explains, got {dict(errors)}; reduce them")


def everything(size: float) -> dict[str, float]:
    """Errors of obstacles, walls, position and heading at once: ``size`` [m] each, and 5 degrees per metre of it."""
    return {**dict.fromkeys(("obstacles", "walls", "position"), size), "heading": size * math.radians(5)}


def _direction(rng: Generator) -> NDArray[np.float64]:
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def _shifted(polygon: Polygon, distance: float, rng: Generator) -> Polygon:
    return affinity.translate(polygon, *(distance * _direction(rng)))


def _scaled(polygons: list[Polygon], factor: float) -> list[Polygon]:
    """Polygons scaled about the centre of the first, the room."""
    x0, y0, x1, y1 = polygons[0].bounds
    origin = ((x0 + x1) / 2, (y0 + y1) / 2)
    return [affinity.scale(one, factor, factor, origin=origin) for one in polygons]


def _resized(room: Polygon, steps: NDArray[np.float64]) -> Polygon:
    """Room with its left, lower, right and upper side moved outwards by ``steps`` [m]; points between scale along."""
    x0, y0, x1, y1 = room.bounds
    corner, size = np.array([x0, y0]), np.array([x1 - x0, y1 - y0])
    scale = (size + steps[:2] + steps[2:]) / size
    return shapely.transform(room, lambda points: corner - steps[:2] + (points - corner) * scale)
