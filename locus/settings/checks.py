"""Strict settings: plain values in, a checked dataclass out, or an error that names the offending setting."""

from __future__ import annotations

import dataclasses
import numbers
import typing
from collections.abc import Mapping
from typing import Any

from locus.settings.untrusted import finite_number, short


def check_range(name: str, value: float, low: float, high: float = float("inf"), *, open_low: bool = False) -> None:
    """Raise a ValueError unless ``value`` is a number in [low, high] (above ``low`` with ``open_low``), and finite."""
    try:
        finite_number(name, value)
    except ValueError:
        if not isinstance(value, float):  # the range says more about NaN and infinity
            raise
    if not (low <= value <= high) or (open_low and value == low) or value == float("inf"):
        opening = "(" if open_low else "["
        closing = "]" if high != float("inf") else ")"
        raise ValueError(f"Expected '{name}' in {opening}{low:g}, {high:g}{closing}, got {short(value)}")


def check_fields(settings: Any, prefix: str) -> None:
    """Raise a ValueError unless every field of a dataclass has the type of its annotation."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value, hint = getattr(settings, field.name), hints[field.name]
        if hint is int and not isinstance(value, bool) and hasattr(type(value), "__index__"):
            continue  # NumPy's integers, too
        if value is None and field.default is None:
            continue  # to be filled in
        if not (hint is float and isinstance(value, numbers.Real)):
            _convert(hint, value, f"{prefix}{field.name}")


def plain(value: Any) -> Any:
    """Convert nested tuples to lists, as in YAML and JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def from_mapping(kind: type, values: Any, prefix: str) -> Any:
    """Build a dataclass of type ``kind`` from a mapping, checking each value against its annotation."""
    if not isinstance(values, Mapping):
        raise ValueError(f"Expected a mapping of settings for '{prefix[:-1]}', got {short(values)}")
    hints = typing.get_type_hints(kind)
    for key in values:
        if key not in hints:
            got = short(f"{prefix}{key}")[1:-1]
            raise ValueError(f"Expected one of {sorted(hints)} in '{prefix or 'configuration'}', got {got}")
    return kind(**{key: _convert(hints[key], value, f"{prefix}{key}") for key, value in values.items()})


def _convert(hint: Any, value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if isinstance(value, typing.cast(type, hint)):
            return value
        return from_mapping(typing.cast(type, hint), value, f"{name}.")
    if typing.get_origin(hint) is tuple:
        items = typing.get_args(hint)
        if not isinstance(value, list | tuple) or len(value) != len(items):
            raise ValueError(f"Expected '{name}' as a list of {len(items)} values, got {short(value)}")
        return tuple(_convert(item, part, name) for item, part in zip(items, value, strict=True))
    if hint in (float, int):
        value = _number(hint, value)
    if type(value) is not hint:
        raise ValueError(f"Expected '{name}' of type {hint.__name__}, got {short(value)} ({type(value).__name__})")
    return value


def _number(hint: type, value: Any) -> Any:
    """Convert numbers to ``hint``, pass on anything else: YAML 1.1 reads 6e9 as a string and 1.0e+3 as a float."""
    try:
        number = float(value) if isinstance(value, str) and len(value) < 100 else value
    except ValueError:
        return value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return value
    try:
        return hint(number) if hint is float or number == number // 1 else value
    except (OverflowError, ValueError):  # an integer too large for a float, or a float that is not finite
        return value
