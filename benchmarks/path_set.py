"""The path-set likelihood: processor time per 1000 candidates and snapshot, beside LOCUS-DT's own, on one core."""

from __future__ import annotations

import os

# Before any import: the time of a process is that of all its threads, and BLAS has its own
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from record import record

import locus
from locus.experiment.wrong_twin import exact_case
from locus.score.method import Scorer
from locus.score.path_set import PathSet
from locus.settings.config import Config, EstimatorOptions

ROOMS = 10
ROUNDS = 5


def milliseconds(score: Callable[[], Any]) -> float:
    """Least processor time of one call [ms] over several rounds, after one for compilation."""
    score()
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        score()
        found.append(1e3 * (time.process_time() - start))
    return min(found)


def cost(scorer: Scorer, config: Config, single: bool) -> float:
    """Mean time [ms] per 1000 candidates and snapshot, snapshots one by one or all of a room together."""
    times = []
    for index in range(ROOMS):
        case = exact_case(config, index)
        parts = [case.observed.isel(snapshot=s) for s in range(len(case.truth))] if single else [case.observed]

        def score(paths: Any = case.paths, parts: Any = parts) -> None:
            for part in parts:
                scorer.log_posterior(paths, part)

        times.append(milliseconds(score) / len(case.truth) / len(case.candidates) * 1000)
    return float(np.mean(times))


def main() -> None:
    torch.set_num_threads(1)
    options = EstimatorOptions(false_alarm=0.999)
    low, usual = Config(estimator=options), Config()
    scorers: dict[str, tuple[Scorer, Config]] = {
        "path_set": (PathSet(estimator=options), low),
        "path_set_exact": (PathSet(estimator=options, tolerance=locus.Tolerance(0, 0, 0, 0)), low),
        "locus_dt": (locus.load_scorer("paper"), usual),
    }
    results: dict[str, Any] = {}
    for name, (scorer, config) in scorers.items():
        results[name] = {"alone": cost(scorer, config, True), "together": cost(scorer, config, False)}
    for name, times in results.items():
        ratio = times["alone"] / results["locus_dt"]["alone"]
        print(f"{name}: {times['alone']:.1f} ms alone, {times['together']:.1f} ms with others; {ratio:.1f} x LOCUS-DT")
    record("path_set", {"milliseconds": results})


if __name__ == "__main__":
    main()
