"""Training: time to reach a validation loss against a straightforward loop, and growth of the cost."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import record
from torch import Tensor, nn

from locus import open_run
from locus.experiment import artifact, cluster
from locus.experiment.libraries import Library, Observations
from locus.score import train, weight_files
from locus.score.method import MethodOptions
from locus.score.pairwise import PairNetwork
from locus.score.train import Examples
from locus.settings.config import Training

TARGET = -2.7
"""Validation loss [nat] that both loops must reach."""
OPTIONS = Training(num_layouts=600, num_epochs=20)
SEEDS = 3


def real_examples() -> Examples:
    """Examples from 600 training layouts, traced with the image twin."""
    with tempfile.TemporaryDirectory() as folder:
        run = open_run("quick", {"training.num_layouts": OPTIONS.num_layouts}, root=Path(folder))
        with cluster.connect_lazily() as workers:
            artifact.make_all(artifact.due([Observations(run, "train")]), workers)
        return train.make_examples(PairNetwork(), Library(run, "train").open(), Observations(run, "train").open())


class Pairs(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """One item per snapshot: its features concatenated with those of every candidate, as in the paper."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return self.examples.truth.numel()

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        candidates, conditions, truth = self.examples
        group, snapshot = divmod(index, truth.shape[1])
        seen = conditions[group, snapshot].expand(candidates.shape[1], -1)
        return torch.cat([candidates[group], seen], dim=1), truth[group, snapshot]


def straightforward(examples: Examples, seed: int = 0) -> tuple[list[float], list[float]]:
    """Seconds and validation loss per epoch of a plain torch loop with the same batch, optimiser and schedule."""
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 1))
    learning, validation = (
        Pairs(examples.part(part))
        for part in (slice(0, -OPTIONS.num_validation_layouts), slice(-OPTIONS.num_validation_layouts, None))
    )
    batch = OPTIONS.batch * OPTIONS.num_snapshots
    loader = torch.utils.data.DataLoader(learning, batch_size=batch, shuffle=True)
    optimiser = torch.optim.AdamW(network.parameters(), lr=OPTIONS.learning_rate, weight_decay=OPTIONS.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, OPTIONS.num_epochs * len(loader))
    seconds, losses, start = [], [], time.perf_counter()
    for _ in range(OPTIONS.num_epochs):
        for pairs, truth in loader:
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(pairs)[..., 0], truth).backward()
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            each = [nn.functional.cross_entropy(network(p)[..., 0], t, reduction="sum") for p, t in
                    torch.utils.data.DataLoader(validation, batch_size=batch)]  # fmt: skip
        losses.append(float(sum(each)) / len(validation) - math.log(500))
        seconds.append(time.perf_counter() - start)
    return seconds, losses


def ours(examples: Examples, seed: int = 0, **changes: Any) -> tuple[list[float], list[float]]:
    """Seconds and validation loss per epoch of the package's own training."""
    torch.manual_seed(seed)
    options = replace(OPTIONS, **changes)
    result = train.train(PairNetwork(), examples, options, options.learning_rate, (seed,), report=lambda _: None)
    return list(np.cumsum(result.history["seconds"])), result.history["validation"]


def first_at(seconds: list[float], losses: list[float]) -> float:
    """Seconds until the target was reached."""
    return next(second for second, loss in zip(seconds, losses, strict=True) if loss <= TARGET)


def made_up(method: str, layouts: int, candidates: int, snapshots: int) -> Examples:
    """Random examples of the right shape, sufficient for timing."""
    rng = torch.Generator().manual_seed(0)
    wide, seen = (18, 18) if method == "locus_dt" else (2, 22)
    return Examples(
        torch.rand(layouts, candidates, wide, generator=rng),
        torch.rand(layouts, snapshots, seen, generator=rng),
        torch.randint(candidates, (layouts, snapshots), generator=rng),
    )


def epoch_seconds(name: str, layouts: int, candidates: int = 500, snapshots: int = 10, negatives: int = 128) -> float:
    """Seconds for one epoch, after one for compilation."""
    torch.set_num_threads(1)
    method = weight_files.make_method(name, MethodOptions())
    options = replace(OPTIONS, num_layouts=layouts, num_negatives=negatives)
    state = train._State(method, 1e-3, options)
    train._one_epoch(state, made_up(name, 32, candidates, snapshots), options, np.random.default_rng(0))
    examples = made_up(name, layouts, candidates, snapshots)
    start = time.perf_counter()
    train._one_epoch(state, examples, options, np.random.default_rng(0))
    return time.perf_counter() - start


def growth() -> dict[str, Any]:
    """Seconds per epoch against layouts, candidates (all used as negatives) and snapshots, with fitted exponents."""
    cases: dict[str, tuple[list[int], Any]] = {
        "layouts": ([250, 500, 1000, 2000], lambda n: epoch_seconds("locus_dt", n)),
        "candidates": ([125, 250, 500, 1000], lambda n: epoch_seconds("locus_dt", 300, n, negatives=n - 1)),
        "snapshots": ([5, 10, 20, 40], lambda n: epoch_seconds("locus_dt", 500, snapshots=n)),
    }
    found = {}
    for name, (sizes, measure) in cases.items():
        seconds = [measure(size) for size in sizes]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        found[name] = {"sizes": sizes, "seconds": seconds, "exponent": slope}
    return found


def main() -> None:
    examples = real_examples()
    ours(examples.part(slice(-60, None)), num_layouts=60, num_epochs=1)  # compiles
    ratios, plain_seconds, our_seconds = [], [], []
    for seed in range(SEEDS):
        our_seconds.append(first_at(*ours(examples, seed)))
        plain_seconds.append(first_at(*straightforward(examples, seed)))
        ratios.append(plain_seconds[-1] / our_seconds[-1])
    ratio = float(np.median(ratios))
    plain, here = np.median(plain_seconds), np.median(our_seconds)
    print(f"L = {TARGET}: {plain:.1f} s straightforward, {here:.1f} s here: {ratio:.1f} times as fast")
    growths = growth()
    for name, result in growths.items():
        print(f"training cost grows as {name} to the power of {result['exponent']:.2f}")
    paper = Training()
    epochs = {name: epoch_seconds(name, paper.num_layouts) for name in weight_files.METHODS}
    minutes = {name: paper.num_epochs * s * len(weight_files.encodings(name)) / 60 for name, s in epochs.items()}
    print(
        f"{paper.num_epochs} epochs of all methods and encodings at the paper's size: {sum(minutes.values()):.0f} min"
    )
    results = {
        "target": TARGET,
        "straightforward_seconds": plain_seconds,
        "seconds": our_seconds,
        "ratio": ratio,
        "growth": growths,
        "paper_epoch_seconds": epochs,
        "paper_minutes": minutes,
    }
    record("score", results)


if __name__ == "__main__":
    main()
