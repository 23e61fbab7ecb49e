"""Fused loss of the pairwise network on processors: first-layer outputs in, loss and all gradients out.

Torch would write and read every hidden layer of every pair several times; here a pair stays in registers and the first
cache from its features to its gradients. The arithmetic is that of :class:`locus.score.PairNetwork`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

Float = NDArray[np.float32]


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)  # type: ignore[untyped-decorator]
def _loss(
    twin: Float,
    truth: Float,
    observed: Float,
    dropped: NDArray[np.int64],
    weight: Float,
    bias: Float,
    last: Float,
    losses: NDArray[np.float64],
    d_twin: Float,
    d_truth: Float,
    d_observed: Float,
    d_weight: Float,
    d_bias: Float,
    d_last: Float,
) -> None:
    """Losses (group, snapshot) and gradients; those of the weights one a group, so that their sum has one order."""
    num_groups, num_candidates, width = twin.shape
    num_snapshots = observed.shape[1]
    scale = 1.0 / (num_groups * num_snapshots)
    for g in numba.prange(num_groups):
        # The hidden layers of all pairs of one snapshot, the truth's in the last row
        first = np.empty((num_candidates + 1, width), dtype=np.float32)
        second = np.empty((num_candidates + 1, len(last)), dtype=np.float32)
        score = np.empty(num_candidates + 1, dtype=np.float32)
        share = np.empty(num_candidates + 1, dtype=np.float64)
        to_first = np.empty_like(first)
        to_weight = np.empty_like(weight)
        columns = np.ascontiguousarray(weight.T)
        for s in range(num_snapshots):
            _first_layer(twin[g], truth[g, s], observed[g, s], first)
            np.dot(first, columns, second)
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
            np.dot(second.T, first, to_weight)
            d_weight[g] += to_weight
            np.dot(second, weight, to_first)
            for c in range(num_candidates + 1):
                into = d_truth[g, s] if c == num_candidates else d_twin[g, c]
                for i in range(width):
                    push = to_first[c, i] if first[c, i] > 0 else np.float32(0)
                    into[i] += push
                    d_observed[g, s, i] += push


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
            np.dot(first, columns, second)
            for c in range(num_candidates):
                total = np.float32(0)
                for j in range(len(last)):
                    total += last[j] * max(second[c, j] + bias[j], np.float32(0))
                scores[g, s, c] = total


def fused_scores(*layers: torch.Tensor) -> torch.Tensor:
    """Scores (..., snapshot, candidate) of the first layer's outputs for candidates and snapshots; no gradients."""
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
    """Mean sampled cross-entropy of a batch of groups, eq. (17), as a torch function of the first layer's outputs."""

    @staticmethod
    def forward(
        ctx: Any,
        twin: torch.Tensor,
        truth: torch.Tensor,
        observed: torch.Tensor,
        dropped: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        last: torch.Tensor,
    ) -> torch.Tensor:
        """Loss of candidates (group, candidate, width) and truths and observations (group, snapshot, width)."""
        tensors = (twin, truth, observed, weight, bias, last)
        arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
        groups = len(twin)
        losses = np.empty(observed.shape[:2])
        shapes = [a.shape for a in arrays[:3]] + [(groups, *a.shape) for a in arrays[3:]]
        gradients = [np.zeros(shape, dtype=np.float32) for shape in shapes]
        _loss(*arrays[:3], dropped.numpy(), *arrays[3:], losses, *gradients)
        by_input = [torch.from_numpy(gradient) for gradient in gradients]
        ctx.gradients = [*by_input[:3], None, *(gradient.sum(0) for gradient in by_input[3:])]
        return torch.tensor(losses.mean(), dtype=twin.dtype)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> Any:
        """The gradients found on the way forward."""
        return tuple(None if gradient is None else upstream * gradient for gradient in ctx.gradients)
