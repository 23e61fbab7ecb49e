"""The image twin: every specular path in two dimensions, by the image method, in double precision.

Beam tracing first: clipping finds the part of each wall that an image of the receiver illuminates through the previous
wall, which leaves few sequences of walls. Each candidate inside a beam is then traced back to the receiver and its path
checked for blockage.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from locus.room.layout import Layout, Pose
from locus.room.materials import permittivity
from locus.settings.config import SPEED_OF_LIGHT, Radio, TwinOptions
from locus.twin.antenna import element_gain_db
from locus.twin.base import PathArrays, Twin

# mypy does not understand numba's decorator, so the kernels below have no annotations; their docstrings give shapes.
# mypy: disable-error-code="no-untyped-def"

SLACK = 1e-9
"""Tolerance of cross products [m²]: when in doubt, clipping keeps a beam."""


class ImageTwin(Twin):
    """Line of sight and all specular paths of up to ``max_depth`` reflections, by the image method."""

    name = "image"

    def __init__(self, radio: Radio, options: TwinOptions) -> None:
        for switch in ("refraction", "diffraction"):
            if getattr(options, switch):
                raise ValueError(f"Expected '{switch}' False for the image twin, got True; use make_twin('sionna')")
        super().__init__(radio, options)

    def _solve(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        eta = np.array([permittivity(name, self.radio.carrier) for name in layout.wall_materials])
        source = np.array([pose.x, pose.y])
        chains, images, apertures = _beams(layout.walls, source, self.options.max_depth)
        return PathArrays(
            *_paths(
                layout.walls,
                eta,
                self.options.wall_thickness,
                self.radio.wavelength,
                pose.heading,
                candidates,
                chains,
                images,
                apertures,
                self.options.max_paths,
            )
        )


@njit(cache=True)
def slab_reflection(cosine, eta, thickness, wavelength):
    """Reflection coefficient of a slab for TE waves, ITU-R P.2040.

    ``cosine`` is that of the angle of incidence, ``eta`` the complex relative permittivity; ``thickness`` and
    ``wavelength`` are in the same unit.
    """
    s = cmath.sqrt(eta - (1.0 - cosine * cosine))
    r = (cosine - s) / (cosine + s)
    e = cmath.exp(-4j * math.pi * thickness / wavelength * s)
    return r * (1.0 - e) / (1.0 - r * r * e)


@njit(cache=True)
def _cross(ax, ay, bx, by):
    return ax * by - ay * bx


@njit(cache=True)
def _clip(low, high, at_start, at_end):
    """Part of [low, high] on which the linear function with the given values at 0 and 1 is at least -SLACK."""
    at_start += SLACK
    at_end += SLACK
    if at_start < 0.0 and at_end < 0.0:
        return 1.0, 0.0
    if at_start < 0.0:
        low = max(low, at_start / (at_start - at_end))
    elif at_end < 0.0:
        high = min(high, at_start / (at_start - at_end))
    return low, high


@njit(cache=True)
def _lit(walls, wall, image, last, aperture):
    """Part of ``wall``, within [0, 1], that ``image`` illuminates through ``aperture`` of wall ``last`` (-1: none)."""
    ux, uy = walls[wall, 0], walls[wall, 1]
    vx, vy = walls[wall, 2], walls[wall, 3]
    ix, iy = image[0], image[1]
    if wall == last or _cross(vx - ux, vy - uy, ix - ux, iy - uy) <= 0.0:
        return 1.0, 0.0
    if last < 0:
        return 0.0, 1.0
    ax, ay, bx, by = aperture[0], aperture[1], aperture[2], aperture[3]
    px, py, qx, qy = walls[last, 0], walls[last, 1], walls[last, 2], walls[last, 3]
    low, high = 0.0, 1.0
    low, high = _clip(low, high, _cross(qx - px, qy - py, ux - px, uy - py), _cross(qx - px, qy - py, vx - px, vy - py))
    low, high = _clip(low, high, _cross(ux - ix, uy - iy, ax - ix, ay - iy), _cross(vx - ix, vy - iy, ax - ix, ay - iy))
    low, high = _clip(low, high, _cross(bx - ix, by - iy, ux - ix, uy - iy), _cross(bx - ix, by - iy, vx - ix, vy - iy))
    return low, high


@njit(cache=True)
def _beams(walls, source, max_depth):
    """Mirror ``source`` (2) at walls, again and again: find the sequences of walls that can reflect a path from it.

    Returns the walls of each sequence (beam, depth), padded with -1; the images of the source (beam, depth + 1, 2),
    starting with the source itself; and the illuminated part of the last wall (beam, 4): x0, y0, x1, y1.
    """
    capacity = 256
    chains = np.full((capacity, max_depth), -1, dtype=np.int64)
    images = np.zeros((capacity, max_depth + 1, 2))
    apertures = np.zeros((capacity, 4))
    images[0, 0] = source
    count, first = 1, 0
    for depth in range(max_depth):
        end = count
        for beam in range(first, end):
            last = chains[beam, depth - 1] if depth > 0 else -1
            for wall in range(len(walls)):
                low, high = _lit(walls, wall, images[beam, depth], last, apertures[beam])
                if low >= high:
                    continue
                if count == capacity:
                    capacity *= 2
                    chains = np.concatenate((chains, np.full_like(chains, -1)))
                    images = np.concatenate((images, np.zeros_like(images)))
                    apertures = np.concatenate((apertures, np.zeros_like(apertures)))
                ux, uy = walls[wall, 0], walls[wall, 1]
                dx, dy = walls[wall, 2] - ux, walls[wall, 3] - uy
                ix, iy = images[beam, depth, 0], images[beam, depth, 1]
                shift = 2.0 * _cross(dx, dy, ix - ux, iy - uy) / (dx * dx + dy * dy)
                chains[count, :depth] = chains[beam, :depth]
                chains[count, depth] = wall
                images[count, : depth + 1] = images[beam, : depth + 1]
                images[count, depth + 1, 0] = ix + shift * dy
                images[count, depth + 1, 1] = iy - shift * dx
                apertures[count, 0] = ux + low * dx
                apertures[count, 1] = uy + low * dy
                apertures[count, 2] = ux + high * dx
                apertures[count, 3] = uy + high * dy
                count += 1
        first = end
    return chains[:count], images[:count], apertures[:count]


@njit(cache=True)
def _blocked(walls, ax, ay, wall_a, bx, by, wall_b):
    """Whether any wall other than ``wall_a`` and ``wall_b``, on which the end points lie, touches the segment a-b."""
    dx, dy = bx - ax, by - ay
    for w in range(len(walls)):
        if w in (wall_a, wall_b):
            continue
        ux, uy, vx, vy = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
        if _cross(dx, dy, ux - ax, uy - ay) * _cross(dx, dy, vx - ax, vy - ay) > 0.0:
            continue
        ex, ey = vx - ux, vy - uy
        if _cross(ex, ey, ax - ux, ay - uy) * _cross(ex, ey, bx - ux, by - uy) <= 0.0:
            return True
    return False


@njit(cache=True)
def _in_beam(walls, last, image, aperture, x, y):
    """Whether the point (x, y) is visible from ``image`` through ``aperture`` of wall ``last``."""
    ix, iy = image[0], image[1]
    tx, ty = x - ix, y - iy
    if _cross(tx, ty, aperture[0] - ix, aperture[1] - iy) < -SLACK:
        return False
    if _cross(aperture[2] - ix, aperture[3] - iy, tx, ty) < -SLACK:
        return False
    px, py = walls[last, 0], walls[last, 1]
    return _cross(walls[last, 2] - px, walls[last, 3] - py, x - px, y - py) > 0.0


@njit(cache=True)
def _trace_back(walls, chain, order, images, x, y, points):
    """Write the path to (x, y) to ``points``: receiver, bounces, candidate. False if it misses a wall or is blocked."""
    points[0] = images[0]
    points[order + 1, 0], points[order + 1, 1] = x, y
    for bounce in range(order, 0, -1):
        ux, uy, vx, vy = walls[chain[bounce - 1]]
        ax, ay = points[bounce + 1]
        ix, iy = images[bounce]
        ex, ey = vx - ux, vy - uy
        side_a, side_i = _cross(ex, ey, ax - ux, ay - uy), _cross(ex, ey, ix - ux, iy - uy)
        if side_a <= 0.0 or side_i >= 0.0:
            return False
        t = side_a / (side_a - side_i)
        points[bounce, 0], points[bounce, 1] = ax + t * (ix - ax), ay + t * (iy - ay)
        along = (points[bounce, 0] - ux) * ex + (points[bounce, 1] - uy) * ey
        if along < 0.0 or along > ex * ex + ey * ey:
            return False
    for segment in range(order + 1):
        wall_a = chain[segment - 1] if segment > 0 else -1
        wall_b = chain[segment] if segment < order else -1
        (ax, ay), (bx, by) = points[segment], points[segment + 1]
        if _blocked(walls, ax, ay, wall_a, bx, by, wall_b):
            return False
    return True


@njit(cache=True)
def _reflections(walls, eta, thickness, wavelength, chain, order, points):
    """Product of the reflection coefficients along a path."""
    product = 1.0 + 0.0j
    for bounce in range(order):
        ux, uy, vx, vy = walls[chain[bounce]]
        dx, dy = points[bounce + 1] - points[bounce]
        cosine = abs(_cross(vx - ux, vy - uy, dx, dy)) / (math.hypot(vx - ux, vy - uy) * math.hypot(dx, dy))
        product *= slab_reflection(min(cosine, 1.0), eta[chain[bounce]], thickness, wavelength)
    return product


@njit(cache=True)
def _paths(walls, eta, thickness, wavelength, heading, candidates, chains, images, apertures, max_paths):
    """Strongest paths of each candidate: aoa, delay, gain and order, each (candidate, path)."""
    shape = (len(candidates), max_paths)
    aoa, delay = np.zeros(shape), np.zeros(shape)
    gain, order = np.zeros(shape, dtype=np.complex128), np.full(shape, -1, dtype=np.int64)
    orders = np.zeros(len(chains), dtype=np.int64)
    for beam in range(len(chains)):
        orders[beam] = np.sum(chains[beam] >= 0)
    points = np.zeros((chains.shape[1] + 2, 2))
    for c in range(len(candidates)):
        x, y = candidates[c]
        for beam in range(len(chains)):
            n, chain = orders[beam], chains[beam]
            if n > 0 and not _in_beam(walls, chain[n - 1], images[beam, n], apertures[beam], x, y):
                continue
            if not _trace_back(walls, chain, n, images[beam], x, y, points):
                continue
            length = math.hypot(x - images[beam, n, 0], y - images[beam, n, 1])
            dx, dy = points[1] - points[0]
            angle = (math.atan2(dy, dx) - heading + math.pi) % (2.0 * math.pi) - math.pi
            if angle >= math.pi:  # a tiny negative number modulo 2 pi rounds to 2 pi
                angle -= 2.0 * math.pi
            amplitude = wavelength / (4.0 * math.pi * length) * 10.0 ** (element_gain_db(angle) / 20.0)
            # Remove whole turns first, for accuracy: length / wavelength is in the thousands.
            turns = length / wavelength
            value = amplitude * _reflections(walls, eta, thickness, wavelength, chain, n, points)
            value *= cmath.exp(-2j * math.pi * (turns - math.floor(turns)))
            _insert(aoa[c], delay[c], gain[c], order[c], angle, length / SPEED_OF_LIGHT, value, n)
    return aoa, delay, gain, order


@njit(cache=True)
def _insert(aoa, delay, gain, order, new_aoa, new_delay, new_gain, new_order):
    """Insert a path into arrays sorted by decreasing strength, then delay; drop the weakest if they are full."""
    slot = len(gain)
    while slot > 0:
        previous, new = abs(gain[slot - 1]), abs(new_gain)
        if order[slot - 1] >= 0 and (previous > new or (previous == new and delay[slot - 1] <= new_delay)):
            break
        slot -= 1
    if slot == len(gain):
        return
    for i in range(len(gain) - 1, slot, -1):
        aoa[i], delay[i], gain[i], order[i] = aoa[i - 1], delay[i - 1], gain[i - 1], order[i - 1]
    aoa[slot], delay[slot], gain[slot], order[slot] = new_aoa, new_delay, new_gain, new_order
