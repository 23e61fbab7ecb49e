"""LOCUS-DT: one radio snapshot in, a map of where the transmitter may be out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from locus.config import Config as Config
    from locus.config import EstimatorOptions as EstimatorOptions
    from locus.config import Radio as Radio
    from locus.config import Room as Room
    from locus.config import TwinOptions as TwinOptions
    from locus.estimator import estimate as estimate
    from locus.explorer import explore as explore
    from locus.layout import Layout as Layout
    from locus.layout import Pose as Pose
    from locus.location import locate as locate
    from locus.methods import load_scorer as load_scorer
    from locus.observation import observe as observe
    from locus.profiles import load_config as load_config
    from locus.run import Run as Run
    from locus.run import open_run as open_run
    from locus.twin import Twin as Twin
    from locus.twin import make_twin as make_twin

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

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `locus --help` should not wait for a compiler."""
    if name not in _HOMES:
        raise AttributeError(f"module 'locus' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Public names, too, although none is there before its first use."""
    return sorted({*globals(), *__all__})
