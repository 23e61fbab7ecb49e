"""``RECIPE`` numbers: an integer constant of every module that computes, increased whenever its results change."""

from __future__ import annotations

from collections.abc import Iterable

from locus.book import paper
from locus.experiment import (
    any_radio,
    floors,
    mapped,
    moved,
    nats,
    path_set_fit,
    reachable,
    searches,
    solver,
    temperature,
    wrong_twin,
)
from locus.experiment import walk as walks
from locus.judge import metrics
from locus.receiver import estimator, ideal, observation
from locus.room import errors, laser, layout, polygons
from locus.score import (
    angle_strength,
    densities,
    features,
    fingerprint,
    limits,
    listen,
    method,
    moving,
    path_lists,
    path_set,
    phase_free,
    raw_iq,
    train,
    walk,
)
from locus.twin import base

BEARERS = {
    "room.layout": layout,
    "room.errors": errors,
    "room.laser": laser,
    "room.polygons": polygons,
    "twin.base": base,
    "receiver.observation": observation,
    "receiver.estimator": estimator,
    "receiver.ideal": ideal,
    "score.features": features,
    "score.method": method,
    "score.densities": densities,
    "score.raw_iq": raw_iq,
    "score.train": train,
    "score.limits": limits,
    "score.phase_free": phase_free,
    "score.moving": moving,
    "score.path_lists": path_lists,
    "score.fingerprint": fingerprint,
    "score.angle_strength": angle_strength,
    "score.path_set": path_set,
    "score.listen": listen,
    "score.walk": walk,
    "judge.metrics": metrics,
    "experiment.floors": floors,
    "experiment.moved": moved,
    "experiment.nats": nats,
    "experiment.path_set_fit": path_set_fit,
    "experiment.solver": solver,
    "experiment.temperature": temperature,
    "experiment.wrong_twin": wrong_twin,
    "experiment.reachable": reachable,
    "experiment.any_radio": any_radio,
    "experiment.searches": searches,
    "experiment.mapped": mapped,
    "experiment.walk": walks,
    "book.paper": paper,  # for its numbers; the rest of the book is hashed with the chapters that use it
}
"""Modules with a ``RECIPE``."""

COVERED_BY = {
    "judge.bootstrap": "judge.metrics",
    "judge.calibration": "judge.metrics",
    "judge.credible": "judge.metrics",
    "judge.floor": "judge.metrics",
    "receiver.crlb": "receiver.estimator",
    "receiver.fit": "receiver.estimator",
    "receiver.fit_cpu": "receiver.estimator",
    "receiver.fit_numpy": "receiver.estimator",
    "room.geodesic": "score.moving",
    "room.materials": "twin.base",
    **{f"room.{name}": "room.laser" for name in ("drive", "furniture", "survey")},
    **{f"room.{name}": "room.polygons" for name in ("ros_map", "straighten")},
    **{f"room.{name}": "room.layout" for name in ("geodesy", "geojson", "mesh", "obstacles", "scene", "section")},
    "score.pairwise": "score.method",
    "score.pairwise_cpu": "score.method",
    **{f"score.{name}": "score.method" for name in ("posterior", "lite", "lite_convert")},
    "score.sync_offset": "score.limits",
    **{
        f"score.{name}": "score.path_set"
        for name in (
            "path_arrays",
            "path_offsets",
            "path_rows",
            "path_set_cpu",
            "soft_detection",
            "strength",
            "tolerance",
        )
    },
    **{f"score.{name}": "score.path_set" for name in ("common_errors", "simulate", "twin_fit")},
    **{f"score.{name}": "score.walk" for name in ("walk_cpu", "walk_gauss", "walk_images")},
    **{f"score.{name}": "score.walk" for name in ("walk_compass", "walk_pairs")},
    **{f"twin.{name}": "twin.base" for name in ("antenna", "image", "rays", "sionna", "straightforward")},
}
"""Modules without a ``RECIPE``, and the module whose ``RECIPE`` is increased when their results change."""

COMPUTES_NOTHING = (
    "score.lite_file",
    "score.options",
    "score.path_set_file",
    "score.tensor_file",
    "score.weight_files",
    "twin.check",
    "twin.llvm",
)
"""Modules of the method that need no ``RECIPE``."""


def recipes(modules: Iterable[str]) -> dict[str, int]:
    """``RECIPE`` numbers of these modules, or of those that cover them, by name of the module that has the number."""
    covering = {COVERED_BY.get(name, name) for name in modules}
    return {name: module.RECIPE for name, module in BEARERS.items() if name in covering}
