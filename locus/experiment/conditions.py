"""Conditions: ways in which a twin can be wrong, in; the world that is heard, and the paths that the twin expects, out.

Snapshots come from the true room; candidates are traced in a room, for a pose, or with physics that differ. Everything
except diffraction and refraction is traced by the exact image twin, so that these errors are the only mismatch.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import xarray as xr

from locus.experiment.case import Case, Transmitters
from locus.room import errors
from locus.room.materials import defined
from locus.settings.config import Config, Radio, TwinOptions
from locus.twin import Twin, make_twin

METRES = (0.1, 0.3, 1.0, 3.0)
"""Sizes of errors of lengths [m]."""
SPLIT = "eval_random"
"""Split whose first rooms are evaluated."""

_DEGREES = (0.3, 1.0, 3.0, 5.0, 10.0)
_MATERIALS = ("brick", "wood", "glass", "metal")
_SCALE = 0.02
_SMALL = {"obstacles": 1.0, "walls": 1.0, "position": 1.0, "heading": math.radians(5)}
_WORLD_PATHS = 64  # a world has all of its paths, whatever number a twin keeps


@dataclass(frozen=True)
class Condition:
    """One kind and size of error."""

    kind: str
    label: str
    errors: dict[str, Any] = field(default_factory=dict)
    """Errors of the twin, in the form that :func:`locus.room.errors.believed` takes."""
    moved: float = 0.0
    """Distance of the transmitter from its candidate [m]."""
    world: dict[str, Any] = field(default_factory=dict)
    """Options of the twin that traces the world, where they differ from the run's."""
    twin: dict[str, Any] = field(default_factory=dict)
    """Options of the twin that traces the candidates, where they differ from the run's."""

    @property
    def small(self) -> bool:
        """Whether all errors are of plan and pose, and at most 1 m and 5 degrees."""
        known = all(kind in _SMALL and size <= _SMALL[kind] for kind, size in self.errors.items())
        return known and not (self.moved or self.world or self.twin)


def conditions(config: Config) -> list[Condition]:
    """Conditions to evaluate, the exact twin first. Kind ``all`` is :func:`locus.room.errors.everything`."""
    return [
        Condition("none", "exact"),
        *(Condition(kind, f"{m:g} m", {kind: m}) for kind in ("obstacles", "walls", "position") for m in METRES),
        *(Condition("heading", f"{angle:g}°", {"heading": math.radians(angle)}) for angle in _DEGREES),
        *(Condition("missing", f"{n}", {"missing": n}) for n in range(1, min(3, config.room.num_obstacles) + 1)),
        *(Condition("material", name, {"material": name}) for name in other_materials(config)),
        *(Condition("transmitter", f"{m:g} m", moved=m) for m in METRES),
        *(Condition("all", f"{m:g} m", errors.everything(m)) for m in METRES),
        Condition("scale", f"{100 * _SCALE:g} %", {"scale": _SCALE}),
        *_depths(config.twin.max_depth),
        *(Condition("physics", name, world={name: True}) for name in ("diffraction", "refraction")),
    ]


def other_materials(config: Config) -> list[str]:
    """Wrong materials to try."""
    return [name for name in _MATERIALS if name != config.room.material and defined(name, config.radio.carrier)]


def _depths(depth: int) -> list[Condition]:
    """Twins that trace fewer reflections than the world has; the label has both numbers."""
    shallow = [Condition("depth", f"{depth - 1} of {depth}", twin={"max_depth": depth - 1})] if depth else []
    deep = [Condition("depth", f"{depth} of {more}", world={"max_depth": more}) for more in (depth + 1, depth + 2)]
    return shallow + deep


def exact_case(config: Config, index: int) -> Case:
    """Group of Eval Random, traced by the exact twin."""
    return Case(config, SPLIT, index, make_twin("image", config.radio, config.twin))


def heard(exact: Case, condition: Condition) -> Case:
    """Return the group with the snapshots of a condition, given the group without any error."""
    if condition.moved:
        return exact.moved(condition.moved, METRES)
    if condition.world:
        world = world_twin(exact.config, condition)
        return OtherWorld(exact.config, exact.split, exact.index, exact.twin, exact.paths, world)
    return exact


def expected(exact: Case, condition: Condition) -> xr.Dataset:
    """Paths (candidate, path) that the twin of a condition expects, given the group without any error."""
    if condition.errors:
        return exact.trace_believed(exact.believed(condition.errors))
    if condition.twin:
        config = exact.config
        twin = make_twin("image", config.radio, replace(config.twin, **condition.twin))
        return twin.trace(exact.layout, exact.pose, exact.candidates)
    return exact.paths


def world_twin(config: Config, condition: Condition) -> Twin:
    """Twin that traces the world of a condition: Sionna where the image twin lacks an effect."""
    options = replace(config.twin, max_paths=max(_WORLD_PATHS, config.twin.max_paths), **condition.world)
    return _make_once("sionna" if options.diffraction or options.refraction else "image", config.radio, options)


@functools.cache
def _make_once(name: str, radio: Radio, options: TwinOptions) -> Twin:
    """One twin per process, so that Sionna compiles its kernels only once."""
    return make_twin(name, radio, options)


@dataclass(frozen=True)
class OtherWorld(Case):
    """A case whose snapshots come from a world that another twin traces; transmitters and noise stay the same."""

    world: Twin | None = None

    @functools.cached_property
    def transmitters(self) -> Transmitters:
        """The case's own transmitters, with the paths of the world."""
        assert self.world is not None
        truth, rngs = self._draw_truth()
        position = self.candidates[truth]
        traced = self.world.trace(self.layout, self.pose, position)
        return Transmitters(position, truth, traced.reset_coords(drop=True).rename(candidate="snapshot"), rngs)
