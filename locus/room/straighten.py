"""Straightening: a ring of points along walls in; the corners of the few straight walls that they lie on, out."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import KDTree

Floats = NDArray[np.float64]

SNAP = np.radians(6.0)
"""Largest angle by which a wall is turned to be parallel to others [rad]."""
SHIFT = 0.5
"""Largest distance by which the ends of a wall may move in this turn [cells]."""

_BOTH = ("points", "hits")
_FRONT = 0.4  # weight of the ring, which runs through the hits in front, so too near on slanted walls; hits are too far
_NEAR = 1.5  # distance of a hit from the ring that it belongs to [cells]
_CORNER = 3  # points beside a corner that may belong to the next wall
_QUARTER = np.pi / 2
_NUM_BINS = 180  # of directions, half a degree each
_FAMILY = 0.15  # share of the length of all walls that lies along one pair of perpendicular directions, at least
_STEEP = np.radians(20.0)  # walls that meet at a smaller angle have no well-defined corner
_BEVEL = 3.0  # distance of a bevel from the corner that it cuts off, relative to the tolerance
_FAR = 4.0  # distance of a corner from where it was, relative to the tolerance, at which lines do not meet in it


class Run(NamedTuple):
    """Consecutive points of a ring that lie along one wall."""

    points: Floats
    """Points (n, 2) of the ring, without those at corners."""
    hits: Floats
    """Hits (n, 2) near these points."""
    ends: Floats
    """First and last corner of the unstraightened wall, (2, 2)."""
    angle: float
    """Direction of the line through the points, modulo half a turn [rad]."""

    @property
    def length(self) -> float:
        """Length of the wall [cells]."""
        return float(np.hypot(*(self.ends[1] - self.ends[0])))


class Line(NamedTuple):
    """An infinite line: the points whose product with ``normal`` is ``offset``."""

    normal: Floats
    """Unit normal (2)."""
    offset: float
    """Distance from the origin [cells], along the normal."""


def split(ring: Floats, tolerance: float, hits: Floats) -> list[Run]:
    """Split a closed ring (n, 2) into runs that stay within ``tolerance`` of a straight line (Douglas and Peucker).

    A run also gets those of the ``hits`` (n, 2) that are near its points.
    """
    start = int(np.hypot(*(ring - ring.mean(axis=0)).T).argmax())  # a corner, since both ends of a line stay
    points = np.concatenate([ring[start:], ring[: start + 1]])
    halfway = int(np.hypot(*(points - points[0]).T).argmax())
    corners: list[int] = []
    for first, last in ((0, halfway), (halfway, len(points) - 1)):
        numbered = np.column_stack([points[first : last + 1], np.arange(first, last + 1)])
        kept = shapely.LineString(numbered).simplify(tolerance, preserve_topology=False)
        corners += shapely.get_coordinates(kept, include_z=True)[:-1, 2].astype(int).tolist()
    corners.append(len(points) - 1)
    distance, nearest = KDTree(points).query(hits, distance_upper_bound=_NEAR)
    order = np.argsort(nearest, kind="stable")[: np.count_nonzero(np.isfinite(distance))]  # the others come last
    hits, nearest = hits[order], nearest[order]
    runs = []
    for first, last in itertools.pairwise(corners):
        trim = min((last - first) // 4, _CORNER)
        inner = first + trim, last - trim + 1
        own = hits[slice(*np.searchsorted(nearest, inner))]
        runs.append(_run(points[slice(*inner)], own, points[[first, last]]))
    return runs


def _run(points: Floats, hits: Floats, ends: Floats) -> Run:
    """A run, with the direction of the largest variance of its points and hits."""
    both = np.concatenate([points, hits])
    x, y = (both - both.mean(axis=0)).T
    across, along = 2 * float(x @ y), float(x @ x - y @ y)
    if np.hypot(across, along) < 1e-9:
        (x0, y0), (x1, y1) = ends
        return Run(points, hits, ends, float(np.arctan2(y1 - y0, x1 - x0)))
    return Run(points, hits, ends, float(np.arctan2(across, along) / 2))


def directions(runs: list[Run]) -> Floats:
    """Main directions of walls, modulo a quarter turn [rad]: peaks of a histogram weighted with lengths, (n)."""
    angles, lengths = np.array([one.angle for one in runs]) % _QUARTER, np.array([one.length for one in runs])
    found: list[float] = []
    least = _FAMILY * lengths.sum()
    reach = round(SNAP / 2 / _QUARTER * _NUM_BINS)
    while lengths.sum() > least:
        bins = np.minimum((angles / _QUARTER * _NUM_BINS).astype(int), _NUM_BINS - 1)
        histogram = np.bincount(bins, lengths, minlength=_NUM_BINS)
        smooth = np.sum([np.roll(histogram, step) for step in range(-reach, reach + 1)], axis=0)
        best = int(np.argmax(smooth))
        if smooth[best] < least:
            break
        peak = (best + 0.5) / _NUM_BINS * _QUARTER
        for _ in range(3):  # the mean of what is near moves what is near
            close = np.abs(_difference(angles, peak)) < SNAP
            squared = lengths[close] ** 2  # a long wall tells its direction more precisely
            peak += float((squared * _difference(angles[close], peak)).sum() / squared.sum())
        found.append(peak % _QUARTER)
        left = np.abs(_difference(angles, peak)) >= SNAP
        angles, lengths = angles[left], lengths[left]
    return np.array(found)


def _difference(angle: Floats | float, other: Floats | float) -> Floats:
    """Signed difference of directions, modulo a quarter turn."""
    return np.asarray((angle - other + _QUARTER / 2) % _QUARTER - _QUARTER / 2)


def corners(runs: list[Run], main: Floats, tolerance: float) -> Floats:
    """Corners (n, 2) of the walls that the runs of one ring lie on.

    Walls are turned to the main directions, or to the ring's own, if these are near; neighbours on one line are
    joined, and parallel ones connected by a step.
    """
    own = directions(runs)
    known = np.concatenate([main, [one for one in own if not (np.abs(_difference(main, one)) < SNAP).any()]])
    walls = _without_bevels(_joined(runs, known, tolerance), tolerance)
    found: list[Floats] = []
    for (line, run), (after, _) in zip(walls, walls[1:] + walls[:1], strict=True):
        corner = run.ends[1]
        if abs(line.normal @ after.normal) > 1 - 1e-9:
            found += [corner - (corner @ one.normal - one.offset) * one.normal for one in (line, after)]
        else:
            met = _meeting(line, after)
            near = met is not None and np.hypot(*(met - corner)) < _FAR * tolerance
            found.append(met if met is not None and near else corner)
    return np.array(found)


def _meeting(line: Line, other: Line) -> Floats | None:
    """Point (2) in which two lines meet; None if they meet at a small angle."""
    (a, b), (c, d) = line.normal, other.normal
    across = a * d - b * c
    if abs(across) < np.sin(_STEEP):
        return None
    point = np.array([line.offset * d - other.offset * b, other.offset * a - line.offset * c])
    return np.asarray(point / across)


def _without_bevels(walls: list[tuple[Line, Run]], tolerance: float) -> list[tuple[Line, Run]]:
    """Leave out short walls where their neighbours meet close by: cells cut corners off."""
    kept = list(walls)
    at = 0
    while at < len(kept) and len(kept) > 3:
        (before, _), (_, run), (after, _) = kept[at - 1], kept[at], kept[(at + 1) % len(kept)]
        met = _meeting(before, after)
        if met is not None and max(np.hypot(*(met - run.ends).T)) < _BEVEL * tolerance:
            corner = kept[at - 1][1]
            kept[at - 1] = before, corner._replace(ends=np.stack([corner.ends[0], met]))
            del kept[at]
        else:
            at += 1
    return kept


def _joined(runs: list[Run], known: Floats, tolerance: float) -> list[tuple[Line, Run]]:
    """Lines and runs, after neighbouring runs that lie on one line, within the tolerance, were joined."""
    walls = [(_line(one, known), one) for one in runs]
    at = 0
    while at < len(walls) and len(walls) > 3:
        after = (at + 1) % len(walls)
        (line, run), (other, further) = walls[at], walls[after]
        same_way = float(line.normal @ other.normal)
        parallel = abs(same_way) > 1 - 1e-9 and abs(line.offset - np.sign(same_way) * other.offset) < tolerance
        if parallel and np.diff(run.ends, axis=0)[0] @ np.diff(further.ends, axis=0)[0] > 0:  # not back again
            points, hits = (np.concatenate([getattr(one, name) for one in (run, further)]) for name in _BOTH)
            joined = _run(points, hits, np.stack([run.ends[0], further.ends[1]]))
            walls[at] = _line(joined, known), joined
            del walls[after]
            at = max(at - 1, 0)
        else:
            at += 1
    return walls


def _line(run: Run, known: Floats) -> Line:
    """Line along a run, turned to the nearest known direction if it is near."""
    angle = run.angle
    if len(known):
        turns = _difference(known, angle)
        turn = turns[np.abs(turns).argmin()]
        if abs(turn) < SNAP and run.length / 2 * np.sin(abs(turn)) < SHIFT:
            angle += turn
    normal = np.array([-np.sin(angle), np.cos(angle)])
    offset = float(np.median(run.points @ normal))
    if len(run.hits):
        offset += (1 - _FRONT) * (float(np.median(run.hits @ normal)) - offset)
    return Line(normal, offset)
