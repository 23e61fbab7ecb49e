"""Training with a few negatives per step against all candidates: loss and coverage, at the paper's size.

With few training rooms the two differ because they overfit at different rates, so the comparison needs the paper's 8000
rooms: half an hour on two cores. Data already in LOCUS_DATA is reused.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from record import record
from tqdm import tqdm

from locus import open_run
from locus.experiment import artifact, cluster
from locus.experiment.libraries import Library, Observations
from locus.judge.credible import credible_level
from locus.score import train
from locus.score.pairwise import PairNetwork
from locus.score.train import Examples, adjusted_loss

COUNTS = (128, 499)
SEEDS = range(5)
LEVELS = (0.5, 0.8, 0.9)
NUM_TEST_LAYOUTS = 500


def examples(split: str) -> Examples:
    """LOCUS-DT's inputs for a split of the paper's run."""
    run = open_run("paper", {"training.num_test_layouts": NUM_TEST_LAYOUTS})
    with cluster.connect_lazily() as workers:
        artifact.make_all(artifact.due([Observations(run, split)]), workers)
    return train.make_examples(PairNetwork(), Library(run, split).open(), Observations(run, split).open())


def fit(count: int, seed: int) -> dict[str, Any]:
    """Validation loss, test loss and test coverage of a network trained with ``count`` negatives per step."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    method, options = PairNetwork(), replace(open_run("paper").config.training, num_negatives=count)
    trained = train.train(
        method, examples("train"), options, options.learning_rate, (seed, count), report=lambda _: None
    )
    held_out = examples("test")
    with torch.no_grad():
        logs = torch.log_softmax(method(held_out.candidates, held_out.conditions).double(), -1).flatten(0, 1).numpy()
    truth = held_out.truth.flatten().numpy()
    levels = credible_level(logs, truth, np.random.default_rng(0).random(len(truth)))
    return {
        "count": count,
        "seed": seed,
        "validation": min(trained.history["validation"]),
        "test": adjusted_loss(method, held_out),
        "coverage": [float((levels <= level).mean()) for level in LEVELS],
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("LOCUS_DATA", folder)
        for split in ("train", "test"):
            examples(split)
        tasks = [(count, seed) for seed in SEEDS for count in reversed(COUNTS)]
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            fits = list(tqdm(pool.map(fit, *zip(*tasks, strict=True)), total=len(tasks), desc="negatives", unit="fit"))
    results: dict[str, Any] = {"levels": LEVELS, "num_test_layouts": NUM_TEST_LAYOUTS}
    for count in COUNTS:
        own = sorted((one for one in fits if one["count"] == count), key=lambda one: one["seed"])
        results[str(count)] = {name: [one[name] for one in own] for name in ("validation", "test", "coverage")}
        losses = {name: np.mean(results[str(count)][name]) for name in ("validation", "test")}
        shares, spread = (f(results[str(count)]["coverage"], axis=0) for f in (np.mean, np.ptp))
        print(f"{count} negatives: L {losses['validation']:.4f}, on test rooms {losses['test']:.4f}, coverage")
        print("   ", ", ".join(f"{one:.4f} (spread {far:.4f})" for one, far in zip(shares, spread, strict=True)))
    record("negatives", results)


if __name__ == "__main__":
    main()
