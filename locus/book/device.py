"""Cost on a small device: recorded measurements and the network's sizes in, values for the page "On a device" out."""

from __future__ import annotations

import json
import math
from typing import Any

from locus.experiment.run import repository
from locus.score.options import HIDDEN, MethodOptions
from locus.settings.config import Config
from locus.settings.profiles import load_config

KINDS = ("float32", "float16", "int8", "int16")
"""Types of a file, in the order of the page's table."""

CANDIDATES = 1000
"""Number of candidates that the arithmetic is for."""


def numbers() -> dict[str, Any]:
    """Values for the template."""
    measured = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))["device"]
    config = load_config("paper")
    return {
        "measured": measured,
        "machine": measured["machine"],
        "kinds": KINDS,
        "candidates": CANDIDATES,
        "score": score_arithmetic(MethodOptions(num_paths=config.estimator.num_paths).num_features),
        "estimate": estimate_arithmetic(config),
        "paper": config,
        "features_share": measured["methods"]["rounded_features"]["lost"][0] / measured["methods"]["int8"]["lost"][0],
    }


def score_arithmetic(num_features: int) -> dict[str, int]:
    """Multiply-adds and bytes of the integer network, from its sizes."""
    first, second = HIDDEN
    weights = 2 * num_features * first + first * second + second
    return {
        "candidate": num_features * first,
        "pair": first * second + second,
        "pose_operations": CANDIDATES * num_features * first,
        "snapshot_operations": num_features * first + CANDIDATES * (first * second + second),
        "weights": weights,
        "biases": first + second + 1,
        "weight_bytes": weights + 4 * (first + second + 1),
        "half_bytes": CANDIDATES * first,
        "feature_bytes": CANDIDATES * num_features,
        "working_bytes": 2 * first + second + 1,
    }


def estimate_arithmetic(config: Config) -> dict[str, int]:
    """Multiply-adds and bytes of estimating one snapshot, at most: every path is found, every fit takes all its steps.

    A complex product counts as four multiply-adds. Per path there is one search: transforms over delay, then a sum over
    antennas at each point. Per step there are projections of the snapshot, inner products of the paths' factors and a
    Cholesky decomposition; sines are not counted.
    """
    options, n, m = config.estimator, config.radio.num_subcarriers, config.radio.num_antennas
    rows, columns = n * options.delay_padding, m * options.angle_padding
    search = 4 * (m * rows // 2 * math.ceil(math.log2(rows)) + rows * m * columns)
    steps = [4 * (k * n * 2 * m + (2 * k) ** 2 * (n + m)) + (4 * k) ** 3 // 6 for k in range(1, options.num_paths + 1)]
    return {
        "search_operations": options.num_paths * search,
        "fit_operations": options.num_iterations * sum(steps),
        "operations": options.num_paths * search + options.num_iterations * sum(steps),
        "snapshot_bytes": 8 * n * m,
        "filter_bytes": 8 * rows * m,
    }
