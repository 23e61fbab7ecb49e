"""Figures of walks: one walk or the rows of many in, maps, losses and coverage against the number of snapshots out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shapely
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke

from locus.book.figures.score_figures import interval_text
from locus.book.figures.style import METHOD_COLOURS
from locus.book.studies.walk_maps import WalkMaps
from locus.draw import RECEIVER, draw_posterior
from locus.judge.credible import CREDIBLE_MASS
from locus.score.walk_compass import INTERVAL

METHODS: dict[str, dict[str, Any]] = {
    "locus_dt": {"label": "LOCUS-DT, added", "color": METHOD_COLOURS["locus_dt"], "marker": "o", "linestyle": "-"},
    "robust": {
        "label": "LOCUS-DT trained with errors, added",
        "color": METHOD_COLOURS["robust"],
        "marker": "D",
        "linestyle": "-",
    },
    "bearings": {"label": "bearings, without a twin", "color": "#D55E00", "marker": "s", "linestyle": "--"},
    "path_set": {"label": "path sets, added", "color": METHOD_COLOURS["path_set"], "marker": "P", "linestyle": "--"},
    "walk": {"label": "path sets, shared errors", "color": "black", "marker": "v", "linestyle": "-"},
}
"""Titles and looks of the compared ways to fuse snapshots."""

CONDITIONS = {"exact": "exact twin", "0.3 m": "off by 0.3 m and 1.5 degrees", "1 m": "off by 1 m and 5 degrees"}
"""Titles of what the twin gets wrong."""

_ARROW = 0.13  # length of the arrow of a receiver / width of the room, about


def strip_figure(one: WalkMaps, steps: list[int]) -> Figure:
    """Maps of both methods, one column each, after some numbers of snapshots; the twin's own walls are dashed."""
    shape = (len(steps), len(one.maps))
    size = (3.3 * shape[1], 3.2 * shape[0] + 0.8)
    figure, panels = plt.subplots(*shape, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False)
    x, y = one.scene.candidates[one.scene.truth]
    for column, (name, logs) in zip(panels.T, one.maps.items(), strict=True):
        for axes, step in zip(column, steps, strict=True):
            values = logs.isel(step=step - 1)
            poses = one.scene.poses[:step]
            places = shapely.MultiPoint([(pose.x, pose.y) for pose in poses]).buffer(4.0)
            mesh = draw_posterior(axes, one.scene.layout, poses[-1], values, (x, y), scale=0.7, uncovered=places)
            if one.believed[0] is not one.scene.layout:
                for polygon in (one.believed[0].room, *one.believed[0].obstacles):
                    axes.plot(*polygon.exterior.xy, color="#D55E00", linestyle="--", linewidth=1.0, zorder=3)
            rim = [withStroke(linewidth=3.0, foreground="white")]
            way = [pose.x for pose in poses], [pose.y for pose in poses]
            axes.plot(*way, ".-", color=RECEIVER, linewidth=1.2, markersize=4, path_effects=rim, zorder=4)
            mass = float(np.exp(values.isel(candidate=one.scene.truth)))
            above = f"{METHODS[name]['label']}\n" if step == steps[0] else ""
            axes.set_title(f"{above}truth {100 * mass:{'.0f' if mass > 0.095 else '.2g'}} %", fontsize="medium")
            axes.label_outer()
    last = [one.scene.poses[step - 1] for step in steps]
    reach = _ARROW * float(np.ptp(one.scene.layout.room.exterior.xy[0]))
    tips = [(pose.x + reach * np.cos(pose.heading), pose.y + reach * np.sin(pose.heading)) for pose in last]
    x0, y0, x1, y1 = shapely.union(one.scene.layout.room, shapely.MultiPoint(tips)).buffer(1.0).bounds
    axes.set(xlim=(x0, x1), ylim=(y0, y1))
    for axes, step in zip(panels[:, 0], steps, strict=True):
        axes.set_ylabel(f"{step} snapshot{'s'[: step > 1]}\ny [m]")
    label = "log posterior relative to its maximum [nat]"
    figure.colorbar(mesh, ax=panels, label=label, extend="min", location="bottom", shrink=0.7, aspect=30, pad=0.02)
    return figure


def curves_figure(summary: xr.Dataset) -> Figure:
    """Loss and coverage of the 90 % sets against the number of snapshots, a row per condition."""
    figure, panels = plt.subplots(
        summary.sizes["condition"], 2, figsize=(7.2, 9.6), layout=_apart(), sharex=True, sharey="col"
    )
    for row, condition in zip(panels, summary.condition.values, strict=True):
        for axes, measure, scale in zip(row, ("loss", "covered"), (1, 100), strict=True):
            for number, (name, look) in enumerate(METHODS.items()):
                one = scale * summary.sel({"condition": condition, "method": name})
                ends = np.abs(np.stack([one[measure] - one[f"{measure}{end}"] for end in ("_low", "_high")]))
                place = one.step + 0.05 * (number - 2)
                axes.errorbar(place, one[measure], yerr=ends, capsize=2, markersize=5, linewidth=1.4, **look)
            axes.axhline(0 if measure == "loss" else 100 * CREDIBLE_MASS, color="0.4", linewidth=0.8, zorder=0)
            axes.grid(alpha=0.3, axis="y")
            axes.set_title(CONDITIONS[str(condition)], fontsize="medium")
        row[0].set_ylabel("adjusted loss [nat]")
        row[1].set_ylabel("truths inside the 90 % set [%]")
    for axes in panels[-1]:
        axes.set(xlabel="snapshots", xticks=summary.step.values)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def losses_frame(summary: xr.Dataset) -> pd.DataFrame:
    """Loss and coverage of every method after the last snapshot, with intervals, as text."""
    last = summary.isel(step=-1)
    rows = {
        (CONDITIONS[str(condition)], look["label"]): {
            "L [nat]": interval_text(last.sel({"condition": condition, "method": name}), "loss"),
            "in 90 % sets [%]": interval_text(last.sel({"condition": condition, "method": name}), "covered", 100, 0),
        }
        for condition in summary.condition.values
        for name, look in METHODS.items()
    }
    index = pd.MultiIndex.from_tuples(rows, names=["the twin", "method"])
    return pd.DataFrame(list(rows.values()), index=index)


def compass_summary(rows: xr.Dataset) -> xr.Dataset:
    """Share of compass errors in their intervals, ``inside``, and the intervals' median ``width`` (condition, step)."""
    inside = (rows.compass_low <= rows.compass) & (rows.compass <= rows.compass_high)
    width = np.degrees(rows.compass_high - rows.compass_low)
    return xr.Dataset({"inside": inside.mean("snapshot"), "width": width.median("snapshot")})


def compass_figure(rows: xr.Dataset) -> Figure:
    """How often the interval of the compass error holds it, and how wide it is, against the number of snapshots."""
    found = compass_summary(rows)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), layout=_apart(), sharex=True)
    looks = zip(CONDITIONS, ("o", "D", "v"), ("#0072B2", "#009E73", "#D55E00"), strict=True)
    for condition, marker, color in looks:
        one = found.sel({"condition": condition})
        left.plot(one.step, 100 * one.inside, marker=marker, color=color, label=CONDITIONS[condition])
        right.plot(one.step, one.width, marker=marker, color=color, clip_on=False)  # on the axis, too
    left.axhline(100 * INTERVAL, color="0.4", linewidth=0.8, zorder=0)
    left.set(xlabel="snapshots", ylabel="compass errors in the interval [%]", ylim=(0, 103), xticks=found.step.values)
    right.set(xlabel="snapshots", ylabel="median width [degrees]", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3, axis="y")
    left.legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _apart() -> ConstrainedLayoutEngine:
    """Layout of columns that have labels of their own."""
    return ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
