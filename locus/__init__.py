"""LOCUS-DT: a posterior map of the transmitter's position from one radio snapshot and a digital twin of the room."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from locus.capture.locate import locate as locate
    from locus.capture.read import read_capture as read_capture
    from locus.experiment.run import Run as Run
    from locus.experiment.run import open_run as open_run
    from locus.experiment.weights import load_scorer as load_scorer
    from locus.explorer import explore as explore
    from locus.receiver.estimator import estimate as estimate
    from locus.receiver.observation import observe as observe
    from locus.room.layout import Layout as Layout
    from locus.room.layout import Pose as Pose
    from locus.score.path_set import PathSet as PathSet
    from locus.score.tolerance import Tolerance as Tolerance
    from locus.score.walk import Odometry as Odometry
    from locus.score.walk import Walk as Walk
    from locus.settings.config import Config as Config
    from locus.settings.config import EstimatorOptions as EstimatorOptions
    from locus.settings.config import Radio as Radio
    from locus.settings.config import Room as Room
    from locus.settings.config import TwinOptions as TwinOptions
    from locus.settings.profiles import load_config as load_config
    from locus.twin import Twin as Twin
    from locus.twin import make_twin as make_twin

__version__ = "0.1.0"

HOMES = {
    "Config": "locus.settings.config",
    "EstimatorOptions": "locus.settings.config",
    "Layout": "locus.room.layout",
    "Odometry": "locus.score.walk",
    "PathSet": "locus.score.path_set",
    "Pose": "locus.room.layout",
    "Radio": "locus.settings.config",
    "Room": "locus.settings.config",
    "Run": "locus.experiment.run",
    "Tolerance": "locus.score.tolerance",
    "Twin": "locus.twin",
    "TwinOptions": "locus.settings.config",
    "Walk": "locus.score.walk",
    "estimate": "locus.receiver.estimator",
    "explore": "locus.explorer",
    "load_config": "locus.settings.profiles",
    "load_scorer": "locus.experiment.weights",
    "locate": "locus.capture.locate",
    "make_twin": "locus.twin",
    "observe": "locus.receiver.observation",
    "open_run": "locus.experiment.run",
    "read_capture": "locus.capture.read",
}
"""Module of each public name."""

__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `locus --help` does not load torch, numba and Sionna."""
    if name not in HOMES:
        raise AttributeError(f"module 'locus' has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names as well, including those not imported yet."""
    return sorted({*globals(), *__all__})
