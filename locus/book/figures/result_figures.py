"""Figures of the results: posterior maps and measured rows in, matplotlib figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from locus import draw
from locus.book.figures.style import METHOD_COLOURS
from locus.book.studies.posterior_maps import Task
from locus.book.typography import numbers
from locus.experiment.table import SCORER_TITLES

# Markers and line styles differ as well, for print without colour
STYLES: dict[str, dict[str, Any]] = {
    "locus_dt": {"color": METHOD_COLOURS["locus_dt"], "marker": "o", "linestyle": "-"},
    "gauss_cart": {"color": METHOD_COLOURS["gauss_cart"], "marker": "v", "linestyle": ":"},
    "gauss_polar": {"color": METHOD_COLOURS["gauss_polar"], "marker": "^", "linestyle": "-."},
    "gmm_cart": {"color": METHOD_COLOURS["gmm_cart"], "marker": "s", "linestyle": "--"},
    "fingerprint": {"color": METHOD_COLOURS["fingerprint"], "marker": "X", "linestyle": (0, (3, 1, 1, 1))},
    "angle_strength": {"color": METHOD_COLOURS["angle_strength"], "marker": "d", "linestyle": (0, (4, 2, 1, 2, 1, 2))},
    "path_set": {"color": METHOD_COLOURS["path_set"], "marker": "P", "linestyle": "-"},
    "phase_blind": {"color": METHOD_COLOURS["phase_blind"], "marker": "D", "linestyle": (0, (6, 2))},
    "bayes": {"color": METHOD_COLOURS["bayes"], "marker": "*", "linestyle": (0, (1, 1))},
}
_SMALL = 0.7  # size of markers in small panels


def tasks_figure(tasks: Sequence[Task], num_snapshots: int = 3) -> Figure:
    """The paper's Fig. 2: one row per task, with LOCUS-DT's maps of the first snapshots."""
    rows = [(f"task {number}", task, "locus_dt") for number, task in enumerate(tasks, 1)]
    return _maps_figure(rows, min(num_snapshots, tasks[0].num_snapshots))


def methods_figure(task: Task, num_snapshots: int = 3) -> Figure:
    """The paper's Fig. 3 for one task: one row per method, one column per snapshot."""
    rows = [(SCORER_TITLES[name], task, name) for name in task.maps]
    return _maps_figure(rows, min(num_snapshots, task.num_snapshots))


def _maps_figure(rows: Sequence[tuple[str, Task, str]], num_snapshots: int) -> Figure:
    """Maps of the first snapshots, one row per (title, task, method)."""
    size = (2.1 * num_snapshots + 0.3, 2.1 * len(rows) + 0.9)
    figure, panels = plt.subplots(len(rows), num_snapshots, figsize=size, layout="constrained", squeeze=False)
    for (title, task, method), row in zip(rows, panels, strict=True):
        for snapshot, axes in enumerate(row):
            mesh = draw_posterior(axes, task, method, snapshot)
            _bare(axes, ylabel="" if snapshot else title)
    for number, axes in enumerate(panels[0], 1):
        axes.set_title(f"transmitter {number}", fontsize="medium")
    _colour_bar(figure, mesh, panels)
    return figure


def posterior_figure(task: Task, method: str, snapshot: int) -> Figure:
    """One posterior map, with axes."""
    figure, axes = plt.subplots(figsize=(6.2, 4.8), layout="constrained")
    mesh = draw_posterior(axes, task, method, snapshot, scale=0.9)
    axes.set_title(f"{SCORER_TITLES[method]}, TX {snapshot + 1}")
    figure.colorbar(mesh, ax=axes, label="relative log posterior [nat]", extend="min", shrink=0.9)
    return figure


def snapshots_figure(task: Task, num_snapshots: int = 3, *, narrow: bool = False) -> Figure:
    """LOCUS-DT's maps of the first snapshots of a task, side by side or, if ``narrow``, below each other."""
    shape = (num_snapshots, 1) if narrow else (1, num_snapshots)
    size = (3.5, 3.5 * num_snapshots + 0.6) if narrow else (3.0 * num_snapshots, 3.95)
    figure, panels = plt.subplots(*shape, figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.1))
    for number, axes in enumerate(panels):
        mesh = draw_posterior(axes, task, "locus_dt", number, scale=0.9)
        _bare(axes)
        axes.set_title(f"transmitter {number + 1}")
    _colour_bar(figure, mesh, panels)
    return figure


def draw_posterior(axes: Axes, task: Task, method: str, snapshot: int, scale: float = _SMALL) -> ScalarMappable:
    """Relative log posterior of one snapshot over the room, with receiver and true transmitter."""
    logs = task.maps[method].isel(snapshot=snapshot)
    position = task.true_position(snapshot)
    return draw.draw_posterior(axes, task.case.layout, task.case.pose, logs, position, scale=scale)


def coverage_figure(curves: Mapping[str, xr.Dataset]) -> Figure:
    """Coverage minus nominal level, per method, from :func:`locus.judge.metrics.coverage`."""
    layout = ConstrainedLayoutEngine(w_pad=0.12)
    figure, panels = plt.subplots(3, 3, figsize=(7.0, 7.4), layout=layout, sharex=True)
    for (name, curve), axes in zip(curves.items(), panels.flat, strict=True):
        nominal = 100 * curve.nominal
        low, high, found = (100 * curve[part] - nominal for part in ("low", "high", "coverage"))
        axes.fill_between(nominal, low, high, color="0.82", linewidth=0)
        axes.axhline(0, color="0.4", linewidth=0.8)
        axes.plot(nominal, found, color=STYLES[name]["color"], linewidth=2)
        verdict = "in the band" if bool(curve.calibrated) else "leaves the band"
        axes.set_title(f"{SCORER_TITLES[name]}:\n{verdict}", fontsize="medium")
        reach = 1.15 * float(max(abs(found).max(), high.max()))
        axes.set(xlim=(0, 100), ylim=(-reach, reach), xticks=range(0, 101, 25))
        axes.grid(alpha=0.3)
    figure.supxlabel("nominal credible level [%]", fontsize="medium")
    figure.supylabel("truths inside minus nominal [percentage points]", fontsize="medium")
    return figure


def use_figure(rows: xr.Dataset) -> Figure:
    """Distributions over snapshots: error of the most probable candidate, and area of the 90 % set."""
    figure, panels = plt.subplots(1, 2, figsize=(7.0, 4.4), layout="constrained", sharey=True)
    labels = {"map_error": "error of the most probable candidate [m]", "area": "area of the smallest 90 % set [m²]"}
    # No more steps than can be told apart, as every one of them is kept in the file
    kept = np.unique(np.linspace(0, rows.sizes["snapshot"] - 1, 400).round().astype(int))
    share = 100 * (kept + 1) / rows.sizes["snapshot"]
    for axes, (key, label) in zip(panels, labels.items(), strict=True):
        ordered = {name: np.sort(rows[key].sel({"method": name}).values) for name in SCORER_TITLES}
        positive = min(values[values > 0].min(initial=np.inf) for values in ordered.values())
        left = positive / 2 if key == "area" else max(0.1, positive / 2)
        for name, values in ordered.items():
            # Draw exact hits at the left edge, as a logarithmic axis has no zero
            style = {"color": STYLES[name]["color"], "linestyle": STYLES[name]["linestyle"], "linewidth": 1.8}
            axes.step(
                [left, *np.maximum(values[kept], left)], [0, *share], where="post", label=SCORER_TITLES[name], **style
            )
        axes.set(xscale="log", xlabel=label, xlim=(left, None), ylim=(0, 100))
        axes.axhline(50, color="0.6", linewidth=0.8, zorder=0)
        axes.axhline(90, color="0.6", linewidth=0.8, zorder=0)
        axes.grid(alpha=0.3, which="both", axis="x")
    panels[0].set(ylabel="share of snapshots below [%]", yticks=[0, 25, 50, 75, 90, 100])
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, frameon=False, handlelength=3)
    return figure


def strata_figure(strata: xr.Dataset, snr: xr.Dataset) -> Figure:
    """Loss with intervals by kind of channel and by SNR of the strongest path, each (bin, method)."""
    figure, panels = plt.subplots(2, 1, figsize=(7.0, 8.4), layout="constrained")
    for axes, data, label in zip(
        panels, (strata, snr), ("simplest path", "SNR of the strongest path [dB]"), strict=True
    ):
        kept = data.isel(bin=np.flatnonzero(data.num_snapshots.values > 0))
        centre = np.arange(kept.sizes["bin"])
        for number, name in enumerate(SCORER_TITLES):
            one = kept.sel({"method": name})
            place = centre + 0.75 / len(SCORER_TITLES) * (number - (len(SCORER_TITLES) - 1) / 2)
            ends = np.nan_to_num(np.abs(np.stack([one.loss - one.loss_low, one.loss_high - one.loss])))
            style = {"color": STYLES[name]["color"], "marker": STYLES[name]["marker"], "linestyle": "none"}
            axes.errorbar(place, one.loss, yerr=ends, capsize=2.5, label=SCORER_TITLES[name], **style)
        bins = zip(kept.bin.values, kept.num_snapshots.values, strict=True)
        axes.set_xticks(centre, [f"{numbers(name).removesuffix(' dB')}\n({count:,})" for name, count in bins])
        axes.axhline(0, color="0.4", linewidth=0.8, zorder=0)
        axes.set(xlabel=f"{label} (number of snapshots)", ylabel="adjusted loss [nat]")
        axes.grid(alpha=0.3, axis="y")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def failure_figure(task: Task, snapshot: int, most_probable: int, threshold_db: float) -> Figure:
    """One snapshot: LOCUS-DT's map, and SNR over angle of the paths observed, of the truth and of the wrong guess.

    Args:
        task: the group.
        snapshot: index of the snapshot.
        most_probable: index of the candidate that LOCUS-DT prefers.
        threshold_db: detection threshold of the estimator, as an SNR [dB].
    """
    figure, (plan, stems) = plt.subplots(
        2, 1, figsize=(5.6, 8.2), layout="constrained", gridspec_kw={"height_ratios": [1.5, 1]}
    )
    mesh = draw_posterior(plan, task, "locus_dt", snapshot, scale=0.9)
    guess = task.case.paths.isel(candidate=most_probable)
    plus: dict[str, Any] = {"markersize": 9, "color": "white", "markeredgecolor": "black", "zorder": 8}
    for axes in (plan, *plan.child_axes):
        axes.plot(float(guess.x), float(guess.y), "P", **plus)
    figure.colorbar(mesh, ax=plan, label="relative log posterior [nat]", extend="min", shrink=0.85)
    truth = task.case.paths.isel(candidate=int(task.case.truth[snapshot]))
    observed = task.case.observed.isel(snapshot=snapshot)
    sets: tuple[tuple[xr.Dataset, str, dict[str, Any]], ...] = (
        (observed, "observed", {"color": "black", "marker": "x", "markersize": 8, "markeredgewidth": 2}),
        (truth, "twin, truth (star)", {"color": "#D00000", "marker": "o", "fillstyle": "none", "markersize": 8}),
        (guess, "twin, most probable (plus)", {"color": "#009E73", "marker": "s", "fillstyle": "none"}),
    )
    num_paths, floor = observed.sizes["path"], -45.0
    for data, name, style in sets:
        label = name if bool(data.valid.any()) else f"{name}: nothing"
        real = data.isel(path=np.flatnonzero(data.valid.values)[:num_paths])
        height = np.maximum(real.snr_db.values, floor)
        stems.vlines(np.degrees(real.aoa), floor, height, color=style["color"], linewidth=0.8, alpha=0.6)
        stems.plot(np.degrees(real.aoa), height, linestyle="none", label=label, clip_on=False, **style)
    for edge in (-90, 90):
        stems.axvline(edge, color="0.6", linestyle=":", linewidth=1)
    stems.axhline(threshold_db, color="black", linestyle="--", linewidth=1, label="threshold")
    stems.set(xlabel="angle of arrival [degrees]", ylabel="SNR per sample [dB]", xlim=(-180, 180))
    stems.set_ylim(bottom=floor)
    stems.set_xticks(range(-180, 181, 90))
    figure.legend(*stems.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    stems.grid(alpha=0.3)
    return figure


def moved_figure(moved: xr.Dataset) -> Figure:
    """Loss (distance, method) of ideal receivers and LOCUS-DT over the transmitter's distance from its candidate."""
    figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
    place = np.arange(moved.sizes["distance"])
    for number, name in enumerate(moved.method.values):
        one = moved.sel({"method": name})
        shift = place + 0.06 * (number - 1)
        # Percentile intervals may exclude a mean that a few extreme layouts dominate
        ends = np.nan_to_num(np.maximum(np.stack([one.loss - one.loss_low, one.loss_high - one.loss]), 0))
        axes.errorbar(
            shift, one.loss, yerr=ends, capsize=3, label=SCORER_TITLES[str(name)], linewidth=1.6, **STYLES[name]
        )
    axes.axhline(0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_yscale("symlog", linthresh=5)
    ticks = [-5, 0, 5, 10, 100, 1000]
    axes.set_yticks(ticks, [numbers(str(tick)) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(-8, max(10.0, 2 * float(moved.loss_high.where(np.isfinite(moved.loss_high)).max())))
    axes.set_xticks(place, [f"{1000 * distance:g} mm" for distance in moved.distance.values])
    axes.set(xlabel="distance of the transmitter from its candidate", ylabel="adjusted loss [nat]")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, handlelength=3)
    return figure


def _bare(axes: Axes, ylabel: str = "") -> None:
    """Style a small panel without ticks and frame; the walls of the room frame it."""
    axes.set(xlabel="", ylabel=ylabel, xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)  # so that it does not cover an arrow that extends from another panel


def _colour_bar(figure: Figure, mesh: ScalarMappable, panels: Any) -> None:
    label = "relative log posterior [nat]"
    figure.colorbar(mesh, ax=panels, label=label, extend="min", location="bottom", shrink=0.5, aspect=40, pad=0.02)
