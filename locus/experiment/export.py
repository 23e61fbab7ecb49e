"""Export for a device: trained weights in, a LiteRT file that scores like them, with what is needed to use it, out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.experiment.case import Case
from locus.experiment.run import versions
from locus.experiment.weights import find_weights
from locus.score import lite_convert
from locus.score.lite import METHOD, LiteScorer
from locus.score.method import Scorer
from locus.score.pairwise import PairNetwork
from locus.score.weight_files import load_method
from locus.settings.atomic import replacing
from locus.settings.checksums import checksum
from locus.settings.config import Config
from locus.twin import make_twin

NUM_ROOMS = 8
"""Training rooms that the ranges of integers are taken from, and that every export is compared on."""

_USED = ("radio", "twin", "estimator", "features")  # sections of the configuration that a posterior depends on


class Exported(NamedTuple):
    """What was written."""

    path: Path
    num_bytes: int
    """Size of the file."""
    weight_bytes: int
    """Size of the weights and other constants in it."""
    lost: float
    """Mean divergence [nat] of its posteriors from those of the weights, over ``NUM_ROOMS`` training rooms.

    This is the loss that it adds if the posteriors of the weights are calibrated.
    """

    def __str__(self) -> str:
        """One line for the terminal."""
        return (
            f"{self.path}: {self.num_bytes / 1000:.1f} kB, {self.weight_bytes / 1000:.1f} kB of them weights; "
            f"its posteriors are {self.lost:.4f} nats from those of the weights, over {NUM_ROOMS} training rooms"
        )


def export(path: Path, name: str = "paper", method: str = METHOD, quantise: str = "float32") -> Exported:
    """Write the network of a run, or of a weights file, as a LiteRT file.

    Args:
        path: file to write, ``.tflite``.
        name: run or ``.safetensors`` file, as for :func:`locus.load_scorer`.
        method: method of the run; only pairwise networks, like ``"locus_dt"`` and ``"locus_dt.robust"``.
        quantise: ``"float32"``; ``"float16"``; ``"int8"``, integers throughout; or ``"int16"``, the same weights with
            16 bits between the layers.

    Raises:
        ValueError: the method is not a pairwise network, or an argument is wrong.
        FileNotFoundError: there are no such weights.
        RuntimeError: TensorFlow is not installed.
    """
    if path.suffix != ".tflite":
        raise ValueError(f"Expected a file name that ends in .tflite, got {path.name!r}")
    if quantise not in lite_convert.KINDS:
        raise ValueError(f"Expected 'quantise' in {list(lite_convert.KINDS)}, got {quantise!r}")
    source = find_weights(name, method)
    network, header = load_method(source)
    if not isinstance(network, PairNetwork):
        raise ValueError(f"Expected a pairwise network ({METHOD!r}) to export, got {header['method']!r}")
    lite_convert.require_tensorflow()
    cases = training_cases(Config.from_dict(header["config"]))
    rooms = [(network.candidates(one.paths), network.conditions(one.paths, one.observed)) for one in cases]
    content = lite_convert.convert(arrays(network), quantise, rooms)
    carried = {
        "method": header["method"],
        "options": header["options"],
        "config": {section: header["config"][section] for section in _USED if section in header["config"]},
        "hash": header["hash"],
        "weights_sha256": checksum(source),
        "quantise": quantise,
        "versions": {key: value for key, value in versions().items() if key in ("python", "locus-dt", "numpy")},
    }
    content = lite_convert.with_header(content, carried)
    lost = divergence(LiteScorer(content, path.name), network, cases)
    with replacing(path) as scratch:
        scratch.write_bytes(content)
    return Exported(path, len(content), lite_convert.weight_bytes(content), lost)


def training_cases(config: Config) -> list[Case]:
    """First training rooms, traced by the image twin."""
    twin = make_twin("image", config.radio, config.twin)
    return [Case(config, "train", index, twin) for index in range(min(NUM_ROOMS, config.training.num_layouts))]


def arrays(network: PairNetwork) -> dict[str, NDArray[np.float32]]:
    """Weights of a network by name."""
    state: dict[str, Any] = network.state_dict()
    return {name: tensor.cpu().numpy() for name, tensor in state.items()}


def divergence(scorer: Scorer, reference: Scorer, cases: list[Case]) -> float:
    r"""Mean Kullback-Leibler divergence :math:`D(\text{reference} \,\|\, \text{scorer})` [nat] of posteriors."""
    found = []
    for one in cases:
        true, other = (each.log_posterior(one.paths, one.observed).values for each in (reference, scorer))
        found.append((np.exp(true) * (true - other)).sum(axis=-1))
    return float(np.concatenate(found).mean())
