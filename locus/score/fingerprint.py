r"""The nearest fingerprint: traced paths of every candidate and observed paths in, a posterior from their distance out.

What a practitioner would try first. The fingerprint of a candidate is the list of the paths that the twin traces above
the estimator's threshold, the strongest only, as many as the estimator reports. The distance between it and the
observed list is that of the cheapest assignment (a GOSPA metric of order 1 with cutoff 1): a pair costs

.. math::

    d = \sqrt{\Big(\frac{\Delta \sin\theta}{2 / M}\Big)^2 + (B\, \Delta\tau)^2
        + \Big(\frac{\Delta\gamma}{20\ \mathrm{dB}}\Big)^2}

from the differences of sines, delays and strengths, with :math:`M` antennas and bandwidth :math:`B`, that is, angle and
delay in resolution cells, strength in decades of amplitude; a path on either side that has no partner costs 1/2, so
that pairs with :math:`d > 1` are never made. Sines are compared modulo 2 and delays modulo the pilot's period. The sync
offset is the one with the smallest distance among those that bring the strongest observed path onto a traced one. The
posterior is proportional to :math:`e^{-D/T}`, with the distance :math:`D` and a temperature :math:`T`, the only number
to fit.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import xarray as xr
from numba import njit, prange

from locus.score.path_lists import Floats, PathListScorer, Receiver, path_lists
from locus.settings.checks import check_range
from locus.settings.config import EstimatorOptions, Radio

# mypy: disable-error-code="no-untyped-def"

RECIPE = 1

MOST = 8
"""Largest number of observed paths that are compared, the strongest: the assignment tries all their subsets."""

_DECIBELS = 20.0  # difference of strengths that counts as much as a resolution cell


class Fingerprint(PathListScorer):
    """Posterior from the distance between the observed paths and the traced paths of each candidate.

    Args:
        temperature: distance that makes a candidate :math:`e` times less probable.
        radio: waveform and antennas; by default the radio that the paths were traced with, else the paper's.
        estimator: options with which the paths were estimated; by default those stored with the observed paths, else
            the paper's.
    """

    name: ClassVar[str] = "fingerprint"

    def __init__(
        self, temperature: float, radio: Radio | None = None, estimator: EstimatorOptions | None = None
    ) -> None:
        check_range("temperature", temperature, 0.0, open_low=True)
        super().__init__(radio, estimator)
        self.temperature = temperature

    def distance(self, paths: xr.Dataset, observed: xr.Dataset) -> xr.DataArray:
        """Distance (snapshot, candidate) between observed and traced lists, at least 0."""
        values = -self.temperature * self._scores(paths, observed)
        attributes = {"units": "1", "long_name": "distance between lists of paths"}
        return xr.DataArray(values, dims=("snapshot", "candidate"), attrs=attributes)

    def _compare(self, paths: xr.Dataset, observed: xr.Dataset, radio: Radio, receiver: Receiver) -> Floats:
        traced = path_lists(paths, radio, receiver.num_paths, receiver.threshold)
        seen = path_lists(observed, radio, MOST)
        return np.asarray(-_distances(traced, seen, receiver) / self.temperature)


@njit(cache=True, fastmath=True, parallel=True)
def _distances(traced, seen, receiver):
    """Distance (snapshot, candidate)."""
    num_snapshots, num_candidates = len(seen.num_paths), len(traced.num_paths)
    result = np.empty((num_snapshots, num_candidates))
    for c in prange(num_candidates):
        savings = np.empty((traced.sine.shape[1], seen.sine.shape[1]))
        best = np.empty(1 << seen.sine.shape[1])
        for s in range(num_snapshots):
            saved = 0.0
            for anchor in range(traced.num_paths[c] if seen.num_paths[s] else 0):
                if _save(traced, c, seen, s, anchor, receiver, savings) > saved:
                    saved = max(saved, _assign(savings, traced.num_paths[c], seen.num_paths[s], best))
            result[s, c] = (traced.num_paths[c] + seen.num_paths[s]) / 2 - saved
    return result


@njit(cache=True, fastmath=True)
def _save(traced, c, seen, s, anchor, receiver, savings):
    """Write what each pair (traced, observed) saves if delays count from ``anchor`` and from the strongest observed.

    Returns a bound on what all pairs of an assignment save together.
    """
    period, bound = receiver.num_subcarriers, 0.0
    for q in range(seen.num_paths[s]):
        most = 0.0
        for j in range(traced.num_paths[c]):
            apart = abs(seen.sine[s, q] - traced.sine[c, j])
            apart = min(apart, 2.0 - apart) * receiver.num_antennas / 2 if receiver.num_antennas > 1 else 0.0
            late = seen.delay[s, q] - seen.delay[s, 0] - traced.delay[c, j] + traced.delay[c, anchor]
            late -= period * math.floor(late / period + 0.5)
            louder = 10.0 / _DECIBELS * math.log10(seen.energy[s, q] / traced.energy[c, j])
            savings[j, q] = 1.0 - math.sqrt(apart * apart + late * late + louder * louder)
            most = max(most, savings[j, q])
        bound += most
    return bound


@njit(cache=True, fastmath=True)
def _assign(savings, num_traced, num_seen, best):
    """Most that an assignment saves: ``best`` (subset of the observed) with the traced paths considered so far."""
    everything = (1 << num_seen) - 1
    best[: everything + 1] = 0.0
    for j in range(num_traced):
        for subset in range(everything, 0, -1):  # larger subsets first: smaller ones are still without this path
            for q in range(num_seen):
                if subset >> q & 1 and savings[j, q] > 0.0:
                    best[subset] = max(best[subset], best[subset ^ (1 << q)] + savings[j, q])
    return best[everything]
