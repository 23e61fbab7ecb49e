"""Training: minimises the sampled cross-entropy of a method over candidates and observations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from tqdm import tqdm

from locus.score.method import Method
from locus.score.weight_files import read_tensors, write_tensors
from locus.settings.config import Training
from locus.settings.device import device

RECIPE = 1

_LOAD = 200  # groups loaded at a time, to bound the memory that computing features takes
_SCORE = 8  # groups scored at a time when no gradients are needed


class Examples(NamedTuple):
    """Training examples: the network inputs of all groups."""

    candidates: Tensor
    """Inputs for each candidate, (group, candidate, feature)."""
    conditions: Tensor
    """Inputs for each snapshot, (group, snapshot, feature)."""
    truth: Tensor
    """Index of the true candidate, (group, snapshot)."""

    def part(self, groups: slice) -> Examples:
        """Examples of a slice of the groups."""
        return Examples(*(tensor[groups] for tensor in self))


class Trained(NamedTuple):
    """Record of a finished training."""

    history: dict[str, list[float]]
    """Per epoch: adjusted losses on the validation layouts and on as many training layouts, learning rate, seconds."""
    best_epoch: int
    """Epoch with the lowest validation loss, whose weights were kept, counted from 0."""
    reason: str
    """Why training ended."""


def learning_curves(trainings: Mapping[str, Mapping[str, Any]]) -> xr.Dataset:
    """Losses ``train`` and ``validation`` (method, epoch) [nat], and ``best_epoch`` (method), counted from 1.

    ``trainings`` has each :class:`locus.score.train.Trained` as a mapping, by name. Epochs after an early stop are NaN.
    """
    longest = max(len(one["history"]["validation"]) for one in trainings.values())
    data = xr.Dataset(coords={"method": list(trainings), "epoch": np.arange(1, longest + 1)})
    for kind in ("train", "validation"):
        values = np.full((len(trainings), longest), np.nan)
        for row, one in zip(values, trainings.values(), strict=True):
            row[: len(one["history"][kind])] = one["history"][kind]
        data[kind] = (("method", "epoch"), values, {"units": "nat", "long_name": f"adjusted {kind} loss"})
    best = [one["best_epoch"] + 1 for one in trainings.values()]
    return data.assign(best_epoch=("method", best, {"units": "1", "long_name": "epoch whose weights were kept"}))


def make_examples(method: Method, library: xr.Dataset, observations: xr.Dataset) -> Examples:
    """Inputs of a method, from traced paths (group, candidate, path) and estimates (group, snapshot, path)."""
    parts = []
    for start in range(0, library.sizes["group"], _LOAD):
        span = {"group": slice(start, start + _LOAD)}
        paths, observed = library.isel(span).load(), observations.isel(span).load()
        arrays = (method.candidates(paths), method.conditions(paths, observed), observed.truth.values.astype(np.int64))
        parts.append([torch.from_numpy(array) for array in arrays])
    return Examples(*(torch.cat(column).to(device()) for column in zip(*parts, strict=True)))


def adjusted_loss(method: Method, examples: Examples) -> float:
    """Adjusted loss L of eq. (24) [nat], for use in training; results use :func:`locus.judge.metrics.summary`."""
    total: float = 0.0
    with torch.no_grad():
        for start in range(0, len(examples.truth), _SCORE):
            part = examples.part(slice(start, start + _SCORE))
            log_posterior = torch.log_softmax(method(part.candidates, part.conditions).double(), -1)
            total -= float(log_posterior.gather(-1, part.truth[..., None]).sum())
    return float(total / examples.truth.numel() - math.log(examples.candidates.shape[1]))


def train(
    method: Method,
    examples: Examples,
    options: Training,
    learning_rate: float,
    seed: Sequence[int] = (0,),
    checkpoint: tuple[Path, str] | None = None,
    report: Callable[[str], None] = print,
    title: str = "",
) -> Trained:
    """Minimise eq. (17) with AdamW, keeping the weights with the lowest validation loss.

    In each step, every snapshot of a batch of layouts is compared with ``options.num_negatives`` wrong candidates,
    drawn uniformly, without importance weights: the loss differs from that over all candidates, its minimiser does not.

    Args:
        method: network to train, in place.
        examples: all training layouts; the last ``options.num_validation_layouts`` are held out for validation.
        options: sizes and schedule.
        learning_rate: initial learning rate.
        seed: together with the epoch, determines the order of the layouts and the negatives.
        checkpoint: file to resume from if it exists, and a string that it must contain to belong to this training.
        report: called with one line that says why training ended.
        title: name of the training in messages; by default the method's name.
    """
    count = options.num_validation_layouts
    learning, validation = examples.part(slice(0, -count)), examples.part(slice(-count, None))
    state = _State(method, learning_rate, options)
    if checkpoint is not None:
        state.restore(*checkpoint)
    reason = f"the schedule of {options.num_epochs} epochs ended"
    title = f"training {title or method.name}"
    bar = tqdm(range(state.epoch, options.num_epochs), desc=title, unit="epoch", initial=state.epoch)
    bar.total = options.num_epochs
    with bar, _one_thread():
        for epoch in bar:
            if epoch - state.best_epoch > options.patience:
                reason = f"validation has not improved for {options.patience} epochs"
                break
            start = time.perf_counter()
            _one_epoch(state, learning, options, np.random.default_rng([*seed, epoch]))
            losses = adjusted_loss(method, learning.part(slice(0, count))), adjusted_loss(method, validation)
            state.note(*losses, time.perf_counter() - start)
            bar.set_postfix(train=f"{losses[0]:.3f}", validation=f"{losses[1]:.3f}", best=f"{state.best_loss:.3f}")
            if checkpoint is not None:
                state.save(*checkpoint)
    method.load_state_dict(state.best)
    report(f"{title}: {reason}; best validation loss {state.best_loss:.3f} in epoch {state.best_epoch + 1}")
    if checkpoint is not None:
        checkpoint[0].unlink(missing_ok=True)
    return Trained(state.history, state.best_epoch, reason)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: the tensors of a step are too small for a second one to pay off."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _one_epoch(state: _State, examples: Examples, options: Training, rng: np.random.Generator) -> None:
    num_groups, num_candidates = examples.candidates.shape[:2]
    order = rng.permutation(num_groups)
    num_steps = math.ceil(num_groups / options.batch)
    for step, chosen in enumerate(np.array_split(order, num_steps)):
        fraction = (state.epoch + step / num_steps) / options.num_epochs
        state.optimiser.param_groups[0]["lr"] = state.learning_rate * (1 + math.cos(math.pi * fraction)) / 2
        groups = torch.from_numpy(chosen).to(examples.truth.device)
        drawn = draw_candidates(len(chosen), num_candidates, options.num_negatives, rng).to(examples.truth.device)
        truth = examples.truth[groups]
        loss = state.method.loss(
            _pick(examples.candidates, groups, drawn),
            _pick(examples.candidates, groups, truth),
            examples.conditions[groups],
            left_out(drawn, truth),
        )
        state.optimiser.zero_grad()
        loss.backward()
        state.optimiser.step()


def _pick(candidates: Tensor, groups: Tensor, indices: Tensor) -> Tensor:
    """Candidates at ``indices`` (group, index) of ``groups``, (group, index, feature); faster than fancy indexing."""
    flat = groups[:, None] * candidates.shape[1] + indices
    return candidates.flatten(0, 1).index_select(0, flat.flatten()).view(*indices.shape, -1)


def draw_candidates(num_groups: int, num_candidates: int, num_negatives: int, rng: np.random.Generator) -> Tensor:
    """Draw the candidates of each group that its snapshots are compared with, (group, drawn), without replacement.

    One more than ``num_negatives`` is drawn, since :func:`left_out` removes one for each snapshot. The candidates with
    the smallest random keys are drawn. The one with the largest of these is last; the order of the others depends on
    the CPU.
    """
    drawn = min(num_negatives + 1, num_candidates)
    if drawn == num_candidates:
        return torch.arange(num_candidates).expand(num_groups, -1)
    keys = rng.random((num_groups, num_candidates), dtype=np.float32)
    return torch.from_numpy(np.argpartition(keys, drawn - 1, axis=1)[:, :drawn].copy())


def left_out(drawn: Tensor, truth: Tensor) -> Tensor:
    """Index of the drawn candidate (group, drawn) that each snapshot ignores, (group, snapshot).

    It is the truth if that was drawn, else the last: either way the others are a uniform draw of wrong candidates.
    """
    found = drawn[:, None, :] == truth[..., None]
    return torch.where(found.any(-1), found.int().argmax(-1), drawn.shape[1] - 1)


@dataclass
class _State:
    """Mutable state of a training: weights, optimiser and history."""

    method: Method
    learning_rate: float
    options: Training

    def __post_init__(self) -> None:
        self.optimiser = torch.optim.AdamW(
            self.method.parameters(), lr=self.learning_rate, weight_decay=self.options.weight_decay, fused=True
        )
        self.history: dict[str, list[float]] = {"train": [], "validation": [], "learning_rate": [], "seconds": []}
        self.best = {name: tensor.clone() for name, tensor in self.method.state_dict().items()}

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.history["validation"])

    @property
    def best_epoch(self) -> int:
        """Epoch of the lowest validation loss, counted from 0."""
        return int(np.argmin(self.history["validation"])) if self.epoch else 0

    @property
    def best_loss(self) -> float:
        """Lowest validation loss."""
        return min(self.history["validation"])

    def note(self, train: float, validation: float, seconds: float) -> None:
        """Add an epoch to the history, and keep its weights if they are the best so far."""
        if not math.isfinite(validation):
            raise RuntimeError(f"{self.method.name} diverged in epoch {self.epoch}; lower its learning rate")
        rate = self.optimiser.param_groups[0]["lr"]
        for name, value in {
            "train": train,
            "validation": validation,
            "learning_rate": rate,
            "seconds": seconds,
        }.items():
            self.history[name].append(value)
        if self.best_epoch == self.epoch - 1:
            self.best = {name: tensor.clone() for name, tensor in self.method.state_dict().items()}

    def save(self, path: Path, identity: str) -> None:
        """Write a checkpoint."""
        moments = self.optimiser.state_dict()["state"]
        tensors = {f"weights.{name}": tensor for name, tensor in self.method.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        tensors |= {f"adam.{i}.{name}": tensor for i, state in moments.items() for name, tensor in state.items()}
        write_tensors(path, tensors, {"identity": identity, "history": self.history})

    def restore(self, path: Path, identity: str) -> None:
        """Resume from a checkpoint, if it exists and belongs to this training."""
        try:
            tensors, header = read_tensors(path)
        except (FileNotFoundError, ValueError):  # missing or damaged
            return
        if header.get("identity") != identity:
            return
        self.history = header["history"]
        self.method.load_state_dict(_under("weights", tensors))
        self.best = _under("best", tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("adam", tensors).items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        groups: Any = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{prefix}."): tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")
    }
