"""A walk as an animation: the result of :func:`locus.locate` with several poses in, a GIF with a map per step out."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.animation import PillowWriter

from locus.capture.figure import draw_location, empty_map
from locus.settings.atomic import replacing

MAX_FRAMES = 100
"""Longer walks leave out steps, but neither the first nor the last."""

_DPI = 90
_PER_SECOND = 2
_REST = 4  # repetitions of the last map


def save_animation(data: xr.Dataset, path: Path, truth: tuple[float, float] | None = None) -> None:
    """Write the maps of a walk, one per step, as a GIF, atomically; ``truth`` [m] as in ``location_figure``."""
    last = data.sizes["step"] - 1
    steps = np.unique(np.linspace(0, last, min(last + 1, MAX_FRAMES)).round().astype(int))
    figure, axes = empty_map(data)
    writer = PillowWriter(fps=_PER_SECOND)
    with replacing(path) as scratch, writer.saving(figure, str(scratch), _DPI):
        for step in (*steps, *[last] * _REST):
            axes.clear()
            draw_location(axes, data, int(step), truth, zoom=False)
            if not figure.legends:
                figure.legend(loc="outside lower center", ncols=5, frameon=False)
                figure.canvas.draw()
                figure.set_layout_engine("none")  # else the map would jump from frame to frame
            writer.grab_frame()
    plt.close(figure)
