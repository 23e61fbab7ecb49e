"""Numbers that the package shares with the explorer's JavaScript: the modules that define them, in; one table out."""

from __future__ import annotations

from typing import Any

from locus import draw
from locus.judge.bootstrap import ROUNDING
from locus.judge.credible import CREDIBLE_MASS
from locus.receiver import fit, fit_cpu
from locus.room.errors import everything
from locus.room.layout import MIN_DISTANCE
from locus.room.obstacles import SHAPES_PER_OBSTACLE
from locus.score import (
    densities,
    path_arrays,
    path_offsets,
    path_set_cpu,
    soft_detection,
    strength,
    sync_offset,
    walk,
    walk_compass,
    walk_cpu,
    walk_gauss,
    walk_images,
)
from locus.settings.config import BOLTZMANN, SPEED_OF_LIGHT
from locus.twin import antenna, image

FIRST_ROOM = 59
"""Seed of the room that the page opens with: the median room, of seeds 0 to 100, by the probability that the paper's
weights give near the transmitter."""

ERROR_SEED = 0
"""Seed of the directions in which the wrong twin of the page errs."""

_ZOOM = {name: value for name, value in draw.ZOOM.items() if name != "least_side"}  # the page's inset keeps its size

CONSTANTS: dict[str, Any] = {
    "first_room": FIRST_ROOM,
    "speed_of_light": SPEED_OF_LIGHT,
    "boltzmann": BOLTZMANN,
    "room": {"min_distance": MIN_DISTANCE, "shapes_per_obstacle": SHAPES_PER_OBSTACLE},
    "twin": {
        "slack": image.SLACK,
        "element_gain_db": antenna.ELEMENT_GAIN_DB,
        "most_loss_db": antenna.MOST_LOSS_DB,
        "half_power_width": float(antenna.HALF_POWER_WIDTH),
    },
    "fit": {
        "proposed": fit.PROPOSED,
        "bound_margin": fit_cpu.BOUND_MARGIN,
        "damping": fit_cpu.DAMPING,
        "least_damping": fit_cpu.LEAST_DAMPING,
        "most_damping": fit_cpu.MOST_DAMPING,
        "damping_factor": fit_cpu.DAMPING_FACTOR,
        "regular": fit_cpu.REGULAR,
        "converged": fit_cpu.CONVERGED,
        "rounding": fit_cpu.ROUNDING,
    },
    "density": {
        "least_width": densities.LEAST_WIDTH,
        "least_distance": densities.LEAST_DISTANCE,
        "wraps": densities.WRAPS,
    },
    "sync_offset": {
        "bins": sync_offset.BINS,
        "smooth": sync_offset.SMOOTH,
        "kept": sync_offset.KEPT,
        "cells": sync_offset.CELLS,
        "steep": sync_offset.STEEP,
        "hopeless": sync_offset.HOPELESS,
        "nodes": sync_offset.NODES.tolist(),
        "node_weights": sync_offset.WEIGHTS.tolist(),
    },
    "path_set": {
        "weakest": path_arrays.WEAKEST,
        "strongest": path_arrays.STRONGEST,
        "most_merged": path_arrays.MOST_MERGED,
        "lowest_level": path_arrays.LOWEST_LEVEL,
        "most_seen": path_set_cpu.MOST_SEEN,
        "least_height": path_set_cpu.LEAST_HEIGHT,
        "least_share": path_offsets.LEAST_SHARE,
        "negligible": path_set_cpu.NEGLIGIBLE,
        "scale": path_offsets.SCALE,
        "nodes": path_offsets.NODES.tolist(),
        "node_weights": path_offsets.NODE_WEIGHTS.tolist(),
        "close": path_offsets.CLOSE,
        "similar": path_offsets.SIMILAR,
        "far": path_offsets.FAR,
        "least_root": path_set_cpu.LEAST_ROOT,
        "most_sine": path_set_cpu.MOST_SINE,
        "no_angle": path_set_cpu.NO_ANGLE,
        "overlap": path_offsets.OVERLAP,
        "soft": {
            "padding": soft_detection.PADDING,
            "near": soft_detection.NEAR,
            "most_power": soft_detection.MOST_POWER,
            "most_factor": soft_detection.LARGEST,
            "sharpest": soft_detection.SHARPEST,
        },
        "table": {
            "bend": strength.BEND,
            "rows": strength.ROWS,
            "tabulated": strength.REACH,
            "steps": strength.STEPS,
            "fine": strength.FINE,
        },
    },
    "walk": {
        "correlation": walk.CORRELATION,
        "hopeless_nats": walk.HOPELESS_NATS,
        "same_view": walk.SAME_VIEW,
        "num_slots": walk.NUM_SLOTS,
        "most_plan": walk_images.MOST_PLAN,
        "mismatch": walk_images.MISMATCH,
        "least_length": walk_cpu.LEAST_LENGTH,
        "least_correction": walk_cpu.LEAST_CORRECTION,
        "most_missed": walk_cpu.MOST_MISSED,
        "least_own": walk_gauss.LEAST_OWN,
        "interval": walk_compass.INTERVAL,
        "least_weight": walk_compass.NEGLIGIBLE,
    },
    "errors": {"seed": ERROR_SEED, "heading_per_metre": everything(1.0)["heading"]},
    "near": 5.0,  # [m], radius around the transmitter whose posterior mass the page shows
    "map": {"floor": draw.FLOOR, "credible_mass": CREDIBLE_MASS, "rounding": ROUNDING, **_ZOOM},
    "colours": {"receiver": draw.RECEIVER, "transmitter": draw.TRANSMITTER, "solid": draw.SOLID},
}
"""Constants of the package that the JavaScript modules read from the settings file instead of copying them."""
