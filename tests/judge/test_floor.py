"""Floors: the mixture is a posterior, bounds the loss, and its share is found again."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from locus.judge.floor import fit_share, floored, with_floor

NUM_CANDIDATES = 50


def posteriors(rng: np.random.Generator, num_snapshots: int) -> xr.DataArray:
    """Random log posteriors (snapshot, candidate), some of them very peaked."""
    scores = rng.normal(0, rng.choice([0.5, 3.0, 30.0], (num_snapshots, 1)), (num_snapshots, NUM_CANDIDATES))
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return xr.DataArray(logs, dims=("snapshot", "candidate"), coords={"x": ("candidate", np.arange(50.0))})


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.05, 1.0])
def test_the_mixture_is_a_posterior_whose_ranks_are_the_same(rng: np.random.Generator, share: float) -> None:
    logs = posteriors(rng, 200)
    mixed = with_floor(logs, share)
    np.testing.assert_allclose(np.exp(mixed).sum("candidate"), 1)
    np.testing.assert_allclose(np.exp(mixed), (1 - share) * np.exp(logs) + share / NUM_CANDIDATES, rtol=1e-12)
    if share < 1:
        order = np.argsort(logs.values, axis=1)
        assert (np.diff(np.take_along_axis(mixed.values, order, axis=1), axis=1) >= 0).all()
    xr.testing.assert_identical(mixed.x, logs.x)


def test_a_floor_bounds_the_loss() -> None:
    """Over a uniform guess no truth costs more than the log of the share, even one that was ruled out."""
    for share in (1e-6, 0.01, 0.5):
        adjusted = -floored([-np.inf, -1000.0], NUM_CANDIDATES, share) - np.log(NUM_CANDIDATES)
        np.testing.assert_allclose(adjusted, -np.log(share))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 1.0])
def test_the_share_of_truths_that_a_posterior_knows_nothing_of_is_found_again(
    rng: np.random.Generator, share: float
) -> None:
    """Truths are drawn from the mixture itself. The tolerance is four times the Cramer-Rao bound of the share."""
    logs = posteriors(rng, 20_000).values
    mixture = np.exp(floored(logs, NUM_CANDIDATES, share))
    truth = (rng.random((len(logs), 1)) > np.cumsum(mixture, axis=1)).sum(axis=1).clip(max=NUM_CANDIDATES - 1)
    rows = np.arange(len(logs))
    information = ((1 / NUM_CANDIDATES - np.exp(logs)) ** 2 / np.maximum(mixture, 1e-300)).sum()
    found = fit_share(logs[rows, truth], NUM_CANDIDATES)
    assert found == pytest.approx(share, abs=4 / np.sqrt(information) + 0.007 * share + 1e-6)


def test_a_share_outside_its_range_is_named(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"Expected 'share' in \[0, 1\], got 1.5"):
        with_floor(posteriors(rng, 1), 1.5)
