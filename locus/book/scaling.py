"""Cost of other sizes: the recorded measurements and the paper's settings in, numbers for `scaling out` out."""

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
"""Layouts that `scaling out` reckons with."""


def numbers() -> dict[str, Any]:
    """Measurements, and what training data of the paper's size and of a million layouts costs."""
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
    """What the training split takes, in words; times are in proportion to the number of layouts."""
    training = config.training
    library, observations = (kind(Run("", config), "train") for kind in (Library, Observations))
    num_files = library.num_blocks * (len(library.variables) + len(observations.variables))
    estimation = training.num_layouts * training.num_snapshots / results["estimator"]["snapshots_per_second"]
    epoch = _share(config) * results["score"]["paper_epoch_seconds"]["locus_dt"]
    return {
        "trace, image twin": units.duration(_trace_seconds(config, results, "image")),
        "trace, Sionna": units.duration(_trace_seconds(config, results, "sionna")),
        "estimate the snapshots": units.duration(estimation),
        "one epoch of LOCUS-DT": units.duration(epoch),
        "disk, before compression": units.size(library.max_bytes + observations.max_bytes),
        "files on disk": units.count(num_files),
        "memory while training": units.size(_training_bytes(config)),
    }


def _share(config: Config) -> float:
    """Layouts, in those of the paper."""
    return config.training.num_layouts / load_config("paper").training.num_layouts


def _trace_seconds(config: Config, results: dict[str, Any], backend: str) -> float:
    return float(_share(config) * 60 * results["dataset"][backend]["minutes"]["train"])


def _training_bytes(config: Config) -> int:
    """Features of every candidate and snapshot, four bytes each: training holds them all."""
    training = config.training
    rows = training.num_layouts * (training.num_candidates + training.num_snapshots)
    return 4 * MethodOptions(num_paths=config.estimator.num_paths).num_features * rows
