"""Posterior map for your own data, drawn from the result of :func:`locus.locate`."""

from __future__ import annotations

import json
import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import shapely
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from locus.draw import COLOURS, FLOOR, RECEIVER, draw_posterior
from locus.room.layout import Layout, Pose
from locus.settings import units

_MAX_ARROWS = 50  # of a long walk


def location_figure(data: xr.Dataset, snapshot: int | None = None, truth: tuple[float, float] | None = None) -> Figure:
    """Posterior map of one snapshot, with the receiver, the most probable candidate, the 90 % set and a known truth.

    By default the first snapshot; for a walk, the map after the last one, with the route so far.
    """
    figure, axes = empty_map(data)
    draw_location(axes, data, snapshot, truth)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def empty_map(data: xr.Dataset) -> tuple[Figure, Axes]:
    """Figure with axes as large as the room needs, and the colour scale of all posterior maps."""
    x0, y0, x1, y1 = room_of(data).room.bounds
    height = float(np.clip(5.0 * (y1 - y0) / (x1 - x0), 2.0, 8.0))
    figure, axes = plt.subplots(figsize=(6.4, height + 1.4), layout="constrained")
    scale = ScalarMappable(Normalize(FLOOR, 0.0), COLOURS)
    figure.colorbar(scale, ax=axes, label="relative log posterior [nat]", extend="min", shrink=0.9)
    return figure, axes


def draw_location(
    axes: Axes,
    data: xr.Dataset,
    snapshot: int | None = None,
    truth: tuple[float, float] | None = None,
    *,
    zoom: bool = True,
) -> None:
    """Draw room, posterior, 90 % set and receiver of one snapshot, as in :func:`location_figure`."""
    walk = "step" in data.dims
    several = walk or "snapshot" in data.dims
    number = (data.sizes["step"] - 1 if walk else 0) if snapshot is None else snapshot
    one = data.isel({"step" if walk else "snapshot": number}) if several else data
    layout = room_of(data)
    extent = math.sqrt(shapely.box(*layout.room.bounds).area)
    with np.errstate(divide="ignore"):
        logs = np.log(one.posterior)
    if walk:
        _draw_way(axes, data.isel(step=slice(number + 1)))
    pose = Pose(float(one.rx_x), float(one.rx_y), float(one.rx_heading))
    way = None
    if walk and number:
        way = shapely.LineString(np.stack([data.rx_x, data.rx_y], axis=1)[: number + 1]).buffer(0.02 * extent)
    draw_posterior(axes, layout, pose, logs, truth, zoom=zoom, uncovered=way)
    marker: dict[str, Any] = {"color": "white", "markersize": 9, "markeredgecolor": "black", "linestyle": "none"}
    insets: list[Any] = axes.child_axes
    for part in (axes, *insets):  # above the star, which it could not be seen through
        part.plot(float(one.map_x), float(one.map_y), "P", label="most probable", zorder=8, **marker)
    which = f"after {number + 1} of {data.sizes['step']} snapshots" if walk else ""
    if several and not walk:
        which = f"snapshot {number + 1} of {data.sizes['snapshot']}"
    area = units.area(float(one.credible_area))
    place = f"{float(one.map_x):.1f} m, {float(one.map_y):.1f} m".replace("-", "−")
    axes.set_title(f"{place}; 90 % in {area} m²" + (f"\n{which}" if which else ""), fontsize="medium", pad=8)


def room_of(data: xr.Dataset) -> Layout:
    """The room that a result was computed in."""
    return Layout.from_geojson(json.loads(data.attrs["layout"]))


def _draw_way(axes: Axes, data: xr.Dataset) -> None:
    """Draw the poses of a walk, the last excepted, as small blue markers with arrows, and the route between them."""
    rim = [withStroke(linewidth=3.0, foreground="white")]
    axes.plot(data.rx_x, data.rx_y, color=RECEIVER, linewidth=1.2, path_effects=rim, label="trajectory", zorder=4)
    before = data.isel(step=slice(-1)).isel(step=slice(None, None, 1 + data.sizes["step"] // _MAX_ARROWS))
    style: dict[str, Any] = {"color": RECEIVER, "markeredgecolor": "white", "markersize": 5, "linestyle": "none"}
    axes.plot(before.rx_x, before.rx_y, "o", zorder=4.6, **style)
    if before.sizes["step"]:
        direction = np.cos(before.rx_heading), np.sin(before.rx_heading)
        arrows: dict[str, Any] = {"color": RECEIVER, "edgecolor": "white", "linewidth": 0.5, "width": 0.006}
        axes.quiver(before.rx_x, before.rx_y, *direction, scale=20, zorder=4.5, **arrows)
