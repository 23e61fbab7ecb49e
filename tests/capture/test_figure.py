"""The map of your own data: star and plus are both seen, in the room and in its inset."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import shapely
import xarray as xr

import locus
from locus.capture.figure import location_figure


def test_the_most_probable_place_is_drawn_above_the_star_and_in_the_inset() -> None:
    room = locus.Layout(shapely.box(0, 0, 60, 60), ())
    x, y = room.grid(61).T
    posterior = np.exp(-((x - 45) ** 2 + (y - 15) ** 2) / 2)
    place = {"rx_x": 10.0, "rx_y": 50.0, "rx_heading": 0.0, "map_x": 45.0, "map_y": 15.0, "credible_area": 14.0}
    data = xr.Dataset(
        {"posterior": ("candidate", posterior / posterior.sum()), **place},
        coords={"x": ("candidate", x), "y": ("candidate", y)},
        attrs={"layout": json.dumps(room.to_geojson())},
    )
    axes = location_figure(data, truth=(45.0, 15.0)).axes[0]
    for part in (axes, *axes.child_axes):
        height = {line.get_marker(): line.get_zorder() for line in part.lines}
        assert height["P"] > height["*"]
    assert axes.child_axes
    plt.close("all")
