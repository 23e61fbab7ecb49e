"""Profiles: named sets of settings, each a YAML file in this folder, plus changes from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from locus.settings.config import Config
from locus.settings.untrusted import parse_yaml, short


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
        raise ValueError(f"Expected 'profile' in {profile_names()}, got {short(profile)}")
    values: dict[str, Any] = parse_yaml(_read(profile)) or {}
    if not isinstance(changes or {}, Mapping) or not all(isinstance(key, str) for key in changes or {}):
        raise ValueError(f"Expected changes like {{'room.size': 80}}, got {short(changes)}")
    for key, value in (changes or {}).items():
        section, _, name = key.partition(".")
        if name:
            target = values.setdefault(section, {})
            if not isinstance(target, dict):
                raise ValueError(
                    f"Expected a setting like 'room.size', got {short(key)}: {short(section)} has no fields"
                )
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
            raise ValueError(f"Expected a setting like 'room.size=80', got {short(setting)}")
        try:
            changes[key] = parse_yaml(value)
        except ValueError as error:
            raise ValueError(f"Expected a value for {short(key)}, {error}") from error
    return changes


def _read(profile: str) -> str:
    return (resources.files(__name__) / f"{profile}.yml").read_text(encoding="utf-8")
