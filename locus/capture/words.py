"""A located transmitter in words: the result of :func:`locus.locate` in, one line per snapshot out."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from locus.judge.credible import credible_level
from locus.settings import units


def words(data: xr.Dataset) -> list[str]:
    """Summary of the result, a line per snapshot."""
    return [
        f"{int(one.valid.sum())} paths; most probable at x = {float(one.map_x):.1f} m, y = {float(one.map_y):.1f} m "
        f"({float(one.posterior.max()):.1%}); 90 % in {units.area(float(one.credible_area))} m^2{_about_twin(one)}"
        for one in _snapshots(data)
    ]


def words_of_truth(data: xr.Dataset, truth: tuple[float, float]) -> list[str]:
    """Error, and mass of the smallest set with the candidate nearest to the true position [m], a line per snapshot."""
    distance = np.hypot(data.x.values - truth[0], data.y.values - truth[1])
    nearest = int(distance.argmin())
    lines = []
    for one in _snapshots(data):
        with np.errstate(divide="ignore"):
            logs = np.log(one.posterior.values[np.newaxis].astype(float))
        level = float(credible_level(logs, np.array([nearest]), np.ones(1))[0])
        error = math.hypot(float(one.map_x) - truth[0], float(one.map_y) - truth[1])
        lines.append(
            f"truth: most probable place is {error:.1f} m away; the nearest candidate, {distance[nearest]:.1f} m away, "
            f"is in the smallest set that holds {level:.1%}"
        )
    return lines


def _snapshots(data: xr.Dataset) -> list[xr.Dataset]:
    return [data.isel(snapshot=i) for i in range(data.sizes["snapshot"])] if "snapshot" in data.dims else [data]


def _about_twin(one: xr.Dataset) -> str:
    if "twin_fit" not in one:
        return ""
    exact = float(one.twin_error.where(one.level == 0, 0.0).sum())
    return f"; twin fit {float(one.twin_fit):.1%}, exact with {exact:.0%}"
