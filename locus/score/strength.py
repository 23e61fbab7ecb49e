r"""Strength of a detected path: its energy, as the twin predicts it, in; density and detection probability out.

Energies are those after coherent integration over all :math:`N` samples and :math:`M` antennas, in units of the noise:
:math:`N M` times the SNR. The estimator maximises over angle and delay, so for a path of energy :math:`E` it finds an
energy :math:`x` such that :math:`2 x` is noncentral chi-square with four degrees of freedom, not two, and noncentrality
:math:`2 E`:

.. math::

    f(x \mid E) &= \sqrt{x / E}\; e^{-x - E} I_1(2 \sqrt{x E}), \\
    P(x > T \mid E) &= Q_2(\sqrt{2 E}, \sqrt{2 T}),

with Marcum's :math:`Q` function. An uncertain amplitude widens the distribution: :math:`x = v y`, where :math:`y` is
distributed like :math:`x`, but for the energy :math:`(E + 2) / v - 2`. The mean stays :math:`E + 2`, the variance of
:math:`\sqrt x` grows from :math:`1/2` to about :math:`v / 2`, and both functions keep their form.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

# mypy: disable-error-code="no-untyped-def"

BEND = 8.0
r"""In the table of detection, centre :math:`a` is at :math:`a / (a + \mathtt{BEND})` of the rows, so that a few rows
reach from 0 to infinity."""
ROWS, REACH, STEPS = 128, 5.0, 20
"""Number of rows of the table of detection, largest distance from the centre that it covers, and entries per unit of
this distance."""
FINE = 16
"""Integration steps per entry of the table of detection."""


@njit(cache=True, fastmath=True)
def bessel_over(z):
    r""":math:`e^{-z} I_1(z) / z` for :math:`z \ge 0`, relative error below :math:`10^{-6}`.

    From Abramowitz and Stegun 9.8.3 and 9.8.4.
    """
    if z < 3.75:
        t = z * z * (1 / 14.0625)
        value = 0.00301532 + t * 0.00032411
        value = 0.5 + t * (0.87890594 + t * (0.51498869 + t * (0.15084934 + t * (0.02658733 + t * value))))
        return value * math.exp(-z)
    t = 3.75 / z
    value = 0.02282967 + t * (-0.02895312 + t * (0.01787654 - t * 0.00420059))
    value = 0.39894228 + t * (-0.03988024 + t * (-0.00362018 + t * (0.00163801 + t * (-0.01031555 + t * value))))
    return value / (z * math.sqrt(z))


@njit(cache=True, fastmath=True)
def shape(root_energy, gain_variance):
    r"""Centre :math:`\sqrt{(E + 2) / v - 2}` of the root of a path's strength, at least 0, and :math:`1 / \sqrt v`.

    ``root_energy`` is :math:`\sqrt E`, and :math:`v = 1 + 2 g E` with ``gain_variance`` :math:`g`, the variance of the
    relative error of the amplitude.
    """
    energy = root_energy * root_energy
    widening = 1.0 + 2.0 * gain_variance * energy
    return math.sqrt(max((energy + 2.0) / widening - 2.0, 0.0)), 1.0 / math.sqrt(widening)


@njit(cache=True, fastmath=True)
def density(y, centre, inverse):
    r"""Density of the strength :math:`x = (y / \text{inverse})^2`, divided by :math:`e^{-(y - \text{centre})^2}`.

    Arguments are as from :func:`shape`.
    """
    return 2.0 * (y * inverse) ** 2 * bessel_over(2.0 * y * centre)


@njit(cache=True, fastmath=True)
def detection(table, root_threshold, centre, inverse):
    """Probability that the strength exceeds the square of ``root_threshold``, from :func:`detection_table`."""
    column = (root_threshold * inverse - centre + REACH) * STEPS
    if column <= 0.0:
        return 1.0
    last = table.shape[1] - 1
    if column >= last:
        return 0.0
    row = centre / (centre + BEND) * ROWS
    r, c = min(int(row), ROWS - 2), int(column)
    down, right = min(row - r, 1.0), column - c
    above = table[r, c] + right * (table[r, c + 1] - table[r, c])
    below = table[r + 1, c] + right * (table[r + 1, c + 1] - table[r + 1, c])
    return above + down * (below - above)


@functools.cache
def detection_table() -> NDArray[np.float64]:
    r"""Table (centre, distance) of :math:`P(\sqrt x > \text{centre} + \text{distance})`, from the density."""
    centres = BEND * np.arange(ROWS) / (ROWS - np.arange(ROWS))
    fine = np.arange(-REACH * STEPS * FINE, REACH * STEPS * FINE + 1) / (STEPS * FINE)
    return np.array([_exceeded(centre, fine) for centre in centres])


@njit(cache=True)
def _exceeded(centre, distances):
    """Probability that a root exceeds every 16th of the evenly spaced ``distances`` from its centre."""
    step = distances[1] - distances[0]
    result = np.zeros((len(distances) - 1) // FINE + 1)
    total, before = 0.0, 0.0
    for i in range(len(distances) - 1, -1, -1):
        root = max(centre + distances[i], 0.0)
        now = 2.0 * root * density(root, centre, 1.0) * math.exp(-((root - centre) ** 2))
        total += step * (now + before) / 2.0
        before = now
        if i % FINE == 0:
            result[i // FINE] = min(total, 1.0)
    return result
