r"""Soft detection: what reported paths leave of a snapshot, in; how well it fits a candidate's unreported paths, out.

The likelihood of path sets otherwise knows of an unreported path only that its energy was below the threshold. If the
twin says exactly where a path would be, the matched filter's power :math:`P` at that place tells more. A path of energy
:math:`E` and unknown phase makes :math:`P` more probable than noise alone does by the factor
:math:`e^{-E} I_0(2 \sqrt{E P})`.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numba import njit
from numpy.typing import NDArray

from locus.score.path_offsets import between
from locus.score.path_rows import DELAY, DELAY_VARIANCE, MISS, ODDS, SINE, SINE_VARIANCE, WEAKNESS
from locus.settings.config import Radio
from locus.settings.untrusted import short

# mypy: disable-error-code="no-untyped-def"

PADDING = 4
"""Grid points per resolution cell."""
MOST_POINTS = 2**20
"""Largest number of grid points per snapshot; radios that need more go without soft detection."""
NEAR = 0.6
"""Distance from a reported path [resolution cells] within which what is left tells nothing: subtracting that path may
have taken the energy of an unreported one, too."""
MOST_POWER = 12.0
"""Largest power, relative to the noise, that speaks for a path: strong paths that fit badly leave more."""
LARGEST = 1e100
"""Largest factor of all paths together."""
SHARPEST = 0.2
"""Largest standard deviation of a place [resolution cells] at which it is worth looking."""


def left_over(observed: xr.Dataset, radio: Radio) -> NDArray[np.float32]:
    """Matched-filter power (snapshot, delay, sine) of the residuals, relative to the noise; empty if there are none.

    Raises:
        ValueError: ``residual`` has the wrong dimensions or type, or is not finite.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    num_snapshots = observed.sizes["snapshot"]
    if "residual" not in observed or PADDING**2 * n * m > MOST_POINTS:
        return np.empty((num_snapshots, 0, 0), dtype=np.float32)
    residual = observed.residual
    if residual.shape != (num_snapshots, n, m) or residual.dtype.kind != "c" or not np.isfinite(residual.values).all():
        raise ValueError(
            f"Expected 'residual' of 'observed' as finite complex numbers {(num_snapshots, n, m)}, "
            f"got {short(residual.values)}; drop it, or estimate the paths with this radio"
        )
    surface = np.fft.ifft2(residual.values, (PADDING * n, PADDING * m), axes=(1, 2), norm="forward")
    return np.asarray(np.abs(surface) ** 2 / (n * m), dtype=np.float32)


@njit(cache=True, fastmath=True)
def bessel_zero(z):
    r""":math:`e^{-z} I_0(z)` for :math:`z \ge 0`, relative error below :math:`10^{-6}`.

    From Abramowitz and Stegun 9.8.1 and 9.8.2.
    """
    if z < 3.75:
        t = z * z * (1 / 14.0625)
        value = 0.2659732 + t * (0.0360768 + t * 0.0045813)
        value = 1.0 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492 + t * value)))
        return value * math.exp(-z)
    t = 3.75 / z
    value = -0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377))
    value = 0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * (0.00916281 + t * value))))
    return value / math.sqrt(z)


@njit(cache=True, fastmath=True)
def unreported(paths, num_traced, seen, s, offset, widths):
    """Factor by which the residual changes the probability that paths are unreported, at one sync offset."""
    cells = seen.left_over.shape[2] / (2.0 * PADDING)  # resolution cells per unit of the sine
    factor = 1.0
    for j in range(num_traced):
        sine, delay = paths[SINE, j], paths[DELAY, j] - offset
        if max(paths[DELAY_VARIANCE, j], paths[SINE_VARIANCE, j] * cells * cells) > SHARPEST * SHARPEST:
            continue
        near = False
        for q in range(seen.num_paths[s]):
            apart = abs(between(sine - seen.sine[s, q], 2.0)) * cells
            near = near or (apart < NEAR and abs(between(delay - seen.delay[s, q], widths.period)) < NEAR)
        if near:
            continue
        power = _look_up(seen.left_over[s], delay * PADDING, sine * cells * PADDING)
        power = min(power, seen.root_threshold[s] ** 2, MOST_POWER)
        root, found = 1.0 / paths[WEAKNESS, j], math.sqrt(power)
        odds = math.exp(found * found - (root - found) ** 2) * bessel_zero(2.0 * root * found)
        miss = paths[MISS, j]
        factor = min(factor * paths[ODDS, j] * (miss / (1.0 - miss) + odds), LARGEST)
    return factor


@njit(cache=True, fastmath=True)
def _look_up(surface, row, column):
    """Value between the points of a periodic grid, interpolated linearly."""
    num_rows, num_columns = surface.shape
    r, c = math.floor(row), math.floor(column)
    down, right = row - r, column - c
    top, left = int(r) % num_rows, int(c) % num_columns
    bottom, beside = (top + 1) % num_rows, (left + 1) % num_columns
    above = surface[top, left] + right * (surface[top, beside] - surface[top, left])
    below = surface[bottom, left] + right * (surface[bottom, beside] - surface[bottom, left])
    return above + down * (below - above)
