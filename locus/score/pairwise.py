"""LOCUS-DT's network: features of a candidate's and of the observed paths in, their score out.

G of eq. (8): a layer for each side, added, and two more layers on the sum.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from locus.score.features import features
from locus.score.method import HIDDEN, Method, MethodOptions
from locus.score.pairwise_cpu import FusedLoss, fused_scores


class PairNetwork(Method):
    """LOCUS-DT: 36 numbers of a candidate and an observation through layers of 64 and 16 to one score.

    The first layer is linear in both sides together, so that it is computed once a candidate and once a snapshot
    instead of once a pair, and added.
    """

    name = "locus_dt"

    def __init__(self, options: MethodOptions | None = None) -> None:
        super().__init__(options)
        together = nn.Linear(2 * self.options.num_features, HIDDEN[0])  # for torch's usual starting values
        twin, observation = together.weight.detach().chunk(2, dim=1)
        self.twin = nn.Parameter(twin.clone())
        self.observation = nn.Parameter(observation.clone())
        self.bias = nn.Parameter(together.bias.detach().clone())
        self.hidden = nn.Linear(*HIDDEN)
        self.last = nn.Linear(HIDDEN[1], 1)

    def candidates(self, paths: xr.Dataset) -> NDArray[np.float32]:
        """Features of the twin's paths."""
        return features(paths, self.options.num_paths, self.options.features)

    def conditions(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:  # noqa: ARG002
        """Features of the observed paths."""
        return features(observed, self.options.num_paths, self.options.features)

    def forward(self, candidates: Tensor, conditions: Tensor) -> Tensor:
        """Scores of all pairs."""
        twin, observed = candidates @ self.twin.T, conditions @ self.observation.T + self.bias
        if candidates.device.type == "cpu" and candidates.dtype == torch.float32 and not torch.is_grad_enabled():
            scores: Tensor = fused_scores(twin, observed, self.hidden.weight, self.hidden.bias, self.last.weight[0])
            return scores + self.last.bias
        pairs = torch.relu(twin[..., None, :, :] + observed[..., :, None, :])
        return self.last(torch.relu(self.hidden(pairs)))[..., 0]

    def loss(self, candidates: Tensor, truths: Tensor, conditions: Tensor, dropped: Tensor) -> Tensor:
        """As for every method; on a processor in one pass over the pairs."""
        if candidates.device.type != "cpu":
            return super().loss(candidates, truths, conditions, dropped)
        weights = (self.twin, self.observation, self.bias, self.hidden.weight, self.hidden.bias, self.last.weight[0])
        # The last bias moves all scores alike, and so no posterior
        result: Tensor = FusedLoss.apply(candidates, truths, conditions, dropped, *weights)
        return result
