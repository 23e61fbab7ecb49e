"""Figures and tables of searches: rows of searches in, how soon each strategy finds the transmitter, out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from locus.experiment.searches import FOUND, TITLES

_LOOKS: dict[str, dict[str, Any]] = {
    "informed": {"color": "#CC79A7", "linestyle": "-"},
    "random": {"color": "#0072B2", "linestyle": "--"},
    "straight": {"color": "#009E73", "linestyle": "-."},
    "turning": {"color": "#D55E00", "linestyle": ":"},
}


def search_figure(rows: xr.Dataset) -> Figure:
    """Share of the searches that have ended in a small 90 % set, over the snapshots and over the metres they took."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.8), layout="constrained", sharey=True)
    ended = rows.area < FOUND
    first = ended.argmax("step")
    metres = rows.metres.isel(step=first).where(ended.any("step"), np.inf)
    for name, title in TITLES.items():
        look = {"label": title, "linewidth": 1.8, **_LOOKS[name]}
        share = 100 * ended.sel(strategy=name).mean("snapshot")
        last = [float(rows.step[-1]) + 0.5], [float(share[-1])]  # or the last value would have no width
        left.step(*map(np.append, (rows.step, share), last), where="post", **look)
        walked = np.sort(metres.sel(strategy=name).values)
        shares = 100 * np.arange(1, len(walked) + 1) / len(walked)
        known = np.isfinite(walked)
        longest = 1.05 * float(rows.metres.max())
        right.step(
            [0.0, *walked[known], longest], [0.0, *shares[known], max([0.0, *shares[known]])], where="post", **look
        )
    left.set(xlabel="snapshots", ylabel=f"searches with a 90 % set under {FOUND:g} m² [%]", ylim=(0, 100))
    left.set_xlim(1, int(rows.step.max()) + 0.5)
    right.set(xlabel="distance walked [m]", xlim=(0, None))
    left.legend(frameon=False, fontsize=8, loc="lower right")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    return figure


def search_frame(every: xr.Dataset, unclear: xr.Dataset) -> pd.DataFrame:
    """Median snapshots and metres until found, with intervals, in all rooms and in those that take more than one.

    Both are results of :func:`locus.experiment.searches.summary`; one row per strategy.
    """
    columns = {}
    for title, one in ((f"all {every.num_rooms} rooms", every), (f"{unclear.num_rooms} unclear rooms", unclear)):
        columns[title, "snapshots"] = [_median(one, name, "snapshots") for name in TITLES]
        columns[title, "metres"] = [_median(one, name, "metres") for name in TITLES]
    for title in ("found", "right"):
        columns["searches [%]", title] = [f"{100 * float(every[title].sel(strategy=name)):.0f}" for name in TITLES]
    return pd.DataFrame(columns, index=pd.Index(TITLES.values(), name="the robot goes"))


def _median(summary: xr.Dataset, strategy: str, name: str) -> str:
    """A median with its interval; searches that were given up are longer than any number."""
    one = summary.sel(strategy=strategy)
    middle, low, high = (_number(float(one[name + end])) for end in ("", "_low", "_high"))
    return f"{middle} [{low}, {high}]" if one[f"{name}_low"].notnull() else middle  # a single room has no interval


def _number(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "never"
