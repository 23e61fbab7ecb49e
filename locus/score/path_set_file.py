"""Constants of the likelihood of path sets in a file: a path in, the fitted constants out, and back.

PyTorch is imported only for writing.
"""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

from locus.score import tensor_file
from locus.score.tolerance import Constants

NAME = "path_set.safetensors"
"""Name of the file in a run's folder of models."""

_LOCUS = Path(__file__).parents[1]
_HOMES = (_LOCUS / "paper_models", _LOCUS.parent / "data" / "paper" / "models")  # of an installed copy, of a clone


@functools.cache
def load_constants(path: Path | None = None) -> Constants:
    """Read fitted constants; by default those that were fitted to the paper's training rooms.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or holds something else.
    """
    path = path or next((home / NAME for home in _HOMES if (home / NAME).is_file()), _HOMES[-1] / NAME)
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected constants of the path set in {path}, got no such file; `locus train` makes it"
        )
    tensors, header = tensor_file.read(path, "np")
    fields = {one.name for one in dataclasses.fields(Constants)}
    if header.get("method") != "path_set" or set(tensors) != fields:
        raise ValueError(
            f"Expected constants of the path set in {path}, got {header.get('method')!r}; use that of `paper`"
        )
    return Constants(**{name: _plain(name, tensor) for name, tensor in tensors.items()})


def save_constants(path: Path, constants: Constants, notes: dict[str, Any]) -> None:
    """Write constants; the header holds ``notes``."""
    import torch

    from locus.score.weight_files import write_tensors

    tensors = {name: torch.tensor(value, dtype=torch.float64) for name, value in dataclasses.asdict(constants).items()}
    write_tensors(path, tensors, {"method": "path_set", **notes})


def _plain(name: str, tensor: Any) -> Any:
    if tensor.ndim == 0:
        return float(tensor)
    kind = int if name == "num_headings" else float
    return tuple(kind(value) for value in tensor.tolist())
