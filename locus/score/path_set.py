r"""The likelihood of path sets: traced paths of every candidate and observed paths in, a posterior out.

Theory gives most of it, and a few constants are fitted (:class:`locus.score.tolerance.Constants`). Every traced path is
reported with some probability, with errors that theory gives; whatever else is reported is clutter. With the energies
:math:`E` and :math:`x` of a traced and an observed path (the SNR times :math:`N M`, with :math:`N` subcarriers and
:math:`M` antennas), their sines :math:`s` and delays :math:`d` [samples], and the sync offset :math:`t`:

- A path is reported if :math:`x` exceeds the estimator's threshold :math:`T`. If the list of :math:`K` paths is full,
  the others are only known to be weaker than the weakest of them, whose energy then replaces :math:`T`. Energy:
  :mod:`locus.score.strength`.
- Its sine and delay have the Cramér-Rao variances :math:`6 / (\pi^2 (M^2 - 1) e)` and
  :math:`3 N^2 / (2 \pi^2 (N^2 - 1) e)` at the energy :math:`e = \sqrt{x E}`: the higher the peak of a path of given
  energy, the closer it tends to lie to the true place. The twin's errors add variances (:mod:`locus.score.tolerance`).
- False paths have the density :math:`C (x - 3/2)\, e^{-x} / (2 N)` in :math:`x`, :math:`s` and :math:`d`, with
  :math:`C = \tfrac{\pi}{3} \sqrt{(N^2 - 1)(M^2 - 1)}`: the derivative of the expected number of noise peaks, see
  :func:`locus.receiver.estimator.threshold`. Real paths that the twin does not trace have a density that falls as
  :math:`x^{-3/2}`.
- Of two traced paths side by side, the stronger may absorb the weaker, and is then estimated elsewhere
  (:func:`locus.score.path_arrays.arrange_traced`).
- If the observed paths come with a residual, and a component knows where an unreported path would be, the power at
  that place replaces the mere absence (:mod:`locus.score.soft_detection`).

Given :math:`t`, observed paths are independent, if one traced path may explain several of them (the exact sum over
assignments differs by 0.01 nats on average):

.. math:: \prod_j m_j \prod_q \Big[ c_q + \sum_j \frac{f_{jq}(t)}{m_j} \Big],

where :math:`c_q` is the density of clutter, :math:`m_j` the probability that traced path :math:`j` is not reported and
:math:`f_{jq}` the density with which it is observed as :math:`q`; :math:`m_j` and the integral of :math:`f_{jq}`
over all that may be reported sum to 1.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from locus.score.path_arrays import MAX_SPACING, Floats, arrange_observed, arrange_traced, find_widths
from locus.score.path_lists import check_both
from locus.score.path_set_cpu import log_likelihoods
from locus.score.path_set_file import load_constants
from locus.score.posterior import exponentiated, normalise
from locus.score.strength import detection_table
from locus.score.tolerance import Components, Constants, Tolerance, components
from locus.settings.checks import check_range
from locus.settings.config import EstimatorOptions, Radio
from locus.twin.base import ATTRIBUTES
from locus.twin.check import check_dataset

RECIPE = 2

WIDEST = 0.5
"""Largest delay across the array [samples]: beyond it, a path reaches the antennas at different samples."""


class PathSet:
    """Likelihood of the observed paths, given those that the twin traces for each candidate; for any narrowband radio.

    Args:
        radio: waveform and antennas; by default the radio that the paths were traced with, else the paper's.
        estimator: options with which the paths were estimated; by default those stored with the observed paths, else
            the attribute ``estimator``. A high ``false_alarm`` helps: false paths do no harm here, and weak ones
            tell where the transmitter is.
        tolerance: how far the twin may be off; by default anything from exact to about 1 m and 5 degrees.
        constants: what theory leaves open; by default fitted to the paper's training rooms.

    Raises:
        ValueError: the array is so wide, or the band so broad, that a path reaches its antennas at different samples.
    """

    name: ClassVar[str] = "path_set"
    sees: ClassVar[str] = "observed"
    estimator: EstimatorOptions
    """Options with which to estimate paths for this likelihood."""

    def __init__(
        self,
        radio: Radio | None = None,
        estimator: EstimatorOptions | None = None,
        tolerance: Tolerance | None = None,
        constants: Constants | None = None,
    ) -> None:
        if radio:
            _check_narrowband(radio)
        self.radio = radio
        self.tolerance = tolerance or Tolerance()
        self.constants = constants or load_constants()
        self.estimator = estimator or EstimatorOptions(false_alarm=self.constants.false_alarm)
        self._given = estimator

    def log_likelihood(self, paths: xr.Dataset, observed: xr.Dataset, *, spacing: float = 0.0) -> xr.DataArray:
        """Log density of the observed path sets for each candidate, averaged over the errors of the tolerance.

        The density is that of the set of all reported energies, sines and delays [samples]. A candidate without a path
        has that of clutter alone.

        Args:
            paths: traced paths (candidate, path) with ``aoa``, ``delay``, ``snr_db`` and ``valid``, as returned by
                :meth:`locus.Twin.trace`; ``order`` is used if present, else every path is taken to be reflected once.
            observed: estimated paths (path) or (snapshot, path), as returned by :func:`locus.estimate`; ``residual`` is
                used if present.
            spacing: distance between neighbouring candidates [m], if the transmitter may be between them.

        Returns:
            DataArray (candidate) or (snapshot, candidate) [nat], with the coordinates x and y of ``paths``.

        Raises:
            ValueError: an input has the wrong dimensions or values that are not finite.
        """
        values, _ = self._log_likelihoods(paths, observed, components(self.tolerance, self.constants), spacing)
        return self._label(values, paths, observed, "nat", "log likelihood")

    @staticmethod
    def _label(values: Floats, paths: xr.Dataset, observed: xr.Dataset, units: str, name: str) -> xr.DataArray:
        coordinates = {
            name: ("candidate", paths[name].values, ATTRIBUTES[name]) for name in ("x", "y") if name in paths
        }
        attributes = {"units": units, "long_name": name}
        result = xr.DataArray(values, coordinates, ("snapshot", "candidate"), attrs=attributes)
        return result if "snapshot" in observed.dims else result.isel(snapshot=0)

    def levels(self, paths: xr.Dataset, observed: xr.Dataset, *, spacing: float = 0.0) -> xr.DataArray:
        """Posterior probability of the size of the twin's errors, averaged over all candidates.

        Returns:
            DataArray (level) or (snapshot, level) that sums to 1. A ``level`` is the size of the errors of plan,
            position and materials relative to the tolerance, from 0 (exact, whatever the heading) to 1.
        """
        mixture = components(self.tolerance, self.constants)
        sizes, parts = np.unique(mixture.level), []
        for level in sizes:
            chosen = Components(*(column[mixture.level == level] for column in mixture))
            parts.append(np.logaddexp.reduce(self._log_likelihoods(paths, observed, chosen, spacing)[0], axis=1))
        attributes = {"units": "1", "long_name": "posterior probability"}
        values = np.exp(normalise(np.stack(parts, axis=1)))
        result = xr.DataArray(values, {"level": sizes}, ("snapshot", "level"), attrs=attributes)
        return result if "snapshot" in observed.dims else result.isel(snapshot=0)

    def estimator_of(self, observed: xr.Dataset) -> EstimatorOptions:
        """Options with which the observed paths were estimated: those given, else stored with them, else its own."""
        return self._given or EstimatorOptions.carried_by(observed) or self.estimator

    def _log_likelihoods(
        self, paths: xr.Dataset, observed: xr.Dataset, mixture: Components, spacing: float
    ) -> tuple[Floats, Floats]:
        """Log density (snapshot, candidate) of the observed path sets, times the weights of the mixture; mean level."""
        check_range("spacing", spacing, 0.0, MAX_SPACING)
        check_dataset(observed, "observed")
        observed = observed if "snapshot" in observed.dims else observed.expand_dims("snapshot")
        check_both(paths, observed)
        radio = self.radio or Radio.carried_by(paths) or Radio()
        _check_narrowband(radio)
        estimator = self.estimator_of(observed)
        widths = find_widths(radio, self.constants, spacing)
        seen, log_clutter = arrange_observed(observed, radio, estimator, mixture, widths)
        traced = arrange_traced(paths, radio, self.constants)
        values, level = log_likelihoods(traced, seen, widths, mixture, detection_table())
        return values + log_clutter[:, np.newaxis], level

    def log_posterior(
        self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None, *, spacing: float = 0.0
    ) -> xr.DataArray:
        """Logarithm of :meth:`posterior`."""
        mixture = components(self.tolerance, self.constants)
        likelihood, level = self._log_likelihoods(paths, observed, mixture, spacing)
        mean = (np.exp(normalise(likelihood, prior)) * level).sum(axis=1, keepdims=True)
        logs = normalise(likelihood / (1 + self.constants.doubt * mean), prior)
        before = normalise(np.zeros(logs.shape[-1:]), prior)
        share = self.constants.floor
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(math.log1p(-share) + logs, np.log(share) + before)
        return self._label(mixed, paths, observed, "1", "logarithm of the posterior")

    def posterior(
        self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None, *, spacing: float = 0.0
    ) -> xr.DataArray:
        """Probability of every candidate, eq. (9), from :meth:`log_likelihood` and a small share of the prior.

        Several paths share errors of a wrong plan that the likelihood takes to be independent. So where the snapshot
        suggests a wrong twin, the log likelihood is divided by up to 1 + ``constants.doubt``.

        Args:
            paths: traced paths (candidate, path), as in :meth:`log_likelihood`.
            observed: estimated paths (path) or (snapshot, path).
            prior: non-negative weight of every candidate, (candidate); uniform by default.
            spacing: as in :meth:`log_likelihood`.

        Returns:
            DataArray (candidate) or (snapshot, candidate) that sums to 1 over the candidates, coordinates x and y.
        """
        logarithm = self.log_posterior(paths, observed, prior, spacing=spacing)
        return exponentiated(logarithm)


def _check_narrowband(radio: Radio) -> None:
    across = (radio.num_antennas - 1) * radio.bandwidth / (2 * radio.carrier)
    if across > WIDEST:
        raise ValueError(
            f"Expected a narrowband array, at most {WIDEST:g} samples across, got {across:.2f}: {radio.num_antennas} "
            f"antennas at half a wavelength, {radio.bandwidth:g} Hz at {radio.carrier:g} Hz; use fewer antennas or a "
            "narrower band"
        )
