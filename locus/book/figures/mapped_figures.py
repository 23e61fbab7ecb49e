"""Figures and tables of rooms that a robot mapped: an example or the losses in, matplotlib figures and tables out."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D

from locus.book.figures.error_figures import METHODS
from locus.book.figures.score_figures import interval_text
from locus.book.studies.mapped_room import Example
from locus.draw import FLOOR, draw_map, draw_receiver, draw_room, draw_transmitter
from locus.room.layout import Layout
from locus.room.ros_map import RosMap

_WALL = "#D55E00"
_UNKNOWN = 0.75  # shade of grey
_SHOWN = 0.4  # side of a pixel of a map in a figure [m], about
_LINES: dict[float, dict[str, Any]] = {
    0.0: {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    0.01: {"color": "#009E73", "marker": "D", "linestyle": "--"},
    0.03: {"color": "#D55E00", "marker": "s", "linestyle": ":"},
}


def mapped_room_figure(example: Example) -> Figure:
    """The true room and the robot's route, its map, the polygons over the map, and the posterior in them."""
    figure, panels = plt.subplots(2, 2, figsize=(7.0, 7.6), layout="constrained", sharex=True, sharey=True)
    titles = ("the room and the robot’s route", "its map", f"{len(example.layout.walls)} straight walls")
    for axes, title in zip(panels.flat, (*titles, "where the transmitter may be"), strict=True):
        axes.set(title=title, aspect="equal")
    true, grid, walls, posterior = panels.flat
    draw_room(true, example.true)
    true.plot(*example.way.T, color="#56B4E9", linewidth=0.9, zorder=1)
    for axes in (grid, walls):
        _draw_grid(axes, example.grid)
    _draw_walls(walls, example.layout, linewidth=1.2)
    value = example.maps["map"].clip(min=FLOOR)
    mesh = draw_map(posterior, value, example.layout, cmap="viridis", vmin=FLOOR, vmax=0.0)
    draw_room(posterior, example.layout)
    x0, y0, x1, y1 = example.true.room.bounds
    true.set(xlim=(x0 - 2, x1 + 2), ylim=(y0 - 2, y1 + 2))
    for axes, scale in ((true, 0.7), (posterior, 0.5)):  # the smaller star does not hide the peak
        draw_receiver(axes, example.pose, 0.7)
        draw_transmitter(axes, *example.position, scale)
    for axes in panels.flat:
        axes.set(xlabel="x [m]", ylabel="y [m]")
        axes.label_outer()
    label = "log posterior relative to its maximum [nat]"
    figure.colorbar(mesh, ax=panels, label=label, extend="min", location="bottom", shrink=0.7, aspect=30, pad=0.02)
    figure.legend(*true.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def cost_figure(summary: xr.Dataset) -> Figure:
    """Cost of a map against its resolution, by drift and method; grey: plan without furniture."""
    figure, panels = plt.subplots(1, summary.sizes["method"], figsize=(7.0, 4.2), layout="constrained", sharey=True)
    for axes, name in zip(panels, summary.method.values, strict=True):
        one = summary.sel({"method": name})
        bare = one.isel(plan=int(np.flatnonzero(one.kind == "bare")[0]))
        axes.axhspan(*_finite(bare), color="0.88", zorder=0)
        axes.axhline(float(bare.cost), color="0.4", linewidth=1.2, label="true plan without furniture", zorder=1)
        for number, (drift, look) in enumerate(_LINES.items()):
            maps = one.isel(plan=np.flatnonzero(np.isclose(one.drift, drift)))
            ends = np.nan_to_num(np.abs(np.stack([maps.cost - maps[f"cost{end}"] for end in ("_low", "_high")])))
            place = np.arange(maps.sizes["plan"]) + 0.06 * (number - 1)
            axes.errorbar(place, maps.cost, yerr=ends, capsize=2, label=f"map, drift {100 * drift:g} %", **look)
            axes.set_xticks(range(maps.sizes["plan"]), [f"{100 * value:g}" for value in maps.resolution.values])
        axes.axhline(0, color="0.4", linewidth=0.8, zorder=0)
        axes.set(title=METHODS[str(name)]["label"], xlabel="side of a cell [cm]")
        axes.grid(alpha=0.3, axis="y")
    panels[0].set_ylabel("cost over the true plan [nat]")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def cost_frame(summary: xr.Dataset) -> pd.DataFrame:
    """L of the path set, its cost and LOCUS-DT's over the true plan, coverage, walls and their errors, as text."""
    rows = {}
    for index in range(summary.sizes["plan"]):
        one = summary.isel(plan=index)
        ours, network = (one.sel({"method": name}) for name in ("path_set", "locus_dt"))
        first = str(one.kind.values) == "furnished"
        rows[str(one.label.values)] = {
            "L [nat]": f"{float(ours.loss):.2f}",
            "cost [nat]": "" if first else interval_text(ours, "cost"),
            "cost to LOCUS-DT [nat]": "" if first else interval_text(network, "cost"),
            "90 % sets hold [%]": interval_text(ours, "covered", 100.0, 0),
            "walls": f"{float(one.num_walls):.0f}",
            "walls off by [cm]": f"{100 * float(one.wall_error):.1f}",
        }
    return pd.DataFrame(rows).T.rename_axis("the twin’s room")


def _finite(one: xr.Dataset) -> tuple[float, float]:
    """Ends of the interval of a cost; the cost itself if there is only one room."""
    low, high = (float(one[f"cost{end}"]) for end in ("_low", "_high"))
    return (low, high) if math.isfinite(low) else (float(one.cost), float(one.cost))


def _draw_grid(axes: Axes, grid: RosMap) -> None:
    """Draw a map as map viewers do: free cells white, occupied black, unknown grey.

    Occupied cells are points, as lines of single cells would fall apart in a picture with fewer pixels than cells.
    """
    shade = np.where(grid.free | grid.occupied, 1.0, _UNKNOWN)
    block = max(1, round(_SHOWN / grid.resolution))
    rows, columns = (-(-count // block) for count in shade.shape)
    padding = [(0, block * shown - count) for shown, count in zip((rows, columns), shade.shape, strict=True)]
    padded = np.pad(shade, padding, constant_values=_UNKNOWN)
    lightest = padded.reshape(rows, block, columns, block).max(axis=(1, 3))
    x, y, yaw = grid.origin
    image = axes.imshow(lightest, cmap="gray", vmin=0, vmax=1, origin="lower", extent=(0, columns, 0, rows), zorder=0)
    image.set_transform(Affine2D().scale(block * grid.resolution).rotate(yaw).translate(x, y) + axes.transData)
    axes.set_facecolor(str(_UNKNOWN))
    row, column = np.nonzero(grid.occupied)
    occupied = grid.to_world(np.column_stack([column, row]).astype(float) + 0.5)
    axes.plot(*occupied.T, "s", color="black", markersize=0.8, markeredgewidth=0, rasterized=True, zorder=0.5)


def _draw_walls(axes: Axes, layout: Layout, **style: Any) -> None:
    for polygon in (layout.room, *layout.obstacles):
        axes.plot(*polygon.exterior.xy, **{"color": _WALL, **style})
