"""Rooms drawn at random or read from files: walls, free space, candidate positions and receiver poses."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely import Polygon, affinity

from locus.room.geodesy import Frame, find_frame, to_metres
from locus.room.geojson import features, read_json
from locus.room.materials import check_material
from locus.room.obstacles import draw_obstacles
from locus.settings.checks import check_range
from locus.settings.config import Room
from locus.settings.untrusted import finite_number, short, whole_number

if TYPE_CHECKING:
    from locus.room.polygons import MapError

RECIPE = 1

MIN_DISTANCE = 0.01
"""Minimum distance [m] of candidates and receiver from walls and from each other; Sionna drops shorter segments."""

MAX_GRID, MAX_SAMPLE = 2000, 10**6
"""Largest grid, in points per axis, and largest sample."""
MAX_COORDINATE = 1e9
"""Largest coordinate of a room [m]; those of maps have seven or eight digits."""

_MAX_DRAWS = 10_000
_MAX_POINTS = 5_000_000  # points that a large sample tries before it gives up, within seconds
_MAX_ROOMS = 2000
_MAX_SHAPES = 40_000  # with _MAX_ROOMS: give up on impossible settings after a few seconds


@dataclass(frozen=True)
class Pose:
    r"""Receiver pose :math:`p = (x^r, \phi^r)` of eq. (1): position of antenna 0 [m] and broadside direction [rad]."""

    x: float
    y: float
    heading: float

    def __post_init__(self) -> None:
        for name in ("x", "y", "heading"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name)))
        if not -math.pi <= self.heading < math.pi:
            raise ValueError(f"Expected 'heading' in [-pi, pi), got {self.heading!r}")

    @classmethod
    def random(cls, layout: Layout, rng: np.random.Generator) -> Pose:
        r"""Draw a pose, uniform in the free space of ``layout``, with a heading uniform in :math:`[-\pi, \pi)`."""
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
    frame: Frame | None = field(default=None, compare=False)
    """Where on the Earth the coordinates begin, if the room was read in degrees."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """What was left out or changed when the room was read from a file."""
    map_error: MapError | None = field(default=None, repr=False, compare=False)
    """How far the walls are from those of the map that they were read from, if they were."""

    def __post_init__(self) -> None:
        check_range("clearance", self.clearance, 0.0)
        for name in ("obstacles", "materials"):
            if not isinstance(getattr(self, name), tuple | list):
                raise ValueError(f"Expected '{name}' as a tuple, got {short(getattr(self, name))}")
        materials = self.materials or ("concrete",) * (1 + len(self.obstacles))
        if len(materials) != 1 + len(self.obstacles):
            raise ValueError(
                f"Expected 'materials' with {1 + len(self.obstacles)} names (room, then obstacles), "
                f"got {short(materials)}"
            )
        for name in materials:
            check_material(name)
        room = _clean(self.room, "room", clockwise=False)
        obstacles = tuple(_clean(o, f"obstacles[{i}]", clockwise=True) for i, o in enumerate(self.obstacles))
        tree = shapely.STRtree(obstacles)
        for i, obstacle in enumerate(obstacles):
            if not room.covers(obstacle):
                raise ValueError(f"Expected 'obstacles[{i}]' inside the room, got {short(obstacle.wkt)}")
            for j in sorted(int(other) for other in tree.query(obstacle) if other < i):
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
            obstacles, tries = draw_obstacles(rng, room, room.num_obstacles)
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
        """Mask (n) of the ``points`` (n, 2) in free space, at least ``clearance`` [m] from every wall.

        By default, the clearance is the layout's.
        """
        xy = check_points("points", points)
        distance = shapely.distance(shapely.points(xy), self.free_space.boundary)
        far = distance >= (self.clearance if clearance is None else finite_number("clearance", clearance))
        return np.asarray(shapely.contains_xy(self.free_space, xy[:, 0], xy[:, 1]) & far)

    def sample(self, num_points: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw points [m] uniformly from the free space, (num_points, 2)."""
        num_points = whole_number("num_points", num_points, 1, MAX_SAMPLE)
        x0, y0, x1, y1 = self.room.bounds
        points = np.empty((0, 2))
        most = min(_MAX_DRAWS * (num_points + 1), _MAX_POINTS + 20 * num_points)
        for _ in range(0, most, 2 * num_points):
            draw = rng.uniform((x0, y0), (x1, y1), size=(2 * num_points, 2))
            points = np.concatenate([points, draw[self.is_free(draw)]])
            if len(points) >= num_points:
                return points[:num_points]
        raise ValueError(f"Expected a room with free space at clearance {self.clearance} m, got {short(self.room.wkt)}")

    def grid(self, num_points: int) -> NDArray[np.float64]:
        """Feasible points [m] of a regular grid over the room's bounding box, ``num_points`` per axis, (n, 2)."""
        num_points = whole_number("num_points", num_points, 1, MAX_GRID)
        x0, y0, x1, y1 = self.room.bounds
        x, y = np.meshgrid(np.linspace(x0, x1, num_points), np.linspace(y0, y1, num_points), indexing="ij")
        points = np.stack([x.ravel(), y.ravel()], axis=1)
        return points[self.is_free(points)]

    def moved(self, x: float, y: float) -> Layout:
        """The same room translated by ``x`` and ``y`` [m]."""
        x, y = finite_number("x", x), finite_number("y", y)
        room, *obstacles = (affinity.translate(polygon, x, y) for polygon in (self.room, *self.obstacles))
        frame = self.frame and self.frame.moved(x, y)
        return replace(self, room=room, obstacles=tuple(obstacles), frame=frame)

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
        """Read a GeoJSON FeatureCollection of polygons in metres or degrees, from a file or a dictionary.

        A room narrower than 0.02 in both axes, with coordinates of at most 180 and 89, is in degrees of longitude and
        latitude (RFC 7946), as it would be under 2 cm in metres. It is projected to metres about its middle: ``frame``
        says where that is.

        Each feature has the property ``role``, ``room`` for exactly one of them and ``obstacle`` for the others, and
        optionally ``material``, an ITU-R P.2040 name (default: ``concrete``).
        """
        collection = read_json(Path(source)) if isinstance(source, str | Path) else source
        outlines: dict[str, list[tuple[Polygon, str]]] = {"room": [], "obstacle": []}
        for i, polygon, properties in features(collection):
            role = properties.get("role")
            if role not in list(outlines):  # a list, since role may be unhashable
                raise ValueError(f"Expected 'role' of feature {i} in ['room', 'obstacle'], got {short(role)}")
            outlines[role].append((polygon, properties.get("material", "concrete")))
        if len(outlines["room"]) != 1:
            raise ValueError(f"Expected exactly one feature with role 'room', got {len(outlines['room'])}")
        polygons, materials = zip(*outlines["room"], *outlines["obstacle"], strict=True)
        frame = find_frame(polygons[0])
        if frame is None:
            return cls(polygons[0], polygons[1:], materials, clearance)
        room, *others = (to_metres(polygon, frame) for polygon in polygons)
        return cls(room, tuple(others), materials, clearance, frame, (frame.words,))

    @classmethod
    def from_sionna_scene(cls, source: str | Path, height: float = 1.5, clearance: float = 0.5) -> Layout:
        """Cut a scene of Sionna RT or Mitsuba at the antennas' ``height`` [m], and keep its ITU materials.

        The outermost loop of the cut is the room, others are obstacles (:mod:`locus.room.section`). Floor, ceiling and
        whatever does not reach the height are left out; ``remarks`` says so.

        Args:
            source: the scene's XML file, with its meshes (PLY, OBJ) in the same folder or below.
            height: height of the cut above the scene's origin [m].
            clearance: as in :class:`Layout`.
        """
        from locus.room.scene import read_scene
        from locus.room.section import cut

        if not math.isfinite(height):
            raise ValueError(f"Expected a finite 'height', got {height!r}")
        try:
            (room, *obstacles), materials, remarks = cut(read_scene(Path(source)), height)
            return cls(room, tuple(obstacles), tuple(materials), clearance, remarks=remarks)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from error

    def to_sionna_scene(self, folder: str | Path, wall_height: float = 3.0) -> Path:
        """Write a scene that ``sionna.rt.load_scene`` reads, and return the path of its XML file.

        Walls reach from z = 0 to ``wall_height`` [m]. There is neither floor nor ceiling, since the twins have none:
        with antennas at one height in between, Sionna's solver finds the twins' paths.
        """
        from locus.room.scene import write_scene

        return write_scene(self, Path(folder), wall_height)

    @classmethod
    def from_ros_map(cls, path: str | Path, inside: ArrayLike | None = None, **options: Any) -> Layout:
        """Read the ``map.yaml`` of a ROS map, with its PGM image, and straighten its walls.

        Args:
            path: the YAML file.
            inside: a point (2) [m] in the free space that is meant; by default the largest connected part.
            options: further arguments of :func:`locus.room.polygons.layout_of`, such as ``max_walls``.

        Returns:
            Layout in the map's coordinates; ``map_error`` says how far its walls are from the map's, in words in
            ``remarks``.
        """
        from locus.room.polygons import layout_of
        from locus.room.ros_map import read_ros_map

        grid = read_ros_map(path)
        try:
            layout = layout_of(grid, inside, **options)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return replace(layout, remarks=(*grid.remarks, str(layout.map_error)))


def check_points(name: str, points: ArrayLike) -> NDArray[np.float64]:
    """Convert ``points`` to a finite float array (n, 2) with n > 0, or raise a ValueError."""
    try:
        array = np.asarray(points)
        if array.dtype.kind not in "iufO" or array.nbytes == 0:
            raise TypeError
        xy = array.astype(float)
    except (TypeError, ValueError, OverflowError):  # complex, text, ragged, or numbers beyond a float
        raise ValueError(f"Expected '{name}' of shape (n, 2) with n > 0, real numbers, got {short(points)}") from None
    if xy.ndim != 2 or xy.shape[1] != 2 or len(xy) == 0:
        raise ValueError(f"Expected '{name}' of shape (n, 2) with n > 0, got {xy.shape}")
    bad = ~np.isfinite(xy).all(axis=1)
    if bad.any():
        raise ValueError(f"Expected finite '{name}', got {xy[bad][0]} at index {int(np.argmax(bad))}")
    return xy


def _clean(polygon: Polygon, name: str, clockwise: bool) -> Polygon:
    """Check a polygon, orient it so that free space is on the left, and remove vertices within straight walls."""
    if not isinstance(polygon, Polygon) or polygon.is_empty:
        raise ValueError(f"Expected '{name}' as a polygon, got {short(polygon)}")
    coordinates = shapely.get_coordinates(polygon)
    bad = ~(np.abs(coordinates) <= MAX_COORDINATE).all(axis=1)
    if bad.any():
        raise ValueError(
            f"Expected finite coordinates in '{name}', within {MAX_COORDINATE:g} m, got {coordinates[bad][0]} "
            f"at vertex {int(np.argmax(bad))}"
        )
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


def draw_position(layout: Layout, pose: Pose, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a point [m] from the free space, (2), far enough from the receiver for a twin to trace."""
    for _ in range(_MAX_DRAWS):
        found = away_from(pose, layout.sample(1, rng))
        if len(found):
            return np.asarray(found[0])
    raise ValueError(f"Expected free space farther than {MIN_DISTANCE} m from the receiver, got none")


def away_from(pose: Pose, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ``points`` (n, 2) that are far enough from the receiver for a twin to trace."""
    return points[np.hypot(points[:, 0] - pose.x, points[:, 1] - pose.y) >= MIN_DISTANCE]
