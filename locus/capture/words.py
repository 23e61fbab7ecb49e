"""A located transmitter in words: the result of :func:`locus.locate` in, one line per snapshot or step out."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from locus.capture.outputs import frame_of
from locus.judge.credible import credible_level
from locus.settings import units


def words(data: xr.Dataset) -> list[str]:
    """Summary of the result, a line per snapshot or per step of a walk."""
    walk = "step" in data.dims
    return [
        f"{f'after {number}: ' if walk else ''}{int(one.valid.sum())} paths; "
        f"most probable at x = {float(one.map_x):.1f} m, y = {float(one.map_y):.1f} m{_on_earth(one)} "
        f"({_percent(one.posterior.max())}); 90 % in {units.area(float(one.credible_area))} m^2{_about_cells(one)}"
        f"{_about_compass(one)}{_about_twin(one)}"
        for number, one in enumerate(_snapshots(data), 1)
    ]


def words_of_truth(data: xr.Dataset, truth: tuple[float, float]) -> list[str]:
    """Error, and mass of the smallest set with the candidate nearest to the true position [m].

    One line per snapshot; for a walk, one line, for its last snapshot.
    """
    distance = np.hypot(data.x.values - truth[0], data.y.values - truth[1])
    nearest = int(distance.argmin())
    lines = []
    for one in _snapshots(data.isel(step=[-1]) if "step" in data.dims else data):
        with np.errstate(divide="ignore"):
            logs = np.log(one.posterior.values[np.newaxis].astype(float))
        level = float(credible_level(logs, np.array([nearest]), np.ones(1))[0])
        error = math.hypot(float(one.map_x) - truth[0], float(one.map_y) - truth[1])
        lines.append(
            f"truth: most probable place is {error:.1f} m away; the nearest candidate, {distance[nearest]:.1f} m away, "
            f"is in the smallest set that holds {100 * level:.1f} %"
        )
    return lines


def _snapshots(data: xr.Dataset) -> list[xr.Dataset]:
    for dim in ("snapshot", "step"):
        if dim in data.dims:
            return [data.isel({dim: i}) for i in range(data.sizes[dim])]
    return [data]


def _about_cells(one: xr.Dataset) -> str:
    return ", one candidate" if "credible" in one and int(one.credible.sum()) == 1 else ""


def _about_compass(one: xr.Dataset) -> str:
    if "heading_error" not in one:
        return ""
    names = ("heading_error", "heading_error_low", "heading_error_high")
    mean, low, high = (math.degrees(float(one[name])) for name in names)
    return f"; compass off by {mean:z.1f} degrees, {low:z.1f} to {high:z.1f} with 90 %"


def _on_earth(one: xr.Dataset) -> str:
    frame = frame_of(one)
    if frame is None:
        return ""
    longitude, latitude = frame.degrees([float(one.map_x), float(one.map_y)])
    return f", longitude {longitude:.7f}, latitude {latitude:.7f}"


def _about_twin(one: xr.Dataset) -> str:
    if "twin_fit" not in one:
        return ""
    if "twin_error" not in one:
        return f"; twin fit {_percent(one.twin_fit)}"
    exact = float(one.twin_error.where(one.level == 0, 0.0).sum())
    return f"; twin fit {_percent(one.twin_fit)}, exact with {100 * exact:.0f} %"


def _percent(share: xr.DataArray) -> str:
    return f"{100 * float(share):.1f} %"
