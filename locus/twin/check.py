"""Path sets from outside: a Dataset in; a one-line error out, unless the variables to be read hold valid paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from locus.settings.untrusted import short

_KINDS = {"valid": "biu", "gain": "cfiu"}  # kinds of NumPy's types; real numbers by default
_WORDS = {"valid": "true or false", "gain": "complex numbers"}
_LARGEST = {"aoa": 1e3, "delay": 1.0, "snr_db": 1e4, "order": 1e3}  # [rad], [s], [dB]; beyond, squares overflow
PARTS = ("valid", "aoa", "delay", "snr_db")
"""Variables that most functions that take paths read."""


def check_dataset(data: Any, name: str) -> None:
    """Raise a ValueError unless ``data`` is a Dataset."""
    if not isinstance(data, xr.Dataset):
        raise ValueError(f"Expected '{name}' as a Dataset of paths, got {short(data)}")


def check_paths(
    data: Any, name: str, dims: Sequence[str] | None, parts: Sequence[str] = PARTS, *, finite: bool = True
) -> None:
    """Raise a ValueError unless ``data`` has the variables ``parts``.

    They must have the dimensions ``dims`` (any, if None) and, if ``finite``, finite numbers in all valid paths.
    """
    check_dataset(data, name)
    for part in parts:
        if part not in data or data[part].dims != tuple(dims or data[part].dims):
            found = data[part].dims if part in data else "none"
            raise ValueError(f"Expected '{name}' with {part} ({', '.join(dims or ('path',))}), got {found}")
        if "path" not in data[part].dims:
            raise ValueError(f"Expected '{name}' with {part} along 'path', got {data[part].dims}")
        if data[part].dtype.kind not in _KINDS.get(part, "fiu"):
            expected = _WORDS.get(part, "real numbers")
            raise ValueError(f"Expected {part} of '{name}' as {expected}, got {data[part].dtype}")
    valid = data.valid.values.astype(bool)
    for part in parts:
        if set(data[part].dims) != set(data.valid.dims):
            raise ValueError(f"Expected {part} of '{name}' along {data.valid.dims}, as 'valid', got {data[part].dims}")
        if not finite:
            continue
        size = np.abs(data[part].transpose(*data.valid.dims).values[valid].astype(complex if part == "gain" else float))
        if not np.isfinite(size).all():
            raise ValueError(f"Expected finite {part} of valid '{name}', got NaN or infinity")
        if size.max(initial=0) > _LARGEST.get(part, np.inf):
            raise ValueError(f"Expected {part} of '{name}' of at most {_LARGEST[part]:g}, got {size.max():g}")
