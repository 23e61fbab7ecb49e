"""Weight files: create methods by name, and save and load trained ones with their provenance."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import safe_open

from locus.score.densities import GaussCart, GaussPolar, GmmCart
from locus.score.method import Method, MethodOptions
from locus.score.pairwise import PairNetwork
from locus.settings.checks import from_mapping, plain
from locus.settings.checksums import check_intact, sealing
from locus.settings.device import device

_CLASSES: dict[str, type[Method]] = {kind.name: kind for kind in (PairNetwork, GaussCart, GaussPolar, GmmCart)}

METHODS = tuple(_CLASSES)
"""Names of the trained methods, LOCUS-DT first."""

METHOD_TITLES = {
    "locus_dt": "LOCUS-DT",
    "gauss_cart": "Gauss-Cart",
    "gauss_polar": "Gauss-Polar",
    "gmm_cart": "GMM-Cart",
}
"""Names as the paper prints them."""


def check_method(name: str) -> None:
    """Raise a ValueError unless ``name`` is the name of a method."""
    if name not in METHODS:
        raise ValueError(f"Expected 'method' in {list(METHODS)}, got {name!r}")


def encodings(name: str) -> tuple[str, ...]:
    """Encodings that a method is trained in."""
    check_method(name)
    return _CLASSES[name].encodings


def make_method(name: str, options: MethodOptions, seed: int = 0) -> Method:
    """Create an untrained method with weights initialised from ``seed``."""
    check_method(name)
    return initialised(_CLASSES[name], options, seed)


def initialised(kind: type[Method], options: MethodOptions, seed: int) -> Method:
    """Create an untrained method of a class with weights initialised from ``seed``; torch's own generator stays."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return kind(options)


def save_method(path: Path, method: Method, notes: dict[str, Any]) -> None:
    """Write the weights of a method; the header holds its name, its options and ``notes``."""
    header = {"method": method.name, "options": plain(dataclasses.asdict(method.options)), **notes}
    write_tensors(path, {name: tensor.detach().cpu() for name, tensor in method.state_dict().items()}, header)


def load_method(path: Path) -> tuple[Method, dict[str, Any]]:
    """Load a trained method and the header of its file.

    Raises:
        ValueError: the file was not written by this project.
    """
    tensors, header = read_tensors(path)
    method = make_method(header["method"], from_mapping(MethodOptions, header["options"], "options."))
    method.load_state_dict(tensors)
    return method.to(device()).eval().requires_grad_(False), header


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], header: dict[str, Any]) -> None:
    """Write a safetensors file to the side and rename it; its checksum is noted beside it."""
    data = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with sealing(path) as scratch:
        safetensors.torch.save_file(data, scratch, {"locus": json.dumps(header)})
        scratch.chmod(0o644)  # safetensors creates files that only their owner can read


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and header of a safetensors file.

    Raises:
        ValueError: the file is damaged, or was not written by this project.
    """
    check_intact(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["locus"])
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118 - not a mapping
    except (safetensors.SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(
            f"Expected weights made by `locus train` in {path}, got a file without their header"
        ) from error
