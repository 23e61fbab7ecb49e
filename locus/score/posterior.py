"""Posterior: scores of all candidates in, labelled probabilities that sum to 1 out. Needs neither torch nor weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.twin.base import ATTRIBUTES


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
        weights = np.asarray(prior, dtype=np.float64)
        if weights.shape != logits.shape[-1:]:
            raise ValueError(
                f"Expected 'prior' of shape {logits.shape[-1:]}, one weight per candidate, got {weights.shape}"
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
            raise ValueError(f"Expected 'prior' finite, non-negative and not all zero, got {weights}")
        logits = logits + np.log(weights, out=np.full_like(weights, -np.inf), where=weights > 0)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))
