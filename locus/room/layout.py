"""Rooms drawn at random or read from GeoJSON: walls, free space, candidate positions and receiver poses."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely import Polygon, affinity

from locus.room.materials import check_material
from locus.settings.config import Room

RECIPE = 1

MIN_DISTANCE = 0.01
"""Minimum distance [m] of candidates and receiver from walls and from each other; Sionna drops shorter segments."""

SHAPES_PER_OBSTACLE = 100
"""Shapes that are drawn at most for each obstacle of a room, before the room is drawn anew."""

_MAX_DRAWS = 10_000
_MAX_ROOMS = 2000
_MAX_SHAPES = 40_000  # with _MAX_ROOMS: give up on impossible settings after a few seconds


@dataclass(frozen=True)
class Pose:
    """Receiver pose p = (x^r, phi^r) of eq. (1): position of antenna 0 [m] and broadside direction [rad]."""

    x: float
    y: float
    heading: float

    def __post_init__(self) -> None:
        for name in ("x", "y", "heading"):
            value = float(getattr(self, name))
            if not math.isfinite(value):
                raise ValueError(f"Expected a finite '{name}', got {value!r}")
            object.__setattr__(self, name, value)
        if not -math.pi <= self.heading < math.pi:
            raise ValueError(f"Expected 'heading' in [-pi, pi), got {self.heading!r}")

    @classmethod
    def random(cls, layout: Layout, rng: np.random.Generator) -> Pose:
        """Draw a pose with position uniform in the free space of ``layout`` and heading uniform in [-pi, pi)."""
        x, y = layout.sample(1, rng)[0]
        return cls(x, y, rng.uniform(-np.pi, np.pi))


@dataclass(frozen=True)
class Layout:
    """A room with obstacles, each a simple polygon of one material; free space is the room minus the obstacles."""

    room: Polygon
    """Outline of the room [m]."""
    obstacles: tuple[Polygon, ...] = ()
    """Outlines of the obstacles [m], inside the room and not overlapping."""
    materials: tuple[str, ...] = ()
    """ITU-R P.2040 name of the room's material, then of each obstacle's; if empty, all are concrete."""
    clearance: float = 0.5
    """Minimum distance of drawn candidates and poses from any wall [m]."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.clearance) and self.clearance >= 0):
            raise ValueError(f"Expected 'clearance' in [0, inf), got {self.clearance!r}")
        materials = self.materials or ("concrete",) * (1 + len(self.obstacles))
        if len(materials) != 1 + len(self.obstacles):
            raise ValueError(
                f"Expected 'materials' with {1 + len(self.obstacles)} names (room, then obstacles), got {materials!r}"
            )
        for name in materials:
            check_material(name)
        room = _clean(self.room, "room", clockwise=False)
        obstacles = tuple(_clean(o, f"obstacles[{i}]", clockwise=True) for i, o in enumerate(self.obstacles))
        for i, obstacle in enumerate(obstacles):
            if not room.covers(obstacle):
                raise ValueError(f"Expected 'obstacles[{i}]' inside the room, got {obstacle.wkt}")
            for j in range(i):
                if obstacle.intersection(obstacles[j]).area > 1e-9:
                    raise ValueError(f"Expected obstacles that do not overlap, got obstacles[{j}] and obstacles[{i}]")
        object.__setattr__(self, "room", room)
        object.__setattr__(self, "obstacles", obstacles)
        object.__setattr__(self, "materials", tuple(materials))

    @classmethod
    def random(cls, rng: np.random.Generator, room: Room | None = None) -> Layout:
        """Draw a room as described in Sec. III-A: a square with rectangular, L- and T-shaped obstacles.

        Raises:
            ValueError: no room satisfies the settings; the message names the constraint that failed.
        """
        room = room or Room()
        square = shapely.box(0, 0, room.size, room.size)
        materials = (room.material,) * (1 + room.num_obstacles)
        best, shapes = -1, 0
        for _ in range(_MAX_ROOMS):
            obstacles, tries = _draw_obstacles(rng, room)
            if len(obstacles) == room.num_obstacles:
                layout = cls(square, obstacles, materials, room.clearance)
                feasible = len(layout.grid(room.grid_points))
                if feasible >= room.min_feasible:
                    return layout
                best = max(best, feasible)
            shapes += tries
            if shapes > _MAX_SHAPES:
                break
        found = f"at most {best} feasible grid points" if best >= 0 else "no space for all obstacles"
        raise ValueError(
            f"Expected 'room' settings that some layout satisfies, got {found} in many draws of {room}; "
            "use fewer or smaller obstacles or lower 'min_feasible'"
        )

    @cached_property
    def _edges(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Walls, and the index of the polygon that each belongs to (0: the room)."""
        rings = [shapely.get_coordinates(p.exterior) for p in (self.room, *self.obstacles)]
        walls = np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])
        return walls, np.repeat(np.arange(len(rings)), [len(ring) - 1 for ring in rings])

    @property
    def walls(self) -> NDArray[np.float64]:
        """Walls of the room and all obstacles, (n, 4): x0, y0, x1, y1 [m], with free space on the left."""
        return self._edges[0]

    @property
    def wall_polygons(self) -> NDArray[np.int64]:
        """Polygon index of each wall, (n): 0 for the room, 1 for the first obstacle."""
        return self._edges[1]

    @property
    def wall_materials(self) -> list[str]:
        """Material of each wall."""
        return [self.materials[i] for i in self.wall_polygons]

    @property
    def corners(self) -> NDArray[np.float64]:
        """Corners of the room and all obstacles [m], (n, 2)."""
        return self.walls[:, :2]

    @cached_property
    def free_space(self) -> Polygon:
        """The room minus its obstacles."""
        space = self.room.difference(shapely.union_all(self.obstacles))
        shapely.prepare(space)
        return space

    def is_free(self, points: ArrayLike, clearance: float | None = None) -> NDArray[np.bool_]:
        """Mask (n) of the ``points`` (n, 2) in free space, at least ``clearance`` [m] from every wall."""
        xy = check_points("points", points)
        distance = shapely.distance(shapely.points(xy), self.free_space.boundary)
        far = distance >= (self.clearance if clearance is None else clearance)
        return np.asarray(shapely.contains_xy(self.free_space, xy[:, 0], xy[:, 1]) & far)

    def sample(self, num_points: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw points [m] uniformly from the free space, (num_points, 2)."""
        if num_points < 1:
            raise ValueError(f"Expected 'num_points' in [1, inf), got {num_points!r}")
        x0, y0, x1, y1 = self.room.bounds
        points = np.empty((0, 2))
        for _ in range(_MAX_DRAWS):
            draw = rng.uniform((x0, y0), (x1, y1), size=(2 * num_points, 2))
            points = np.concatenate([points, draw[self.is_free(draw)]])
            if len(points) >= num_points:
                return points[:num_points]
        raise ValueError(f"Expected a room with free space at clearance {self.clearance} m, got {self.room.wkt}")

    def grid(self, num_points: int) -> NDArray[np.float64]:
        """Feasible points [m] of a regular grid over the room's bounding box, ``num_points`` per axis, (n, 2)."""
        if num_points < 1:
            raise ValueError(f"Expected 'num_points' in [1, inf), got {num_points!r}")
        x0, y0, x1, y1 = self.room.bounds
        x, y = np.meshgrid(np.linspace(x0, x1, num_points), np.linspace(y0, y1, num_points), indexing="ij")
        points = np.stack([x.ravel(), y.ravel()], axis=1)
        return points[self.is_free(points)]

    def moved(self, x: float, y: float) -> Layout:
        """The same room translated by ``x`` and ``y`` [m]."""
        room, *obstacles = (affinity.translate(polygon, x, y) for polygon in (self.room, *self.obstacles))
        return replace(self, room=room, obstacles=tuple(obstacles))

    def to_geojson(self, path: str | Path | None = None) -> dict[str, Any]:
        """GeoJSON FeatureCollection of the room and its obstacles, in metres; also written to ``path`` if given."""
        roles = ["room"] + ["obstacle"] * len(self.obstacles)
        features = [
            {
                "type": "Feature",
                "geometry": json.loads(shapely.to_geojson(polygon)),
                "properties": {"role": role, "material": material},
            }
            for polygon, role, material in zip((self.room, *self.obstacles), roles, self.materials, strict=True)
        ]
        collection = {"type": "FeatureCollection", "features": features}
        if path is not None:
            Path(path).write_text(json.dumps(collection, indent=1) + "\n", encoding="utf-8")
        return collection

    @classmethod
    def from_geojson(cls, source: str | Path | dict[str, Any], clearance: float = 0.5) -> Layout:
        """Read a GeoJSON FeatureCollection of polygons in metres, from a file or a dictionary.

        Each feature has the property ``role``, ``room`` for exactly one of them and ``obstacle`` for the others, and
        optionally ``material``, an ITU-R P.2040 name (default: ``concrete``).
        """
        collection = read_json(Path(source)) if isinstance(source, str | Path) else source
        outlines: dict[str, list[tuple[Polygon, str]]] = {"room": [], "obstacle": []}
        for i, polygon, properties in _features(collection):
            role = properties.get("role")
            if role not in list(outlines):  # a list, since role may be unhashable
                raise ValueError(f"Expected 'role' of feature {i} in ['room', 'obstacle'], got {role!r}")
            outlines[role].append((polygon, properties.get("material", "concrete")))
        if len(outlines["room"]) != 1:
            raise ValueError(f"Expected exactly one feature with role 'room', got {len(outlines['room'])}")
        polygons, materials = zip(*outlines["room"], *outlines["obstacle"], strict=True)
        return cls(polygons[0], polygons[1:], materials, clearance)


def read_json(path: Path) -> Any:
    """Contents of a JSON file; raises a ValueError that names the file if it is not valid JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not text, not JSON, or nested too deeply
        raise ValueError(f"Expected GeoJSON in {path}, got invalid JSON: {error}") from error


def _features(collection: Any) -> Iterator[tuple[int, Polygon, dict[str, Any]]]:
    """Index, polygon and properties of each feature."""
    if not isinstance(collection, dict) or not isinstance(collection.get("features"), list):
        raise ValueError("Expected a GeoJSON FeatureCollection, got JSON without a list of 'features'")
    for i, feature in enumerate(collection["features"]):
        geometry = feature.get("geometry") if isinstance(feature, dict) else None
        if not isinstance(geometry, dict) or geometry.get("type") != "Polygon":
            raise ValueError(f"Expected a Polygon in feature {i}, got {reprlib.repr(geometry)}")
        try:
            with np.errstate(invalid="ignore"):  # Layout rejects NaN with a clearer message
                polygon = shapely.geometry.shape(geometry)
        except (KeyError, TypeError, ValueError, IndexError, shapely.GEOSException) as error:
            shown = reprlib.repr(geometry)
            raise ValueError(f"Expected rings of at least three points (x, y) in feature {i}, got {shown}") from error
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise ValueError(f"Expected 'properties' of feature {i} as a JSON object, got {properties!r}")
        yield i, polygon, properties


def check_points(name: str, points: ArrayLike) -> NDArray[np.float64]:
    """Convert ``points`` to a finite float array (n, 2) with n > 0, or raise a ValueError."""
    xy = np.asarray(points, dtype=float)
    if xy.ndim != 2 or xy.shape[1] != 2 or len(xy) == 0:
        raise ValueError(f"Expected '{name}' of shape (n, 2) with n > 0, got {xy.shape}")
    bad = ~np.isfinite(xy).all(axis=1)
    if bad.any():
        raise ValueError(f"Expected finite '{name}', got {xy[bad][0]} at index {int(np.argmax(bad))}")
    return xy


def _clean(polygon: Polygon, name: str, clockwise: bool) -> Polygon:
    """Check a polygon, orient it so that free space is on the left, and remove vertices within straight walls."""
    if not isinstance(polygon, Polygon) or polygon.is_empty:
        raise ValueError(f"Expected '{name}' as a polygon, got {polygon!r}")
    coordinates = shapely.get_coordinates(polygon)
    if not np.isfinite(coordinates).all():
        raise ValueError(f"Expected finite coordinates in '{name}', got {coordinates.tolist()}")
    if polygon.interiors:
        raise ValueError(
            f"Expected '{name}' without holes, got {len(polygon.interiors)}; give each hole as an obstacle"
        )
    if not polygon.is_valid:
        raise ValueError(f"Expected '{name}' as a simple polygon, got {shapely.is_valid_reason(polygon)}")
    oriented = shapely.geometry.polygon.orient(polygon, sign=-1.0 if clockwise else 1.0)
    ring = shapely.get_coordinates(oriented.exterior)[:-1]
    ring = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    straight = np.abs(turn) <= 1e-9 * np.hypot(*before.T) * np.hypot(*after.T)
    return Polygon(ring[~straight])


def _draw_obstacles(rng: np.random.Generator, room: Room) -> tuple[tuple[Polygon, ...], int]:
    """Draw obstacles that keep the required gaps; returns them, possibly too few, and the number of attempts."""
    obstacles: list[Polygon] = []
    tries = 0
    while len(obstacles) < room.num_obstacles and tries < SHAPES_PER_OBSTACLE * room.num_obstacles:
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


def draw_position(layout: Layout, pose: Pose, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a point [m] from the free space, (2), far enough from the receiver for a twin to trace."""
    while True:
        found = away_from(pose, layout.sample(1, rng))
        if len(found):
            return np.asarray(found[0])


def away_from(pose: Pose, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ``points`` (n, 2) that are far enough from the receiver for a twin to trace."""
    return points[np.hypot(points[:, 0] - pose.x, points[:, 1] - pose.y) >= MIN_DISTANCE]
