"""Figures and tables of robustness: rows with wrong twins in, the cost of each error as figures and tables out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from locus.book.tables import number_with_interval
from locus.draw import FLOOR, draw_map, draw_receiver, draw_room, draw_transmitter
from locus.experiment.wrong_twin import Example
from locus.judge.credible import CREDIBLE_MASS
from locus.score.weight_files import METHOD_TITLES

KINDS = {
    "obstacles": "each obstacle moved",
    "walls": "each outer wall moved",
    "missing": "obstacles missing",
    "material": "material mistaken",
    "position": "receiver elsewhere",
    "heading": "receiver turned",
    "transmitter": "transmitter off its candidate",
    "all": "all at once",
}
"""Titles of the kinds of errors."""

NETWORKS: dict[str, dict[str, Any]] = {
    "locus_dt": {"label": METHOD_TITLES["locus_dt"], "color": "#0072B2", "marker": "o", "linestyle": "-"},
    "robust": {"label": "LOCUS-DT, trained with errors", "color": "#009E73", "marker": "D", "linestyle": "-"},
    "gmm_cart": {"label": METHOD_TITLES["gmm_cart"], "color": "#D55E00", "marker": "s", "linestyle": "--"},
}


def errors_figure(summary: xr.Dataset, measure: str) -> Figure:
    """Loss (``loss``) or coverage of the 90 % sets (``covered``) of every network against each kind of error."""
    figure, panels = plt.subplots(2, 4, figsize=(11.0, 6.0), layout="constrained", sharey=True)
    exact = summary.isel(condition=np.flatnonzero(summary.kind == "none"))
    scale = 100 if measure == "covered" else 1
    for axes, (kind, title) in zip(panels.flat, KINDS.items(), strict=True):
        own = summary.isel(condition=np.flatnonzero(summary.kind == kind))
        data = xr.concat([exact, own], "condition") if own.sizes["condition"] else exact
        for number, (name, look) in enumerate(NETWORKS.items()):
            style = {**look, "linestyle": "none"} if kind == "material" else look  # materials have no order
            one = scale * data.sel({"method": name})
            ends = np.nan_to_num(np.abs(np.stack([one[measure] - one[f"{measure}{end}"] for end in ("_low", "_high")])))
            place = np.arange(one.sizes["condition"]) + 0.06 * (number - 1)
            axes.errorbar(place, one[measure], yerr=ends, capsize=2, markersize=5, linewidth=1.4, **style)
        axes.axhline(100 * CREDIBLE_MASS if measure == "covered" else 0, color="0.4", linewidth=0.8, zorder=0)
        axes.set_xticks(range(data.sizes["condition"]), data.label.values, fontsize="small")
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3, axis="y")
    label = "truths inside the 90 % set [%]" if measure == "covered" else "adjusted loss [nat]"
    figure.supylabel(label, fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def listed(compared: xr.Dataset, *, better: bool) -> str:
    """Conditions in which the first network is significantly better, or worse, as text; "none" without any."""
    ends = compared.difference_high < 0 if better else compared.difference_low > 0
    kept = compared.isel(condition=np.flatnonzero(ends & (compared.kind != "none")))
    found: dict[str, list[str]] = {}
    for kind, label in zip(kept.kind.values, kept.label.values, strict=True):
        found.setdefault(KINDS[str(kind)], []).append(str(label))
    return "; ".join(f"{title}: {', '.join(labels)}" for title, labels in found.items()) or "none"


def errors_frame(floored: xr.Dataset, raw: xr.Dataset) -> pd.DataFrame:
    """L of every network under every condition, with floor and intervals, and without floor, as text."""
    rows = {}
    for index in range(floored.sizes["condition"]):
        one, bare = floored.isel(condition=index), raw.isel(condition=index)
        kind = KINDS.get(str(one.kind.values), "nothing")
        rows[kind, str(one.label.values)] = [
            text
            for name in NETWORKS
            for text in (
                number_with_interval(
                    [float(one[f"loss{end}"].sel({"method": name})) for end in ("", "_low", "_high")], ".2f"
                ),
                f"{float(bare.loss.sel({'method': name})):.2f}",
            )
        ]
    index = pd.MultiIndex.from_tuples(rows, names=["what is wrong", "by"])
    columns = [(look["label"], column) for look in NETWORKS.values() for column in ("L [nat]", "without floor")]
    return pd.DataFrame(list(rows.values()), index=index, columns=pd.MultiIndex.from_tuples(columns))


def example_figure(example: Example) -> Figure:
    """Posterior maps of an example; the room and pose of the wrong twin are dashed."""
    figure, panels = plt.subplots(1, 3, figsize=(10.8, 4.2), layout="constrained", sharey=True)
    for axes, (title, values) in zip(panels, example.maps.items(), strict=True):
        mesh = draw_map(axes, values.clip(min=FLOOR), cmap="viridis", vmin=FLOOR, vmax=0)
        draw_room(axes, example.layout)
        draw_receiver(axes, example.pose, 0.7)
        draw_transmitter(axes, *example.position, 0.7)
        if title != "exact twin":
            room, receiver = example.wrong
            for polygon in (room.room, *room.obstacles):
                axes.plot(*polygon.exterior.xy, color="#D55E00", linestyle="--", linewidth=1.2)
            reach = np.array([0, 12])
            ray = receiver.x + reach * np.cos(receiver.heading), receiver.y + reach * np.sin(receiver.heading)
            axes.plot(*ray, color="#D55E00", linestyle="--", linewidth=1.2, zorder=7)
        gain = example.gains[title]
        axes.set_title(f"{title}\ntruth {gain:{'.0f' if gain >= 10 else '.1g'}} x uniform", fontsize="medium")
        axes.set_ylabel(axes.get_ylabel() if axes is panels[0] else "")
    figure.colorbar(mesh, ax=panels, label="relative log posterior [nat]", extend="min", shrink=0.8, aspect=30)
    return figure
