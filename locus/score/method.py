"""The score: traced paths of every candidate and observed paths in, a posterior over the candidates out.

:class:`Method` is the base class of LOCUS-DT (:mod:`locus.score.pairwise`) and of the baselines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from locus.score.features import PER_PATH
from locus.settings.config import FeatureOptions
from locus.twin.base import ATTRIBUTES

RECIPE = 1

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


class Method(nn.Module, ABC):  # type: ignore[misc]
    """A network that scores every candidate of a group for every snapshot."""

    name: ClassVar[str]
    sees: ClassVar[str] = "observed"
    encodings: ClassVar[tuple[str, ...]] = ("plain",)

    def __init__(self, options: MethodOptions | None = None) -> None:
        super().__init__()
        self.options = options or MethodOptions()
        if self.options.encoding not in self.encodings:
            raise ValueError(f"Expected 'encoding' in {list(self.encodings)}, got {self.options.encoding!r}")

    @abstractmethod
    def candidates(self, paths: xr.Dataset) -> NDArray[np.float32]:
        """Network inputs for each candidate, (..., candidate, feature)."""

    @abstractmethod
    def conditions(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:
        """Network inputs for each snapshot, (..., snapshot, feature)."""

    @abstractmethod
    def forward(self, candidates: Tensor, conditions: Tensor) -> Tensor:
        """Scores (..., snapshot, candidate), eq. (14)."""

    def loss(self, candidates: Tensor, truths: Tensor, conditions: Tensor, dropped: Tensor) -> Tensor:
        """Mean cross-entropy of eq. (17) over the truth and all candidates but one.

        Args:
            candidates: inputs for the candidates of each group, (group, candidate, feature).
            truths: inputs for the true candidate of each snapshot, (group, snapshot, feature).
            conditions: inputs for each snapshot, (group, snapshot, feature).
            dropped: index of the candidate to ignore for each snapshot, (group, snapshot): the truth, if among them.
        """
        scores = self(candidates, conditions).scatter(-1, dropped[..., None], -torch.inf)
        true = self(truths[..., None, :], conditions[..., None, :])[..., 0]
        return (torch.logsumexp(torch.cat([scores, true], -1), -1) - true[..., 0]).mean()

    def log_posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Logarithm of :meth:`posterior`, accurate even where the posterior underflows."""
        single = "snapshot" not in observed.dims
        observed = observed.expand_dims("snapshot") if single else observed
        device = next(self.parameters()).device
        inputs = (self.candidates(paths), self.conditions(paths, observed))
        with torch.no_grad():
            scores = self(*(torch.from_numpy(part).to(device) for part in inputs)).cpu().numpy()
        values = normalise(scores, prior)
        coordinates = {name: ("candidate", paths[name].values, ATTRIBUTES[name]) for name in ("x", "y")}
        attributes = {"units": "1", "long_name": "logarithm of the posterior"}
        result = xr.DataArray(values, coordinates, ("snapshot", "candidate"), attrs=attributes)
        return result.isel(snapshot=0) if single else result

    def posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Probability of every candidate, eq. (9), normalised over the candidates as in eq. (16).

        Args:
            paths: traced paths (candidate, path), as returned by :meth:`locus.Twin.trace`.
            observed: estimated paths (path) or (snapshot, path), as returned by :func:`locus.estimate`.
            prior: non-negative weight of every candidate, (candidate); uniform by default.

        Returns:
            DataArray (candidate) or (snapshot, candidate) that sums to 1 over the candidates, coordinates x and y.
        """
        logarithm = self.log_posterior(paths, observed, prior)
        return logarithm.copy(data=np.exp(logarithm.values)).assign_attrs(long_name="posterior probability")


class Scorer(Protocol):
    """Whatever turns traced paths and what a receiver saw into a posterior: methods and ideal receivers."""

    @property
    def sees(self) -> str:
        """Part of a case that it looks at: ``observed`` paths, or ``snapshots`` of IQ samples."""

    def log_posterior(self, paths: xr.Dataset, seen: xr.Dataset, /) -> xr.DataArray:
        """Log posterior (snapshot, candidate)."""


def normalise(scores: NDArray[np.floating], prior: ArrayLike | None = None) -> NDArray[np.float64]:
    """Log posterior (..., candidate) from scores and a prior, without overflow.

    Raises:
        ValueError: the prior has the wrong shape, is negative or not finite somewhere, or is zero everywhere.
    """
    logits = scores.astype(np.float64)
    if prior is not None:
        weights = np.asarray(prior, dtype=np.float64)
        if weights.shape != logits.shape[-1:]:
            raise ValueError(
                f"Expected 'prior' of shape {logits.shape[-1:]}, one weight per candidate, got {weights.shape}"
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
            raise ValueError(f"Expected 'prior' finite, non-negative and not all zero, got {weights}")
        logits = logits + np.log(weights, out=np.full_like(weights, -np.inf), where=weights > 0)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))
