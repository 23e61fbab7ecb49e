"""Untrusted values and texts: YAML, JSON or a single number within limits in, plain checked values out.

Whatever is wrong with them becomes a ValueError of one short line: a message never repeats a megabyte of input.
"""

from __future__ import annotations

import json
import math
import numbers
import operator
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_YAML_BYTES = 2**16
"""Maximum size of a YAML text; PyYAML needs about a second for that much."""
MAX_NODES = 5000
"""Maximum number of values in a YAML text."""
MAX_DEPTH = 20
"""Maximum nesting of a YAML text."""

_SHORT = 120  # characters of a value that a message shows
_REASON = 200  # characters of a library's own message that are repeated


class _Shortener(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80
        self.maxlong = 40
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 1000:  # Python refuses to print numbers of thousands of digits
            return f"{'-' * (x < 0)}10**{math.floor((x.bit_length() - 1) * math.log10(2))} or more"
        return super().repr_int(x, level)


_shortener = _Shortener()


def short(value: Any) -> str:
    """Representation of a value on one line of at most 120 characters, for messages."""
    try:
        text = " ".join(_shortener.repr(value).split())
    except Exception:  # any object may fail to represent itself
        text = f"<{type(value).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def reason(error: BaseException) -> str:
    """Message of an error on one line of at most 200 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _REASON else f"{text[: _REASON - 3]}..."


def finite_number(name: str, value: Any) -> float:
    """Convert a real number to a finite float.

    Raises:
        ValueError: it is not a real number, or is NaN, infinite or too large for a float.
    """
    if type(value) is bool or not isinstance(value, numbers.Real):
        array = getattr(value, "ndim", None) == 0 and getattr(value, "dtype", None)
        if not array or array.kind not in "iuf":
            raise ValueError(f"Expected '{name}' as a number, got {short(value)}")
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"Expected a finite '{name}', got {short(value)}")
    return number


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Convert an integer in [low, high] to an int.

    Raises:
        ValueError: it is not an integer, or out of range.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ValueError(f"Expected '{name}' as a whole number, got {short(value)}")
    if not low <= number <= high:
        raise ValueError(f"Expected '{name}' in [{low}, {high}], got {short(number)}")
    return number


def real_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """Convert an array of real numbers, of any shape, to floats.

    Raises:
        ValueError: it is ragged, or an element is not a number, is complex, or is too large for a float.
    """
    import numpy as np  # the command line does without

    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Expected '{name}' as real numbers, got {short(values)}") from None


def read_text(path: Path, most: int, what: str) -> str:
    """Content of a text file of at most ``most`` bytes; messages call it ``what``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is too large, or not UTF-8.
    """
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    size = path.stat().st_size
    if size > most:
        shown = f"{most // 2**20} MiB" if most >= 2**20 else f"{most // 2**10} KiB"
        raise ValueError(f"Expected {path} of at most {shown}, got {size / 2**20:.1f} MiB")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected {what} in {path}, got bytes that are not UTF-8: {reason(error)}") from error


def parse_json(text: str) -> Any:
    """Value of a JSON text.

    Raises:
        ValueError: it is not valid JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("got invalid JSON: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"got invalid JSON: {reason(error)}") from error


class _Loader(yaml.SafeLoader):
    """Plain values without anchors and aliases, which let a few bytes stand for gigabytes."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.nodes = self.depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ValueError(f"anchors and aliases are not allowed (line {event.start_mark.line + 1})")
        self.nodes += 1
        self.depth += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_NODES} values, or nested more than {MAX_DEPTH} times")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse_yaml(text: str) -> Any:
    """Plain value of a YAML text: no Python tags, no anchors or aliases, at most 64 KiB, 5000 values, 20 levels.

    Raises:
        ValueError: it is not valid YAML, or beyond these limits.
    """
    if len(text) > MAX_YAML_BYTES:
        raise ValueError(f"got invalid YAML: more than {MAX_YAML_BYTES // 2**10} KiB")
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"got invalid YAML: {reason(ValueError(error.problem or error.context))}{place}") from error
    except RecursionError:
        raise ValueError("got invalid YAML: nested too deeply") from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        raise ValueError(f"got invalid YAML: {reason(error)}") from error  # e.g. a date in month 13
