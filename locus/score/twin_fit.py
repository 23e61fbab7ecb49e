"""How well a capture fits the twin: traced and observed paths in, a p-value of each snapshot out.

If the twin is exact, a candidate drawn from the posterior and the observed paths are distributed together like the true
candidate and what is reported of it. So the observed set is one among sets simulated for that candidate, and its rank
by any statistic is uniform. The statistic here is the log density of the set in a world of clutter alone, with as many
untraced paths expected as can be reported, minus its log density for the candidate: it is high for predicted paths that
are missing or elsewhere, and for strong paths that nothing predicts.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from locus.score.path_set import PathSet
from locus.score.posterior import normalise
from locus.score.simulate import simulate
from locus.score.tolerance import Constants, Tolerance
from locus.settings.checks import check_range
from locus.settings.config import EstimatorOptions, Radio

UNUSUAL = 0.01
"""p-value below which a twin is probably wrong."""

_ALIKE = 1e-6  # statistics that differ by less are tied


def twin_fit(
    scorer: PathSet,
    paths: xr.Dataset,
    observed: xr.Dataset,
    rng: Generator,
    num_simulations: int = 199,
    spacing: float = 0.0,
) -> xr.DataArray:
    """Probability that paths observed with an exact twin would fit worse than these: a sampled posterior p-value.

    Args:
        scorer: likelihood of path sets; its tolerance is ignored.
        paths: traced paths (candidate, path), as in :meth:`locus.PathSet.log_likelihood`.
        observed: estimated paths (path) or (snapshot, path).
        rng: random generator.
        num_simulations: number of simulated path sets that each snapshot is compared with.
        spacing: distance between neighbouring candidates [m], if the transmitter may be between them.

    Returns:
        DataArray, scalar or (snapshot), uniform in [0, 1] if the twin is exact, and low if it is wrong.

    Raises:
        ValueError: an input has the wrong dimensions or values that are not finite.
    """
    check_range("num_simulations", num_simulations, 1)
    single = "snapshot" not in observed.dims
    observed = observed.drop_vars("residual", errors="ignore")  # simulated sets have none
    observed = observed.expand_dims("snapshot") if single else observed
    radio = scorer.radio or Radio.carried_by(paths) or Radio()
    estimator = EstimatorOptions.carried_by(observed) or scorer.estimator
    exact = PathSet(radio, estimator, Tolerance(0, 0, 0, 0), _between(scorer.constants, spacing))
    logs = normalise(exact.log_likelihood(paths, observed, spacing=spacing).values)
    values = np.empty(len(logs))
    for s, row in enumerate(logs):
        own = paths.isel(candidate=[int((row + rng.gumbel(size=len(row))).argmax())])
        sets = simulate(exact, own, np.zeros(num_simulations, dtype=int), rng, spacing)
        found, others = (_misfit(exact, own, seen, spacing) for seen in (observed.isel(snapshot=[s]), sets))
        worse, tied = (others > found + _ALIKE).sum(), (abs(others - found) <= _ALIKE).sum()
        values[s] = (worse + rng.random() * (1 + tied)) / (num_simulations + 1)
    attributes = {"units": "1", "long_name": "probability that an exact twin fits worse"}
    result = xr.DataArray(values, dims="snapshot", attrs=attributes)
    return result.isel(snapshot=0) if single else result


def _between(constants: Constants, spacing: float) -> Constants:
    """Constants for a transmitter between candidates: like one that is misplaced, it has some paths that they lack."""
    away = spacing / math.sqrt(6)  # root mean square of its distance from the centre of a cell
    return dataclasses.replace(
        constants,
        miss=min(constants.miss + constants.miss_per_metre * away, 0.5),
        unknown=constants.unknown + constants.unknown_per_metre * away,
    )


def _misfit(exact: PathSet, own: xr.Dataset, observed: xr.Dataset, spacing: float) -> NDArray[np.float64]:
    """Statistic of each snapshot for the one candidate in ``own``, (snapshot)."""
    silent = own.assign(valid=own.valid & False)
    many = dataclasses.replace(exact.constants, unknown=float(exact.estimator.num_paths))
    strange = PathSet(exact.radio, exact.estimator, exact.tolerance, many)
    clutter, candidate = strange.log_likelihood(silent, observed), exact.log_likelihood(own, observed, spacing=spacing)
    return np.asarray((clutter - candidate).values[:, 0])
