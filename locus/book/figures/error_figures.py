"""Figures and tables of robustness: rows with wrong twins in, the cost of each error as figures and tables out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from locus.book.figures.score_figures import interval_text
from locus.book.figures.style import METHOD_COLOURS
from locus.book.words import listed
from locus.draw import draw_posterior
from locus.experiment.wrong_twin import Example
from locus.judge.credible import CREDIBLE_MASS
from locus.score.weight_files import METHOD_TITLES

KINDS = {
    "obstacles": "each obstacle moved",
    "walls": "each outer wall moved",
    "position": "receiver elsewhere",
    "heading": "receiver turned",
    "missing": "obstacles missing",
    "material": "material mistaken",
    "transmitter": "transmitter off its candidate",
    "all": "all at once",
    "scale": "plan of a wrong scale",
    "depth": "reflections left out",
    "physics": "physics left out",
}
"""Titles of the kinds of errors."""

_CLAUSES = {
    "none": "the twin is",
    "obstacles": "obstacles are moved",
    "walls": "outer walls are moved",
    "missing": "obstacles are missing",
    "material": "the material is mistaken",
    "position": "the receiver is elsewhere",
    "heading": "the receiver is turned",
    "transmitter": "the transmitter is off its candidate",
    "all": "everything is wrong at once",
    "scale": "the plan has the wrong scale",
    "depth": "reflections are left out",
    "physics": "physics is left out",
}

UNORDERED = ("material", "depth", "physics")
"""Kinds of errors that have no sizes."""

METHODS: dict[str, dict[str, Any]] = {
    "locus_dt": {
        "label": METHOD_TITLES["locus_dt"],
        "color": METHOD_COLOURS["locus_dt"],
        "marker": "o",
        "linestyle": "-",
    },
    "robust": {
        "label": "LOCUS-DT, trained with errors",
        "color": METHOD_COLOURS["robust"],
        "marker": "D",
        "linestyle": "-",
    },
    "gmm_cart": {
        "label": METHOD_TITLES["gmm_cart"],
        "color": METHOD_COLOURS["gmm_cart"],
        "marker": "s",
        "linestyle": "--",
    },
    "path_set": {"label": "path set", "color": METHOD_COLOURS["path_set"], "marker": "P", "linestyle": "-"},
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
    figure, panels = plt.subplots(6, 2, figsize=(6.6, 13.4), layout=ConstrainedLayoutEngine(h_pad=0.1), sharey=True)
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
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def only_if(kept: xr.Dataset) -> str:
    """Conditions of a Dataset (condition) as the end of a sentence: ``only if the receiver is turned (5°, 10°)``."""
    found: dict[str, list[str]] = {}
    for kind, label in zip(kept.kind.values, kept.label.values, strict=True):
        found.setdefault(_CLAUSES[str(kind)], []).append(str(label))
    clauses = [f"{clause} ({', '.join(labels)})" for clause, labels in found.items()]
    return f"only if {listed(clauses, 'or')}" if clauses else "in no condition"


def errors_frame(floored: xr.Dataset, raw: xr.Dataset) -> pd.DataFrame:
    """L [nat] of every method under every condition, with and without floor, as text."""
    columns = [(look["label"], column) for look in METHODS.values() for column in ("L", "bare")]
    cells = [
        [
            f"{float(data.loss.isel(condition=index).sel({'method': name})):.2f}"
            for name in METHODS
            for data in (floored, raw)
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


@dataclass(frozen=True)
class ColouredFrame:
    """A table whose cells are HTML, as a notebook shows it."""

    frame: pd.DataFrame

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(escape=False))


def verdicts_frame(compared: Mapping[str, xr.Dataset]) -> ColouredFrame:
    """Paired differences of losses [nat] (condition), one column per title, coloured where they are significant.

    Args:
        compared: differences with intervals, from :func:`locus.experiment.wrong_twin.compared` or ``behind``. Those
            whose whole interval is on one side of zero are coloured.
    """

    def cell(one: xr.Dataset) -> str:
        if not one.difference.notnull():
            return ""
        text = f"{float(one.difference):+.2f}"
        if float(one.difference_high) < 0:
            return f'<span class="better">{text}</span>'
        return f'<span class="worse">{text}</span>' if float(one.difference_low) > 0 else text

    first = next(iter(compared.values()))
    cells = [
        [cell(data.isel(condition=index)) for data in compared.values()] for index in range(first.sizes["condition"])
    ]
    return ColouredFrame(_frame(first, cells, pd.Index(list(compared))))


def reachable_frame(reachable: xr.Dataset) -> pd.DataFrame:
    """L of the path set and of what it could reach, with intervals; empty where that is unknown."""
    cells = [
        [_text(reachable.isel(condition=index).sel({"method": name}), "loss") for name in REACHABLE]
        for index in range(reachable.sizes["condition"])
    ]
    return _frame(reachable, cells, pd.Index(REACHABLE.values(), name="L [nat]"))


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
    shape = (-(-len(example.maps) // 2), 2)
    figure, panels = plt.subplots(*shape, figsize=(6.6, 7.8), layout="constrained", sharex=True, sharey=True)
    for axes, (title, values) in zip(panels.flat, example.maps.items(), strict=True):
        mesh = draw_posterior(axes, example.layout, example.pose, values, example.position, scale=0.9)
        if "wrong" in title:
            room, receiver = example.wrong
            for polygon in (room.room, *room.obstacles):
                axes.plot(*polygon.exterior.xy, color="#D55E00", linestyle="--", linewidth=1.2)
            reach = np.array([0, 20])
            ray = receiver.x + reach * np.cos(receiver.heading), receiver.y + reach * np.sin(receiver.heading)
            axes.plot(*ray, color="#D55E00", linestyle="--", linewidth=1.2, zorder=7)
        gain = example.gains[title]
        axes.set_title(f"{title}\ntruth {gain:{',.0f' if gain >= 10 else '.1g'}} × uniform", fontsize="medium")
        axes.set(xlabel="", ylabel="", xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    label = "log posterior relative to its maximum [nat]"
    figure.colorbar(mesh, ax=panels, label=label, location="bottom", extend="min", shrink=0.7, aspect=35)
    return figure
