"""Weights of a run: its libraries and observations in, a trained network per method out."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from locus.experiment import ingredients
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.libraries import Library, Observations, WrongLibrary
from locus.experiment.run import Run, open_run, versions
from locus.score import densities, features, method, train, weight_files
from locus.score.lite import LiteScorer, load_lite
from locus.score.method import Method, MethodOptions
from locus.score.weight_files import check_method, load_method
from locus.settings.checks import check_range, plain
from locus.settings.checksums import intact
from locus.settings.device import device
from locus.settings.recording import unrecorded
from locus.settings.untrusted import short

_TRAIN_SECONDS = 3e-4  # per layout, epoch and encoding, on the machine of benchmarks/results.json

SCHEDULE = ("num_negatives", "batch", "num_epochs", "patience", "weight_decay", "validation_share")
"""Settings of ``training`` that all networks depend on."""


@dataclass(frozen=True)
class Weights(Artifact):
    """Trained network of one method."""

    run: Run
    method: str
    robust: bool = False
    """Whether it is trained with twins that have errors; only for LOCUS-DT."""
    seed: int = 0
    """0 for the training whose weights are used; others repeat it, to see how much depends on chance."""

    def __post_init__(self) -> None:
        weight_files.check_method(self.method)
        check_range("seed", self.seed, 0)
        if self.robust and (self.method != "locus_dt" or self.seed):
            given = f"{self.method!r} and {self.seed}"
            raise ValueError(f"Expected 'robust' only with method 'locus_dt' and seed 0, got {given}")

    @property
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""
        return f"models/{self.stem}"

    @property
    def stem(self) -> str:
        """Name of the file, without suffix."""
        return self.method + (".robust" if self.robust else "") + (f".seed{self.seed}" if self.seed else "")

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Candidate library and observations of the training rooms; for further seeds, also the first weights."""
        first = (Weights(self.run, self.method),) if self.seed else ()
        return (self.library, Observations(self.run, "train"), *first)

    @property
    def path(self) -> Path:
        """File of the weights; for a baseline, those of the encoding with the lower validation loss."""
        return self.path_of(None)

    def path_of(self, encoding: str | None) -> Path:
        """File of the weights of one encoding; of the method itself if None."""
        return self.run.models / f"{'.'.join([self.stem, *([encoding] if encoding else [])])}.safetensors"

    @property
    def encodings(self) -> tuple[str, ...]:
        """Encodings to train; the method uses the one with the lowest validation loss, and so do further seeds."""
        if self.seed:
            return (weight_files.read_tensors(Weights(self.run, self.method).path)[1]["options"]["encoding"],)
        return weight_files.encodings(self.method)

    def recipe(self) -> dict[str, Any]:
        """Everything that the weights depend on."""
        config = self.run.config
        numbers = {"features": features.RECIPE, "score": method.RECIPE, "train": train.RECIPE}
        if self.method != "locus_dt":
            numbers["densities"] = densities.RECIPE
        special: dict[str, Any] = {"seed": self.seed} if self.seed else {}
        if self.robust:
            special["wrong_twin"] = self.library.recipe()
        return {
            "method": self.method,
            "estimates": ingredients.of_estimates(config, "train"),
            "num_groups": config.training.num_layouts,
            "features": plain(dataclasses.asdict(config.features)),
            "training": {name: getattr(config.training, name) for name in SCHEDULE},
            "learning_rate": self._learning_rate,
            "recipes": numbers,
            **special,
        }

    @property
    def library(self) -> Library:
        """Candidate library of the training rooms."""
        return WrongLibrary(self.run, "train") if self.robust else Library(self.run, "train")

    def fresh(self) -> bool:
        """Whether the weights of every encoding exist, are undamaged, and match the current recipe."""
        return all(self._trained(path) is not None for path in self.files)

    @property
    def files(self) -> list[Path]:
        """File of the method, and one per encoding if there are several."""
        apart = () if self.seed else weight_files.encodings(self.method)
        return [self.path, *(self.path_of(encoding) for encoding in apart if len(apart) > 1)]

    def _trained(self, path: Path) -> dict[str, Any] | None:
        """Header of a weights file; None if the file is missing, damaged or stale."""
        if not intact(path):
            return None
        header = weight_files.read_tensors(path)[1]
        return header if header.get("hash") == self.hash() else None

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - it trains in this process
        """Estimated time [s]."""
        training = self.run.config.training
        num_networks = 1 if self.seed else len(self.encodings)
        return training.num_layouts * training.num_epochs * _TRAIN_SECONDS * num_networks

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - it trains in this process
        """Train on the run's observations, resuming an interrupted training."""
        losses = {}
        for encoding in self.encodings:
            if self._trained(self.path_of(encoding)) is None:
                self._train(encoding)
            losses[encoding] = min(
                weight_files.read_tensors(self.path_of(encoding))[1]["training"]["history"]["validation"]
            )
        winner = min(losses, key=lambda encoding: losses[encoding])
        tensors, header = weight_files.read_tensors(self.path_of(winner))
        weight_files.write_tensors(self.path, tensors, header)
        if len(self.encodings) == 1:
            self.path_of(winner).unlink(missing_ok=True)

    def _train(self, encoding: str) -> None:
        library, observations = self.library.open(), Observations(self.run, "train").open()
        place = weight_files.METHODS.index(self.method), weight_files.encodings(self.method).index(encoding)
        seed = (self.run.config.seed, *place, *([self.seed] if self.seed else []))
        method = weight_files.make_method(self.method, self._options(encoding), *_states(seed))
        examples = train.make_examples(method, library, observations)
        checkpoint = self.path.with_suffix(f".{encoding}.checkpoint"), self.hash()
        result = train.train(
            method.to(device()),
            examples,
            self.run.config.training,
            self._learning_rate,
            seed,
            checkpoint,
            title=self._title(encoding),
        )
        weight_files.save_method(self.path_of(encoding), method, {**self._notes(), "training": result._asdict()})

    def _title(self, encoding: str) -> str:
        apart = f", {encoding}" if len(self.encodings) > 1 else ""
        again = f", seed {self.seed}" if self.seed else ""
        return f"{self.method}{' with errors' if self.robust else ''}{apart}{again}"

    @property
    def _learning_rate(self) -> float:
        training = self.run.config.training
        return training.learning_rate if self.method == "locus_dt" else training.baseline_learning_rate

    def _options(self, encoding: str) -> MethodOptions:
        config = self.run.config
        return MethodOptions(config.estimator.num_paths, config.features, config.room.size, encoding)

    def _notes(self) -> dict[str, Any]:
        return {
            "hash": self.hash(),
            "recipe": self.recipe(),
            "config": self.run.config.to_dict(),
            "versions": versions(),
            "device": torch.device(device()).type,
        }


@unrecorded()
def further_weights(run: Run) -> dict[str, Weights]:
    """Weights of all trainings but the first of each method, by stem; empty if each method is trained only once."""
    training = run.config.training
    counts = {
        name: training.num_seeds if name == "locus_dt" else training.num_baseline_seeds for name in weight_files.METHODS
    }
    found = [Weights(run, name, seed=seed) for name, count in counts.items() for seed in range(1, count)]
    return {one.stem: one for one in found}


def trained(run: Run) -> dict[str, Method]:
    """Load all trained methods of a run, by name."""
    return {name: weight_files.load_method(Weights(run, name).path)[0] for name in weight_files.METHODS}


def _states(seed: tuple[int, ...]) -> list[int]:
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(1)]


def load_scorer(name: str, method: str = "locus_dt") -> Method | LiteScorer:
    """Load a trained method from a run or a file.

    Args:
        name: name of a run, like ``"quick"``, or a path that ends in ``.safetensors``, or in ``.tflite`` if
            ``locus export`` made it.
        method: method of the run, optionally with the encoding of a baseline, like ``"gmm_cart.plain"``.

    Raises:
        FileNotFoundError: there are no such weights; the message names the command that trains them.
    """
    return load_with_header(name, method)[0]


def load_with_header(name: str, method: str = "locus_dt") -> tuple[Method | LiteScorer, dict[str, Any]]:
    """What :func:`load_scorer` loads, and the header of its file. A ``.tflite`` file is read without torch."""
    path = find_weights(name, method)
    return load_lite(path) if path.suffix == ".tflite" else load_method(path)


def find_weights(name: str, method: str = "locus_dt") -> Path:
    """File that :func:`load_scorer` loads; an installed copy of locus includes the weights of the paper's run."""
    if isinstance(name, str | Path) and str(name).endswith((".safetensors", ".tflite")):
        path = Path(name)
        maker = "export" if path.suffix == ".tflite" else "train"
        remedy = f"`locus {maker}` makes one" + (" in the folder of a run" if maker == "train" else "")
    else:
        check_method(method.partition(".")[0] if isinstance(method, str) else method)
        if not re.fullmatch(r"\w+(\.\w+)*", method):
            raise ValueError(f"Expected 'method' as a name, not a path, got {short(method)}")
        installed = Path(__file__).parents[1] / "paper_models" / f"{method}.safetensors"
        if name == "paper" and installed.is_file():
            return installed
        path = open_run(name).models / f"{method}.safetensors"
        remedy = f"`locus train {method.partition('.')[0]} --profile {name}` makes it"
    if not path.is_file():
        raise FileNotFoundError(f"Expected trained weights in {path}, got no such file; {remedy}")
    return path
