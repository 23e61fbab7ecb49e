"""Settings as text: each setting of a configuration with its value, default and meaning, and what was changed."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from locus.settings.config import Config
from locus.settings.profiles import load_config, profile_names


def meanings(kind: type) -> dict[str, str]:
    """Docstrings of the fields of a dataclass, read from its source."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: re.sub(r":\w+:`([^`]*)`", r"\1", inspect.cleandoc(text.value.value)).replace("``", "`")
        for field, text in itertools.pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def flat(config: Config) -> dict[str, Any]:
    """Every setting by its full name."""
    found: dict[str, Any] = {}
    for section, part in config.to_dict().items():
        found |= {f"{section}.{name}": v for name, v in part.items()} if isinstance(part, dict) else {section: part}
    return found


def lines(config: Config) -> Iterator[str]:
    """One line per setting, grouped by section: value, the default if it differs, and meaning."""
    values, defaults = flat(config), flat(Config())
    shown = {
        name: words(value) + (f" (default {words(defaults[name])})" if value != defaults[name] else "")
        for name, value in values.items()
    }
    widths = [max(map(len, column)) for column in (shown, shown.values())]
    for section, own in _sections(config).items():
        if section:
            yield f"\n{section}: {inspect.cleandoc(type(own).__doc__ or '').splitlines()[0]}"
        for name, meaning in meanings(type(own)).items():
            key = f"{section}.{name}" if section else name
            yield f"  {key:{widths[0]}}  {shown[key]:{widths[1]}}  {meaning}"


def changes(config: Config, profile: str) -> dict[str, Any]:
    """Minimal set of changes ``{"section.field": value}`` that turns a profile into ``config``.

    Lengths that merely scale with another changed setting are left out.
    """
    if profile not in profile_names():
        return {}
    before, now = load_config(profile).to_dict(), config.to_dict()
    changed = [section for section in now if now[section] != before[section]]
    found = {name: value for name, value in flat(config).items() if name.partition(".")[0] in changed}
    for name in list(found):
        others = {other: value for other, value in found.items() if other != name}
        with contextlib.suppress(ValueError):  # without this change the others may be inconsistent
            found = others if load_config(profile, others) == config else found
    return found


def words(value: Any) -> str:
    """A value formatted as ``--set`` accepts it."""
    if isinstance(value, list):
        return f"[{', '.join(map(words, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def _sections(config: Config) -> dict[str, Any]:
    """Sections by name; the empty name holds the settings outside any section."""
    parts = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {"": config, **{name: part for name, part in parts.items() if dataclasses.is_dataclass(part)}}
