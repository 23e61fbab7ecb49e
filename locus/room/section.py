"""A horizontal section: surfaces of a scene and a height in, outlines of the room and its obstacles out.

Where triangles cross the plane they leave segments, which are chained into loops. The outermost loop is the room, or
the loop inside it that follows it within 1 m, if walls are solid; the others are obstacles. Where no loop encloses all
others, as with four walls that are boxes, the room is the largest hole between them. A cut that stays open, such as
that of a sheet, becomes a wall 2 cm thick.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import LineString, Polygon

from locus.room.materials import check_material
from locus.room.scene import Surface

SHEET = 0.02
"""Thickness of walls that are only sheets in the scene [m]."""
THICKEST = 1.0
"""Largest distance [m] between outer and inner face of the walls round a room."""

_JOINED = 1e-4  # [m], points closer than this are one
_STRAIGHT = 2e-4  # [m], corners that stand out less than this are none
_LEANS = 0.01  # vertical part of a wall's normal above which it leans noticeably: 0.6 degrees
_LEAST = 1e-4  # [m²], smaller outlines are rounding errors
_MAX_SEGMENTS = 20_000


class Section(NamedTuple):
    """Outlines and materials of a room, then of its obstacles, and remarks on what was left out or changed."""

    polygons: list[Polygon]
    materials: list[str]
    remarks: tuple[str, ...]


class _Piece(NamedTuple):
    polygon: Any
    """A polygon, or a line where it is open."""
    material: str


class _Chained(NamedTuple):
    loops: list[_Piece]
    sheets: list[_Piece]


_Line = tuple[LineString, str]  # with its material


def cut(surfaces: list[Surface], height: float) -> Section:
    """Cut a scene at ``height`` [m] above its origin.

    Raises:
        ValueError: nothing is cut there, no walls enclose a room, or a wall has no ITU material.
    """
    segments, owners, leaning = _segments(surfaces, height)
    remarks = _left_out(surfaces, height)
    if leaning:
        remarks.append(f"{leaning} of {len(segments)} cut faces lean; they are taken to be vertical")
    loops, sheets = _chain(segments, owners, [surface.material or "" for surface in surfaces])
    room, obstacles, solid = _enclose(loops, height)
    if solid:
        remarks.append("the walls round the room are solid: their inner faces are the room")
    thin = [_Piece(part, piece.material) for piece in sheets for part in _thicken(piece.polygon)]
    if thin:
        many = f"{len(sheets)} open cuts" if len(sheets) > 1 else "an open cut"
        remarks.append(f"{many} became {'walls' if len(sheets) > 1 else 'a wall'} {100 * SHEET:g} cm thick")
    obstacles = _apart([*obstacles, *thin], room.polygon)
    pieces = [room, *obstacles]
    return Section([_straighten(one.polygon) for one in pieces], [one.material for one in pieces], tuple(remarks))


def _segments(surfaces: list[Surface], height: float) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Segments (n, 2, 2) in the plane, the surface that each is of (n), and how many belong to leaning faces."""
    found, owners, leaning = [], list[int](), 0
    for i, (name, material, mesh) in enumerate(surfaces):
        corners = mesh.vertices[mesh.faces]  # (face, corner, 3)
        above = corners[:, :, 2] >= height  # a corner in the plane counts as above, in all of its faces
        crossed = above.any(axis=1) & ~above.all(axis=1)
        if not crossed.any():
            continue
        if material is None:
            raise ValueError(f"Expected an ITU material of the shape {name[:60]!r}, which is cut, got another one")
        check_material(material)
        part = _crossings(corners[crossed], above[crossed], height)
        first, second, third = corners[crossed].transpose(1, 0, 2)
        normal = np.cross(second - first, third - first)
        leaning += int((np.abs(normal[:, 2]) > _LEANS * np.linalg.norm(normal, axis=1)).sum())
        found.append(part)
        owners += [i] * len(part)
        if len(owners) > _MAX_SEGMENTS:
            raise ValueError(f"Expected at most {_MAX_SEGMENTS:,} faces cut at {height:g} m, got more")
    if not found:
        low, high = (function([s.mesh.vertices[:, 2] for s in surfaces if len(s.mesh.vertices)]) for function in _RANGE)
        raise ValueError(f"Expected walls at a height of {height:g} m, got a scene from {low:.4g} to {high:.4g} m")
    return np.concatenate(found), np.array(owners), leaning


_RANGE: tuple[Any, Any] = (
    lambda parts: min((part.min() for part in parts), default=np.nan),
    lambda parts: max((part.max() for part in parts), default=np.nan),
)


def _crossings(corners: NDArray[np.float64], above: NDArray[np.bool_], height: float) -> NDArray[np.float64]:
    """Where two edges of each triangle cross the plane, (face, 2, 2)."""
    alone = np.where(above.sum(axis=1, keepdims=True) == 1, above, ~above).argmax(axis=1)  # on its side of the plane
    row = np.arange(len(corners))
    apex = corners[row, alone]
    ends = []
    for turn in (1, 2):
        other = corners[row, (alone + turn) % 3]
        lower = above[row, alone, np.newaxis]
        low, high = np.where(lower, other, apex), np.where(lower, apex, other)  # the same for both faces of an edge
        share = (height - low[:, 2]) / (high[:, 2] - low[:, 2])
        ends.append(low[:, :2] + share[:, np.newaxis] * (high[:, :2] - low[:, :2]))
    return np.stack(ends, axis=1)


def _left_out(surfaces: list[Surface], height: float) -> list[str]:
    """What lies flat above or below the plane, in words."""
    flat = below = above = 0
    for surface in surfaces:
        z = surface.mesh.vertices[surface.mesh.faces][:, :, 2]
        level = z.max(axis=1) - z.min(axis=1) < _JOINED
        below, above = below + int((level & (z[:, 0] < height)).sum()), above + int((level & (z[:, 0] >= height)).sum())
        flat += int((surface.mesh.vertices[:, 2] >= height).all() or (surface.mesh.vertices[:, 2] < height).all())
    floors = [name for name, count in (("floor", below), ("ceiling", above)) if count]
    said = [f"{' and '.join(floors)} left out: the twins are plans"] if floors else []
    return said + ([f"{flat} of {len(surfaces)} shapes do not reach {height:g} m and are left out"] if flat else [])


def _chain(segments: NDArray[np.float64], owners: NDArray[np.int64], materials: list[str]) -> _Chained:
    """Loops, as polygons, and what stays open, as lines; ``owners`` says which surface each segment is of.

    Loops of one surface first: what touches a wall is still a solid of its own. Then those that several surfaces form.
    """
    keys = np.round(segments.reshape(-1, 2) / _JOINED)
    _, first, joined = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    points, ends = segments.reshape(-1, 2)[first], np.sort(joined.reshape(-1, 2), axis=1)
    loops, sheets, shared = list[_Piece](), list[_Piece](), list[_Line]()
    for owner, material in enumerate(materials):
        pairs = np.unique(ends[(owners == owner) & (ends[:, 0] != ends[:, 1])], axis=0)
        for group in _connected([(LineString(points[pair]), material) for pair in pairs]):
            corners = np.unique(np.concatenate([line.coords for line, _ in group]), axis=0, return_counts=True)[1]
            if (corners % 2 == 0).all():
                loops += _faces(group)[0]
            else:
                shared += group
    for group in _connected(shared):
        closed, rest = _faces(group)
        loops, sheets = loops + closed, sheets + rest
    return _Chained(loops, sheets)


def _faces(group: list[_Line]) -> _Chained:
    """Outlines of what connected lines enclose, and the lines that are on none."""
    noded = shapely.unary_union([line for line, _ in group])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(noded).tolist()))
    outline = shapely.union_all([face for face in faces if face.area > _LEAST])
    rings = [ring for polygon in _polygons(outline) for ring in (polygon.exterior, *polygon.interiors)]
    rest = noded if outline.is_empty else shapely.difference(noded, outline.boundary.buffer(_JOINED))
    lines = [line for line in shapely.get_parts(shapely.line_merge(rest)) if line.length > SHEET]
    return _Chained(
        [_Piece(Polygon(ring), _mostly(ring, group)) for ring in rings],
        [_Piece(line, _mostly(line, group)) for line in lines],
    )


def _connected(lines: list[_Line]) -> list[list[_Line]]:
    """Groups of lines that touch each other."""
    if not lines:
        return []
    shapes = [line for line, _ in lines]
    one, other = shapely.STRtree(shapes).query(shapes, predicate="dwithin", distance=_JOINED)
    group = np.arange(len(lines))
    while True:  # labels spread along chains; halving paths makes that fast
        least = group.copy()
        np.minimum.at(least, one, group[other])
        least = least[least]
        if (least == group).all():
            break
        group = least
    found: dict[int, list[_Line]] = defaultdict(list)
    for label, line in zip(group.tolist(), lines, strict=True):
        found[label].append(line)
    return list(found.values())


def _mostly(ring: Any, lines: list[_Line]) -> str:
    """Material of the largest part of a line."""
    names = sorted({material for _, material in lines})
    if len(names) == 1:
        return names[0]
    near = ring.buffer(_JOINED)
    lengths = {
        name: sum(line.intersection(near).length for line, material in lines if material == name) for name in names
    }
    return max(names, key=lambda name: lengths[name])


def _enclose(loops: list[_Piece], height: float) -> tuple[_Piece, list[_Piece], bool]:
    """The room, the loops in it, and whether the walls round it are solid."""
    missing = f"Expected walls that enclose a room at a height of {height:g} m, got none"
    if not loops:
        raise ValueError(missing)
    outer = max(loops, key=lambda loop: loop.polygon.area)
    others = [loop for loop in loops if loop is not outer]
    reach = outer.polygon.buffer(_JOINED)
    if all(reach.covers(loop.polygon) for loop in others):
        rings = [loop for loop in others if _follows(loop.polygon, outer.polygon)]
        room = min(rings, key=lambda loop: loop.polygon.area) if rings else outer
        return room, [loop for loop in others if not any(loop is ring for ring in rings)], bool(rings)
    union = shapely.union_all([loop.polygon for loop in loops])
    holes = [Polygon(ring) for part in _polygons(union) for ring in part.interiors]
    if not holes:
        raise ValueError(f"{missing}: {len(loops)} outlines beside each other")
    hole = max(holes, key=lambda polygon: polygon.area)
    lines = [(loop.polygon.exterior, loop.material) for loop in loops]
    inside = [loop for loop in loops if hole.buffer(_JOINED).covers(loop.polygon)]
    return _Piece(hole, _mostly(hole.exterior, lines)), inside, True


def _follows(inner: Polygon, outer: Polygon) -> bool:
    """Whether a loop lies along another one, as the two faces of a wall."""
    return bool(shapely.hausdorff_distance(inner.exterior, outer.exterior, densify=0.1) <= THICKEST)


def _thicken(line: Any) -> list[Polygon]:
    return _polygons(line.buffer(SHEET / 2, cap_style="flat", join_style="mitre"))


def _apart(pieces: list[_Piece], room: Polygon) -> list[_Piece]:
    """Pieces within the room; those that overlap become one, of the larger one's material."""
    result: list[_Piece] = []
    for piece in pieces:
        for part in _polygons(shapely.intersection(piece.polygon, room)):
            polygon, material = Polygon(part.exterior), piece.material
            for other in [one for one in result if one.polygon.intersection(polygon).area > 1e-9]:
                result = [one for one in result if one is not other]
                material = other.material if other.polygon.area > polygon.area else material
                union = _polygons(shapely.union(other.polygon, polygon))
                polygon = Polygon(max(union, key=lambda one: one.area).exterior)
            result.append(_Piece(polygon, material))
    return result


def _polygons(shape: Any) -> list[Polygon]:
    parts = shapely.get_parts(shape).tolist() if not shape.is_empty else []
    return [part for part in parts if isinstance(part, Polygon) and part.area > _LEAST]


def _straighten(polygon: Polygon) -> Polygon:
    """The outline without points within straight walls, such as where two triangles of a wall meet."""
    ring = shapely.get_coordinates(polygon.exterior)[:-1]
    start = int(np.hypot(*(ring - ring.mean(axis=0)).T).argmax())  # surely a corner
    ring = np.roll(ring, -start, axis=0)
    return Polygon(LineString([*ring, ring[0]]).simplify(_STRAIGHT))
