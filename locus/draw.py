"""Drawing primitives shared by all figures: rooms, receivers, transmitters and maps on given axes."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from shapely import Polygon

from locus.room.layout import Layout, Pose

RECEIVER, TRANSMITTER = "#0050C8", "#D00000"
"""Colours of the receiver and the transmitter."""
FLOOR = -10.0
"""Relative log posterior [nat] at the dark end of the colour scale of a map."""


def sweep_figure(table: pd.DataFrame, settings: list[str]) -> Figure:
    """Plot R with its intervals against the first swept setting, one line per combination of the others."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    first, *others = settings
    lines = table.groupby(others) if others else [((), table)]
    for number, (values, rows) in enumerate(lines):
        sorted_rows = rows.sort_values(first)
        x = sorted_rows[first] if pd.api.types.is_numeric_dtype(sorted_rows[first]) else sorted_rows[first].astype(str)
        below, above = sorted_rows.ratio - sorted_rows.ratio_low, sorted_rows.ratio_high - sorted_rows.ratio
        label = ", ".join(f"{name} = {value}" for name, value in zip(others, values, strict=True))
        style: dict[str, Any] = {"marker": "osD^v<>"[number % 7], "capsize": 3, "label": label or None}
        axes.errorbar(x, 100 * sorted_rows.ratio, 100 * np.stack([below, above]), **style)
    axes.set(xlabel=first, ylabel="R on held-out rooms [%]")
    axes.grid(alpha=0.3)
    if others:
        axes.legend(frameon=False)
    return figure


def draw_map(axes: Axes, value: xr.DataArray, **style: Any) -> QuadMesh:
    """Draw values (candidate) on grid points, with coordinates x and y [m], as coloured cells."""
    grid = value.reset_coords(drop=True).assign_coords(x=value.x, y=value.y)
    grid = grid.set_index(candidate=["x", "y"]).unstack("candidate").transpose("y", "x")
    return axes.pcolormesh(grid.x, grid.y, grid, shading="nearest", rasterized=True, **style)


def draw_room(axes: Axes, layout: Layout) -> None:
    """Draw the outline of the room and its obstacles; axes in metres."""
    axes.plot(*_outline(layout.room), color="black", linewidth=1.5)
    for obstacle in layout.obstacles:
        axes.fill(*_outline(obstacle), facecolor="0.85", edgecolor="black", linewidth=1.2, zorder=2)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")


def draw_receiver(axes: Axes, pose: Pose, scale: float = 1.0) -> None:
    """Draw a blue marker and an arrow along the heading, both with a white rim; ``scale`` shrinks them."""
    x0, x1 = axes.get_xlim()
    length = 0.1 * abs(x1 - x0) / np.sqrt(scale)
    tip = (pose.x + length * np.cos(pose.heading), pose.y + length * np.sin(pose.heading))
    arrow = {"arrowstyle": "-|>", "color": RECEIVER, "linewidth": 2.5 * scale, "shrinkA": 0, "shrinkB": 0}
    rim = [withStroke(linewidth=2.5 * scale + 2, foreground="white")]
    axes.annotate("", tip, (pose.x, pose.y), arrowprops={**arrow, "path_effects": rim}, zorder=5, annotation_clip=False)
    style: dict[str, Any] = {"color": RECEIVER, "markeredgecolor": "white", "markersize": 9 * scale, "clip_on": False}
    axes.plot(pose.x, pose.y, "o", label="receiver", zorder=6, **style)


def draw_transmitter(axes: Axes, x: float, y: float, scale: float = 1.0) -> None:
    """Draw a red five-pointed star with a white rim."""
    style: dict[str, Any] = {
        "color": TRANSMITTER,
        "markeredgecolor": "white",
        "markersize": 16 * scale,
        "clip_on": False,
    }
    axes.plot(x, y, "*", label="transmitter", zorder=7, **style)


def _outline(polygon: Polygon) -> NDArray[np.float64]:
    return np.asarray(polygon.exterior.coords).T
