"""Recipe numbers: for every module that computes, the integer that is raised when a change alters its numbers."""

from __future__ import annotations

from locus.book import paper
from locus.book.studies import limit_accuracy, posterior_maps, score_behaviour
from locus.experiment import wrong_twin
from locus.judge import metrics
from locus.receiver import estimator, observation
from locus.room import errors, layout
from locus.score import densities, features, limits, method, train
from locus.twin import base

COVERED_BY = {
    "judge.bootstrap": "judge.metrics",
    "judge.credible": "judge.metrics",
    "receiver.crlb": "receiver.estimator",
    "receiver.fit": "receiver.estimator",
    "receiver.fit_cpu": "receiver.estimator",
    "room.materials": "twin.base",
    "score.pairwise": "score.method",
    "score.pairwise_cpu": "score.method",
    **{f"twin.{name}": "twin.base" for name in ("antenna", "image", "rays", "sionna", "straightforward")},
}
"""Modules without a RECIPE of their own, and the module whose RECIPE is raised when their numbers change."""

COMPUTES_NOTHING = ("score.weight_files", "twin.llvm")
"""Modules of the method that keep or find what others compute."""


def recipes() -> dict[str, int]:
    """RECIPE of each module, by the module's name."""
    return {
        "layout": layout.RECIPE,
        "twin": base.RECIPE,
        "observation": observation.RECIPE,
        "estimator": estimator.RECIPE,
        "features": features.RECIPE,
        "score": method.RECIPE,
        "baselines": densities.RECIPE,
        "train": train.RECIPE,
        "metrics": metrics.RECIPE,
        "limit": limits.RECIPE,
        # What chapters compute on the spot, and the paper's printed numbers
        "studies": score_behaviour.RECIPE,
        "maps": posterior_maps.RECIPE,
        "mismatch": errors.RECIPE,
        "robustness": wrong_twin.RECIPE,
        "limit_checks": limit_accuracy.RECIPE,
        "paper": paper.RECIPE,
    }
