"""Shares in credible sets by SNR: counted by hand, and told from sets that are too small or too large."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from locus.book.tables import calibration_frame
from locus.judge.calibration import covered_by_snr


def made_up(num_groups: int = 200, num_snapshots: int = 5) -> xr.Dataset:
    """Levels of an honest, an over-confident and an under-confident method; no snapshot is above 10 dB."""
    rng = np.random.default_rng(0)
    count = num_groups * num_snapshots
    honest = rng.random(count)
    levels = np.stack([honest, honest**0.5, honest**2], axis=1)
    return xr.Dataset(
        {"level": (("snapshot", "method"), levels)},
        coords={
            "method": ["honest", "over", "under"],
            "group": ("snapshot", np.repeat(np.arange(num_groups), num_snapshots)),
            "snr_db": ("snapshot", rng.uniform(-45, 9, count)),
        },
    )


def test_shares_are_those_counted_in_each_band() -> None:
    rows = made_up()
    found = covered_by_snr(rows, 0.9, np.random.default_rng(0))
    assert found.covered.dims == ("band", "method")
    edges = {"all": (-99, 99), "below -30 dB": (-99, -30), "-20 to -10 dB": (-20, -10), "0 to 10 dB": (0, 10)}
    for band, (low, high) in edges.items():
        inside = (rows.snr_db.values >= low) & (rows.snr_db.values < high)
        one = found.sel(band=band)
        assert int(one.num_snapshots) == inside.sum()
        np.testing.assert_allclose(one.covered, (rows.level.values[inside] <= 0.9).mean(axis=0))
        assert (one.covered_low <= one.covered).all()
        assert (one.covered <= one.covered_high).all()
    assert int(found.num_snapshots[1:].sum()) == rows.sizes["snapshot"]


def test_intervals_tell_honest_from_wrong() -> None:
    """Of 1000 honest levels 90 % lie below 0.9 within 2 points; of the others 81 % and 95 %."""
    found = covered_by_snr(made_up(), 0.9, np.random.default_rng(0)).sel(band="all")
    low, high = found.covered_low.values, found.covered_high.values
    assert low[0] < 0.9 < high[0]
    assert high[1] < 0.9 < low[2]


def test_an_empty_band_has_no_share() -> None:
    found = covered_by_snr(made_up(), 0.5, np.random.default_rng(0)).sel(band="above 10 dB")
    assert int(found.num_snapshots) == 0
    assert np.isnan(found.covered).all()
    assert np.isnan(found.covered_low).all()


def test_the_frame_shows_the_bands_that_are_not_empty() -> None:
    rows = made_up()
    frame = calibration_frame(rows, ["over"])
    assert frame.index.tolist()[0] == "all"
    assert "above 10 dB" not in frame.index
    share = 100 * float((rows.level.values[:, 1] <= 0.5).mean())
    assert float(frame.loc["all", ("over", "in the 50 % set [%]")].split(" ")[0]) == pytest.approx(share, abs=0.051)
    assert frame.loc["all", ("", "snapshots")] == "1,000"
