"""Options of the networks, stored with their weights, and their size. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from locus.score.features import PER_PATH
from locus.settings.config import FeatureOptions

HIDDEN = (64, 16)
"""Widths of the hidden layers of all networks (Sec. III-D)."""


@dataclass(frozen=True)
class MethodOptions:
    """Options of a network, stored with its weights."""

    num_paths: int = 6
    """Number of traced and of observed paths used, K in the paper."""
    features: FeatureOptions = field(default_factory=FeatureOptions)
    size: float = 100.0
    """Side of the training rooms [m]; the baselines' unit of length is half of it."""
    encoding: str = "plain"
    """Encoding of angles and positions for the baselines (see :mod:`locus.score.densities`); LOCUS-DT has only one."""

    @property
    def num_features(self) -> int:
        """Number of features of one path set."""
        return PER_PATH * self.num_paths
