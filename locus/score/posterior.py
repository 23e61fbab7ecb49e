"""Posterior: scores of all candidates in, labelled probabilities that sum to 1, out. Needs no torch and no weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.settings.untrusted import real_numbers, short
from locus.twin.base import ATTRIBUTES
from locus.twin.check import check_dataset


def labelled(
    scores: Callable[[xr.Dataset], NDArray[np.floating]],
    paths: xr.Dataset,
    observed: xr.Dataset,
    prior: ArrayLike | None = None,
) -> xr.DataArray:
    """Log posterior ([snapshot,] candidate), coordinates x and y.

    Args:
        scores: function from observed paths (snapshot, path) to scores (snapshot, candidate).
        paths: traced paths (candidate, path).
        observed: estimated paths (path) or (snapshot, path).
        prior: non-negative weight of every candidate, (candidate); uniform by default.
    """
    for name, given in (("paths", paths), ("observed", observed)):
        check_dataset(given, name)
    if missing := [name for name in ("x", "y") if name not in paths]:
        raise ValueError(f"Expected 'paths' with the coordinates x and y, got no {missing[0]!r}")
    single = "snapshot" not in observed.dims
    values = normalise(scores(observed.expand_dims("snapshot") if single else observed), prior)
    coordinates = {name: ("candidate", paths[name].values, ATTRIBUTES[name]) for name in ("x", "y")}
    attributes = {"units": "1", "long_name": "logarithm of the posterior"}
    result = xr.DataArray(values, coordinates, ("snapshot", "candidate"), attrs=attributes)
    return result.isel(snapshot=0) if single else result


def exponentiated(log_posterior: xr.DataArray) -> xr.DataArray:
    """Posterior from its logarithm."""
    return log_posterior.copy(data=np.exp(log_posterior.values)).assign_attrs(long_name="posterior probability")


def normalise(scores: NDArray[np.floating], prior: ArrayLike | None = None) -> NDArray[np.float64]:
    """Log posterior (..., candidate) from scores and a prior, without overflow.

    Raises:
        ValueError: the prior has the wrong shape, is negative or not finite somewhere, or is zero everywhere.
    """
    logits = scores.astype(np.float64)
    if prior is not None:
        weights = real_numbers("prior", prior)
        if weights.shape != logits.shape[-1:]:
            raise ValueError(
                f"Expected 'prior' of shape {logits.shape[-1:]}, one weight per candidate, got {weights.shape}"
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
            raise ValueError(f"Expected 'prior' finite, non-negative and not all zero, got {short(weights)}")
        logits = logits + np.log(weights, out=np.full_like(weights, -np.inf), where=weights > 0)
    check_scores(logits)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))


def check_scores(scores: NDArray[np.floating]) -> None:
    """Raise a ValueError unless scores (..., candidate) rank the candidates: none NaN or +∞, not all −∞.

    Otherwise there is no posterior, and nothing that looks like one may be returned.
    """
    best = scores.max(axis=-1, initial=-np.inf)
    if not np.isfinite(best).all():  # the maximum of anything and NaN is NaN
        got = float(best[~np.isfinite(best)].flat[0])
        raise ValueError(
            f"Expected scores from which a posterior follows, got {got} as the largest; check the weights, the "
            "paths and the samples for numbers that are not finite or far too large"
        )
