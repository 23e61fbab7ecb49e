"""Options of the networks, which are stored with their weights; their names and layer widths. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from locus.score.features import PER_PATH
from locus.settings.checks import check_fields, check_range
from locus.settings.config import MAX_PATHS, FeatureOptions

HIDDEN = (64, 16)
"""Widths of the hidden layers of all networks (Sec. III-D)."""

METHOD_TITLES = {
    "locus_dt": "LOCUS-DT",
    "gauss_cart": "Gauss-Cart",
    "gauss_polar": "Gauss-Polar",
    "gmm_cart": "GMM-Cart",
}
"""Names of the trained methods as the paper prints them, LOCUS-DT first."""


@dataclass(frozen=True)
class MethodOptions:
    """Options of a network, stored with its weights."""

    num_paths: int = 6
    """Number of traced and of observed paths used, :math:`K` in the paper."""
    features: FeatureOptions = field(default_factory=FeatureOptions)
    size: float = 100.0
    """Side of the training rooms [m]; the baselines' unit of length is half of it."""
    encoding: str = "plain"
    """Encoding of angles and positions for the baselines (see :mod:`locus.score.densities`); LOCUS-DT has only one."""

    def __post_init__(self) -> None:
        check_fields(self, "options.")
        check_range("options.num_paths", self.num_paths, 1, MAX_PATHS)
        check_range("options.size", self.size, 0.0, 1e6, open_low=True)

    @property
    def num_features(self) -> int:
        """Number of features of one path set."""
        return PER_PATH * self.num_paths
