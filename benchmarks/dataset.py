"""Candidate libraries: speedup of a second worker, time for the paper's sizes, growth of cost and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from record import record

from locus.experiment import cluster, splits
from locus.experiment.case import Case
from locus.experiment.libraries import trace_block
from locus.settings.config import Config
from locus.settings.profiles import load_config

PAPER = load_config("paper")
BACKENDS = ("image", "sionna")


def with_twin(backend: str, **changes: Any) -> Config:
    return load_config("paper", {"twin.train": backend, "twin.evaluation": backend, **changes})


def rate(num_workers: int, config: Config, split: str, num_blocks: int) -> float:
    """Groups per second with this many workers, after warm-up."""
    arguments = (config.to_dict(), split)

    def run(blocks: range) -> float:
        start = time.perf_counter()
        for _ in cluster.each(client, lambda block: (trace_block, (block, *arguments)), list(blocks)):
            pass
        return time.perf_counter() - start

    with cluster.connect(num_workers) as client:
        run(range(4 * num_workers))
        return num_blocks * config.storage.block / run(range(num_blocks))


def speedup(backend: str) -> float:
    """Speedup of two workers over one: the median of alternating pairs, since the machine's speed drifts."""
    blocks = 60
    config = with_twin(backend, **{"storage.block": {"image": 10, "sionna": 1}[backend]})
    rates = [[rate(workers, config, "train", blocks) for workers in (1, 2)] for _ in range(3)]
    return float(np.median([two / one for one, two in rates]))


def full_size(backend: str) -> dict[str, float]:
    """Minutes for each of the paper's libraries on all cores, extrapolated from a part of it."""
    cores = os.cpu_count() or 1
    config = with_twin(backend, **{"storage.block": {"image": 10, "sionna": 2}[backend]})
    blocks = {"image": 20, "sionna": 10}[backend]
    return {split: splits.num_groups(PAPER, split) / rate(cores, config, split, blocks) / 60 for split in splits.SPLITS}


def exponent(sizes: list[float], seconds: list[float]) -> float:
    """Slope of cost against size on logarithmic axes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def per_group(config: Config, num_groups: int) -> float:
    """Seconds per group in this process, after one that compiles."""
    _ = Case(config, "train", 0).paths
    start = time.perf_counter()
    for index in range(1, num_groups + 1):
        _ = Case(config, "train", index).paths
    return (time.perf_counter() - start) / num_groups


def growth(backend: str) -> dict[str, dict[str, Any]]:
    """Cost against groups, candidates, walls and depth, with fitted exponents."""
    count = {"image": 20, "sionna": 6}[backend]

    def measure(sizes: list[float], seconds: Callable[[Any], float]) -> dict[str, Any]:
        times = [seconds(size) for size in sizes]
        return {"sizes": sizes, "seconds": times, "exponent": exponent(sizes, times)}

    def walls(num_obstacles: int) -> Config:
        # Small obstacles, so that many fit
        small = {"room.rectangle_side": [4.0, 8.0], "room.bent_side": [6.0, 9.0], "room.arm_thickness": [2.0, 3.0]}
        return with_twin(backend, **small, **{"room.num_obstacles": num_obstacles, "room.min_feasible": 696})

    num_walls = [float(np.mean([len(Case(walls(n), "train", g).layout.walls) for g in range(20)])) for n in (2, 4, 8)]
    by_walls = dict(zip(num_walls, (2, 4, 8), strict=True))
    return {
        "groups": measure([count, 2 * count, 4 * count], lambda n: n * per_group(with_twin(backend), n)),
        "candidates": measure(
            [250, 500, 1000, 2000], lambda n: per_group(with_twin(backend, **{"training.num_candidates": n}), count)
        ),
        "walls": measure(list(by_walls), lambda n: per_group(walls(by_walls[n]), count)),
        "depth": measure([1, 2, 3, 4], lambda n: per_group(with_twin(backend, **{"twin.max_depth": n}), count)),
    }


def peak_memory(num_groups: int) -> float:
    """Peak memory [MiB] of the largest process in a real build of this many groups."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    with tempfile.TemporaryDirectory() as data:
        command = [os.path.join(os.path.dirname(sys.executable), "locus"), "build", "train", "--profile", "paper"]
        done = subprocess.run(
            [sys.executable, "-c", program, *command, "--set", f"training.num_layouts={num_groups}"],
            env={**os.environ, "LOCUS_DATA": data},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout)


def main() -> None:
    results: dict[str, Any] = {}
    results["candidates"] = sum(splits.num_groups(PAPER, s) * splits.num_candidates(PAPER, s) for s in splits.SPLITS)
    print(f"The paper's libraries hold {results['candidates'] / 1e6:.2f} million candidates")
    results["peak_memory_mib"] = {str(count): peak_memory(count) for count in (100, 1000)}
    print("peak memory at 100 and at 1000 groups:", *(f"{v:.0f} MiB" for v in results["peak_memory_mib"].values()))
    for backend in BACKENDS:
        ratio, minutes, growths = speedup(backend), full_size(backend), growth(backend)
        results[backend] = {"two_workers_over_one": ratio, "minutes": minutes, "growth": growths}
        print(f"{backend}: two workers are {ratio:.2f} times as fast as one")
        print(f"{backend}: all libraries take {sum(minutes.values()):.1f} minutes on {os.cpu_count()} cores")
        for name, result in growths.items():
            print(f"{backend}: cost grows as {name} to the power of {result['exponent']:.2f}")
    record("dataset", results)


if __name__ == "__main__":
    main()
