"""Lists of paths: traced and observed paths in; arrays to compare, and from the scores of candidates a posterior, out.

:class:`PathListScorer` is the base class of scorers that compare such lists and have no network:
:mod:`locus.score.fingerprint` and :mod:`locus.score.angle_strength`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.receiver.estimator import threshold
from locus.score.posterior import exponentiated, normalise
from locus.settings.config import EstimatorOptions, Radio
from locus.twin.base import ATTRIBUTES
from locus.twin.check import PARTS, check_paths

RECIPE = 1

STRONGEST_DB = 120.0
"""Largest energy [dB]: beyond it, no error depends on the noise any more."""

Floats = NDArray[np.float64]


class PathLists(NamedTuple):
    """Paths of candidates or of snapshots, (list, path), strongest first."""

    num_paths: NDArray[np.int64]
    """(list): number of paths."""
    sine: Floats
    """Sine of the angle of arrival."""
    energy: Floats
    """Energy after integration over all samples and antennas, in units of the noise; 1 where there is no path."""
    delay: Floats
    """Delay [samples]."""


class Receiver(NamedTuple):
    """What both sides were seen through."""

    num_subcarriers: int
    num_antennas: int
    num_paths: int
    """Largest number of paths that the estimator reports."""
    threshold: float
    """Energy above which it reports a path."""


class PathListScorer(ABC):
    """A scorer that compares the list of observed paths with the traced list of every candidate.

    Args:
        radio: waveform and antennas; by default the radio that the paths were traced with, else the paper's.
        estimator: options with which the paths were estimated; by default those stored with the observed paths, else
            the paper's.
    """

    name: ClassVar[str]
    sees: ClassVar[str] = "observed"

    def __init__(self, radio: Radio | None = None, estimator: EstimatorOptions | None = None) -> None:
        self._radio = radio
        self._options = estimator

    @abstractmethod
    def _compare(self, paths: xr.Dataset, observed: xr.Dataset, radio: Radio, receiver: Receiver) -> Floats:
        """Scores (snapshot, candidate), up to a constant per snapshot."""

    def log_posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Logarithm of :meth:`posterior`."""
        single = "snapshot" not in observed.dims
        values = normalise(self._scores(paths, observed), prior)
        result = xr.DataArray(
            values,
            {name: ("candidate", paths[name].values, ATTRIBUTES[name]) for name in ("x", "y") if name in paths},
            ("snapshot", "candidate"),
            attrs={"units": "1", "long_name": "logarithm of the posterior"},
        )
        return result.isel(snapshot=0) if single else result

    def posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Probability of every candidate, eq. (9).

        Args:
            paths: traced paths (candidate, path), as returned by :meth:`locus.Twin.trace`.
            observed: estimated paths (path) or (snapshot, path), as returned by :func:`locus.estimate`.
            prior: non-negative weight of every candidate, (candidate); uniform by default.

        Returns:
            DataArray (candidate) or (snapshot, candidate) that sums to 1 over the candidates, coordinates x and y.
        """
        return exponentiated(self.log_posterior(paths, observed, prior))

    def _scores(self, paths: xr.Dataset, observed: xr.Dataset) -> Floats:
        observed = observed if "snapshot" in observed.dims else observed.expand_dims("snapshot")
        check_both(paths, observed)
        radio = self._radio or Radio.carried_by(paths) or Radio()
        options = self._options or EstimatorOptions.carried_by(observed) or EstimatorOptions()
        samples = radio.num_subcarriers * radio.num_antennas
        level = threshold(options, radio) * samples
        receiver = Receiver(radio.num_subcarriers, radio.num_antennas, options.num_paths, level)
        return self._compare(paths, observed, radio, receiver)


def path_lists(data: xr.Dataset, radio: Radio, most: int, least: float = 0.0) -> PathLists:
    """The strongest paths of each list, at most ``most``, with an energy above ``least``."""
    valid = data.valid.values.astype(bool)
    decibels = np.where(valid, data.snr_db.values.astype(float), -np.inf)
    decibels = np.minimum(decibels + 10 * np.log10(radio.num_subcarriers * radio.num_antennas), STRONGEST_DB)
    energy = np.where(valid, 10 ** (decibels / 10), 0.0)
    energy = np.where(energy > least, energy, 0.0)
    order = np.argsort(-energy, axis=1, kind="stable")[:, :most]
    energy, aoa, delay = (
        np.take_along_axis(values, order, axis=1) for values in (energy, data.aoa.values, data.delay.values)
    )
    there = energy > 0
    sine, late = (np.where(there, values, 0.0) for values in (np.sin(aoa.astype(float)), delay * radio.bandwidth))
    return PathLists(there.sum(axis=1), sine, np.where(there, energy, 1.0), late)


def check_both(paths: xr.Dataset, observed: xr.Dataset) -> None:
    """Raise a ValueError unless traced (candidate, path) and observed (snapshot, path) paths are finite numbers."""
    more = ("order",) if isinstance(paths, xr.Dataset) and "order" in paths else ()
    check_paths(paths, "paths", ("candidate", "path"), (*PARTS, *more))
    check_paths(observed, "observed", ("snapshot", "path"))
