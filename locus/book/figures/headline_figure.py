"""Figure of the first page: results of the run and of the paper in, R of every method with its interval out."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from locus.experiment.table import EVALUATION_TITLES, SCORER_TITLES

GROUPS = {
    "the paper’s method": ("locus_dt",),
    "networks without a twin": ("gauss_cart", "gauss_polar", "gmm_cart"),
    "with the twin, without a network": ("fingerprint", "angle_strength", "path_set"),
    "ideal receivers": ("phase_blind", "bayes"),
}
"""Methods by kind, as the figure shows them from top to bottom."""

_LOOKS: dict[str, dict[str, Any]] = {
    "random": {"color": "#0072B2", "marker": "o", "shift": -0.14},
    "grid": {"color": "#D55E00", "marker": "s", "shift": 0.14},
}


def headline_figure(table: xr.Dataset, printed: xr.Dataset, *, narrow: bool = False) -> Figure:
    """R with 95 % intervals (method, evaluation), and beside it what the paper prints; if ``narrow``, for a phone."""
    figure, axes = plt.subplots(figsize=(3.7, 5.6) if narrow else (5.8, 5.0), layout="constrained")
    place, names, start = {}, [], 0.0
    for title, methods in GROUPS.items():
        shown = title.replace(" without", "\nwithout") if narrow else title
        axes.text(0, start, shown, fontsize="small", color="0.35", va="center", style="italic")
        for number, method in enumerate(methods, 1):
            place[method] = start + 0.9 * number
            names.append((place[method], SCORER_TITLES[method]))
        start = place[methods[-1]] + 1.15
    limit = 100 * float(table.ratio.sel({"method": "bayes", "evaluation": "random"}))
    axes.axvspan(limit, 100, color="0.92", zorder=0, linewidth=0)
    beyond = "beyond\nany\nmethod" if narrow else "beyond\nany method"
    axes.text((limit + 100) / 2, 0.9, beyond, ha="center", va="center", fontsize="small", color="0.35")
    for evaluation, look in _LOOKS.items():
        one = 100 * table.sel({"evaluation": evaluation, "method": list(place)})
        y = np.array(list(place.values())) + look["shift"]
        ends = np.stack([one.ratio - one.ratio_low, one.ratio_high - one.ratio])
        style: dict[str, Any] = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "capsize": 3}
        axes.errorbar(one.ratio, y, xerr=ends, markersize=5.5, label=EVALUATION_TITLES[evaluation], **style)
        theirs = 100 * printed.ratio.sel({"evaluation": evaluation})
        heights = [place[str(name)] + look["shift"] for name in printed.method.values]
        hollow: dict[str, Any] = {
            "color": look["color"],
            "marker": look["marker"],
            "fillstyle": "none",
            "clip_on": False,
        }
        label = "in the paper" if narrow else f"{EVALUATION_TITLES[evaluation]}, in the paper"
        axes.plot(theirs, heights, linestyle="none", markersize=7.5, markeredgewidth=1.3, label=label, **hollow)
    axes.set_yticks(*zip(*names, strict=True))
    meaning = "R: from a uniform guess (0 %) to certainty (100 %)"
    axes.set(xlim=(0, 100), ylim=(start - 0.6, -0.6), xlabel=fill(meaning, 20) if narrow else meaning)
    axes.grid(axis="x", alpha=0.3)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda one: "paper" in labels[one])
    entries = [handles[one] for one in order], [labels[one] for one in order]
    figure.legend(*entries, loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return figure
