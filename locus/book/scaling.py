"""Cost of larger data sets: measurements and the paper's settings in, values for the page "Scaling out" out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from locus.experiment.libraries import Library, Observations
from locus.experiment.run import Run, repository
from locus.score.method import MethodOptions
from locus.settings import units
from locus.settings.config import Config
from locus.settings.profiles import load_config

MANY = 1_000_000
"""Number of layouts that the page on scaling out extrapolates to."""


def numbers() -> dict[str, Any]:
    """Values for the template: measurements, and the cost of the paper's training data and of ``MANY`` layouts."""
    results = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    paper = load_config("paper")
    many = replace(paper, training=replace(paper.training, num_layouts=MANY))
    costs = [_cost(config, results) for config in (paper, many)]
    return {
        "measured": results,
        "machine": results["dataset"]["machine"],
        "paper": paper,
        "many": MANY,
        "costs": {title: [cost[title] for cost in costs] for title in costs[0]},
        "hundredth": units.duration(_trace_seconds(many, results, "sionna") / 100),
        "memory": units.size(_training_bytes(many)),
    }


def _cost(config: Config, results: dict[str, Any]) -> dict[str, str]:
    """Cost of the training split, as text; times are proportional to the number of layouts."""
    training = config.training
    library, observations = (kind(Run("", config), "train") for kind in (Library, Observations))
    num_files = library.num_blocks * (len(library.variables) + len(observations.variables))
    estimation = training.num_layouts * training.num_snapshots / results["estimator"]["snapshots_per_second"]
    epoch = _share(config) * results["score"]["paper_epoch_seconds"]["locus_dt"]
    return {
        "trace, image twin": units.duration(_trace_seconds(config, results, "image")),
        "trace, Sionna": units.duration(_trace_seconds(config, results, "sionna")),
        "estimate the snapshots": units.duration(estimation),
        "one epoch of LOCUS-DT, without validation": units.duration(epoch),
        "disk, before compression": units.size(library.max_bytes + observations.max_bytes),
        "files on disk": units.count(num_files),
        "memory while training": units.size(_training_bytes(config)),
    }


def _share(config: Config) -> float:
    """Number of layouts relative to the paper's."""
    return config.training.num_layouts / load_config("paper").training.num_layouts


def _trace_seconds(config: Config, results: dict[str, Any], backend: str) -> float:
    return float(_share(config) * 60 * results["dataset"][backend]["minutes"]["train"])


def _training_bytes(config: Config) -> int:
    """Memory for training [bytes]: it holds the features of every candidate and snapshot, four bytes each."""
    training = config.training
    rows = training.num_layouts * (training.num_candidates + training.num_snapshots)
    return 4 * MethodOptions(num_paths=config.estimator.num_paths).num_features * rows
