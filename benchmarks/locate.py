"""`locus.locate` for transmitters that are never on the list: do 90 % sets hold, and does an exact twin fit?

Rooms like the paper's, and the hall of the book's page on your own room, each with random poses and transmitters, and
the image twin on both sides. Prints shares and records them. `--rooms N` and `--poses N` ask for fewer.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from record import record

import locus
from locus.capture.locate import locate
from locus.experiment.wrong_twin import exact_case
from locus.room.layout import draw_position
from locus.score.twin_fit import UNUSUAL, twin_fit

ROOM = Path(__file__).parents[1] / "book/_static/room.geojson"
SEED = 17


def share(values: Any) -> dict[str, float]:
    """Share of true values, its standard error, and how many there are."""
    values = np.concatenate(values)
    mean = float(values.mean())
    return {"share": mean, "error": math.sqrt(mean * (1 - mean) / len(values)), "count": len(values)}


def off_list(hall: bool, num_scenes: int, num_transmitters: int) -> dict[str, Any]:
    """Share of 90 % sets with the candidate nearest to the truth, and of snapshots that an exact twin fits badly."""
    twin = locus.make_twin("image")
    held, badly, counts, areas, seconds = [], [], [], [], []
    for index in range(num_scenes):
        rng = np.random.default_rng([SEED, index])
        layout = locus.Layout.from_geojson(ROOM) if hall else locus.Layout.random(rng)
        pose = locus.Pose.random(layout, rng)
        true = np.stack([draw_position(layout, pose, rng) for _ in range(num_transmitters)])
        paths = twin.trace(layout, pose, true).rename(candidate="snapshot").reset_coords(drop=True)
        iq = locus.observe(paths, rng.spawn(num_transmitters))
        start = time.process_time()
        found = locate(layout, pose, iq, twin="image")
        seconds.append(time.process_time() - start)
        nearest = np.hypot(found.x.values - true[:, :1], found.y.values - true[:, 1:]).argmin(axis=1)
        held.append(found.credible.values[np.arange(num_transmitters), nearest])
        badly.append(found.twin_fit.values < UNUSUAL)
        counts.append(found.sizes["candidate"])
        areas.append(found.credible_area.values)
    return {
        "held": share(held),
        "twin_fit_below_0.01": share(badly),
        "median_area": float(np.median(np.concatenate(areas))),
        "candidates": float(np.mean(counts)),
        "seconds_per_snapshot": float(np.mean(seconds[1:] or seconds)) / num_transmitters,
    }


def on_list(num_rooms: int) -> dict[str, Any]:
    """Share of snapshots that an exact twin fits badly, if the transmitter is one of the candidates."""
    scorer, config, badly = locus.PathSet(), locus.load_config("paper"), []
    for index in range(num_rooms):
        case = exact_case(config, index)
        values = twin_fit(scorer, case.paths, case.seen_by(scorer), np.random.default_rng(index)).values
        badly.append(values < UNUSUAL)
    return {"twin_fit_below_0.01": share(badly)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=48, help="rooms like the paper's, 12 transmitters each")
    parser.add_argument("--poses", type=int, default=15, help="poses in the hall, 10 transmitters each")
    parser.add_argument("--exact", type=int, default=200, help="rooms with transmitters on the list, 10 each")
    options = parser.parse_args()
    studies: dict[str, Callable[[], dict[str, Any]]] = {
        "hall": lambda: off_list(True, options.poses, 10),
        "rooms": lambda: off_list(False, options.rooms, 12),
        "on_list": lambda: on_list(options.exact),
    }
    results = {}
    for name, study in studies.items():
        results[name] = study()
        for key, value in results[name].items():
            text = (
                "{share:.1%} +- {error:.1%} of {count}".format(**value) if isinstance(value, dict) else f"{value:.3g}"
            )
            print(f"{name}: {key} {text}", flush=True)
    record("locate", results)


if __name__ == "__main__":
    main()
