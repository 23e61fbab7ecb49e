"""CPU kernels of the fit in :mod:`locus.receiver.fit_numpy`: channels and paths in, refined paths out.

The same iterations as :mod:`locus.receiver.fit` takes for all snapshots at once, which suits a GPU; here one snapshot
comes after the other, and its working set stays in the cache.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from locus.settings.config import EstimatorOptions

# mypy: disable-error-code="no-untyped-def"

PROPOSED = 0.95
"""Share of the threshold that a peak of the matched filter must be able to reach, between grid points, to be
refined."""
DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e9
"""Damping of the first step, and its bounds."""
DAMPING_FACTOR = 10.0
"""By how much the damping grows after a step that fails, and falls after one that does not."""
REGULAR = 1e-12
"""Added to every diagonal element, relative to the largest: a path without gain has no derivative with respect to angle
and delay."""
CONVERGED = 1e-9
"""Decrease of the cost per step, in units of the noise variance, below which a fit has converged."""
ROUNDING = 1e-14
"""The same threshold, relative to the energy of the snapshot."""
BOUND_MARGIN = 1e-12
"""Relative rounding error of a bound on the matched filter."""


def proposal(options: EstimatorOptions, level: float) -> float:
    """Least height of a grid point that is refined.

    The true peak lies between grid points and may be higher; how much depends on the padding.
    """
    return PROPOSED * level * (np.sinc(0.5 / options.angle_padding) * np.sinc(0.5 / options.delay_padding)) ** 2


@njit(cache=True, parallel=True)
def highest_points(real, imaginary, turn_real, turn_imaginary):
    """Index and value of the highest point of each matched filter, (snapshot); the first if there are several.

    ``real`` and ``imaginary`` are the filter's output over delay, before the sum over antennas, (snapshot, row,
    antenna); the phase factors of the antennas are (antenna, column).
    """
    best, value = np.zeros(len(real), dtype=np.int64), np.zeros(len(real), dtype=np.complex128)
    for s in prange(len(real)):
        best[s], value[s] = _highest_point(real[s], imaginary[s], turn_real, turn_imaginary)
    return best, value


@njit(cache=True)
def _highest_point(real, imaginary, turn_real, turn_imaginary):
    rows, antennas = real.shape
    columns = turn_real.shape[1]
    # Upper bound on every column of a row (Cauchy-Schwarz), so that most rows can be skipped.
    bound = np.empty(rows)
    for r in range(rows):
        bound[r] = 0.0
        for a in range(antennas):
            bound[r] += real[r, a] ** 2 + imaginary[r, a] ** 2
        bound[r] *= antennas * (1 + BOUND_MARGIN)
    height, index, value = -1.0, 0, 0j
    first = int(np.argmax(bound))
    sum_r, sum_i = np.empty(columns), np.empty(columns)
    for turn in range(rows + 1):
        r = first if turn == 0 else turn - 1
        if bound[r] < height:
            continue
        sum_r[:], sum_i[:] = 0.0, 0.0
        for a in range(antennas):
            x, y = real[r, a], imaginary[r, a]
            for c in range(columns):
                sum_r[c] += x * turn_real[a, c] - y * turn_imaginary[a, c]
                sum_i[c] += x * turn_imaginary[a, c] + y * turn_real[a, c]
        for c in range(columns):
            power = sum_r[c] ** 2 + sum_i[c] ** 2
            here = r * columns + c
            if power > height or (power == height and here < index):
                height, index, value = power, here, complex(sum_r[c], sum_i[c])
    return index, value


@njit(cache=True, parallel=True)
def refine_all(real, imaginary, delay, angle, gain, cost, num_iterations):
    """Refine the paths (snapshot, path) in place, given the channels (snapshot, subcarrier, antenna)."""
    for s in prange(len(delay)):
        cost[s] = _refine(real[s], imaginary[s], delay[s], angle[s], gain[s], num_iterations)


@njit(cache=True)
def _refine(real, imaginary, delay, angle, gain, num_iterations):
    num_paths = len(delay)
    energy = 0.0
    for k in range(real.shape[0]):
        for a in range(real.shape[1]):
            energy += real[k, a] ** 2 + imaginary[k, a] ** 2
    size = 4 * num_paths
    normal, right = np.empty((size, size)), np.empty(size)
    next_normal, next_right = np.empty((size, size)), np.empty(size)
    next_delay, next_angle, next_gain = np.empty_like(delay), np.empty_like(angle), np.empty_like(gain)
    factor, move = np.empty((size, size)), np.empty(size)
    cost = _linearise(real, imaginary, delay, angle, gain, energy, normal, right)
    damping = DAMPING
    for _ in range(num_iterations):
        if not _solve(normal, right, damping, factor, move):
            break
        for i in range(num_paths):
            next_angle[i] = angle[i] + move[i]
            next_delay[i] = delay[i] + move[num_paths + i]
            next_gain[i] = gain[i] + complex(move[2 * num_paths + i], move[3 * num_paths + i])
        new = _linearise(real, imaginary, next_delay, next_angle, next_gain, energy, next_normal, next_right)
        if new < cost:
            fall = cost - new
            delay[:], angle[:], gain[:], cost = next_delay, next_angle, next_gain, new
            normal, next_normal = next_normal, normal
            right, next_right = next_right, right
            damping = max(damping / DAMPING_FACTOR, LEAST_DAMPING)
            if not fall > CONVERGED + ROUNDING * energy:
                break
        else:
            damping *= DAMPING_FACTOR
            if damping >= MOST_DAMPING:
                break
    return cost


@njit(cache=True)
def _waves(phase, length):
    """Real and imaginary part of exp(-j k phase) for k centred on 0, each (path, length)."""
    real, imaginary = np.empty((len(phase), length)), np.empty((len(phase), length))
    for i in range(len(phase)):
        start = phase[i] * (length - 1) / 2
        c, s = math.cos(start), math.sin(start)
        step_c, step_s = math.cos(phase[i]), -math.sin(phase[i])
        for k in range(length):
            real[i, k], imaginary[i, k] = c, s
            c, s = c * step_c - s * step_s, c * step_s + s * step_c
    return real, imaginary


@njit(cache=True)
def _moments(real, imaginary, i, j):
    """Inner products of waves i and j weighted by 1, k and k^2, with k centred on 0."""
    s0r = s0i = s1r = s1i = s2r = s2i = 0.0
    middle = (real.shape[1] - 1) / 2
    for n in range(real.shape[1]):
        k = n - middle
        re = real[i, n] * real[j, n] + imaginary[i, n] * imaginary[j, n]
        im = real[i, n] * imaginary[j, n] - imaginary[i, n] * real[j, n]
        s0r += re
        s0i += im
        s1r += k * re
        s1i += k * im
        s2r += k * k * re
        s2i += k * k * im
    return complex(s0r, s0i), complex(s1r, s1i), complex(s2r, s2i)


@njit(cache=True)
def _projections(real, imaginary, wave_r, wave_i, array_r, array_i, i):
    """Inner products of the channel with path i and with its derivatives with respect to angle and to delay."""
    n, m = real.shape
    plain_r, plain_i, ramp_r, ramp_i = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    for s in range(n):
        x, y, k = wave_r[i, s], -wave_i[i, s], s - (n - 1) / 2
        for a in range(m):
            re = x * real[s, a] - y * imaginary[s, a]
            im = x * imaginary[s, a] + y * real[s, a]
            plain_r[a] += re
            plain_i[a] += im
            ramp_r[a] += k * re
            ramp_i[a] += k * im
    plain, by_angle, by_delay = 0j, 0j, 0j
    for a in range(m):
        conjugate = complex(array_r[i, a], -array_i[i, a])
        plain += conjugate * complex(plain_r[a], plain_i[a])
        by_angle += 1j * (a - (m - 1) / 2) * conjugate * complex(plain_r[a], plain_i[a])
        by_delay += 1j * conjugate * complex(ramp_r[a], ramp_i[a])
    return plain, by_angle, by_delay


@njit(cache=True)
def _linearise(real, imaginary, delay, angle, gain, energy, normal, right):
    """Fill in the normal equations at a state and return its cost; columns as in `locus.receiver.fit._linearise`."""
    num_paths = len(delay)
    wave_r, wave_i = _waves(delay, real.shape[0])
    array_r, array_i = _waves(angle, real.shape[1])
    misfit = np.empty((3, num_paths), dtype=np.complex128)
    explained = 0.0
    for i in range(num_paths):
        plain, by_angle, by_delay = _projections(real, imaginary, wave_r, wave_i, array_r, array_i, i)
        misfit[0, i], misfit[1, i], misfit[2, i] = by_angle, by_delay, plain
        explained += 2 * (gain[i].conjugate() * plain).real
    for i in range(num_paths):
        for j in range(i, num_paths):
            f0, f1, f2 = _moments(wave_r, wave_i, i, j)
            a0, a1, a2 = _moments(array_r, array_i, i, j)
            both = a0 * f0
            _fill(normal, gain, i, j, a2 * f0, a1 * f1, a0 * f2, 1j * a1 * f0, 1j * a0 * f1, both)
            misfit[0, i] -= 1j * a1 * f0 * gain[j]
            misfit[1, i] -= 1j * a0 * f1 * gain[j]
            misfit[2, i] -= both * gain[j]
            explained -= (gain[i].conjugate() * both * gain[j]).real * (1 if i == j else 2)
            if i != j:
                misfit[0, j] -= 1j * (a1 * f0).conjugate() * gain[i]
                misfit[1, j] -= 1j * (a0 * f1).conjugate() * gain[i]
                misfit[2, j] -= both.conjugate() * gain[i]
    for i in range(num_paths):
        right[i] = (gain[i].conjugate() * misfit[0, i]).real
        right[num_paths + i] = (gain[i].conjugate() * misfit[1, i]).real
        right[2 * num_paths + i] = misfit[2, i].real
        right[3 * num_paths + i] = misfit[2, i].imag
    return energy - explained


@njit(cache=True)
def _fill(normal, gain, i, j, angle_angle, angle_delay, delay_delay, angle_plain, delay_plain, plain_plain):
    """Entries of the normal matrix for paths i and j, from the inner products of their factors."""
    p = len(gain)
    gi, gj = gain[i].conjugate(), gain[j]
    aa, ad, dd = gi * gj * angle_angle, gi * gj * angle_delay, gi * gj * delay_delay
    rows = (i, p + i, 2 * p + i, 3 * p + i)
    columns = (j, p + j, 2 * p + j, 3 * p + j)
    values = (
        (aa.real, ad.real, (gi * angle_plain).real, (gi * 1j * angle_plain).real),
        (ad.real, dd.real, (gi * delay_plain).real, (gi * 1j * delay_plain).real),
        ((-gj * angle_plain).real, (-gj * delay_plain).real, plain_plain.real, (1j * plain_plain).real),
        ((1j * gj * angle_plain).real, (1j * gj * delay_plain).real, (-1j * plain_plain).real, plain_plain.real),
    )
    for r in range(4):
        for c in range(4):
            normal[rows[r], columns[c]] = values[r][c]
            normal[columns[c], rows[r]] = values[r][c]


@njit(cache=True)
def _solve(normal, right, damping, factor, move):
    """Damped step by Cholesky factorisation; False if the matrix is not positive definite."""
    size = len(right)
    largest = 0.0
    for i in range(size):
        largest = max(largest, normal[i, i])
    for i in range(size):
        for j in range(i + 1):
            total = normal[i, j]
            if i == j:
                total += damping * normal[i, i] + REGULAR * largest
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                factor[i, i] = math.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(size):
        total = right[i]
        for k in range(i):
            total -= factor[i, k] * move[k]
        move[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        total = move[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * move[k]
        move[i] = total / factor[i, i]
    return True
