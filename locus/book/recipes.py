"""RECIPE numbers: for every module that computes, an integer that is raised when its results change."""

from __future__ import annotations

from collections.abc import Iterable

from locus.book import paper
from locus.experiment import floors, moved, solver, wrong_twin
from locus.judge import metrics
from locus.receiver import estimator, observation
from locus.room import errors, layout
from locus.score import densities, features, limits, method, path_set, phase_free, raw_iq, train
from locus.twin import base

BEARERS = {
    "room.layout": layout,
    "room.errors": errors,
    "twin.base": base,
    "receiver.observation": observation,
    "receiver.estimator": estimator,
    "score.features": features,
    "score.method": method,
    "score.densities": densities,
    "score.raw_iq": raw_iq,
    "score.train": train,
    "score.limits": limits,
    "score.phase_free": phase_free,
    "score.path_set": path_set,
    "judge.metrics": metrics,
    "experiment.floors": floors,
    "experiment.moved": moved,
    "experiment.solver": solver,
    "experiment.wrong_twin": wrong_twin,
    "book.paper": paper,  # for its numbers; the rest of the book is hashed with the chapters that use it
}
"""Modules with a RECIPE."""

COVERED_BY = {
    "judge.bootstrap": "judge.metrics",
    "judge.credible": "judge.metrics",
    "judge.floor": "judge.metrics",
    "receiver.crlb": "receiver.estimator",
    "receiver.fit": "receiver.estimator",
    "receiver.fit_cpu": "receiver.estimator",
    "room.materials": "twin.base",
    "score.pairwise": "score.method",
    "score.pairwise_cpu": "score.method",
    **{f"score.{name}": "score.method" for name in ("posterior", "lite", "lite_convert")},
    "score.sync_offset": "score.limits",
    **{f"score.{name}": "score.path_set" for name in ("path_arrays", "path_set_cpu", "strength", "tolerance")},
    **{f"twin.{name}": "twin.base" for name in ("antenna", "image", "rays", "sionna", "straightforward")},
}
"""Modules without a RECIPE, and the module whose RECIPE is raised when their results change."""

COMPUTES_NOTHING = ("score.lite_file", "score.options", "score.weight_files", "twin.llvm")
"""Modules of the method that need no RECIPE."""


def recipes(modules: Iterable[str]) -> dict[str, int]:
    """RECIPE numbers of these modules, or of those that cover them, by name of the module with the RECIPE."""
    covering = {COVERED_BY.get(name, name) for name in modules}
    return {name: module.RECIPE for name, module in BEARERS.items() if name in covering}
