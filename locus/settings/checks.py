"""Strict settings: plain values in, a checked dataclass out, or an error that names the offending setting."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any


def check_range(name: str, value: float, low: float, high: float = float("inf"), *, open_low: bool = False) -> None:
    """Raise a ValueError unless ``low <= value <= high`` (``low < value`` with ``open_low``)."""
    if not (low <= value <= high) or (open_low and value == low) or value == float("inf"):
        opening = "(" if open_low else "["
        closing = "]" if high != float("inf") else ")"
        raise ValueError(f"Expected '{name}' in {opening}{low:g}, {high:g}{closing}, got {value!r}")


def plain(value: Any) -> Any:
    """Convert nested tuples to lists, as in YAML and JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def from_mapping(kind: type, values: Any, prefix: str) -> Any:
    """Build a dataclass of type ``kind`` from a mapping, checking each value against its annotation."""
    if not isinstance(values, Mapping):
        raise ValueError(f"Expected a mapping of settings for '{prefix[:-1]}', got {values!r}")
    hints = typing.get_type_hints(kind)
    for key in values:
        if key not in hints:
            raise ValueError(f"Expected one of {sorted(hints)} in '{prefix or 'configuration'}', got {prefix}{key}")
    return kind(**{key: _convert(hints[key], value, f"{prefix}{key}") for key, value in values.items()})


def _convert(hint: Any, value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return from_mapping(typing.cast(type, hint), value, f"{name}.")
    if typing.get_origin(hint) is tuple:
        items = typing.get_args(hint)
        if not isinstance(value, list | tuple) or len(value) != len(items):
            raise ValueError(f"Expected '{name}' as a list of {len(items)} values, got {value!r}")
        return tuple(_convert(item, part, name) for item, part in zip(items, value, strict=True))
    if hint in (float, int):
        value = _number(hint, value)
    if type(value) is not hint:
        raise ValueError(f"Expected '{name}' of type {hint.__name__}, got {value!r} ({type(value).__name__})")
    return value


def _number(hint: type, value: Any) -> Any:
    """Convert numbers to ``hint``, pass on anything else: YAML 1.1 reads 6e9 as a string and 1.0e+3 as a float."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return value
    return hint(number) if hint is float or number == number // 1 else value
