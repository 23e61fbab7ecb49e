r"""Angles and strengths: traced paths of every candidate and observed paths in, a posterior that ignores delays, out.

A likelihood of the observed paths, for whoever distrusts delays of a receiver that is not synchronised. With the
energies :math:`E` and :math:`x` of a traced and an observed path (the SNR times :math:`N M`, with :math:`N` subcarriers
and :math:`M` antennas) and their sines :math:`s`:

- The root of :math:`x` is Gaussian with mean :math:`\sqrt{E + 3/2}` and variance 1/2: :math:`x` has four degrees of
  freedom, as the estimator maximises over angle and delay. A path is reported if :math:`x` exceeds the estimator's
  threshold, or, if the list of paths is full, the energy of the weakest of them.
- Its sine is Gaussian with the Cramér-Rao variance :math:`6 / (\pi^2 (M^2 - 1) \sqrt{x E})`.
- Some estimates are disturbed by another path within a resolution cell: their strengths and sines err by more.
- False paths have the density of noise peaks, see :func:`locus.receiver.estimator.threshold`, uniform in the sine;
  other paths that the twin does not trace have one that falls as :math:`x^{-3/2}`.

The observed paths are independent, and each stems from one of the traced ones or is false:

.. math:: \prod_j m_j \prod_q \Big[ c_q + \sum_j \frac{f_{jq}}{m_j} \Big],

where :math:`m_j` is the probability that path :math:`j` is not reported, :math:`c_q` the density of false paths, and
:math:`f_{jq}` the density with which traced path :math:`j` is observed as :math:`q`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import xarray as xr
from numba import njit, prange

from locus.score.method import normalise
from locus.score.path_lists import Floats, PathListScorer, Receiver, path_lists
from locus.settings.config import Radio

# mypy: disable-error-code="no-untyped-def"

RECIPE = 1

SINE_EXCESS = 0.012
"""Error of a sine beyond the Cramér-Rao bound [resolution cells, :math:`2 / M`]. All constants of this module were
set by hand: on training rooms, none of them moves the loss by more than 0.01 nats if it is halved or doubled."""
STRENGTH_EXCESS_DB = 0.3
"""Error of a strength beyond the noise [dB]."""
DISTURBED = 0.08
"""Share of paths whose estimate is disturbed by another path; rare, but without it each costs many nats."""
DISTURBED_CELLS = 0.2
"""What a disturbance adds to the error of a sine [resolution cells]."""
DISTURBED_DB = 6.0
"""What a disturbance adds to the error of a strength [dB]."""
MISS = 0.05
"""Probability that a path above the threshold is not reported."""
UNKNOWN = 0.02
"""Expected number of observed paths that the twin does not trace."""
FLOOR = 0.01
"""Share of a uniform guess in every posterior."""

_SHARES = (1.0 - DISTURBED, DISTURBED)
_CELLS = (SINE_EXCESS, math.hypot(SINE_EXCESS, DISTURBED_CELLS))
_DECIBELS = (STRENGTH_EXCESS_DB, math.hypot(STRENGTH_EXCESS_DB, DISTURBED_DB))
_WEAKEST = 0.5  # energy below which a traced path cannot be told from noise
_FAR = 40.0  # exponent beyond which a density counts as zero
_LOWEST = 2.5  # the density of noise peaks holds for high energies; below this one it stays constant


class AngleStrength(PathListScorer):
    """Likelihood of the angles and strengths of the observed paths, given those of the traced paths.

    Arguments are those of :class:`locus.score.path_lists.PathListScorer`.
    """

    name: ClassVar[str] = "angle_strength"

    def _compare(self, paths: xr.Dataset, observed: xr.Dataset, radio: Radio, receiver: Receiver) -> Floats:
        traced = path_lists(paths, radio, paths.sizes["path"], _WEAKEST)
        seen = path_lists(observed, radio, receiver.num_paths)
        there = np.arange(seen.energy.shape[1]) < seen.num_paths[:, np.newaxis]
        weakest = np.where(there, seen.energy, np.inf).min(axis=1, initial=np.inf)
        level = np.where(seen.num_paths >= receiver.num_paths, weakest, np.minimum(weakest, receiver.threshold))
        logs = normalise(_log_likelihoods(traced, seen, level, receiver))
        return np.asarray(np.logaddexp(math.log1p(-FLOOR) + logs, math.log(FLOOR / logs.shape[1])))


@njit(cache=True, fastmath=True, parallel=True)
def _log_likelihoods(traced, seen, level, receiver):
    """Log likelihood (snapshot, candidate), up to a constant per snapshot."""
    num_snapshots, num_candidates = len(seen.num_paths), len(traced.num_paths)
    result = np.empty((num_snapshots, num_candidates))
    for c in prange(num_candidates):
        odds = np.empty(traced.sine.shape[1])
        for s in range(num_snapshots):
            total = 0.0
            for j in range(traced.num_paths[c]):
                missed = 1.0 - (1.0 - MISS) * _exceeds(traced.energy[c, j], level[s])
                odds[j] = (1.0 - MISS) / missed
                total += math.log(missed)
            for q in range(seen.num_paths[s]):
                density = _clutter(seen.energy[s, q], receiver)
                for j in range(traced.num_paths[c]):
                    apart = abs(seen.sine[s, q] - traced.sine[c, j])
                    apart = min(apart, 2.0 - apart)
                    density += odds[j] * _pair(traced.energy[c, j], seen.energy[s, q], apart, receiver.num_antennas)
                total += math.log(density)
            result[s, c] = total
    return result


@njit(cache=True, fastmath=True)
def _root(energy, decibels):
    """Mean and variance of the root of an observed energy, whose strength errs by ``decibels`` beyond the noise."""
    relative = math.log(10.0) / 20.0 * decibels
    return math.sqrt(energy + 1.5), 0.5 + relative * relative * energy


@njit(cache=True, fastmath=True)
def _exceeds(energy, level):
    """Probability that the observed energy of a traced path exceeds a level."""
    found = 0.0
    for kind in range(2):
        centre, variance = _root(energy, _DECIBELS[kind])
        found += _SHARES[kind] * 0.5 * math.erfc((math.sqrt(level) - centre) / math.sqrt(2.0 * variance))
    return found


@njit(cache=True, fastmath=True)
def _pair(energy, seen_energy, apart, num_antennas):
    """Density of an observed path in energy and sine, if it stems from a traced one and is reported."""
    root, total = math.sqrt(seen_energy), 0.0
    for kind in range(2):
        centre, variance = _root(energy, _DECIBELS[kind])
        exponent = (root - centre) ** 2 / (2.0 * variance)
        density = _SHARES[kind] / (math.sqrt(2.0 * math.pi * variance) * 2.0 * root)
        if num_antennas > 1:
            bound = 6.0 / (math.pi**2 * (num_antennas**2 - 1.0)) / (root * math.sqrt(energy))
            sine_variance = bound + (_CELLS[kind] * 2.0 / num_antennas) ** 2
            exponent += apart * apart / (2.0 * sine_variance)
            density /= math.sqrt(2.0 * math.pi * sine_variance)
        else:
            density *= 0.5
        if exponent < _FAR:
            total += density * math.exp(-exponent)
    return total


@njit(cache=True, fastmath=True)
def _clutter(energy, receiver):
    """Density of false and unknown paths in energy and sine."""
    n, m = float(receiver.num_subcarriers), float(receiver.num_antennas)
    high = max(energy, _LOWEST)
    false = math.pi / 3.0 * math.sqrt((n * n - 1.0) * max(m * m - 1.0, 1.0)) * (high - 1.5) * math.exp(-high)
    return 0.5 * (false + UNKNOWN * 0.5 * math.sqrt(receiver.threshold) * energy**-1.5)
