"""Fused CPU kernel for the pairwise network: features and weights in, loss and all gradients out.

Torch would write and read the hidden layers of every pair several times; here they stay in the cache from the features
to the gradients. The arithmetic is that of :class:`locus.score.pairwise.PairNetwork`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

Float = NDArray[np.float32]

_ROWS = 192
"""Rows per matrix product: few enough for OpenBLAS to run on the calling thread only."""


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)  # type: ignore[untyped-decorator]
def _loss(
    candidates: Float,
    truths: Float,
    conditions: Float,
    dropped: NDArray[np.int64],
    from_twin: Float,
    from_observation: Float,
    offset: Float,
    weight: Float,
    bias: Float,
    last: Float,
    losses: NDArray[np.float64],
    d_from_twin: Float,
    d_from_observation: Float,
    d_offset: Float,
    d_weight: Float,
    d_bias: Float,
    d_last: Float,
) -> None:
    """Losses (group, snapshot) and gradients of the weights, one per group so that they are summed in a fixed order."""
    num_groups, num_candidates = candidates.shape[:2]
    num_snapshots, width = conditions.shape[1], len(offset)
    scale = 1.0 / (num_groups * num_snapshots)
    for g in numba.prange(num_groups):
        twin = np.empty((num_candidates, width), dtype=np.float32)
        for start in range(0, num_candidates, _ROWS):
            np.dot(candidates[g, start : start + _ROWS], from_twin.T, twin[start : start + _ROWS])
        truth = np.dot(truths[g], from_twin.T)
        observed = np.dot(conditions[g], from_observation.T) + offset
        d_twin, d_truth, d_observed = np.zeros_like(twin), np.zeros_like(truth), np.zeros_like(observed)
        # Hidden layers of all pairs of one snapshot; the truth is in the last row
        first = np.empty((num_candidates + 1, width), dtype=np.float32)
        second = np.empty((num_candidates + 1, len(last)), dtype=np.float32)
        score = np.empty(num_candidates + 1, dtype=np.float32)
        share = np.empty(num_candidates + 1, dtype=np.float64)
        to_first = np.empty_like(first)
        to_weight = np.empty_like(weight)
        columns = np.ascontiguousarray(weight.T)
        for s in range(num_snapshots):
            _first_layer(twin, truth[s], observed[s], first)
            for start in range(0, num_candidates + 1, _ROWS):
                np.dot(first[start : start + _ROWS], columns, second[start : start + _ROWS])
            for c in range(num_candidates + 1):
                total = np.float32(0)
                for j in range(len(last)):
                    second[c, j] = max(second[c, j] + bias[j], np.float32(0))
                    total += last[j] * second[c, j]
                score[c] = total
            score[dropped[g, s]] = -np.inf
            top = score.max()
            total_weight = 0.0
            for c in range(num_candidates + 1):
                share[c] = np.exp(np.float64(score[c] - top))
                total_weight += share[c]
            losses[g, s] = top - score[-1] + np.log(total_weight)
            for c in range(num_candidates + 1):
                slope = share[c] / total_weight
                if c == num_candidates:
                    slope -= 1.0
                slope = np.float32(scale * slope)
                for j in range(len(last)):
                    active = second[c, j] > 0
                    d_last[g, j] += slope * second[c, j]
                    second[c, j] = slope * last[j] if active else np.float32(0)
                    d_bias[g, j] += second[c, j]
            for start in range(0, num_candidates + 1, _ROWS):
                np.dot(second[start : start + _ROWS].T, first[start : start + _ROWS], to_weight)
                d_weight[g] += to_weight
                np.dot(second[start : start + _ROWS], weight, to_first[start : start + _ROWS])
            for c in range(num_candidates + 1):
                into = d_truth[s] if c == num_candidates else d_twin[c]
                for i in range(width):
                    push = to_first[c, i] if first[c, i] > 0 else np.float32(0)
                    into[i] += push
                    d_observed[s, i] += push
        d_from_twin[g] = np.dot(d_truth.T, truths[g])
        for start in range(0, num_candidates, _ROWS):
            d_from_twin[g] += np.dot(d_twin[start : start + _ROWS].T, candidates[g, start : start + _ROWS])
        d_from_observation[g] = np.dot(d_observed.T, conditions[g])
        d_offset[g] = d_observed.sum(axis=0)


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)  # type: ignore[untyped-decorator]
def _scores(twin: Float, observed: Float, weight: Float, bias: Float, last: Float, scores: Float) -> None:
    """Scores (group, snapshot, candidate) without the last bias."""
    num_groups, num_candidates, width = twin.shape
    for g in numba.prange(num_groups):
        first = np.empty((num_candidates, width), dtype=np.float32)
        second = np.empty((num_candidates, len(last)), dtype=np.float32)
        columns = np.ascontiguousarray(weight.T)
        for s in range(observed.shape[1]):
            _first_layer(twin[g], observed[g, s], observed[g, s], first)
            for start in range(0, num_candidates, _ROWS):
                np.dot(first[start : start + _ROWS], columns, second[start : start + _ROWS])
            for c in range(num_candidates):
                total = np.float32(0)
                for j in range(len(last)):
                    total += last[j] * max(second[c, j] + bias[j], np.float32(0))
                scores[g, s, c] = total


def fused_scores(*layers: torch.Tensor) -> torch.Tensor:
    """Scores (..., snapshot, candidate) from the first layer's outputs for candidates and snapshots; no gradients."""
    twin, observed, weight, bias, last = (layer.detach().contiguous().numpy() for layer in layers)
    scores = np.empty((*observed.shape[:-1], twin.shape[-2]), dtype=np.float32)
    groups = [part.reshape(-1, *part.shape[-2:]) for part in (twin, observed, scores)]
    _scores(groups[0], groups[1], weight, bias, last, groups[2])
    return torch.from_numpy(scores)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _first_layer(twin: Float, truth: Float, observed: Float, out: Float) -> None:
    for c in range(len(out)):
        row = truth if c == len(twin) else twin[c]
        for i in range(len(observed)):
            out[c, i] = max(row[i] + observed[i], np.float32(0))


class FusedLoss(torch.autograd.Function):  # type: ignore[misc]
    """Mean sampled cross-entropy of eq. (17) over a batch of groups, differentiable in the network's weights."""

    @staticmethod
    def forward(
        ctx: Any,
        candidates: torch.Tensor,
        truths: torch.Tensor,
        conditions: torch.Tensor,
        dropped: torch.Tensor,
        *weights: torch.Tensor,
    ) -> torch.Tensor:
        """Loss for candidates (group, candidate, feature), truths and conditions (group, snapshot, feature).

        The weights are, in order: the first layer's for the twin, for the observation, and its bias; weight and bias of
        the second layer; weight of the last.
        """
        inputs = [tensor.contiguous().numpy() for tensor in (candidates, truths, conditions, dropped)]
        layers = [tensor.detach().contiguous().numpy() for tensor in weights]
        losses = np.empty(conditions.shape[:2])
        gradients = [np.zeros((len(candidates), *layer.shape), dtype=np.float32) for layer in layers]
        _loss(*inputs, *layers, losses, *gradients)
        ctx.gradients = [torch.from_numpy(gradient.sum(0)) for gradient in gradients]
        return torch.tensor(losses.mean(), dtype=candidates.dtype)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> Any:
        """Gradients, already computed in the forward pass."""
        return None, None, None, None, *(upstream * gradient for gradient in ctx.gradients)
