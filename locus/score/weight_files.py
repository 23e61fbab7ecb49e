"""Weight files: create methods by name, and save and load trained ones with their provenance."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from locus.score import tensor_file
from locus.score.densities import GaussCart, GaussPolar, GmmCart
from locus.score.method import Method, MethodOptions
from locus.score.options import METHOD_TITLES as METHOD_TITLES
from locus.score.pairwise import PairNetwork
from locus.settings.checks import from_mapping, plain
from locus.settings.checksums import sealing
from locus.settings.device import device
from locus.settings.untrusted import short

_CLASSES: dict[str, type[Method]] = {kind.name: kind for kind in (PairNetwork, GaussCart, GaussPolar, GmmCart)}

METHODS = tuple(_CLASSES)
"""Names of the trained methods: ``locus_dt``, ``gauss_cart``, ``gauss_polar`` and ``gmm_cart``."""


MAX_WEIGHT = 1e4
"""Largest magnitude of a weight; those of trained networks stay below 100."""


def check_method(name: str) -> None:
    """Raise a ValueError unless ``name`` is the name of a method."""
    if name not in METHODS:
        raise ValueError(f"Expected 'method' in {list(METHODS)}, got {short(name)}")


def encodings(name: str) -> tuple[str, ...]:
    """Encodings that a method is trained in."""
    check_method(name)
    return _CLASSES[name].encodings


def make_method(name: str, options: MethodOptions, seed: int = 0) -> Method:
    """Create an untrained method with weights initialised from ``seed``."""
    check_method(name)
    return initialised(_CLASSES[name], options, seed)


def initialised(kind: type[Method], options: MethodOptions, seed: int) -> Method:
    """Create an untrained method with weights initialised from ``seed``; torch's global generator stays as it is."""
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
        ValueError: the file was not written by this project, or its weights are not finite numbers of the right shape.
    """
    tensors, header = read_tensors(path)
    check_header(header, ("method", "options"), path)
    try:
        method = make_method(header["method"], from_mapping(MethodOptions, header["options"], "options."))
        _check_weights(tensors, method)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    method.load_state_dict(tensors)
    return method.to(device()).eval().requires_grad_(False), header


def check_header(header: dict[str, Any], names: tuple[str, ...], path: Path | str) -> None:
    """Raise a ValueError unless the header of a file has all of these entries."""
    lacking = [name for name in names if name not in header]
    if lacking:
        raise ValueError(f"Expected {', '.join(lacking)} in the header of {path}, got none; `locus train` writes them")


def _check_weights(tensors: dict[str, torch.Tensor], method: Method) -> None:
    """Raise a ValueError unless tensors are those of a method: names, shapes, and numbers that training can reach."""
    wanted = method.state_dict()
    if tensors.keys() != wanted.keys():
        raise ValueError(f"Expected the weights {short(sorted(wanted))}, got {short(sorted(tensors))}")
    for name, tensor in tensors.items():
        if tensor.shape != wanted[name].shape or not tensor.dtype.is_floating_point:
            shape, got = tuple(wanted[name].shape), tuple(tensor.shape)
            raise ValueError(f"Expected weights {name!r} of shape {shape}, got {tensor.dtype} of shape {short(got)}")
        if not bool((tensor.double().abs() <= MAX_WEIGHT).all()):  # NaN, too
            raise ValueError(f"Expected finite weights {name!r}, at most {MAX_WEIGHT:g}, got {_worst(tensor):g}")


def _worst(tensor: torch.Tensor) -> float:
    """A weight that is NaN, or the largest."""
    values = tensor.double().flatten()
    return float(values[values.isnan()][0]) if bool(values.isnan().any()) else float(values[values.abs().argmax()])


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], header: dict[str, Any]) -> None:
    """Write a safetensors file under a temporary name and rename it; its checksum is kept beside it."""
    data = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with sealing(path) as scratch:
        safetensors.torch.save_file(data, scratch, {"locus": json.dumps(header)})
        scratch.chmod(0o644)  # safetensors creates files that only their owner can read


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and header of a safetensors file.

    Raises:
        ValueError: the file is damaged, or was not written by this project.
    """
    return tensor_file.read(path, "pt")
