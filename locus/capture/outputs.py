"""Files of a located transmitter: the result of :func:`locus.locate`, written so that other tools can read it.

The suffix decides: ``.nc`` holds everything, ``.csv`` every candidate, ``.geojson`` the 90 % set and the most probable
place for a GIS, ``.yaml`` with ``.pgm`` the posterior as a ROS map for a planner. All are written atomically.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import xarray as xr
from numpy.typing import NDArray

from locus.capture.candidates import nearest_distance
from locus.room.geodesy import Frame, to_degrees
from locus.room.layout import Layout
from locus.room.ros_map import RosMap, write_ros_map
from locus.settings.atomic import replacing, write_text

SUFFIXES = (".nc", ".csv", ".geojson", ".yaml")
"""Suffixes of the files that a result can be written to."""

_ON_GRID = 10  # candidates lie on a grid if it has at most this many points for each
_ROUNDED = 1e-6  # [m], at which edges of neighbouring cells are joined


def check_snapshots(path: Path, num_snapshots: int) -> None:
    """Raise a ValueError if a file with this suffix cannot hold the posteriors of so many snapshots."""
    if path.suffix == ".yaml" and num_snapshots > 1:
        raise ValueError(
            f"Expected one snapshot for the ROS map {path}, got {num_snapshots}; write .nc, .csv or .geojson"
        )


def save_result(data: xr.Dataset, path: Path) -> list[Path]:
    """Write a result in the format of the file's suffix; returns the files written."""
    check_snapshots(path, data.sizes.get("snapshot", 1))
    if path.suffix == ".nc":
        from locus.experiment import netcdf

        netcdf.save(
            path, data, {}, double=("map_x", "map_y"), sealed=False
        )  # map coordinates can be millions of metres
    elif path.suffix == ".csv":
        _save_csv(data, path)
    elif path.suffix == ".geojson":
        write_text(path, json.dumps(to_geojson(data)) + "\n")
    elif path.suffix == ".yaml":
        return _save_ros_map(data, path)
    else:
        raise ValueError(f"Expected a file that ends in {' or '.join(SUFFIXES)}, got {path}")
    return [path]


def frame_of(data: xr.Dataset) -> Frame | None:
    """Where on the Earth a result's coordinates begin, if its room was in degrees."""
    return Frame(**json.loads(data.attrs["frame"])) if "frame" in data.attrs else None


def parts(data: xr.Dataset) -> list[tuple[dict[str, int], xr.Dataset]]:
    """Results of the single snapshots or steps, each with its number by name; without a number if there is only one."""
    lead = data.posterior.dims[:-1]
    if not lead:
        return [({}, data)]
    return [({str(lead[0]): i}, data.isel({lead[0]: i})) for i in range(data.sizes[lead[0]])]


def _save_csv(data: xr.Dataset, path: Path) -> None:
    frame = frame_of(data)
    positions = {"x": data.x.values, "y": data.y.values}
    if frame is not None:
        degrees = frame.degrees(np.stack([data.x.values, data.y.values], axis=1))
        positions |= {"longitude": degrees[:, 0], "latitude": degrees[:, 1]}
    with replacing(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*parts(data)[0][0], *positions, "posterior", "credible"])
        for number, one in parts(data):
            columns = [[f"{value:.12g}" for value in values] for values in positions.values()]
            posterior = [f"{value:.6g}" for value in one.posterior.values]
            rows = zip(*columns, posterior, one.credible.values.astype(int).tolist(), strict=True)
            writer.writerows([*number.values(), *row] for row in rows)


def to_geojson(data: xr.Dataset) -> dict[str, Any]:
    """FeatureCollection of the 90 % set, as polygons in the room, and of the most probable place.

    Coordinates are those of the room: degrees of longitude and latitude if it was in degrees, else metres.
    """
    layout, frame = Layout.from_geojson(json.loads(data.attrs["layout"])), frame_of(data)
    cells = _cells(data, layout)
    features = []
    for number, one in parts(data):
        inside = one.credible.values
        # Rounded so that edges of neighbours fall together
        area = shapely.union_all(shapely.set_precision(cells[inside], _ROUNDED), grid_size=_ROUNDED)
        best = int(one.posterior.values.argmax())
        described = [
            (
                shapely.orient_polygons(shapely.simplify(shapely.intersection(area, layout.free_space), 0)),
                {
                    "role": "credible_set",
                    "probability": float(one.posterior.values[inside].sum()),
                    "area_m2": float(one.credible_area),
                    **_origin(one),
                },
            ),
            (
                shapely.Point(float(one.map_x), float(one.map_y)),
                {"role": "most_probable", "probability": float(one.posterior.values[best])},
            ),
        ]
        for shape, properties in described:
            geometry = json.loads(shapely.to_geojson(shape if frame is None else to_degrees(shape, frame)))
            features.append({"type": "Feature", "geometry": geometry, "properties": {**properties, **number}})
    return {"type": "FeatureCollection", "features": features}


def _origin(one: xr.Dataset) -> dict[str, Any]:
    """What a map rests on: method, twin, and how well the capture fits."""
    fit = {"twin_fit": float(one.twin_fit)} if "twin_fit" in one else {}
    return {"method": one.attrs["method"], "twin": one.attrs["twin"], **fit}


def _cells(data: xr.Dataset, layout: Layout) -> NDArray[Any]:
    """What each candidate stands for: a cell of the grid, or all that is nearer to it than to any other."""
    xy = np.stack([data.x.values, data.y.values], axis=1)
    steps = _steps(xy)
    if steps is not None:
        half = np.array(steps) / 2
        return np.asarray(shapely.box(*(xy - half).T, *(xy + half).T))
    points = shapely.points(xy)
    found = shapely.get_parts(
        shapely.voronoi_polygons(shapely.multipoints(points), extend_to=layout.room, ordered=True)
    )
    return np.asarray(found)


def _steps(xy: NDArray[np.float64]) -> tuple[float, float] | None:
    """Steps of a grid along x and y [m]; None for points that are on none."""
    axes = [np.unique(values) for values in xy.T]
    if len(axes[0]) * len(axes[1]) > _ON_GRID * len(xy):
        return None
    gaps = [float(np.diff(axis).min()) if len(axis) > 1 else 0.0 for axis in axes]
    step = max(gaps) or 1.0
    return gaps[0] or step, gaps[1] or step


def _save_ros_map(data: xr.Dataset, path: Path) -> list[Path]:
    """Posterior relative to its largest value, in per cent; cells that are not candidates are unknown."""
    number, one = parts(data)[-1]  # of a walk, the last step: it has heard everything
    layout, frame = Layout.from_geojson(json.loads(data.attrs["layout"])), frame_of(data)
    xy = np.stack([data.x.values, data.y.values], axis=1)
    steps = _steps(xy) or (nearest_distance(xy) or 1.0,) * 2
    x0, y0, x1, y1 = layout.room.bounds
    side = min(steps)
    columns, rows = (max(1, int(np.ceil(length / side - 1e-9))) for length in (x1 - x0, y1 - y0))
    x, y = np.meshgrid(x0 + (np.arange(columns) + 0.5) * side, y0 + (np.arange(rows) + 0.5) * side)
    nearest = shapely.STRtree(shapely.points(xy)).nearest(shapely.points(x.ravel(), y.ravel()))
    away = np.abs(np.stack([x.ravel(), y.ravel()], axis=1) - xy[nearest])
    known = (
        (away <= 0.51 * np.array(steps)).all(axis=1)
        if _steps(xy)
        else layout.is_free(np.stack([x.ravel(), y.ravel()], axis=1), 0.0)
    )
    posterior = one.posterior.values
    largest = float(posterior.max())
    occupancy = np.where(known, posterior[nearest] / largest, np.nan).reshape(rows, columns)
    notes = [
        "Posterior of a transmitter's position, by `locus locate`.",
        f"A pixel of 100 is the most probable place, with {largest:.6g} in {steps[0]:.6g} m x {steps[1]:.6g} m; others",
        "are percentages of it. 255: no transmitter was looked for there.",
        *(f"This is {name} {i}, the last one." for name, i in number.items()),
    ]
    if frame is not None:
        notes.append(f"Metres east and north of longitude {frame.longitude:.9f}, latitude {frame.latitude:.9f}.")
    grid = RosMap(occupancy.astype(np.float32), side, (x0, y0, 0.0))
    write_ros_map(path, grid, "raw", notes)
    return [path, path.with_suffix(".pgm")]
