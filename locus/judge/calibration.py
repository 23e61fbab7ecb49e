"""Calibration by SNR: credible levels of the truths in; shares inside credible sets, overall and per band, out."""

from __future__ import annotations

import xarray as xr
from numpy.random import Generator

from locus.judge import metrics
from locus.judge.bootstrap import described


def covered_by_snr(rows: xr.Dataset, mass: float, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """Share of true positions inside the credible sets of this mass, overall and by the strongest path's SNR.

    Args:
        rows: ``level`` (snapshot, method), from :func:`locus.judge.metrics.measure`, and coordinates ``method``,
            ``group`` and ``snr_db`` (snapshot).
        mass: probability of the sets.
        rng: draws the resamples of whole layouts.
        num_resamples: number of resamples.

    Returns:
        Dataset (band, method) with ``covered``, ``covered_low`` and ``covered_high``, NaN in a band without
        snapshots; and ``num_snapshots`` (band). The first band is ``all``.
    """
    bands = {"all": rows, **metrics.binned(rows, "snr_db")}
    parts = [metrics.covered(part, mass, rng, num_resamples) for part in bands.values()]
    found = xr.concat(parts, xr.DataArray(list(bands), dims="band", name="band")).assign_coords(method=rows.method)
    counts = [part.sizes["snapshot"] for part in bands.values()]
    return found.assign(num_snapshots=("band", *described(counts, "1", "number of snapshots")))
