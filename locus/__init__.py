"""LOCUS-DT: one radio snapshot in, a map of where the transmitter may be out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from locus.config import Config, EstimatorOptions, Radio, Room, TwinOptions
    from locus.estimator import estimate
    from locus.explorer import explore
    from locus.layout import Layout, Pose
    from locus.location import locate
    from locus.methods import load_scorer
    from locus.observation import observe
    from locus.profiles import load_config
    from locus.run import Run, open_run
    from locus.twin import Twin, make_twin

__version__ = "0.1.0"

_HOMES = {
    "Config": "locus.config",
    "EstimatorOptions": "locus.config",
    "Layout": "locus.layout",
    "Pose": "locus.layout",
    "Radio": "locus.config",
    "Room": "locus.config",
    "Run": "locus.run",
    "Twin": "locus.twin",
    "TwinOptions": "locus.config",
    "estimate": "locus.estimator",
    "explore": "locus.explorer",
    "load_config": "locus.profiles",
    "load_scorer": "locus.methods",
    "locate": "locus.location",
    "make_twin": "locus.twin",
    "observe": "locus.observation",
    "open_run": "locus.run",
}

__all__ = [
    "Config",
    "EstimatorOptions",
    "Layout",
    "Pose",
    "Radio",
    "Room",
    "Run",
    "Twin",
    "TwinOptions",
    "estimate",
    "explore",
    "load_config",
    "load_scorer",
    "locate",
    "make_twin",
    "observe",
    "open_run",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `locus --help` should not wait for a compiler."""
    if name not in _HOMES:
        raise AttributeError(f"module 'locus' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
