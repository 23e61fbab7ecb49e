"""Settings: frozen dataclasses with real defaults, and named profiles that change some of them.

Lengths in metres, angles in radians, frequencies in hertz, powers in dBm or dB.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import yaml

BOLTZMANN = 1.380649e-23
SPEED_OF_LIGHT = 299_792_458.0
BACKENDS = ("sionna", "image")


def check_range(name: str, value: float, low: float, high: float = float("inf"), *, open_low: bool = False) -> None:
    """Raise a ValueError unless ``low <= value <= high`` (``low < value`` with ``open_low``)."""
    if not (low <= value <= high) or (open_low and value == low) or value == float("inf"):
        opening = "(" if open_low else "["
        closing = "]" if high != float("inf") else ")"
        raise ValueError(f"Expected '{name}' in {opening}{low:g}, {high:g}{closing}, got {value!r}")


@dataclass(frozen=True)
class Room:
    """How a random room is drawn. The paper gives the size and the number and kinds of obstacles (Sec. III-A)."""

    size: float = 100.0
    """Side of the square room [m]."""
    num_obstacles: int = 3
    rectangle_side: tuple[float, float] = (10.0, 30.0)
    """Shortest and longest side of a rectangular obstacle [m]."""
    bent_side: tuple[float, float] = (15.0, 40.0)
    """Shortest and longest side of the box around an L- or T-shaped obstacle [m]."""
    arm_thickness: tuple[float, float] = (5.0, 10.0)
    """Thinnest and thickest arm of an L or a T [m]."""
    obstacle_gap: float = 3.0
    """Least distance between two obstacles [m]."""
    wall_gap: float = 5.0
    """Least distance from an obstacle to the outer wall [m]."""
    clearance: float = 0.5
    """Least distance from a candidate or the receiver to any wall [m]."""
    grid_points: int = 31
    """Points per axis of the regular candidate grid."""
    min_feasible: int = 696
    """A room with fewer feasible grid points is drawn again."""
    material: str = "concrete"
    """ITU-R P.2040 name of the walls' material."""

    def __post_init__(self) -> None:
        check_range("room.size", self.size, 0.0, open_low=True)
        check_range("room.num_obstacles", self.num_obstacles, 0)
        check_range("room.obstacle_gap", self.obstacle_gap, 0.0)
        check_range("room.wall_gap", self.wall_gap, 0.0)
        check_range("room.clearance", self.clearance, 0.0)
        check_range("room.grid_points", self.grid_points, 2)
        check_range("room.min_feasible", self.min_feasible, 0)
        for name in ("rectangle_side", "bent_side", "arm_thickness"):
            low, high = getattr(self, name)
            check_range(f"room.{name}[0]", low, 0.0, open_low=True)
            check_range(f"room.{name}[1]", high, low)


@dataclass(frozen=True)
class Radio:
    """Link budget and antennas of Sec. III-A."""

    carrier: float = 12e9
    """Carrier frequency [Hz]."""
    bandwidth: float = 200e6
    """Signal bandwidth [Hz]."""
    tx_power_dbm: float = 0.0
    noise_figure_db: float = 7.0
    temperature: float = 290.0
    """Noise temperature [K]."""
    num_antennas: int = 8
    """Elements of the half-wavelength receive array."""

    def __post_init__(self) -> None:
        check_range("radio.carrier", self.carrier, 0.0, open_low=True)
        check_range("radio.bandwidth", self.bandwidth, 0.0, open_low=True)
        check_range("radio.temperature", self.temperature, 0.0, open_low=True)
        check_range("radio.num_antennas", self.num_antennas, 1)

    @property
    def wavelength(self) -> float:
        """Wavelength of the carrier [m]."""
        return SPEED_OF_LIGHT / self.carrier

    @property
    def tx_power(self) -> float:
        """Transmit power [W]."""
        return float(10 ** (self.tx_power_dbm / 10 - 3))

    @property
    def noise_power(self) -> float:
        """Noise power in the bandwidth, per sample and antenna [W]."""
        noise_figure = 10 ** (self.noise_figure_db / 10)
        return float(BOLTZMANN * self.temperature * self.bandwidth * noise_figure)

    @property
    def noise_power_dbm(self) -> float:
        """Noise power in the bandwidth, per sample and antenna [dBm]."""
        return 10 * math.log10(self.noise_power) + 30


@dataclass(frozen=True)
class TwinOptions:
    """What a digital twin traces, and how the Sionna backend goes about it."""

    max_depth: int = 3
    """Most reflections of a path."""
    max_paths: int = 16
    """Strongest paths kept per candidate."""
    wall_thickness: float = 0.2
    """Thickness of every wall [m]; reflection is that of a slab."""
    refraction: bool = False
    """Paths through walls (Sionna only)."""
    diffraction: bool = False
    """Paths around corners, first order (Sionna only)."""
    train: str = "image"
    """Backend of the train and test splits."""
    evaluation: str = "sionna"
    """Backend of the evaluation splits."""
    num_rays: int = 5000
    """Rays that Sionna shoots from the receiver to discover chains of walls."""
    table_size: int = 16_777_216
    """Counters of the chains that Sionna has seen; sets how many candidates it solves in one call."""

    def __post_init__(self) -> None:
        check_range("twin.max_depth", self.max_depth, 0)
        check_range("twin.max_paths", self.max_paths, 1)
        check_range("twin.wall_thickness", self.wall_thickness, 0.0, open_low=True)
        for name in ("train", "evaluation"):
            if getattr(self, name) not in BACKENDS:
                raise ValueError(f"Expected 'twin.{name}' in {list(BACKENDS)}, got {getattr(self, name)!r}")
        check_range("twin.num_rays", self.num_rays, 2)
        check_range("twin.table_size", self.table_size, 1)


@dataclass(frozen=True)
class TwinCheck:
    """Size of the comparison of both twins in chapter 1."""

    num_layouts: int = 10
    num_candidates: int = 500

    def __post_init__(self) -> None:
        check_range("twin_check.num_layouts", self.num_layouts, 1)
        check_range("twin_check.num_candidates", self.num_candidates, 1)


@dataclass(frozen=True)
class Training:
    """Sizes of the train and test splits (Sec. III-A)."""

    num_layouts: int = 8000
    num_test_layouts: int = 2000
    num_candidates: int = 500
    """Random candidates a layout."""

    def __post_init__(self) -> None:
        check_range("training.num_layouts", self.num_layouts, 1)
        check_range("training.num_test_layouts", self.num_test_layouts, 1)
        check_range("training.num_candidates", self.num_candidates, 1)


@dataclass(frozen=True)
class Evaluation:
    """Sizes of Eval Random and Eval Grid (Sec. III-A)."""

    num_layouts: int = 2000
    num_candidates: int = 1000
    """Random candidates a layout of Eval Random."""
    num_grid_candidates: int = 696
    """Points of the grid that are kept for a layout of Eval Grid."""

    def __post_init__(self) -> None:
        check_range("evaluation.num_layouts", self.num_layouts, 1)
        check_range("evaluation.num_candidates", self.num_candidates, 1)
        check_range("evaluation.num_grid_candidates", self.num_grid_candidates, 1)


@dataclass(frozen=True)
class Storage:
    """How stores of many groups are cut."""

    block: int = 20
    """Groups that are computed, stored and checked as one: what is lost at most when a run is killed."""

    def __post_init__(self) -> None:
        check_range("storage.block", self.block, 1)


@dataclass(frozen=True)
class Config:
    """All settings of a run."""

    seed: int = 0
    room: Room = field(default_factory=Room)
    radio: Radio = field(default_factory=Radio)
    twin: TwinOptions = field(default_factory=TwinOptions)
    twin_check: TwinCheck = field(default_factory=TwinCheck)
    training: Training = field(default_factory=Training)
    evaluation: Evaluation = field(default_factory=Evaluation)
    storage: Storage = field(default_factory=Storage)

    def __post_init__(self) -> None:
        check_range("seed", self.seed, 0)
        kept, feasible = self.evaluation.num_grid_candidates, self.room.min_feasible
        if kept > feasible:
            raise ValueError(
                f"Expected 'evaluation.num_grid_candidates' at most 'room.min_feasible' = {feasible}, got {kept}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dictionary, ready for YAML."""
        return {key: _plain(value) for key, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Inverse of :meth:`to_dict`; missing keys take their defaults, unknown ones are errors."""
        config = _build(cls, values, "")
        assert isinstance(config, cls)
        return config


def profile_names() -> list[str]:
    """Names that :func:`load_config` accepts."""
    return sorted(p.name[:-4] for p in (resources.files("locus") / "profiles").iterdir() if p.name.endswith(".yml"))


def load_config(profile: str, changes: Mapping[str, Any] | None = None) -> Config:
    """Settings of a profile, with ``changes`` given as ``{"section.field": value}``.

    Raises:
        ValueError: the profile or a key is unknown, or a value is ill-typed or out of range.
    """
    if profile not in profile_names():
        raise ValueError(f"Expected 'profile' in {profile_names()}, got {profile!r}")
    text = (resources.files("locus") / "profiles" / f"{profile}.yml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text) or {}
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


def parse_changes(settings: list[str]) -> dict[str, Any]:
    """Changes from the command line: ``["room.size=80"]`` becomes ``{"room.size": 80}``."""
    changes = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ValueError(f"Expected a setting like 'room.size=80', got {setting!r}")
        changes[key] = yaml.safe_load(value)
    return changes


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _build(kind: type, values: Any, prefix: str) -> Any:
    """Dataclass of type ``kind`` from a mapping, each value checked against its annotation."""
    if not isinstance(values, Mapping):
        raise ValueError(f"Expected settings for '{prefix[:-1]}', got {values!r}")
    hints = typing.get_type_hints(kind)
    for key in values:
        if key not in hints:
            raise ValueError(f"Expected one of {sorted(hints)} in '{prefix or 'configuration'}', got {prefix}{key}")
    return kind(**{key: _convert(hints[key], value, f"{prefix}{key}") for key, value in values.items()})


def _convert(hint: Any, value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type, hint), value, f"{name}.")
    if typing.get_origin(hint) is tuple:
        items = typing.get_args(hint)
        if not isinstance(value, list | tuple) or len(value) != len(items):
            raise ValueError(f"Expected '{name}' as a list of {len(items)} values, got {value!r}")
        return tuple(_convert(item, part, name) for item, part in zip(items, value, strict=True))
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise ValueError(f"Expected '{name}' of type {hint.__name__}, got {value!r} ({type(value).__name__})")
    return value
