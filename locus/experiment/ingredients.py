"""Ingredients of recipes: the settings and ``RECIPE`` numbers that traced paths and estimates depend on."""

from __future__ import annotations

import dataclasses
from typing import Any

from locus.experiment import splits
from locus.receiver import estimator, observation
from locus.room import layout
from locus.settings.checks import plain
from locus.settings.config import Config
from locus.twin import base

_GEOMETRY = ("max_depth", "max_paths", "wall_thickness", "refraction", "diffraction")
_OF_BACKEND = {"image": (), "sionna": ("num_rays", "table_size")}


def of_paths(config: Config, split: str, backend: str | None = None) -> dict[str, Any]:
    """Everything that the traced paths of a group depend on; ``backend`` names a twin other than the split's own."""
    name = backend or splits.backend(config, split)
    return {
        "split": split,
        "seed": config.seed,
        "num_candidates": splits.num_candidates(config, split),
        "backend": name,
        "room": plain(dataclasses.asdict(config.room)),
        "carrier": config.radio.carrier,
        "twin": {field: getattr(config.twin, field) for field in (*_GEOMETRY, *_OF_BACKEND[name])},
        "recipes": {"layout": layout.RECIPE, "twin": base.RECIPE},
    }


def of_snapshots(config: Config, split: str, backend: str | None = None) -> dict[str, Any]:
    """Everything that the samples of a group's snapshots depend on."""
    return {
        "paths": of_paths(config, split, backend),
        "num_snapshots": splits.num_snapshots(config, split),
        "transmitter": dataclasses.asdict(config.transmitter),
        "radio": dataclasses.asdict(config.radio),
        "recipes": {"observation": observation.RECIPE},
    }


def of_estimates(config: Config, split: str, backend: str | None = None) -> dict[str, Any]:
    """Everything that the estimated paths of a group's snapshots depend on."""
    snapshots = of_snapshots(config, split, backend)
    return {
        **snapshots,
        "estimator": dataclasses.asdict(config.estimator),
        "recipes": {**snapshots["recipes"], "estimator": estimator.RECIPE},
    }
