"""Figure and table of other radios: losses in every setup in, a panel per factor and a row per setup out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from locus.book.figures.score_figures import interval_text
from locus.book.figures.style import METHOD_COLOURS
from locus.book.typography import numbers
from locus.experiment.any_radio import FACTORS

_LOOKS: dict[str, dict[str, Any]] = {
    "locus_dt": {"label": "LOCUS-DT", "color": METHOD_COLOURS["locus_dt"], "marker": "o", "linestyle": "-"},
    "path_set": {"label": "path set", "color": METHOD_COLOURS["path_set"], "marker": "P", "linestyle": "-"},
    "phase_blind": {
        "label": "phase-blind receiver",
        "color": METHOD_COLOURS["phase_blind"],
        "marker": "D",
        "linestyle": ":",
    },
}


def radio_figure(summary: xr.Dataset) -> Figure:
    """Loss (setup, method) of the path set, the phase-blind receiver and LOCUS-DT, one panel per factor.

    A grey band marks the run's own setup; LOCUS-DT is shown where it can run.
    """
    num_rows = -(-len(FACTORS) // 2)
    figure, panels = plt.subplots(num_rows, 2, figsize=(6.6, 2.5 * num_rows + 0.6), layout="constrained", sharey=True)
    for unused in panels.flat[len(FACTORS) :]:
        unused.set_visible(False)
    for axes, (factor, title) in zip(panels.flat, FACTORS.items(), strict=False):
        data = summary.isel(setup=np.flatnonzero(summary.factor == factor))
        place = np.arange(data.sizes["setup"])
        for number, (name, look) in enumerate(_LOOKS.items()):
            one = data.sel({"method": name})
            ends = np.nan_to_num(np.abs(np.stack([one.loss - one[f"loss{end}"] for end in ("_low", "_high")])))
            axes.errorbar(
                place + 0.07 * (number - 1), one.loss, yerr=ends, capsize=2, markersize=6, linewidth=1.4, **look
            )
        for index in np.flatnonzero(data.own):
            axes.axvspan(index - 0.3, index + 0.3, color="0.92", zorder=0)
        axes.set_xticks(place, [numbers(f"{value:g}") for value in data.value.values])
        axes.set_xlabel(title)
        axes.set_xlim(-0.4, len(place) - 0.6)
        axes.grid(alpha=0.3, axis="y")
    figure.supylabel("adjusted loss [nat]", fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def radio_frame(summary: xr.Dataset) -> pd.DataFrame:
    """L and R of the path set in every setup, its L minus the phase-blind receiver's, and L of LOCUS-DT, as text."""
    rows = {}
    for index in range(summary.sizes["setup"]):
        one = summary.isel(setup=index)
        ours, network = (one.sel({"method": name}) for name in ("path_set", "locus_dt"))
        rows[FACTORS[str(one.factor.values)], f"{float(one.value):g}"] = {
            "L [nat]": interval_text(ours, "loss"),
            "R [%]": interval_text(ours, "ratio", 100.0, 1),
            "L minus the phase-blind receiver’s [nat]": interval_text(ours, "difference"),
            "L of LOCUS-DT [nat]": interval_text(network, "loss") if network.loss.notnull() else "",
        }
    index = pd.MultiIndex.from_tuples(rows, names=["what differs", "value"])
    return pd.DataFrame(list(rows.values()), index=index)
