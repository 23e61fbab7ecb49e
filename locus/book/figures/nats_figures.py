"""Figure of where the nats are: the steps from LOCUS-DT to the Bayes limit in, a matplotlib figure out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from locus.book.figures.style import METHOD_COLOURS
from locus.book.tables import number_with_interval
from locus.book.typography import numbers
from locus.experiment.nats import TITLES

_RECEIVER = "0.35"
_COLOURS = {"locus_dt": METHOD_COLOURS["locus_dt"], **dict.fromkeys(("phase_blind", "phase_free", "bayes"), _RECEIVER)}


def nats_figure(found: xr.Dataset) -> Figure:
    """Loss of every step with its interval, better to the right, and what the step is worth.

    Args:
        found: result of :func:`locus.experiment.nats.summary`.
    """
    figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
    before = None
    for row, name in enumerate(TITLES):
        one = found.sel({"method": name})
        colour, loss = _COLOURS.get(name, METHOD_COLOURS["path_set"]), float(one.loss)
        if before is not None:
            axes.barh(row, loss - before, left=before, height=0.5, color=colour, alpha=0.28, linewidth=0)
            axes.vlines(before, row - 0.75, row + 0.25, color="0.6", linewidth=0.8)
            text = number_with_interval([float(one[f"step{end}"]) for end in ("", "_low", "_high")], "+.2f")
            axes.annotate(
                numbers(text), (1.02, row), xycoords=axes.get_yaxis_transform(), va="center", fontsize="small"
            )
        ends = np.nan_to_num(np.maximum([[loss - one.loss_low], [one.loss_high - loss]], 0))
        axes.errorbar(loss, row, xerr=ends, fmt="o", color=colour, capsize=3, zorder=3)
        if f"{name}.tolerant" in found.method.values:
            tolerant = float(found.loss.sel({"method": f"{name}.tolerant"}))
            label = None if axes.get_legend_handles_labels()[1] else "with its usual tolerance for errors of the twin"
            axes.plot(tolerant, row, "o", color=colour, fillstyle="none", zorder=4, label=label)
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": "small"}
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # a line may pass behind the number
        axes.annotate(numbers(f"{loss:.2f}"), (loss, row), (0, 13), **style)
        before = loss
    axes.set_yticks(range(len(TITLES)), list(TITLES.values()))
    axes.set_ylim(len(TITLES) - 0.4, -0.8)
    axes.invert_xaxis()
    axes.set_xlabel("adjusted loss [nat]; better to the right")
    axes.annotate("step [nat]", (1.02, -0.75), xycoords=axes.get_yaxis_transform(), va="center", fontsize="small")
    axes.grid(alpha=0.3, axis="x")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", frameon=False, fontsize="small")
    return figure
