"""A residual network: does a small network on top, pairs of paths in and a correction out, improve the path set?

Each pair of a traced and an observed path goes through one network, the sums over pairs through another, and the result
is added to the log likelihood. Trained with the paper's loss on the rooms that the constants were fitted to, half of
them with wrong twins; judged on validation rooms.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from record import record
from torch import Tensor, nn

from locus.experiment.path_set_fit import Example, make_example
from locus.score.path_set import PathSet
from locus.settings.config import Config

NUM_ROOMS, NUM_VALIDATION = 1000, 200
NUM_TRACED, NUM_OBSERVED = 8, 6
NUM_EPOCHS = 20
_HIDDEN = 16


def features(example: Example, config: Config) -> NDArray[np.float32]:
    """Features (snapshot, candidate, pair, feature); all zero where a path is missing."""
    radio, (n, m) = config.radio, (config.radio.num_subcarriers, config.radio.num_antennas)
    parts = []
    for data, count in ((example.paths, NUM_TRACED), (example.observed, NUM_OBSERVED)):
        kept = data.isel(path=slice(count))
        energy = np.where(kept.valid, n * m * 10 ** (kept.snr_db.values / 10), 0.0)
        parts.append((np.sin(kept.aoa.values), kept.delay.values * radio.bandwidth, np.log1p(energy) / 5))
    (sine, delay, energy), (seen_sine, seen_delay, seen_energy) = parts
    pair = (slice(None), np.newaxis, np.newaxis, slice(None)), (np.newaxis, slice(None), slice(None), np.newaxis)
    apart = (seen_sine[pair[0]] - sine[pair[1]] + 1) % 2 - 1
    offset = delay[pair[1]] - seen_delay[pair[0]]
    # The offset of the pair that agrees best in angle, weighted with both strengths
    there = (energy[pair[1]] > 0) & (seen_energy[pair[0]] > 0)
    fit = np.where(there, np.exp(-((apart * m) ** 2)) * np.minimum(energy[pair[1]], seen_energy[pair[0]]), -1.0)
    shape = fit.shape[:2]
    best = np.take_along_axis(offset.reshape(*shape, -1), fit.reshape(*shape, -1).argmax(axis=-1)[..., np.newaxis], -1)
    late = (offset - best[..., np.newaxis] + n / 2) % n - n / 2
    values = [
        np.tanh(apart * m / 2),
        np.exp(-((apart * m) ** 2)),
        np.tanh(late / 4),
        np.exp(-(late**2)),
        np.broadcast_to(energy[pair[1]], late.shape),
        np.broadcast_to(seen_energy[pair[0]], late.shape),
    ]
    stacked = np.where(there[..., np.newaxis], np.stack(values, axis=-1), 0.0)
    return stacked.reshape(*shape, -1, len(values)).astype(np.float32)


class Residual(nn.Module):  # type: ignore[misc]
    """Correction (snapshot, candidate) of the log likelihood; zero before training."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(6, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU())
        self.total = nn.Sequential(nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))
        nn.init.zeros_(self.total[-1].weight)

    def forward(self, pairs: Tensor) -> Tensor:
        """Sum over pairs of what each tells."""
        return self.total(self.pair(pairs).mean(dim=-2))[..., 0]


def main() -> None:
    config = Config()
    scorer = PathSet()
    floor = scorer.constants.floor
    first = config.training.num_layouts - config.training.num_validation_layouts
    rooms = {"train": range(NUM_ROOMS), "validation": range(first, first + NUM_VALIDATION)}
    data = {}
    for name, indices in rooms.items():
        examples = [make_example(config, index, scorer.estimator) for index in indices]
        data[name] = [
            (
                torch.from_numpy(features(one, config)),
                torch.from_numpy(scorer.log_likelihood(one.paths, one.observed).values).float(),
                torch.from_numpy(one.truth),
            )
            for one in examples
        ]

    def losses(network: Residual, name: str) -> Tensor:
        found = []
        for pairs, likelihood, truth in data[name]:
            logs = torch.log_softmax(likelihood + network(pairs), dim=-1)
            count = logs.shape[1]
            logs = torch.logaddexp(math.log1p(-floor) + logs, torch.tensor(math.log(floor / count)))
            found.append(-logs[torch.arange(len(truth)), truth].mean() - math.log(count))
        return torch.stack(found)

    torch.manual_seed(0)
    network = Residual()
    with torch.no_grad():
        before = losses(network, "validation").numpy()
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=1e-3)
    best = before
    for epoch in range(NUM_EPOCHS):
        order = torch.randperm(NUM_ROOMS)
        for batch in order.split(16):
            parts = []
            for room in batch.tolist():
                pairs, likelihood, truth = data["train"][room]
                logs = torch.log_softmax(likelihood + network(pairs), dim=-1)
                parts.append(-logs[torch.arange(len(truth)), truth].mean())
            optimiser.zero_grad()
            torch.stack(parts).mean().backward()
            optimiser.step()
        with torch.no_grad():
            after = losses(network, "validation").numpy()
        print(f"epoch {epoch}: {after[::2].mean():.3f} exact, {after[1::2].mean():.3f} wrong", flush=True)
        best = after if after.mean() < best.mean() else best
    result = {
        "exact_before": before[::2],
        "exact_after": best[::2],
        "wrong_before": before[1::2],
        "wrong_after": best[1::2],
    }
    record("residual_network", {name: float(values.mean()) for name, values in result.items()})


if __name__ == "__main__":
    main()
