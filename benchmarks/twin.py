"""Seconds per group of 500 candidates: the twins as `locus` runs them, one process per core, against plain Sionna."""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from record import record

import locus
from locus import Config, Radio, Twin, TwinOptions
from locus.experiment.case import Case
from locus.settings.config import TwinCheck

OPTIONS = TwinOptions(max_paths=64)
NUM_CANDIDATES = 500
CONFIG = Config(twin_check=TwinCheck(num_candidates=NUM_CANDIDATES))


def make(name: str) -> Twin:
    if name != "straightforward":
        return locus.make_twin(name, options=OPTIONS)
    locus.make_twin("sionna")  # finds libLLVM
    from locus.twin.straightforward import StraightforwardTwin

    return StraightforwardTwin(Radio(), OPTIONS)


def trace_groups(name: str, indices: list[int]) -> tuple[float, float]:
    """Start and end time of tracing these groups, excluding the first, which compiles."""
    twin = make(name)
    cases = [Case(CONFIG, "check", index, twin) for index in indices]
    candidates = [case.candidates for case in cases]
    cases[0].trace(candidates[0])
    start = time.time()
    for case, points in zip(cases[1:], candidates[1:], strict=True):
        case.trace(points)
    return start, time.time()


def measure(name: str, num_groups: int, num_processes: int) -> dict[str, float]:
    """Seconds per group with ``num_processes`` parallel processes of ``num_groups`` groups each."""
    with ProcessPoolExecutor(num_processes, mp_context=get_context("spawn")) as pool:
        shares = [list(range(p * num_groups, (p + 1) * num_groups + 1)) for p in range(num_processes)]
        parts = list(pool.map(trace_groups, [name] * num_processes, shares))
    # The processes run at different times, so their rates are added up.
    return {"seconds_per_group": 1 / sum(num_groups / (end - start) for start, end in parts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--slow-groups", type=int, default=4, help="groups for straightforward Sionna (default: %(default)s)"
    )
    parser.add_argument(
        "--groups", type=int, default=40, help="groups per process for the twins (default: %(default)s)"
    )
    options = parser.parse_args()
    cores = os.cpu_count() or 1
    results = {
        "straightforward": measure("straightforward", options.slow_groups, 1),
        "sionna": measure("sionna", options.groups, cores),
        "image": measure("image", options.groups, cores),
    }
    yardstick = results["straightforward"]["seconds_per_group"]
    print(f"{NUM_CANDIDATES} candidates per group, depth {OPTIONS.max_depth}, {cores} cores")
    print(f"{'':16} {'s / group':>10} {'times as fast':>14}")
    for name, result in results.items():
        result["times_as_fast"] = yardstick / result["seconds_per_group"]
        print(f"{name:16} {result['seconds_per_group']:10.4f} {result['times_as_fast']:14.1f}")
    record("twin", {"candidates_per_group": NUM_CANDIDATES, "depth": OPTIONS.max_depth, **results})


if __name__ == "__main__":
    main()
