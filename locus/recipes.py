"""Recipe numbers: for every module that computes, the integer that is raised when a change alters its numbers."""

from __future__ import annotations

from locus import (
    baselines,
    estimator,
    features,
    layout,
    limit,
    limit_checks,
    maps,
    metrics,
    mismatch,
    observation,
    paper,
    robustness,
    score,
    studies,
    train,
)
from locus.twin import base


def recipes() -> dict[str, int]:
    """RECIPE of each module, by the module's name."""
    return {
        "layout": layout.RECIPE,
        "twin": base.RECIPE,
        "observation": observation.RECIPE,
        "estimator": estimator.RECIPE,
        "features": features.RECIPE,
        "score": score.RECIPE,
        "baselines": baselines.RECIPE,
        "train": train.RECIPE,
        "metrics": metrics.RECIPE,
        "limit": limit.RECIPE,
        # What chapters compute on the spot, and the paper's printed numbers
        "studies": studies.RECIPE,
        "maps": maps.RECIPE,
        "mismatch": mismatch.RECIPE,
        "robustness": robustness.RECIPE,
        "limit_checks": limit_checks.RECIPE,
        "paper": paper.RECIPE,
    }
