"""The baselines on raw IQ: training snapshots drawn again, in; rows of baselines that see samples, not paths, out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.libraries import Library, trace_seconds
from locus.experiment.over_groups import over_groups
from locus.experiment.rows import EVALUATIONS, evaluate_group
from locus.experiment.weights import SCHEDULE
from locus.judge import metrics
from locus.score import densities, method, raw_iq, train, weight_files
from locus.score.method import Method
from locus.score.raw_iq import RAW_DENSITIES, RawOptions
from locus.score.train import Examples
from locus.settings.checksums import intact
from locus.settings.config import Config
from locus.settings.device import device

COMPARED = ("random", "grid")
"""Evaluations, the paper's two."""

_DRAW_SECONDS = 1e-3  # per snapshot
_TRAIN_SECONDS = 1e-3  # per layout and epoch; validation stops improving early, so about half of the epochs


def draw_snapshots(config: Config, paths: xr.Dataset, first: int) -> xr.Dataset:
    """Samples ``iq`` and ``truth`` (group, snapshot, ...) of consecutive training groups, from their traced paths."""
    cases = (Case(config, "train", first + row, traced=paths.isel(group=row)) for row in range(paths.sizes["group"]))
    return xr.concat([case.snapshots[["iq", "truth"]] for case in cases], "group", combine_attrs="override")


class IqBaselines(Result):
    """``results/raw_iq.nc`` of a run: log posterior of the truth, (snapshot, method), per evaluation.

    ``method`` names the baseline. Beside the rows are the learning curves ``train`` and ``validation`` (method, epoch)
    [nat] and ``best_epoch`` (method). Weights are not kept: their first layer is a hundred times larger than that of
    the other networks.
    """

    stem = "raw_iq"

    @property
    def library(self) -> Library:
        """Candidate library of the training rooms."""
        return Library(self.run, "train")

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The candidate library, from which the training snapshots are drawn again."""
        return (self.library,)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        used = ("train", *(EVALUATIONS[name] for name in COMPARED))
        return {
            "snapshots": {split: ingredients.of_snapshots(config, split) for split in used},
            "num_groups": {split: splits.num_groups(config, split) for split in used},
            "training": {name: getattr(config.training, name) for name in SCHEDULE},
            "learning_rate": config.training.baseline_learning_rate,
            "recipes": {
                "densities": densities.RECIPE,
                "score": method.RECIPE,
                "train": train.RECIPE,
                "raw_iq": raw_iq.RECIPE,
                "metrics": metrics.RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s]; only the evaluation uses ``num_workers`` workers."""
        config = self.run.config
        rooms, draws = config.training.num_layouts, config.training.num_snapshots * _DRAW_SECONDS
        training = rooms * (draws + len(RAW_DENSITIES) * config.training.num_epochs / 2 * _TRAIN_SECONDS)
        traced = sum(trace_seconds(config, EVALUATIONS[name]) for name in COMPARED)
        return training + config.evaluation.num_layouts * traced / num_workers

    def make(self, workers: Workers = here) -> None:
        """Train the baselines and evaluate them.

        After an interruption, the next call continues with the network in progress.
        """
        todo = [name for name in RAW_DENSITIES if not self._finished(name)]
        if todo:
            examples = self._examples()
            for name in todo:
                self._train(name, examples)
            del examples  # as large as everything else together
        networks = {name: self._load(name) for name in RAW_DENSITIES}
        scorers = {name: network for name, (network, _) in networks.items()}
        rows = {name: self._evaluate(name, scorers, workers) for name in COMPARED}
        curves = train.learning_curves({name: training for name, (_, training) in networks.items()})
        self.save(curves.assign(rows))
        shutil.rmtree(self._aside)

    def summary(self) -> xr.Dataset:
        """L, G and R (method, evaluation) with intervals, as in :class:`locus.experiment.table.Table`."""
        data = self.open()
        columns = [
            metrics.summary(
                data[[name]].rename({name: "log_posterior"}),
                int(data[name].attrs["num_candidates"]),
                np.random.default_rng(0),
            )
            for name in COMPARED
        ]
        dim = xr.DataArray(list(COMPARED), dims="evaluation", name="evaluation")
        return xr.concat(columns, dim).transpose("method", "evaluation")

    def _examples(self) -> Examples:
        """Inputs of all training rooms, the same for all baselines: at the paper's size 0.7 GB."""
        config, library = self.run.config, self.library.open()
        any_network = self._untrained(next(iter(RAW_DENSITIES)))
        parts = []
        with tqdm(total=library.sizes["group"], desc="drawing snapshots of train", unit="group") as bar:
            for first in range(0, library.sizes["group"], config.storage.block):
                paths = library.isel(group=slice(first, first + config.storage.block)).load()
                parts.append(train.make_examples(any_network, paths, draw_snapshots(config, paths, first)))
                bar.update(paths.sizes["group"])
        return Examples(*(torch.cat(column) for column in zip(*parts, strict=True)))

    def _train(self, name: str, examples: Examples) -> None:
        network, training = self._untrained(name).to(device()), self.run.config.training
        checkpoint = self._path(name).with_suffix(".checkpoint"), self.hash()
        rate, title = training.baseline_learning_rate, f"{name} on raw IQ"
        result = train.train(network, examples, training, rate, self._seed(name), checkpoint, title=title)
        tensors = {key: tensor.detach().cpu() for key, tensor in network.state_dict().items()}
        notes = {"hash": self.hash(), "training": result._asdict()}
        weight_files.write_tensors(self._path(name), tensors, notes)

    def _evaluate(self, name: str, scorers: dict[str, Method], workers: Workers) -> xr.DataArray:
        """Log posterior (snapshot, method) of the truths of an evaluation, on the same snapshots as the run's rows."""
        config, split = self.run.config, EVALUATIONS[name]
        arguments: dict[str, Any] = {"split": split, "scorers": scorers}
        groups = range(splits.num_groups(config, split))
        with tqdm(total=len(groups), desc=f"evaluating raw IQ on {split}", unit="group") as bar:
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, **arguments)
        one = rows.log_posterior.sel(evaluation=name)
        found: xr.DataArray = one.reset_coords(drop=True).assign_coords(group=("snapshot", one.group.values))
        return found.assign_attrs(num_candidates=splits.num_candidates(config, split))

    def _untrained(self, name: str) -> Method:
        config = self.run.config
        samples = config.radio.num_subcarriers * config.radio.num_antennas
        options = RawOptions(size=config.room.size, num_samples=samples)
        state = np.random.SeedSequence(self._seed(name)).generate_state(1)
        return weight_files.initialised(RAW_DENSITIES[name], options, int(state[0]))

    def _seed(self, name: str) -> tuple[int, ...]:
        """Seed of weights and training: where other baselines count their encodings, the number after the last."""
        return self.run.config.seed, weight_files.METHODS.index(name), len(weight_files.encodings(name))

    def _load(self, name: str) -> tuple[Method, dict[str, Any]]:
        """A finished network, and the record of its training."""
        tensors, header = weight_files.read_tensors(self._path(name))
        network = self._untrained(name)
        network.load_state_dict(tensors)
        return network.to(device()).eval().requires_grad_(False), header["training"]

    def _finished(self, name: str) -> bool:
        path = self._path(name)
        return intact(path) and weight_files.read_tensors(path)[1].get("hash") == self.hash()

    @property
    def _aside(self) -> Path:
        """Folder of finished networks, removed when all are evaluated."""
        return self.run.results / "blocks" / "raw_iq"

    def _path(self, name: str) -> Path:
        return self._aside / f"{name}.safetensors"
