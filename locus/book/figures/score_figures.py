"""Figures and tables of scores, posteriors and training: labelled data in, matplotlib figures and tables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from locus.book.figures.style import COLOURS, METHOD_COLOURS
from locus.book.tables import number_with_interval
from locus.draw import draw_posterior
from locus.room.layout import Layout, Pose
from locus.score.weight_files import METHOD_TITLES
from locus.settings.config import Training

_LINES = ("-", "--", ":")


def matching_figure(
    observed: xr.Dataset, candidates: Mapping[str, xr.Dataset], snr_range: tuple[float, float]
) -> Figure:
    """SNR over angle of the observed paths (path), and of the paths predicted for candidates (path), by title.

    Stems start at the lower end of ``snr_range``, where the network clips SNRs. Dotted stems are paths from behind,
    mirrored to the angle at which a linear array receives them.
    """
    figure, panels = plt.subplots(
        len(candidates), 1, figsize=(6.6, 2.1 * len(candidates)), layout="constrained", sharex=True, sharey=True
    )
    for axes, (title, paths) in zip(np.atleast_1d(panels), candidates.items(), strict=True):
        _stems(axes, paths, snr_range, "twin", COLOURS[0], "o", 9)
        _stems(axes, observed, snr_range, "observation", COLOURS[1], "x", 8)
        axes.axvspan(-180, -90, color="0.93", zorder=0)
        axes.axvspan(90, 180, color="0.93", zorder=0)
        axes.set(xlim=(-180, 180), ylabel="SNR [dB]")
        axes.set_xticks(range(-180, 181, 45))
        axes.set_title(title, loc="left", fontsize="medium")
        axes.grid(alpha=0.3)
    highest = max(float(paths.snr_db.where(paths.valid).max()) for paths in (observed, *candidates.values()))
    np.atleast_1d(panels)[0].set_ylim(snr_range[0] - 2, min(highest, snr_range[1]) + 4)
    np.atleast_1d(panels)[-1].set_xlabel(
        "angle of arrival [degrees]; grey: behind the array; dotted: mirrored to the front"
    )
    figure.legend(
        *np.atleast_1d(panels)[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False
    )
    return figure


def _stems(
    axes: Axes, paths: xr.Dataset, snr_range: tuple[float, float], label: str, colour: str, marker: str, size: float
) -> None:
    real = paths.isel(path=paths.valid.values)
    angle, level = np.degrees(real.aoa.values), np.clip(real.snr_db.values, *snr_range)
    axes.vlines(angle, snr_range[0], level, color=colour, linewidth=1.4, alpha=0.7)
    style: dict[str, Any] = {"linestyle": "none", "clip_on": False, "fillstyle": "none", "markeredgewidth": 1.8}
    axes.plot(angle, level, marker, color=colour, markersize=size, label=label, **style)
    behind = np.abs(angle) > 90
    mirrored = np.sign(angle[behind]) * 180 - angle[behind]
    if behind.any():
        axes.vlines(mirrored, snr_range[0], level[behind], color=colour, linewidth=1.4, linestyle=":", alpha=0.7)


def posterior_figure(
    layout: Layout,
    pose: Pose,
    maps: Mapping[str, xr.DataArray],
    transmitters: Sequence[tuple[float, float]],
    num_columns: int = 2,
) -> Figure:
    """Log posteriors (candidate) on a grid, by title, each relative to its maximum; all share one colour scale."""
    num_rows = -(-len(maps) // num_columns)
    figure, panels = plt.subplots(
        num_rows,
        num_columns,
        figsize=(3.3 * num_columns, 3.4 * num_rows + 1.1),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for axes, (title, value), transmitter in zip(panels.flat, maps.items(), transmitters, strict=True):
        mesh = draw_posterior(axes, layout, pose, value, transmitter)
        axes.set_title(title, fontsize="medium")
        axes.label_outer()
    label = "log posterior relative to its maximum [nat]"
    figure.colorbar(mesh, ax=panels, label=label, location="bottom", extend="min", shrink=0.7, aspect=35)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def normaliser_figure(study: xr.Dataset, labels: Sequence[str]) -> Figure:
    """Results of ``sampled_normaliser``: one line and band per snapshot, named by ``labels``."""
    figure, panels = plt.subplots(1, 2, figsize=(7.0, 3.9), layout="constrained")
    for axes, name in zip(panels, ("log_ratio", "loss"), strict=True):
        for number, label in enumerate(labels):
            value = study[name].isel(snapshot=number)
            colour = COLOURS[number]
            axes.fill_between(
                study["size"], value.sel(quantile=0.05), value.sel(quantile=0.95), color=colour, alpha=0.22, linewidth=0
            )
            axes.plot(study["size"], value.sel(quantile=0.5), _LINES[number % 3], color=colour, label=label)
        axes.set_xscale("log")
        axes.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
        axes.set_xlabel("number of candidates")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("log (mean / integral) [nat]")
    panels[1].set_ylabel("adjusted loss of the snapshot [nat]")
    bound = panels[1].plot(study["size"], -np.log(study["size"]), color="0.3", linewidth=1.2, linestyle=(0, (1, 1)))
    panels[1].legend(bound, ["least possible, −log N"], frameon=False, loc="lower left")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def learning_figure(panels: Mapping[str, xr.Dataset]) -> Figure:
    """Learning curves (method, epoch), one panel per title: validation solid, training dashed, dots: kept weights."""
    figure, all_axes = plt.subplots(
        1, len(panels), figsize=(max(6.0, 3.5 * len(panels)), 3.9), layout="constrained", squeeze=False, sharey=True
    )
    names = list(dict.fromkeys(str(name).partition(".")[0] for data in panels.values() for name in data.method.values))
    for axes, (title, data) in zip(all_axes[0], panels.items(), strict=True):
        for name in data.method.values:
            one, colour = data.sel({"method": name}), METHOD_COLOURS[str(name).partition(".")[0]]
            axes.plot(one.epoch, one.validation, color=colour)
            axes.plot(one.epoch, one.train, color=colour, linestyle="--", linewidth=1.2)
            best = int(one.best_epoch)
            axes.plot(best, one.validation.sel(epoch=best), "o", color=colour, markeredgecolor="white", markersize=8)
        if len(names) > 1:  # with one method, zero (a uniform guess) may be far off and would flatten its curve
            axes.axhline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="epoch", title=title)
        axes.grid(alpha=0.3)
    all_axes[0, 0].set_ylabel("adjusted loss [nat]")
    handles = [Line2D([], [], color=METHOD_COLOURS[name], linewidth=2.5, label=METHOD_TITLES[name]) for name in names]
    handles = handles if len(names) > 1 else []
    handles += [
        Line2D([], [], color="0.3", label="validation"),
        Line2D([], [], color="0.3", linestyle="--", linewidth=1.2, label="training"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    return figure


def feature_table(twin: NDArray[np.float32], observation: NDArray[np.float32]) -> pd.DataFrame:
    """Features of one candidate and one observation, each of shape (3 × path), as a table with one row per path."""
    sides = {"twin": twin, "observation": observation}
    names = ("cosine", "sine", "SNR, scaled")
    columns = pd.MultiIndex.from_product([sides, names])
    values = np.concatenate([np.reshape(side, (-1, len(names))) for side in sides.values()], axis=1)
    cells = [[f"{value:z.3f}" for value in row] for row in values]
    return pd.DataFrame(cells, pd.RangeIndex(1, len(values) + 1, name="path"), columns)


def summary_table(summary: xr.Dataset, labels: Mapping[str, str]) -> pd.DataFrame:
    """L, G and R of a :func:`locus.judge.metrics.summary` with their 95 % intervals, one row per label."""
    rows = {}
    for name, label in labels.items():
        one = summary.sel({"method": name})
        rows[label] = {
            "L [nat]": interval_text(one, "loss"),
            "G": interval_text(one, "gain", digits=1),
            "R [%]": interval_text(one, "ratio", 100.0, 1),
        }
    return pd.DataFrame(rows).T


def interval_text(data: xr.Dataset, name: str, scale: float = 1.0, digits: int = 2) -> str:
    """Format a scalar of a Dataset and its interval ``_low`` to ``_high``, times ``scale``."""
    return number_with_interval([scale * float(data[name + end]) for end in ("", "_low", "_high")], f".{digits}f")


def comparison_table(summary: xr.Dataset, labels: Mapping[str, str], printed: xr.Dataset) -> pd.DataFrame:
    """L and R from :func:`summary_table`, and beside them those that the paper prints for each method."""
    table = summary_table(summary, labels)[["L [nat]", "R [%]"]]
    table.columns = pd.MultiIndex.from_product([["test rooms"], table.columns])
    for evaluation, title in (("random", "paper, Eval Random"), ("grid", "paper, Eval Grid")):
        theirs = printed.sel({"evaluation": evaluation, "method": [name.partition(".")[0] for name in labels]})
        table[title, "L [nat]"] = [f"{loss:.2f}" for loss in theirs.loss.values]
        table[title, "R [%]"] = [f"{100 * ratio:.2f}" for ratio in theirs.ratio.values]
    return table


def fairness(table: xr.Dataset, curves: Mapping[str, xr.Dataset], printed: xr.Dataset, training: Training) -> str:
    """State which baselines exceed the paper's loss by more than 0.1 nats, and the likely cause.

    Args:
        table: results of the run, (method, evaluation), from :class:`locus.experiment.table.Table`.
        curves: learning curves of all baselines, by encoding.
        printed: the paper's results, from :func:`locus.book.paper.printed`.
        training: training settings of the run.
    """
    verdict = "None of the three is worse than the paper's by more than 0.1 nats on either set:"
    lines = []
    for name in [name for name in METHOD_TITLES if name != "locus_dt"]:
        ends = []
        for encoding, data in curves.items():
            one = data.sel({"method": f"{name}.{encoding}"})
            ends.append(one.sel(epoch=int(one.best_epoch)))
        train = float(min(ends, key=lambda end: float(end.validation)).train)
        text = f"- {METHOD_TITLES[name]}:"
        for key, title in (("random", "Eval Random"), ("grid", "Eval Grid")):
            ours, theirs = (float(data.loss.sel({"method": name, "evaluation": key})) for data in (table, printed))
            text += f" L = {ours:.2f} nats on {title} (the paper: {theirs:.2f})."
            if ours - theirs > 0.1:
                verdict = "In this run not all of them are:"
                text += (
                    f" **Worse by {ours - theirs:.2f} nats**: it reaches {train:.2f} on rooms that it was trained "
                    f"on (at most {training.num_epochs} epochs; the paper had 2000) and loses {ours - train:.2f} from "
                    f"there to new rooms (trained on {training.num_layouts} rooms; the paper on 8000)."
                )
        lines.append(text)
    return "\n".join([verdict, "", *lines])
