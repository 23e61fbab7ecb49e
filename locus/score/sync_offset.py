r"""The unknown sync offset: a log likelihood, from the output power of a receiver's filters at every offset.

With the offset :math:`t` in pilot periods, the power :math:`q(t)` of a candidate is a trigonometric polynomial, given
exactly by its Fourier coefficients. A receiver integrates :math:`e^q`, or :math:`I_0(2 \sqrt q)` if it knows the phases
of the paths, over the prior of :math:`t`. A weak signal gives a smooth integrand, which a grid of bins resolves. A
strong one gives arbitrarily narrow peaks, which are integrated locally: cells are halved until the integrand varies
little within each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from locus.settings.config import Radio

BINS = (8, 32)
"""Bins per subcarrier of the grids for smooth integrands; the finer one only for candidates that need it."""
SMOOTH = 26.0
"""Largest curvature, relative to the spacing of 8 bins per subcarrier, that a grid resolves."""
KEPT = 18.0
"""Depth below the peak of a candidate [nat] down to which bins and cells count."""
CELLS = 2
"""Cells per subcarrier with which local integration begins."""
STEEP = 4.0
"""Amount [nat] by which the logarithm of the integrand may vary within a cell."""
HOPELESS = 60.0
"""Depth [nat] below the best candidate beyond which a candidate's highest bin replaces its integral."""

_SINGLE = 1e-5  # relative error of q in single precision, with a margin
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2
"""Gauss-Legendre quadrature with 8 nodes on [0, 1]."""
_REACH = float(np.diff(NODES).max() / 2)  # largest distance to a node, as a share of the cell


class OffsetPrior(NamedTuple):
    """Density of the sync offset modulo the pilot period: constant before and after one edge."""

    edge: float
    """Place of the edge [periods]."""
    before: float
    """Density before the edge [1/period]."""
    after: float
    """Density after the edge [1/period]."""


def folded_prior(radio: Radio) -> OffsetPrior:
    """Prior of the offset modulo the pilot period, for an offset that is uniform over the radio's sync window.

    A radio whose sync window is zero has no prior density: its offset is 0.
    """
    window = radio.sync_window / radio.period
    whole = math.floor(window)
    return OffsetPrior(window - whole, (whole + 1) / window, whole / window)


def log_integrals(
    coefficients: Tensor, constant: NDArray[np.float64], prior: OffsetPrior | None, *, coherent: bool
) -> NDArray[np.float64]:
    r"""Logarithm of the integral over the offset, minus ``constant``, for each candidate of one snapshot.

    Args:
        coefficients: Fourier coefficients (candidate, frequency) of :math:`q`.
        constant: what the log likelihood (candidate) loses at every offset.
        prior: None for a known offset of 0.
        coherent: whether the integrand is :math:`I_0(2 \sqrt q)`, not :math:`e^q`.

    Returns:
        Log likelihood (candidate). For candidates more than ``HOPELESS`` below the best one it is only an upper bound.
    """
    if prior is None:
        power = coefficients[:, 0].real + 2 * coefficients[:, 1:].real.sum(1)
        return _height(power.clamp(min=0).numpy(), coherent) - constant
    coarse, largest = _on_bins(coefficients, BINS[0])
    reached = coarse[:, _inside(prior, coarse.shape[1])].max(1).astype(float)
    result = _height(reached, coherent) - constant
    alive = _height(largest, coherent) - constant >= result.max() - HOPELESS
    result[~alive] = _height(largest[~alive], coherent) - constant[~alive]
    # The curvature of a peak, 2 sqrt(q) or 2 q, sets its width; twice the bins resolve four times the curvature.
    left, curvature = alive, 2 * (np.sqrt(largest) if coherent else largest)
    for number in BINS if prior.after > 0 else ():  # bins would blur the end of a window shorter than a period
        smooth = curvature <= SMOOTH * (number / BINS[0]) ** 2
        index, left = np.flatnonzero(left & smooth), left & ~smooth
        if not index.size:
            continue
        bins = coarse[index] if number == BINS[0] else _on_bins(coefficients[index], number)[0]
        result[index] = _sum_bins(bins, _bin_weights(prior, bins.shape[1]), coherent) - constant[index]
    index = np.flatnonzero(left)
    result[index] = _sum_cells(coarse, coefficients.numpy(), index, largest, prior, coherent) - constant[index]
    return result


def _on_bins(coefficients: Tensor, number: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Values of q (candidate, bin) with ``number`` bins per subcarrier, and a bound (candidate) of q everywhere."""
    length = coefficients.shape[1]
    # Single precision is enough for smooth peaks; sharper ones are integrated in double precision.
    power = torch.fft.irfft(coefficients.to(torch.complex64), n=number * length, norm="forward").clamp_(min=0).numpy()
    # A polynomial of degree n, at most M and M cos(a) somewhere, is at least M cos(a + n d) within d (Riesz; Boas).
    bound = power.max(1, initial=0).astype(float) / math.cos(math.pi * (length - 1) / 2 / (number * length)) ** 2
    return power, bound * (1 + _SINGLE)


def nodes(
    coefficients: NDArray[np.complex128], prior: OffsetPrior, *, coherent: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quadrature nodes of one candidate and snapshot: offsets (node) [periods] and the log of the mass at each.

    The masses sum to the integral over the offset. ``coefficients`` (frequency) are those of :math:`q`.
    """
    coarse, largest = _on_bins(torch.from_numpy(coefficients)[None], BINS[0])
    offset, log_mass = _integrate_locally(coarse[0], coefficients, largest[0], prior, coherent)
    return offset, log_mass


def _inside(prior: OffsetPrior, num_bins: int) -> NDArray[np.bool_]:
    """Coarse bins at which the prior is positive."""
    place = np.arange(num_bins) / num_bins
    return np.asarray((place <= prior.edge) if prior.after == 0 else np.ones(num_bins, dtype=bool))


def _bin_weights(prior: OffsetPrior, num_bins: int) -> NDArray[np.float64]:
    """Weights of the coarse bins whose sum is the integral over the prior, for functions that the bins resolve."""
    turns = -2j * np.pi * np.arange(1, num_bins // 2 + 1)
    jump = (prior.before - prior.after) * (np.exp(turns * prior.edge) - 1) / turns
    return np.fft.irfft(np.concatenate([[1], jump]), num_bins)


def _height(power: NDArray[np.float64], coherent: bool) -> NDArray[np.float64]:
    """Logarithm of the integrand where q is ``power``."""
    if not coherent:
        return power.copy()
    x = 2 * np.sqrt(power)
    return np.asarray(x + np.log(torch.special.i0e(torch.from_numpy(x)).numpy()))


@njit(cache=True, fastmath=True)
def _sum_bins(bins, weights, coherent):  # type: ignore[no-untyped-def]
    """Logarithm of the weighted sum of the integrand (candidate) over bins with q (candidate, bin)."""
    result = np.empty(len(bins))
    for i in range(len(bins)):
        power = bins[i].astype(np.float64)
        peak = power.max()
        top = 2 * math.sqrt(peak) if coherent else peak
        total = 0.0
        if coherent and top <= SMOOTH:  # I0(2 sqrt(q)) = 1 + q / 1^2 (1 + q / 2^2 (1 + ...))
            value = np.ones(len(power))
            for m in range(int(top) + 14, 0, -1):
                scale = 1 / m**2
                for b in range(len(power)):
                    value[b] = 1 + scale * power[b] * value[b]
            total, top = (value * weights).sum(), 0.0
        elif coherent:
            least = (top - KEPT) ** 2 / 4
            for b in range(len(power)):
                if power[b] > least:
                    x = 2 * math.sqrt(power[b])
                    total += weights[b] * _bessel(x) * math.exp(x - top)
        else:
            total = (np.exp(power - top) * weights).sum()
        result[i] = top + math.log(total)
    return result


@njit(cache=True)
def _sum_cells(coarse, coefficients, index, largest, prior, coherent):  # type: ignore[no-untyped-def]
    """Logarithm of the local integral, for candidates ``index``."""
    result = np.empty(len(index))
    for i in range(len(index)):
        c = index[i]
        log_mass = _integrate_locally(coarse[c], coefficients[c], largest[c], prior, coherent)[1]
        top = log_mass.max()
        result[i] = top + math.log(np.exp(log_mass - top).sum())
    return result


@njit(cache=True)
def _integrate_locally(coarse, coefficients, largest, prior, coherent):  # type: ignore[no-untyped-def]
    """Nodes and log masses of one candidate: cells of the offset, halved until the integrand varies little in each.

    A cell is dropped if, by the bound of Riesz and Boas, its highest point lies more than KEPT below the highest node.
    """
    degree = len(coefficients) - 1
    start, width, density = _first_cells(CELLS * len(coefficients), prior)
    # The bins in a cell and at its ends are known, so that no point of it is further than half a bin from one of them.
    ratio = len(coarse) // (CELLS * len(coefficients))
    known = np.maximum(coarse, np.roll(coarse, -1)).astype(np.float64).reshape(-1, ratio)
    known = np.array([row.max() for row in known])[(start * len(known)).astype(np.int64)]
    lowest = _log_integrand(known.max() * (1 - _SINGLE), coherent) - KEPT
    turn = math.pi * degree / 2 / len(coarse)
    keep = np.array([_log_integrand(_highest(one, largest, turn), coherent) >= lowest for one in known])
    start, width, density = start[keep], width[keep], density[keep]
    offsets, masses = [], []
    top = -np.inf
    while len(start):
        place = (start.reshape(-1, 1) + width.reshape(-1, 1) * NODES).ravel()
        power = _evaluate(coefficients, place)
        height = np.array([_log_integrand(max(q, 0.0), coherent) for q in power]).reshape(-1, len(NODES))
        top = max(top, height.max())
        halved = np.zeros(len(start), np.bool_)
        for i in range(len(start)):
            reach = _highest(power.reshape(-1, len(NODES))[i].max(), largest, math.pi * degree * _REACH * width[i])
            if _log_integrand(reach, coherent) < top - KEPT:
                continue
            if height[i].max() - height[i].min() > STEEP:
                halved[i] = True
                continue
            offsets.append(start[i] + width[i] * NODES)
            masses.append(height[i] + np.log(WEIGHTS * width[i] * density[i]))
        half = width[halved] / 2
        start = np.concatenate((start[halved], start[halved] + half))
        width, density = np.concatenate((half, half)), np.concatenate((density[halved], density[halved]))
    return _joined(offsets), _joined(masses)


@njit(cache=True)
def _first_cells(num_bins, prior):  # type: ignore[no-untyped-def]
    """Start, width and prior density of cells from bin to bin, where the prior is positive; its edge divides one."""
    start = np.append(np.arange(num_bins) / num_bins, prior.edge)
    start.sort()
    width = np.append(start[1:], 1.0) - start
    density = np.where(start < prior.edge, prior.before, prior.after)
    keep = (width > 0) & (density > 0)
    return start[keep], width[keep], density[keep]


@njit(cache=True)
def _highest(known, largest, turn):  # type: ignore[no-untyped-def]
    """Bound of q at a distance of ``turn`` (half the degree times the angle) from a point where it is ``known``."""
    angle = math.acos(math.sqrt(min(max(known, 0.0) / largest, 1.0)))
    return largest * math.cos(max(angle - turn, 0.0)) ** 2


@njit(cache=True)
def _joined(parts):  # type: ignore[no-untyped-def]
    result = np.empty(len(parts) * len(NODES))
    for i in range(len(parts)):
        result[i * len(NODES) : (i + 1) * len(NODES)] = parts[i]
    return result


@njit(cache=True)
def _log_integrand(power, coherent):  # type: ignore[no-untyped-def]
    if not coherent:
        return power
    x = 2 * math.sqrt(power)
    return x + math.log(_bessel(x))


@njit(cache=True)
def _bessel(x):  # type: ignore[no-untyped-def]
    """exp(-x) I0(x) by Abramowitz and Stegun 9.8.1 and 9.8.2; accurate to 2e-7 for all x."""
    if x < 3.75:
        t = (x / 3.75) ** 2
        series = 1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813))
        return math.exp(-x) * (1 + t * (3.5156229 + t * (3.0899424 + t * series)))
    t = 3.75 / x
    series = 0.00916281 + t * (-0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377)))
    return (0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * series)))) / math.sqrt(x)


@njit(cache=True, fastmath=True)
def _evaluate(coefficients, offsets):  # type: ignore[no-untyped-def]
    """Evaluate the real polynomial with these Fourier coefficients at offsets [periods], by Clenshaw's recurrence."""
    result = np.empty(len(offsets))
    for start in range(0, len(offsets), 64):  # blocks that fit into registers and the L1 cache
        angle = 2 * math.pi * offsets[start : start + 64]
        cosine, sine = np.cos(angle), np.sin(angle)
        real, imaginary = np.zeros(len(angle)), np.zeros(len(angle))
        before_real, before_imaginary = np.zeros(len(angle)), np.zeros(len(angle))
        for m in range(len(coefficients) - 1, 0, -1):
            a, b = coefficients[m].real, coefficients[m].imag
            for i in range(len(angle)):
                x = a + 2 * cosine[i] * real[i] - before_real[i]
                y = b + 2 * cosine[i] * imaginary[i] - before_imaginary[i]
                before_real[i], before_imaginary[i] = real[i], imaginary[i]
                real[i], imaginary[i] = x, y
        total = real * cosine - before_real - imaginary * sine
        result[start : start + 64] = coefficients[0].real + 2 * total
    return result
