"""The score: traced paths of every candidate and observed paths in, a posterior over the candidates out.

:class:`Method` is the base class of LOCUS-DT (:mod:`locus.score.pairwise`) and of the baselines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from locus.score.options import HIDDEN as HIDDEN
from locus.score.options import MethodOptions as MethodOptions
from locus.score.posterior import exponentiated, labelled
from locus.score.posterior import normalise as normalise

RECIPE = 1


class Method(nn.Module, ABC):  # type: ignore[misc]
    """A network that scores every candidate of a group for every snapshot.

    Args:
        options: options of the network; by default those of ``MethodOptions()``.
    """

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
        device = next(self.parameters()).device

        def scores(observed: xr.Dataset) -> NDArray[np.float32]:
            inputs = (self.candidates(paths), self.conditions(paths, observed))
            with torch.no_grad():
                return np.asarray(self(*(torch.from_numpy(part).to(device) for part in inputs)).cpu())

        return labelled(scores, paths, observed, prior)

    def posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Probability of every candidate, eq. (9), normalised over the candidates as in eq. (16).

        Args:
            paths: traced paths (candidate, path), as returned by :meth:`locus.Twin.trace`.
            observed: estimated paths (path) or (snapshot, path), as returned by :func:`locus.estimate`.
            prior: non-negative weight of every candidate, (candidate); uniform by default.

        Returns:
            DataArray (candidate) or (snapshot, candidate) that sums to 1 over the candidates, coordinates x and y.
        """
        return exponentiated(self.log_posterior(paths, observed, prior))


class Scorer(Protocol):
    """Whatever turns traced paths and what a receiver saw into a posterior: methods and ideal receivers."""

    @property
    def sees(self) -> str:
        """Part of a case that it looks at: ``observed`` paths, or ``snapshots`` of IQ samples."""

    def log_posterior(self, paths: xr.Dataset, seen: xr.Dataset, /) -> xr.DataArray:
        """Log posterior (snapshot, candidate)."""
