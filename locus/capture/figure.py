"""Posterior map for your own data, drawn from the result of :func:`locus.locate`."""

from __future__ import annotations

import json
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import shapely
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from locus.draw import FLOOR, draw_map, draw_receiver, draw_room
from locus.room.layout import Layout, Pose
from locus.score.weight_files import METHOD_TITLES
from locus.settings import units

_STYLE: dict[str, Any] = {"cmap": "viridis", "vmin": FLOOR, "vmax": 0.0}  # the same for all posterior maps


def location_figure(data: xr.Dataset, snapshot: int = 0) -> Figure:
    """Posterior map of one snapshot, with the receiver, the most probable candidate and the 90 % set."""
    several = "snapshot" in data.dims
    one = data.isel(snapshot=snapshot) if several else data
    layout = Layout.from_geojson(json.loads(data.attrs["layout"]))
    x0, y0, x1, y1 = layout.room.bounds
    height = float(np.clip(5.0 * (y1 - y0) / (x1 - x0), 2.0, 8.0))
    figure, axes = plt.subplots(figsize=(6.4, height + 0.9), layout="constrained")
    with np.errstate(divide="ignore"):
        relative = np.log(one.posterior / one.posterior.max()).clip(min=_STYLE["vmin"])
    axes.fill(*layout.room.exterior.xy, color="0.85", zorder=0)  # too close to a wall to be a candidate
    draw_room(axes, layout)
    mesh: ScalarMappable
    if _on_grid(one):
        mesh = draw_map(axes, relative, **_STYLE)
        _outline(axes, one)
    else:
        mesh = axes.scatter(one.x, one.y, c=relative, s=14, zorder=1, **_STYLE)
        inside = one.isel(candidate=one.credible.values)
        axes.plot(inside.x, inside.y, "o", fillstyle="none", color="black", markersize=6, label="90 % set", zorder=3)
    draw_receiver(axes, Pose(float(one.rx_x), float(one.rx_y), float(one.rx_heading)))
    marker: dict[str, Any] = {"color": "white", "markersize": 9, "markeredgecolor": "black", "linestyle": "none"}
    axes.plot(float(one.map_x), float(one.map_y), "P", label="most probable", zorder=8, **marker)
    title = METHOD_TITLES.get(data.attrs["method"], "Path set") + (
        f", snapshot {snapshot + 1} of {data.sizes['snapshot']}" if several else ""
    )
    share = float(one.credible_area) / layout.free_space.area
    area = units.area(float(one.credible_area))
    axes.set_title(f"{title}: 90 % in {area} m², {100 * share:.2g} % of the free space")
    figure.colorbar(mesh, ax=axes, label="relative log posterior [nat]", extend="min", shrink=0.9)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def _on_grid(data: xr.Dataset) -> bool:
    """Whether the candidates lie on a grid; random ones share no coordinates."""
    return len(np.unique(data.x)) * len(np.unique(data.y)) <= 10 * data.sizes["candidate"]


def _outline(axes: Axes, data: xr.Dataset) -> None:
    """Draw the outline of the grid cells in the 90 % set."""
    half = [_step(data[name].values) / 2 for name in ("x", "y")]
    inside = data.isel(candidate=data.credible.values)
    x, y = inside.x.values, inside.y.values
    cells = shapely.box(x - half[0], y - half[1], x + half[0], y + half[1])
    rim = [withStroke(linewidth=3.0, foreground="white")]
    label = "90 % set"
    for line in shapely.get_parts(shapely.union_all(cells, grid_size=1e-6).boundary):
        axes.plot(*line.xy, color="black", linewidth=1.2, path_effects=rim, label=label, zorder=1.5)
        label = "_"


def _step(values: NDArray[np.float64]) -> float:
    """Grid spacing [m]; 1 m if there is a single value."""
    gaps = np.diff(np.unique(values))
    return float(gaps.min()) if len(gaps) else 1.0
