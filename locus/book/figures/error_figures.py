"""Figures and tables of robustness: rows with wrong twins in, the cost of each error as figures and tables out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from locus.book.figures.score_figures import interval_text
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
    "scale": "plan of a wrong scale",
    "depth": "reflections left out",
    "physics": "physics left out",
}
"""Titles of the kinds of errors."""

UNORDERED = ("material", "depth", "physics")
"""Kinds of errors that have no sizes."""

METHODS: dict[str, dict[str, Any]] = {
    "locus_dt": {"label": METHOD_TITLES["locus_dt"], "color": "#0072B2", "marker": "o", "linestyle": "-"},
    "robust": {"label": "LOCUS-DT, trained with errors", "color": "#009E73", "marker": "D", "linestyle": "-"},
    "gmm_cart": {"label": METHOD_TITLES["gmm_cart"], "color": "#D55E00", "marker": "s", "linestyle": "--"},
    "path_set": {"label": "path set", "color": "#CC79A7", "marker": "^", "linestyle": "-"},
}
"""Titles and looks of the compared methods."""

REACHABLE = {
    "path_set": "path set, with a tolerance",
    "sampled_worlds": "averaged over sampled worlds",
    "true_world": "true world given",
}
"""Titles of what the path set could reach."""


def errors_figure(summary: xr.Dataset, measure: str) -> Figure:
    """Loss (``loss``) or coverage of the 90 % sets (``covered``) of every method against each kind of error."""
    figure, panels = plt.subplots(3, 4, figsize=(11.0, 8.6), layout="constrained", sharey=True)
    for unused in panels.flat[len(KINDS) :]:
        unused.set_visible(False)
    exact = summary.isel(condition=np.flatnonzero(summary.kind == "none"))
    scale = 100 if measure == "covered" else 1
    for axes, (kind, title) in zip(panels.flat, KINDS.items(), strict=False):
        own = summary.isel(condition=np.flatnonzero(summary.kind == kind))
        data = xr.concat([exact, own], "condition") if own.sizes["condition"] else exact
        for number, (name, look) in enumerate(METHODS.items()):
            style = {**look, "linestyle": "none"} if kind in UNORDERED else look
            one = scale * data.sel({"method": name})
            ends = np.nan_to_num(np.abs(np.stack([one[measure] - one[f"{measure}{end}"] for end in ("_low", "_high")])))
            place = np.arange(one.sizes["condition"]) + 0.014 * one.sizes["condition"] * (number - 1.5)
            axes.errorbar(place, one[measure], yerr=ends, capsize=2, markersize=5, linewidth=1.4, **style)
        axes.axhline(100 * CREDIBLE_MASS if measure == "covered" else 0, color="0.4", linewidth=0.8, zorder=0)
        axes.set_xticks(range(data.sizes["condition"]), data.label.values, fontsize="small")
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3, axis="y")
    label = "truths inside the 90 % set [%]" if measure == "covered" else "adjusted loss [nat]"
    figure.supylabel(label, fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def listed(compared: xr.Dataset, *, better: bool) -> str:
    """Conditions in which the first method is significantly better, or worse, as text; "none" without any."""
    ends = compared.difference_high < 0 if better else compared.difference_low > 0
    return named(compared.isel(condition=np.flatnonzero(ends & (compared.kind != "none"))))


def named(kept: xr.Dataset) -> str:
    """Conditions of a Dataset (condition) as text; "none" without any."""
    found: dict[str, list[str]] = {}
    for kind, label in zip(kept.kind.values, kept.label.values, strict=True):
        found.setdefault(KINDS.get(str(kind), "nothing"), []).append(str(label))
    return "; ".join(f"{title}: {', '.join(labels)}" for title, labels in found.items()) or "none"


def errors_frame(floored: xr.Dataset, raw: xr.Dataset) -> pd.DataFrame:
    """L of every method under every condition, with floor and intervals, and without floor, as text."""
    columns = [(look["label"], column) for look in METHODS.values() for column in ("L [nat]", "without floor")]
    cells = [
        [
            text
            for name in METHODS
            for text in (
                _text(floored.isel(condition=index).sel({"method": name}), "loss"),
                f"{float(raw.loss.isel(condition=index).sel({'method': name})):.2f}",
            )
        ]
        for index in range(floored.sizes["condition"])
    ]
    return _frame(floored, cells, pd.MultiIndex.from_tuples(columns))


def coverage_frame(floored: xr.Dataset, noticed: xr.Dataset) -> pd.DataFrame:
    """Share of truths [%] in the 90 % sets of every method, and of snapshots that do not fit the twin, as text."""
    cells = [
        [
            *(_text(floored.isel(condition=index).sel({"method": name}), "covered", 100, 0) for name in METHODS),
            _text(noticed.isel(condition=index), "noticed", 100, 0),
        ]
        for index in range(floored.sizes["condition"])
    ]
    return _frame(floored, cells, pd.Index([*(look["label"] for look in METHODS.values()), "noticed"]))


def behind_frame(behind: xr.Dataset) -> pd.DataFrame:
    """Conditions in which a method is worse than the best of others, with that one's name and the difference."""
    worse = behind.isel(condition=np.flatnonzero(behind.worse))
    rows = [worse.isel(condition=index) for index in range(worse.sizes["condition"])]
    cells = [[METHODS[str(one.best.values)]["label"], _text(one, "difference")] for one in rows]
    return _frame(worse, cells, pd.Index(["better network", "L less that network's [nat]"]))


def reachable_frame(reachable: xr.Dataset) -> pd.DataFrame:
    """L of the path set and of what it could reach, with intervals; without the conditions in which it is unknown."""
    known = reachable.isel(condition=np.flatnonzero(reachable.loss.sel({"method": "true_world"}).notnull()))
    cells = [
        [_text(known.isel(condition=index).sel({"method": name}), "loss") for name in REACHABLE]
        for index in range(known.sizes["condition"])
    ]
    return _frame(known, cells, pd.Index(REACHABLE.values(), name="L [nat]"))


def _text(one: xr.Dataset, name: str, scale: float = 1.0, digits: int = 2) -> str:
    """A number of one condition with its interval, times ``scale``; empty if unknown."""
    return interval_text(one, name, scale, digits) if one[name].notnull() else ""


def _frame(data: xr.Dataset, cells: list[list[str]], columns: pd.Index) -> pd.DataFrame:
    """Cells with one row per condition."""
    names = [
        (KINDS.get(str(kind), "nothing"), str(label))
        for kind, label in zip(data.kind.values, data.label.values, strict=True)
    ]
    index = pd.MultiIndex.from_tuples(names, names=["what is wrong", "by"]) if names else None
    return pd.DataFrame(cells, index=index, columns=columns)


def example_figure(example: Example) -> Figure:
    """Posterior maps of an example; the room and pose of the wrong twin are dashed."""
    figure, panels = plt.subplots(1, len(example.maps), figsize=(13.2, 4.0), layout="constrained", sharey=True)
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
