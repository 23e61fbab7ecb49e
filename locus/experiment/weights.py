"""Weights of a run: its observations in, a trained network of each method in the run's folder out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from locus.experiment.libraries import Library, Observations, WrongLibrary
from locus.experiment.run import Run, fingerprint, open_run, versions
from locus.score import densities, features, method, train, weight_files
from locus.score.method import Method, MethodOptions
from locus.score.weight_files import check_method, load_method
from locus.settings.checks import plain
from locus.settings.device import device
from locus.settings.recording import unrecorded


@dataclass(frozen=True)
class Weights:
    """The trained network of one method of a run."""

    run: Run
    method: str
    robust: bool = False
    """Whether it was trained with the errors of a wrong twin, for LOCUS-DT alone."""

    def __post_init__(self) -> None:
        weight_files.check_method(self.method)
        if self.robust and self.method != "locus_dt":
            raise ValueError(f"Expected 'robust' of 'locus_dt' alone, got {self.method!r}")

    @property
    def path(self) -> Path:
        """File of the weights; of a baseline, those of its stronger encoding."""
        return self.path_of(None)

    def path_of(self, encoding: str | None) -> Path:
        """File of the weights of one encoding."""
        parts = [self.method, *(["robust"] if self.robust else []), *([encoding] if encoding else [])]
        return self.run.models / f"{'.'.join(parts)}.safetensors"

    @property
    def encodings(self) -> tuple[str, ...]:
        """Encodings that are trained; the one of lower validation loss is the method's."""
        return weight_files.encodings(self.method)

    def recipe(self) -> dict[str, Any]:
        """All that the weights depend on."""
        config = self.run.config
        training = dataclasses.asdict(config.training)
        # Sizes of the train split are in the observations' recipe already
        for name in ("num_layouts", "num_test_layouts", "num_candidates", "num_snapshots"):
            del training[name]
        training["learning_rate"] = self._learning_rate
        del training["baseline_learning_rate"]
        own = {} if self.method == "locus_dt" else {"baselines": densities.RECIPE}
        return {
            "method": self.method,
            "observations": Observations(self.run, "train").numbers(),
            "features": plain(dataclasses.asdict(config.features)),
            "training": training,
            "recipes": {"features": features.RECIPE, "score": method.RECIPE, "train": train.RECIPE, **own},
            **({"twin": self.library.numbers()} if self.robust else {}),
        }

    @property
    def library(self) -> Library:
        """Candidates that it is trained on."""
        return WrongLibrary(self.run, "train") if self.robust else Library(self.run, "train")

    @unrecorded()
    def hash(self) -> str:
        """Short name of the recipe."""
        return fingerprint(self.recipe())

    def fresh(self) -> bool:
        """Whether the weights are there, in every encoding, and are what the settings ask for now."""
        return all(self._trained(path) is not None for path in self.files)

    @property
    def files(self) -> list[Path]:
        """All files of the method: its own, and one for each encoding if there are several."""
        apart = self.encodings if len(self.encodings) > 1 else ()
        return [self.path, *(self.path_of(encoding) for encoding in apart)]

    def _trained(self, path: Path) -> dict[str, Any] | None:
        """Header of a file of weights that is what the settings ask for now."""
        try:
            header = weight_files.read_tensors(path)[1] if path.is_file() else {}
        except ValueError:  # damaged
            return None
        return header if header.get("hash") == self.hash() else None

    def make(self) -> None:
        """Train on the run's observations, or go on with a training that was interrupted."""
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
        seed = (self.run.config.seed, weight_files.METHODS.index(self.method), self.encodings.index(encoding))
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
        return f"{self.method}{' with errors' if self.robust else ''}{apart}"

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


def trained(run: Run) -> dict[str, Method]:
    """All trained methods of a run."""
    return {name: weight_files.load_method(Weights(run, name).path)[0] for name in weight_files.METHODS}


def _states(seed: tuple[int, ...]) -> list[int]:
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(1)]


def load_scorer(name: str, method: str = "locus_dt") -> Method:
    """Trained weights of a run, or of a file.

    Args:
        name: a run, like ``"quick"``, or a path that ends in ``.safetensors``.
        method: of a run, which method; a baseline's encoding may follow a dot, like ``"gmm_cart.plain"``.

    Raises:
        FileNotFoundError: there are no such weights; the message names the command that makes them.
    """
    return load_method(find_weights(name, method))[0]


def find_weights(name: str, method: str = "locus_dt") -> Path:
    """File of the weights that :func:`load_scorer` would load; an installed copy of locus brings the paper's."""
    if name.endswith(".safetensors"):
        path, remedy = Path(name), "`locus train` makes one in the folder of a run"
    else:
        check_method(method.partition(".")[0])
        installed = Path(__file__).parents[1] / "paper_models" / f"{method}.safetensors"
        if name == "paper" and installed.is_file():
            return installed
        path = open_run(name).models / f"{method}.safetensors"
        remedy = f"`locus train {method.partition('.')[0]} --profile {name}` makes it"
    if not path.is_file():
        raise FileNotFoundError(f"Expected trained weights in {path}, got no such file; {remedy}")
    return path
