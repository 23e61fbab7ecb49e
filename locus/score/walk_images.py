r"""Images of the transmitter: traced paths in; how each path's image moves with errors of plan and positions, out.

A path that bounces off the walls 1 (nearest the receiver) to :math:`n` seems to come from the image
:math:`\mathbf I = R_1 \cdots R_n \mathbf x` of the transmitter :math:`\mathbf x`. Reflections are affine, in the point
and in the place of the wall, so the image moves exactly linearly: with :math:`M_k` the linear part of :math:`R_k` and
:math:`\mathbf n_k` the normal of a wall that is displaced by :math:`\delta_k` along it,

.. math:: d\mathbf I = M_1 \cdots M_n\, d\mathbf x + \sum_k 2 \delta_k M_1 \cdots M_{k-1} \mathbf n_k,

and relative to the receiver by :math:`-d\mathbf r` in addition. Only length and angle of :math:`\mathbf I - \mathbf r`
are nonlinear.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from locus.room.layout import Layout
from locus.score.path_arrays import Traced
from locus.twin.rays import wall_chains

# mypy: disable-error-code="no-untyped-def"

HEADING, RECEIVER, TRANSMITTER, PLAN = 0, 1, 3, 5
"""First index of each kind of unknown: heading [rad]; x and y of receiver and transmitter [m]; bodies of the plan."""

MOST_PLAN = 40
"""Largest number of unknowns of a plan: walls of larger plans err independently."""

MISMATCH = 0.05
"""An image whose distance differs by more [m] from the length of the path belongs to another sequence of walls."""

Floats = NDArray[np.float64]


class Bodies(NamedTuple):
    """Rigid bodies of a plan: every obstacle, which moves in two dimensions, and every side of the room, along one."""

    column: NDArray[np.int64]
    """(wall): index of its body's first unknown; 0 if walls err independently."""
    is_side: NDArray[np.bool_]
    """(unknown): whether it is a displacement of one side of the room, along its normal to the left."""


class Images(NamedTuple):
    """Where the images of the candidates are, and how they move; (candidate, path) as in ``Traced``."""

    slope: Floats
    """(candidate, path, 2, unknown): displacement of the image, relative to the receiver."""
    direction: Floats
    """(candidate, path, 2): unit vector towards the image, as the receiver believes."""
    bounces: Floats
    """Number of reflections whose errors are independent of all others."""
    apart: Floats
    """1 if the place of the transmitter in its cell is independent of all other errors, 0 if it is an unknown."""
    chain: NDArray[np.int64]
    """Number of the sequence of walls, the same from every pose; -1 if it is not known."""


def find_bodies(layout: Layout) -> Bodies:
    """Unknowns of a plan; none if there are too many."""
    polygon = layout.wall_polygons
    num_sides = int((polygon == 0).sum())
    if num_sides + 2 * len(layout.obstacles) > MOST_PLAN:
        return Bodies(np.zeros(len(polygon), dtype=np.int64), np.zeros(0, dtype=bool))
    obstacle = PLAN + num_sides + 2 * (polygon - 1)
    column = np.where(polygon == 0, PLAN + np.arange(len(polygon)), obstacle)
    return Bodies(column, np.arange(num_sides + 2 * len(layout.obstacles)) < num_sides)


def find_images(
    layout: Layout, bodies: Bodies, traced: Traced, pose: tuple[float, float, float], position: Floats, known: bool
) -> Images:
    """Images of the candidates at ``position`` (candidate, 2) [m], seen from ``pose`` (x, y, heading).

    A path whose sequence of walls is not found errs independently; so do all paths if the number of bounces is not
    ``known``.
    """
    x, y, heading = pose
    direction = traced.azimuth + heading
    there = np.arange(direction.shape[1]) < traced.num_paths[:, np.newaxis]
    order = np.where(there, traced.order, -1).astype(np.int64)
    chains = wall_chains(layout, x, y, direction.ravel(), order.ravel(), traced.length.ravel())
    chains = chains.reshape(*direction.shape, -1)
    size = PLAN + len(bodies.is_side)
    slope = np.zeros((*direction.shape, 2, size))
    loose = np.ones(direction.shape)
    if known:
        sides = np.concatenate([np.zeros(PLAN, dtype=bool), bodies.is_side])
        _displace(layout.walls, bodies.column, sides, chains, order, traced.length, x, y, position, slope, loose)
    slope[..., 0, RECEIVER], slope[..., 1, RECEIVER + 1] = -1.0, -1.0
    unit = np.stack([np.cos(direction), np.sin(direction)], axis=-1)
    independent = np.ones(direction.shape) if size == PLAN else loose
    digits = (len(layout.walls) + 1) ** np.arange(chains.shape[-1])
    chain = np.where(there & (loose == 0.0), ((chains + 1) * digits).sum(axis=-1), -1)
    return Images(slope, unit, independent * traced.order, loose, chain)


@njit(cache=True)
def _displace(walls, columns, sides, chains, orders, lengths, x, y, positions, slope, loose):
    """Fill in the slopes of transmitter and bodies, and clear ``loose``, where the sequence of walls fits the path."""
    for c in range(orders.shape[0]):
        for j in range(orders.shape[1]):
            order = orders[c, j]
            if order < 0:
                continue
            ix, iy, found = positions[c, 0], positions[c, 1], True
            for bounce in range(order - 1, -1, -1):
                w = chains[c, j, bounce]
                if w < 0:
                    found = False
                    break
                nx, ny = _normal(walls, w)
                away = 2.0 * ((ix - walls[w, 0]) * nx + (iy - walls[w, 1]) * ny)
                ix, iy = ix - away * nx, iy - away * ny
            if not found or abs(math.hypot(ix - x, iy - y) - lengths[c, j]) > MISMATCH:
                continue
            loose[c, j] = 0.0
            a, b, d, e = 1.0, 0.0, 0.0, 1.0  # product of the reflections so far
            for bounce in range(order):
                w = chains[c, j, bounce]
                nx, ny = _normal(walls, w)
                mx, my = a * nx + b * ny, d * nx + e * ny
                column = columns[w]
                if column > 0 and sides[column]:
                    slope[c, j, 0, column] += 2.0 * mx
                    slope[c, j, 1, column] += 2.0 * my
                elif column > 0:
                    for axis, part in ((0, nx), (1, ny)):
                        slope[c, j, 0, column + axis] += 2.0 * part * mx
                        slope[c, j, 1, column + axis] += 2.0 * part * my
                a, b, d, e = a - 2.0 * mx * nx, b - 2.0 * mx * ny, d - 2.0 * my * nx, e - 2.0 * my * ny
            slope[c, j, 0, TRANSMITTER], slope[c, j, 0, TRANSMITTER + 1] = a, b
            slope[c, j, 1, TRANSMITTER], slope[c, j, 1, TRANSMITTER + 1] = d, e


@njit(cache=True)
def _normal(walls, w):
    """Unit normal of a wall, to its left: towards free space."""
    ex, ey = walls[w, 2] - walls[w, 0], walls[w, 3] - walls[w, 1]
    length = math.hypot(ex, ey)
    return -ey / length, ex / length
