"""Profiles: named sets of settings, each a YAML file in this folder, plus changes from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from locus.settings.config import Config


def profile_names() -> list[str]:
    """Names that :func:`load_config` accepts."""
    return sorted(p.name[:-4] for p in resources.files(__name__).iterdir() if p.name.endswith(".yml"))


def profiles() -> dict[str, str]:
    """Purpose of each profile: the comment on the first line of its file."""
    texts = {name: _read(name).splitlines() for name in profile_names()}
    return {name: lines[0].removeprefix("# ") for name, lines in texts.items()}


def load_config(profile: str, changes: Mapping[str, Any] | None = None) -> Config:
    """Settings of a profile, with ``changes`` given as ``{"section.field": value}``.

    Raises:
        ValueError: the profile or a key is unknown, or a value has the wrong type or is out of range.
    """
    if profile not in profile_names():
        raise ValueError(f"Expected 'profile' in {profile_names()}, got {profile!r}")
    values: dict[str, Any] = yaml.safe_load(_read(profile)) or {}
    for key, value in (changes or {}).items():
        section, _, name = key.partition(".")
        if name:
            target = values.setdefault(section, {})
            if not isinstance(target, dict):
                raise ValueError(f"Expected a setting like 'room.size', got {key!r}: '{section}' has no fields")
            target[name] = value
        else:
            values[section] = value
    return Config.from_dict(values)


def parse_over(settings: list[str]) -> dict[str, list[Any]]:
    """Parse swept settings from the command line: ``["seed=0,1"]`` becomes ``{"seed": [0, 1]}``."""
    return parse_changes([setting.replace("=", "=[", 1) + "]" if "=" in setting else setting for setting in settings])


def parse_changes(settings: list[str]) -> dict[str, Any]:
    """Parse changes from the command line: ``["room.size=80"]`` becomes ``{"room.size": 80}``."""
    changes = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ValueError(f"Expected a setting like 'room.size=80', got {setting!r}")
        changes[key] = yaml.safe_load(value)
    return changes


def _read(profile: str) -> str:
    return (resources.files(__name__) / f"{profile}.yml").read_text(encoding="utf-8")
