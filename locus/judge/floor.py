"""Floors: a posterior and a small share in; the mixture with a uniform guess, which bounds the loss, out."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from locus.settings.checks import check_range

_SHARES = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 2001)])  # steps of 0.7 %: finer than any share is known


def with_floor(log_posterior: xr.DataArray, share: float) -> xr.DataArray:
    r"""Logarithm of :math:`(1 - s)\, p + s / N_\mathrm{cand}` for all listed candidates, (..., candidate).

    :math:`s` is ``share``, :math:`p` the posterior and :math:`N_\mathrm{cand}` the number of candidates. A true
    candidate then never costs more than :math:`-\log s` over a uniform guess. Ranks do not change.
    """
    check_range("share", share, 0.0, 1.0)
    values = floored(log_posterior.values, log_posterior.sizes["candidate"], share)
    return log_posterior.copy(data=values)


def floored(logs: ArrayLike, num_candidates: int, share: float) -> np.ndarray:
    """Log probabilities of single candidates from a list of ``num_candidates``, mixed as in :func:`with_floor`."""
    if share == 0:
        return np.asarray(logs, dtype=float)
    with np.errstate(divide="ignore"):  # a share of one keeps nothing of the posterior
        return np.asarray(
            np.logaddexp(np.log1p(-share) + np.asarray(logs, dtype=float), np.log(share / num_candidates))
        )


def fit_share(logs: ArrayLike, num_candidates: int) -> float:
    """Share with the smallest mean loss of true candidates, given their log posteriors (snapshot)."""
    check_range("num_candidates", num_candidates, 2)
    losses = [-float(np.mean(floored(logs, num_candidates, share))) for share in _SHARES]
    return float(_SHARES[int(np.argmin(losses))])
