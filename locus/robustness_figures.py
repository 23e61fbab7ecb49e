"""Figures and tables of robustness: rows under wrong twins in, what each error costs to be seen out."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from locus import estimator, groups, metrics, mismatch
from locus.dataset import make_snapshots
from locus.figures import draw_map, draw_receiver, draw_room, draw_transmitter
from locus.layout import Layout, Pose
from locus.methods import TITLES, load_method
from locus.result_tables import with_interval
from locus.robustness import Robustness
from locus.run import Run
from locus.twin import make_twin

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
    "locus_dt": {"label": TITLES["locus_dt"], "color": "#0072B2", "marker": "o", "linestyle": "-"},
    "robust": {"label": "LOCUS-DT, trained with errors", "color": "#009E73", "marker": "D", "linestyle": "-"},
    "gmm_cart": {"label": TITLES["gmm_cart"], "color": "#D55E00", "marker": "s", "linestyle": "--"},
}
_FLOOR = -10.0


def errors_figure(summary: xr.Dataset, measure: str) -> Figure:
    """Loss (``loss``) or coverage of the 90 % sets (``covered``) of every network against each kind of error."""
    figure, panels = plt.subplots(2, 4, figsize=(11.0, 6.0), layout="constrained", sharey=True)
    exact = summary.isel(condition=np.flatnonzero(summary.kind == "none"))
    scale = 100 if measure == "covered" else 1
    for axes, (kind, title) in zip(panels.flat, KINDS.items(), strict=True):
        data = xr.concat([exact, summary.isel(condition=np.flatnonzero(summary.kind == kind))], "condition")
        for number, (name, style) in enumerate(NETWORKS.items()):
            one = scale * data.sel({"method": name})
            ends = np.nan_to_num(np.abs(np.stack([one[measure] - one[f"{measure}{end}"] for end in ("_low", "_high")])))
            place = np.arange(one.sizes["condition"]) + 0.06 * (number - 1)
            axes.errorbar(place, one[measure], yerr=ends, capsize=2, markersize=5, linewidth=1.4, **style)
        axes.axhline(100 * metrics.CREDIBLE_MASS if measure == "covered" else 0, color="0.4", linewidth=0.8, zorder=0)
        axes.set_xticks(range(data.sizes["condition"]), data.label.values, fontsize="small")
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3, axis="y")
    label = "truths inside the 90 % set [%]" if measure == "covered" else "adjusted loss [nat]"
    figure.supylabel(label, fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def errors_frame(summary: xr.Dataset) -> pd.DataFrame:
    """R of every network under every condition, with intervals, as text."""
    rows = {}
    for index in range(summary.sizes["condition"]):
        one = summary.isel(condition=index)
        kind = KINDS.get(str(one.kind.values), "nothing")
        rows[kind, str(one.label.values)] = [
            with_interval(
                [100 * float(one[f"ratio{end}"].sel({"method": name})) for end in ("", "_low", "_high")], ".1f"
            )
            for name in NETWORKS
        ]
    index = pd.MultiIndex.from_tuples(rows, names=["what is wrong", "by"])
    return pd.DataFrame(
        list(rows.values()), index=index, columns=[f"R [%], {one['label']}" for one in NETWORKS.values()]
    )


class Example(NamedTuple):
    """One snapshot, as an exact and a wrong twin explain it."""

    layout: Layout
    pose: Pose
    wrong: tuple[Layout, Pose]
    position: tuple[float, float]
    maps: dict[str, xr.DataArray]
    """Log posterior over the map's largest [nat], (candidate), by title."""
    gains: dict[str, float]
    """How many times as probable as by a blind guess the truth is on the group's own list, by title."""


def make_example(run: Run, index: int, size: float, num_points: int) -> Example:
    """The strongest snapshot of a group of Eval Random, with an exact twin and with one that is off by ``size`` [m].

    Obstacles, walls and the receiver's position are off by ``size``, the heading by 5 degrees a metre.
    """
    config = run.config
    layout, pose, candidates = groups.draw(config, "eval_random", index)
    twin = make_twin("image", config.radio, config.twin)
    paths = twin.trace(layout, pose, candidates)
    snapshots = make_snapshots(config, "eval_random", index, paths)
    snr = paths.snr_db.isel(path=0, candidate=snapshots.truth).values
    strongest = int(snr.argmax())
    observed = estimator.estimate(snapshots, config.estimator).isel(snapshot=strongest)
    truth = int(snapshots.truth[strongest])
    errors = {**dict.fromkeys(("obstacles", "walls", "position"), size), "heading": size * math.radians(5)}
    wrong = mismatch.believed(layout, pose, errors, groups.error_rng(config, "eval_random", index))
    grid = groups.away_from(pose, layout.grid(num_points))
    networks = {name: load_method(weights.path)[0] for name, weights in Robustness(run).weights.items()}
    shown = {"exact twin": ("locus_dt", (layout, pose)), "wrong twin": ("locus_dt", wrong)}
    shown["wrong twin, trained with errors"] = ("robust", wrong)
    maps, gains = {}, {}
    for title, (name, scene) in shown.items():
        fine = networks[name].log_posterior(mismatch.trace(twin, *scene, grid), observed)
        maps[title] = fine - fine.max()
        own = networks[name].log_posterior(mismatch.trace(twin, *scene, candidates), observed)
        gains[title] = float(np.exp(own[truth])) * len(candidates)
    position = float(paths.x[truth]), float(paths.y[truth])
    return Example(layout, pose, wrong, position, maps, gains)


def example_figure(example: Example) -> Figure:
    """Maps of an example; what the wrong twin believes is dashed."""
    figure, panels = plt.subplots(1, 3, figsize=(10.8, 4.2), layout="constrained", sharey=True)
    for axes, (title, values) in zip(panels, example.maps.items(), strict=True):
        mesh = draw_map(axes, values.clip(min=_FLOOR), cmap="viridis", vmin=_FLOOR, vmax=0)
        draw_room(axes, example.layout)
        draw_receiver(axes, example.pose, 0.7)
        draw_transmitter(axes, *example.position, 0.7)
        if title != "exact twin":
            room, _ = example.wrong
            for polygon in (room.room, *room.obstacles):
                axes.plot(*polygon.exterior.xy, color="#D55E00", linestyle="--", linewidth=1.2)
        gain = example.gains[title]
        axes.set_title(f"{title}\ntruth {gain:{'.0f' if gain >= 10 else '.1g'}} x uniform", fontsize="medium")
        axes.set_ylabel(axes.get_ylabel() if axes is panels[0] else "")
    figure.colorbar(mesh, ax=panels, label="relative log posterior [nat]", extend="min", shrink=0.8, aspect=30)
    return figure
