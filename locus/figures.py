"""Figures: labelled data in, matplotlib figures out.

Everywhere the receiver is a blue marker with an arrow along its heading, the transmitter a red star, obstacles are
outlined.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from shapely import Polygon

from locus.layout import Layout, Pose
from locus.twin.rays import ray_points

# Okabe and Ito's colours, told apart by colour-blind readers: by number of bounces
_ORDER_COLOURS = ("black", "#0072B2", "#D55E00", "#009E73")
_RECEIVER, _TRANSMITTER = "#0050C8", "#D00000"


def room_figure(layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> Figure:
    """The room, the receiver and the candidate positions."""
    figure, axes = plt.subplots(figsize=(7.0, 5.2), layout="constrained")
    draw_room(axes, layout)
    axes.plot(*candidates.T, ".", color="0.45", markersize=3, label=f"{len(candidates)} candidates")
    draw_receiver(axes, pose)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def ray_figure(layout: Layout, pose: Pose, paths: dict[str, xr.Dataset]) -> Figure:
    """Paths of one candidate as two twins see them: rays in the room, and angle against SNR.

    Args:
        layout: the room.
        pose: the receiver.
        paths: two path sets of one candidate, (path), by the name to show; the first is drawn below the second.
    """
    figure, (room, stems) = plt.subplots(
        1, 2, figsize=(8.6, 4.4), layout="constrained", gridspec_kw={"width_ratios": [1.05, 1]}
    )
    draw_room(room, layout)
    styles: tuple[dict[str, Any], ...] = (
        {"linewidth": 4.5, "alpha": 0.35},
        {"linewidth": 1.2, "linestyle": (0, (5, 3))},
    )
    markers: tuple[dict[str, Any], ...] = (
        {"marker": "o", "markersize": 11, "fillstyle": "none", "markeredgewidth": 1.5},
        {"marker": "x", "markersize": 6, "markeredgewidth": 1.5},
    )
    for (name, data), style, marker in zip(paths.items(), styles, markers, strict=True):
        rays = ray_points(layout, data.expand_dims("candidate"))[0]
        for path in np.flatnonzero(data.valid):
            colour = _ORDER_COLOURS[int(data.order[path]) % len(_ORDER_COLOURS)]
            room.plot(*rays[path].T, color=colour, **style)
            stems.plot(np.degrees(data.aoa[path]), data.snr_db[path], color=colour, linestyle="none", **marker)
        stems.plot([], [], color="0.2", linestyle="none", label=name, **marker)
    first = next(iter(paths.values()))
    draw_transmitter(room, float(first.x), float(first.y))
    draw_receiver(room, pose)
    orders = sorted({int(order) for order in first.order.values[first.valid.values]})
    names = ["line of sight", "1 bounce"] + [f"{n} bounces" for n in range(2, 20)]
    lines = [
        Line2D([], [], color=_ORDER_COLOURS[n % len(_ORDER_COLOURS)], linewidth=2.5, label=names[n]) for n in orders
    ]
    figure.legend(handles=lines, loc="outside upper left", ncols=4, frameon=False, handlelength=1.2, columnspacing=1)
    figure.legend(*stems.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    stems.set(xlabel="angle of arrival [degrees]", ylabel="SNR per sample [dB]", xlim=(-180, 180))
    stems.set_xticks(range(-180, 181, 60))
    stems.grid(alpha=0.3)
    return figure


def map_figure(layout: Layout, pose: Pose, values: list[xr.DataArray], colour_maps: list[str]) -> Figure:
    """Maps over a grid of candidates, one panel for each of ``values`` (candidate), labelled by its attributes."""
    figure, panels = plt.subplots(
        1, len(values), figsize=(4.4 * len(values), 3.6), layout="constrained", squeeze=False, sharey=True
    )
    for axes, value, colour_map in zip(panels[0], values, colour_maps, strict=True):
        grid = value.reset_coords(drop=True).assign_coords(x=value.x, y=value.y)
        grid = grid.set_index(candidate=["x", "y"]).unstack("candidate").transpose("y", "x")
        mesh = axes.pcolormesh(grid.x, grid.y, grid, cmap=colour_map, shading="nearest", rasterized=True)
        units = value.attrs.get("units", "1")
        label = value.attrs["long_name"] + (f" [{units}]" if units != "1" else "")
        figure.colorbar(mesh, ax=axes, label=label, shrink=0.9)
        draw_room(axes, layout)
        draw_receiver(axes, pose)
    for axes in panels[0][1:]:
        axes.set_ylabel("")
    return figure


def path_table(paths: xr.Dataset) -> pd.DataFrame:
    """The paths (path) of one candidate in units that people read."""
    real = paths.isel(path=paths.valid.values)
    columns = {
        "angle [degrees]": np.degrees(real.aoa.values).round(1),
        "delay [ns]": (1e9 * real.delay.values).round(1),
        "SNR [dB]": real.snr_db.values.round(1),
        "bounces": real.order.values,
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(1, real.sizes["path"] + 1, name="path"))


def draw_room(axes: Axes, layout: Layout) -> None:
    """Outline of the room and its obstacles, axes in metres."""
    axes.plot(*_outline(layout.room), color="black", linewidth=1.5)
    for obstacle in layout.obstacles:
        axes.fill(*_outline(obstacle), facecolor="0.85", edgecolor="black", linewidth=1.2, zorder=2)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")


def draw_receiver(axes: Axes, pose: Pose) -> None:
    """Blue marker, and an arrow along the heading."""
    x0, x1 = axes.get_xlim()
    length = 0.1 * abs(x1 - x0)
    tip = (pose.x + length * np.cos(pose.heading), pose.y + length * np.sin(pose.heading))
    arrow = {"arrowstyle": "-|>", "color": _RECEIVER, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, (pose.x, pose.y), arrowprops=arrow, zorder=5)
    axes.plot(pose.x, pose.y, "o", color=_RECEIVER, markeredgecolor="white", markersize=9, label="receiver", zorder=6)


def draw_transmitter(axes: Axes, x: float, y: float) -> None:
    """Red five-pointed star."""
    axes.plot(x, y, "*", color=_TRANSMITTER, markeredgecolor="white", markersize=16, label="transmitter", zorder=6)


def _outline(polygon: Polygon) -> NDArray[np.float64]:
    return np.asarray(polygon.exterior.coords).T
