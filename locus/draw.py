"""Drawing primitives shared by all figures: rooms, receivers, transmitters, maps and posteriors on given axes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shapely
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy import ndimage
from shapely import Polygon

from locus.judge.credible import smallest_set
from locus.room.layout import Layout, Pose

RECEIVER, TRANSMITTER = "#0050C8", "#D00000"
"""Colours of the receiver and the transmitter."""
FLOOR = -10.0
"""Relative log posterior [nat] at the dark end of the colour scale of a map."""
COLOURS = "viridis"
"""Colour map of posteriors: perceptually uniform, and the same in the browser."""
SOLID = "#D9D9D9"
"""Fill of obstacles."""
ZOOM = {"largest_set": 0.02, "least_window": 0.1, "margin": 1.5, "side": 0.42, "least_side": 0.3, "least_times": 2.5}
"""When and how a small 90 % set is magnified: ``largest_set`` that gets an inset (share of the room's area);
``least_window``, minimum width of the window (share of the room's); ``margin``, width of the window / width of the set;
``side``, width of the inset / width of the room, down to ``least_side`` where a smaller one hides less;
``least_times``, minimum magnification."""


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


def draw_map(axes: Axes, value: xr.DataArray, layout: Layout | None = None, **style: Any) -> QuadMesh:
    """Draw values (candidate) on grid points, with coordinates x and y [m], as coloured cells.

    With a layout, cells reach to its walls: a point that is not a candidate, as it is too close to a wall or inside an
    obstacle, gets the value of the nearest one, and what lies outside the room is cut off.
    """
    grid = value.reset_coords(drop=True).assign_coords(x=value.x, y=value.y)
    grid = grid.set_index(candidate=["x", "y"]).unstack("candidate").transpose("y", "x")
    if layout is None:
        return axes.pcolormesh(grid.x, grid.y, grid, shading="nearest", rasterized=True, **style)
    x, y = (_reaching(grid[name].values, ends) for name, ends in zip("xy", _ends(layout), strict=True))
    filled = grid.reindex(x=x, y=y, method="nearest", tolerance=1e-6).values
    nearest = ndimage.distance_transform_edt(np.isnan(filled), return_distances=False, return_indices=True)
    mesh = axes.pcolormesh(x, y, filled[tuple(nearest)], shading="nearest", rasterized=True, **style)
    room = PathPatch(Path(_outline(layout.room).T, closed=True), transform=axes.transData, visible=False)
    axes.add_patch(room)
    mesh.set_clip_path(room)
    return mesh


def _ends(layout: Layout) -> tuple[tuple[float, float], tuple[float, float]]:
    x0, y0, x1, y1 = layout.room.bounds
    return (x0, x1), (y0, y1)


def _reaching(values: NDArray[np.float64], ends: tuple[float, float]) -> NDArray[np.float64]:
    """Coordinates of a regular grid, continued until its cells reach both ends."""
    step = _step(values)
    before, after = (max(0, int(np.ceil(gap / step - 0.5))) for gap in (values[0] - ends[0], ends[1] - values[-1]))
    first, last = values[0] - step * np.arange(before, 0, -1), values[-1] + step * np.arange(1, after + 1)
    return np.concatenate([first, np.linspace(values[0], values[-1], round((values[-1] - values[0]) / step) + 1), last])


def draw_room(axes: Axes, layout: Layout) -> None:
    """Draw the outline of the room and its obstacles; axes in metres."""
    axes.plot(*_outline(layout.room), color="black", linewidth=1.5)
    for obstacle in layout.obstacles:
        axes.fill(*_outline(obstacle), facecolor=SOLID, edgecolor="black", linewidth=1.2, zorder=2)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")


def draw_receiver(axes: Axes, pose: Pose, scale: float = 1.0) -> None:
    """Draw a blue marker and an arrow along the heading, both with a white rim.

    ``scale`` multiplies the size of the marker and the width of the arrow, whose length is divided by its square root.
    """
    x0, x1 = axes.get_xlim()
    length = 0.1 * abs(x1 - x0) / np.sqrt(scale)
    tip = (pose.x + length * np.cos(pose.heading), pose.y + length * np.sin(pose.heading))
    arrow = {"arrowstyle": "-|>", "color": RECEIVER, "linewidth": 2.5 * scale, "shrinkA": 0, "shrinkB": 0}
    rim = [withStroke(linewidth=2.5 * scale + 2, foreground="white")]
    axes.annotate("", tip, (pose.x, pose.y), arrowprops={**arrow, "path_effects": rim}, zorder=5, annotation_clip=False)
    style: dict[str, Any] = {"color": RECEIVER, "markeredgecolor": "white", "markersize": 9 * scale, "clip_on": False}
    axes.plot(pose.x, pose.y, "o", label="receiver", zorder=6, **style)


def draw_transmitter(axes: Axes, x: float, y: float, scale: float = 1.0, *, clip: bool = False) -> None:
    """Draw the outline of a red star with a white rim, so that what lies under it stays visible."""
    style: dict[str, Any] = {"fillstyle": "none", "markersize": 15 * scale, "linestyle": "none", "clip_on": clip}
    width = 1.2 * np.sqrt(scale)
    axes.plot(x, y, "*", markeredgecolor="white", markeredgewidth=2 * width, zorder=7, **style)
    axes.plot(x, y, "*", markeredgecolor=TRANSMITTER, markeredgewidth=width, label="transmitter", zorder=7, **style)


def draw_posterior(
    axes: Axes,
    layout: Layout,
    pose: Pose,
    logs: xr.DataArray,
    transmitter: tuple[float, float] | None = None,
    *,
    scale: float = 1.0,
    zoom: bool = True,
    uncovered: shapely.Geometry | None = None,
) -> ScalarMappable:
    """Draw a posterior over the room, with the outline of its 90 % set, the receiver and the true transmitter.

    A set that is too small to be seen is magnified in an inset, if the candidates lie on a grid, at the corner that
    hides least.

    Args:
        axes: where to draw.
        layout: the room.
        pose: pose of the receiver.
        logs: log posterior (candidate) with coordinates x and y [m], of a grid or of scattered candidates; a
            common additive constant does not matter.
        transmitter: true position (x, y) [m], if it is known.
        scale: size of markers and lines; below 1 for small panels.
        zoom: whether to add the inset.
        uncovered: what else an inset should not hide.
    """
    # Impossible candidates are -inf, which would not be drawn at all
    shown = (logs - logs.max()).clip(min=FLOOR)
    inside = smallest_set(np.exp(np.asarray(logs - logs.max(), dtype=float)))
    drawn = _draw_values(axes, layout, shown, inside, scale)
    draw_room(axes, layout)
    draw_receiver(axes, pose, scale)
    if transmitter is not None:
        draw_transmitter(axes, *transmitter, scale)
    if zoom and on_grid(logs):
        room = shapely.box(*layout.room.bounds)
        extent = math.sqrt(room.area)
        tip = (pose.x + 0.12 * extent * math.cos(pose.heading), pose.y + 0.12 * extent * math.sin(pose.heading))
        marks = [shapely.LineString([(pose.x, pose.y), tip]).buffer(0.03 * extent)]
        marks += [shapely.Point(transmitter).buffer(0.05 * extent)] if transmitter else []
        marks += [uncovered] if uncovered is not None else []
        inner = layout.room.boundary.difference(room.boundary)  # of a room that is not a rectangle
        marks += [] if inner.is_empty else [inner.buffer(0.03 * extent)]
        _draw_zoom(axes, layout, marks, shown, inside, transmitter, scale)
    return drawn


def on_grid(data: xr.DataArray | xr.Dataset) -> bool:
    """Whether the candidates lie on a grid; random ones share no coordinates."""
    return len(np.unique(data.x)) * len(np.unique(data.y)) <= 10 * data.sizes["candidate"]


def _draw_values(
    axes: Axes, layout: Layout, shown: xr.DataArray, inside: NDArray[np.bool_], scale: float
) -> ScalarMappable:
    """Draw relative log posteriors, and the outline of the set, as cells or, where there is no grid, as points."""
    style: dict[str, Any] = {"cmap": COLOURS, "vmin": FLOOR, "vmax": 0.0}
    rim = [withStroke(linewidth=2.4 * scale + 0.6, foreground="black")]
    if not on_grid(shown):
        line: dict[str, Any] = {"fillstyle": "none", "linestyle": "none", "markeredgecolor": "black", "markersize": 6}
        axes.plot(shown.x[inside], shown.y[inside], "o", label="90 % set", zorder=3, **line)
        return axes.scatter(shown.x, shown.y, c=shown, s=14, zorder=1, **style)
    mesh = draw_map(axes, shown, layout, **style)
    for line_ in shapely.get_parts(_cells(shown, inside).boundary):
        axes.plot(*line_.xy, color="white", linewidth=1.2 * scale, path_effects=rim, zorder=1.5)
    axes.plot([], [], color="white", linewidth=1.5, path_effects=rim, label="90 % set")  # one entry of a legend
    return mesh


def _cells(values: xr.DataArray, inside: NDArray[np.bool_]) -> shapely.Geometry:
    """Union of the grid cells of a set."""
    half = [_step(values[name].values) / 2 for name in ("x", "y")]
    x, y = values.x.values[inside], values.y.values[inside]
    return shapely.union_all(shapely.box(x - half[0], y - half[1], x + half[0], y + half[1]), grid_size=1e-6)


def _step(values: NDArray[np.float64]) -> float:
    """Grid spacing [m]; 1 m if there is a single value."""
    gaps = np.diff(np.unique(values))
    return float(gaps.min()) if len(gaps) else 1.0


def _draw_zoom(
    axes: Axes,
    layout: Layout,
    marks: list[shapely.Geometry],
    shown: xr.DataArray,
    inside: NDArray[np.bool_],
    transmitter: tuple[float, float] | None,
    scale: float,
) -> None:
    """Magnify the part of a small set that holds the most probable candidate, at the corner that hides least."""
    x0, y0, x1, y1 = layout.room.bounds
    room, cells = max(x1 - x0, y1 - y0), _cells(shown, inside)
    best = shapely.Point(*(float(shown[name][int(np.argmax(shown.values))]) for name in ("x", "y")))
    part = min(shapely.get_parts(cells), key=lambda piece: piece.distance(best))
    left, low, right, high = part.bounds
    largest, least = (ZOOM[name] * min(x1 - x0, y1 - y0) for name in ("side", "least_side"))
    window = max(ZOOM["margin"] * max(right - left, high - low), ZOOM["least_window"] * room)
    if cells.area > ZOOM["largest_set"] * layout.room.area or largest < ZOOM["least_times"] * window:
        return
    corner = [
        float(np.clip((first + last - window) / 2, start, max(start, end - window)))
        for first, last, (start, end) in zip((left, low), (right, high), _ends(layout), strict=True)
    ]
    looked_at = shapely.box(*corner, corner[0] + window, corner[1] + window)
    sides = np.linspace(largest, min(largest, max(least, ZOOM["least_times"] * window)), 4)
    places = [shapely.box(x, y, x + one, y + one) for one in sides for x in (x1 - one, x0) for y in (y1 - one, y0)]
    likely = _cells(shown, shown.values > 0.8 * FLOOR)
    hidden = [
        (
            cells.intersection(place).area,  # what the map is about
            round(sum(one.intersection(place).area for one in (looked_at, *marks)), 6),  # so that ties are ties
            likely.intersection(place).area,
            round(sum(one.intersection(place).area for one in layout.obstacles), 6),
            -round(place.area, 6),
            layout.room.intersection(place).area,
        )
        for place in places
    ]
    place = places[min(range(len(places)), key=hidden.__getitem__)]
    side = math.sqrt(place.area)
    inset = axes.inset_axes((*place.bounds[:2], side, side), transform=axes.transData, zorder=9)
    _draw_values(inset, layout, shown, inside, scale)
    draw_room(inset, layout)
    if transmitter is not None:
        draw_transmitter(inset, *transmitter, 0.7 * scale, clip=True)
    inset.set(
        xlim=(corner[0], corner[0] + window),
        ylim=(corner[1], corner[1] + window),
        xticks=[],
        yticks=[],
        xlabel="",
        ylabel="",
        facecolor=SOLID,
    )
    inset.spines[:].set(color="white", linewidth=1.2, visible=True)
    busy = shapely.union(cells, shapely.Point(transmitter if transmitter is not None else best))
    at_right, at_top = max(
        itertools.product((False, True), repeat=2),
        key=lambda ends: busy.distance(shapely.Point(corner[0] + window * ends[0], corner[1] + window * ends[1])),
    )
    text: dict[str, Any] = {"color": "white", "fontsize": 9 * np.sqrt(scale), "transform": inset.transAxes}
    text |= {"ha": "right" if at_right else "left", "va": "top" if at_top else "bottom"}
    text["path_effects"] = [withStroke(linewidth=2, foreground="black")]
    text["bbox"] = {"facecolor": "black", "alpha": 0.7, "edgecolor": "none", "pad": 1.5}
    inset.text(0.95 if at_right else 0.05, 0.95 if at_top else 0.05, f"× {side / window:.2g}", **text)
    frame = axes.indicate_inset(inset_ax=inset, edgecolor="white", linewidth=1.2, alpha=1.0, zorder=8)
    for line in frame.connectors or ():
        line.set_visible(False)


def _outline(polygon: Polygon) -> NDArray[np.float64]:
    return np.asarray(polygon.exterior.coords).T
