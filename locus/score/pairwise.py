r"""LOCUS-DT's network, :math:`G_\omega` of eq. (8): features of a candidate and of the observed paths in, a score out.

Each side has a linear layer; two more layers follow on their sum.
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
    """LOCUS-DT: 36 features of a candidate and an observation, hidden layers of 64 and 16, one score.

    The first layer is linear in the concatenated features, so it is computed once per candidate and once per snapshot
    and the results are added for each pair.
    """

    name = "locus_dt"

    def __init__(self, options: MethodOptions | None = None) -> None:
        super().__init__(options)
        together = nn.Linear(2 * self.options.num_features, HIDDEN[0])  # for torch's default initialisation
        twin, observation = together.weight.detach().chunk(2, dim=1)
        self.twin = nn.Parameter(twin.clone())
        self.observation = nn.Parameter(observation.clone())
        self.bias = nn.Parameter(together.bias.detach().clone())
        self.hidden = nn.Linear(*HIDDEN)
        self.last = nn.Linear(HIDDEN[1], 1)

    def candidates(self, paths: xr.Dataset) -> NDArray[np.float32]:
        """Features of the traced paths."""
        return features(paths, self.options.num_paths, self.options.features)

    def conditions(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:  # noqa: ARG002
        """Features of the observed paths."""
        return features(observed, self.options.num_paths, self.options.features)

    def forward(self, candidates: Tensor, conditions: Tensor) -> Tensor:
        """Scores of all pairs, (..., snapshot, candidate)."""
        twin, observed = candidates @ self.twin.T, conditions @ self.observation.T + self.bias
        if candidates.device.type == "cpu" and candidates.dtype == torch.float32 and not torch.is_grad_enabled():
            scores: Tensor = fused_scores(twin, observed, self.hidden.weight, self.hidden.bias, self.last.weight[0])
            return scores + self.last.bias
        pairs = torch.relu(twin[..., None, :, :] + observed[..., :, None, :])
        return self.last(torch.relu(self.hidden(pairs)))[..., 0]

    def loss(self, candidates: Tensor, truths: Tensor, conditions: Tensor, dropped: Tensor) -> Tensor:
        """Same as for every method, but computed in a single pass over the pairs on a CPU."""
        if candidates.device.type != "cpu":
            return super().loss(candidates, truths, conditions, dropped)
        weights = (self.twin, self.observation, self.bias, self.hidden.weight, self.hidden.bias, self.last.weight[0])
        # The last bias shifts all scores alike, so it does not affect the posterior
        result: Tensor = FusedLoss.apply(candidates, truths, conditions, dropped, *weights)
        return result
