"""The baselines of Sec. III-C: observed paths and receiver pose in, a density of the transmitter's position out.

They do not use the twin: a network predicts the parameters of a density, which is evaluated at the candidates and
normalised over them, so that its loss is comparable with LOCUS-DT's. Lengths are in units of half the room's side.

There are two encodings. With ``plain``, input angles are relative to the heading and the predicted position is in room
coordinates (Gauss-Polar: the direction is relative to the heading). With ``turned``, input angles are rotated to the
room's axes and the predicted position is relative to the receiver (Gauss-Polar: the direction is in room axes).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import softplus

from locus.score.features import PER_PATH, features
from locus.score.method import HIDDEN, Method, MethodOptions

RECIPE = 1

LEAST_WIDTH = 1e-3
"""Least width of a density: 5 cm in a room of 100 m."""
LEAST_DISTANCE = 1e-6
"""Distance below which a density in polar coordinates no longer grows towards the receiver."""
WRAPS = 2
"""Turns to either side over which a wrapped Gaussian is summed."""

_POSE = 4  # x, y, cosine and sine of the heading


class DensityNetwork(Method):
    """A network with hidden layers (64, 16) that predicts the parameters of a two-dimensional density.

    Arguments are those of :class:`locus.score.method.Method`.
    """

    encodings: ClassVar[tuple[str, ...]] = ("plain", "turned")
    num_outputs: int

    def __init__(self, options: MethodOptions | None = None) -> None:
        super().__init__(options)
        self.network = nn.Sequential(
            nn.Linear(self.options.num_features + _POSE, HIDDEN[0]),
            nn.ReLU(),
            nn.Linear(*HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN[1], self.num_outputs),
        )

    def candidates(self, paths: xr.Dataset) -> NDArray[np.float32]:
        """Positions scaled to [-1, 1] over the room, (..., candidate, 2)."""
        position = np.stack([paths.x.values, paths.y.values], axis=-1)
        return self._scale(position).astype(np.float32)

    def conditions(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:
        """What the receiver observed, and its pose: (..., snapshot, feature)."""
        seen = self.observation(paths, observed)
        heading = np.asarray(paths.rx_heading.values)[..., np.newaxis]
        position = self._scale(np.stack([paths.rx_x.values, paths.rx_y.values], axis=-1))[..., np.newaxis, :]
        pose = np.concatenate([position, np.cos(heading)[..., np.newaxis], np.sin(heading)[..., np.newaxis]], axis=-1)
        pose = np.broadcast_to(pose, (*seen.shape[:-1], _POSE))
        return np.concatenate([seen, pose.astype(np.float32)], axis=-1)

    def observation(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:
        """The observed features, as for LOCUS-DT: (..., snapshot, feature)."""
        seen = features(observed, self.options.num_paths, self.options.features)
        if self.options.encoding == "turned":
            heading = np.asarray(paths.rx_heading.values)[..., np.newaxis, np.newaxis]
            by_path = seen.reshape(*seen.shape[:-1], -1, PER_PATH)
            by_path[..., :2] = _turn(by_path[..., :2], heading)
        return seen

    def forward(self, candidates: Tensor, conditions: Tensor) -> Tensor:
        """Log density at every candidate for every snapshot, (..., snapshot, candidate)."""
        outputs = self.network(conditions)
        return self.log_density(candidates[..., None, :, :], outputs[..., None, :], conditions[..., None, -_POSE:])

    @abstractmethod
    def log_density(self, positions: Tensor, outputs: Tensor, pose: Tensor) -> Tensor:
        """Log density at positions (..., 2), given the network's outputs (..., num_outputs) and the pose (..., 4)."""

    def _scale(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(2 * position / self.options.size - 1)

    def _origin(self, pose: Tensor) -> Tensor:
        """Origin of the predicted positions: the receiver if ``turned``, else the centre of the room."""
        return pose[..., :2] if self.options.encoding == "turned" else torch.zeros_like(pose[..., :2])


class GaussCart(DensityNetwork):
    """A Gaussian in Cartesian coordinates.

    Arguments are those of :class:`locus.score.method.Method`.
    """

    name = "gauss_cart"
    num_outputs = 5

    def log_density(self, positions: Tensor, outputs: Tensor, pose: Tensor) -> Tensor:
        """Gaussian with mean and full covariance."""
        return _log_gaussian(positions - self._origin(pose), outputs)


class GmmCart(DensityNetwork):
    """A mixture of three Gaussians in Cartesian coordinates.

    Arguments are those of :class:`locus.score.method.Method`.
    """

    name = "gmm_cart"
    num_components = 3
    num_outputs = 6 * num_components

    def __init__(self, options: MethodOptions | None = None) -> None:
        super().__init__(options)
        # Start with narrow components spread around the centre: components that overlap initially may never separate
        angle = 2 * math.pi * torch.arange(self.num_components) / self.num_components
        bias = self.network[-1].bias.data.unflatten(0, (self.num_components, 6))
        bias[:, 1:3] = 0.5 * torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
        bias[:, 3:5] = math.log(math.expm1(0.3))

    def log_density(self, positions: Tensor, outputs: Tensor, pose: Tensor) -> Tensor:
        """Weighted sum of the components."""
        components = outputs.unflatten(-1, (self.num_components, 6))
        logs = _log_gaussian((positions - self._origin(pose))[..., None, :], components[..., 1:])
        return torch.logsumexp(torch.log_softmax(components[..., 0], -1) + logs, -1)


class GaussPolar(DensityNetwork):
    """A Gaussian in polar coordinates, distance and direction from the receiver.

    Arguments are those of :class:`locus.score.method.Method`.
    """

    name = "gauss_polar"
    num_outputs = 6

    def log_density(self, positions: Tensor, outputs: Tensor, pose: Tensor) -> Tensor:
        """Gaussian in distance, truncated at zero, and direction, wrapped; as a density per unit area.

        The distance has a truncated Gaussian marginal; given the distance, the direction is a wrapped Gaussian whose
        mean is linear in the distance. Together they have a full covariance, parametrised by its Cholesky factor. The
        factor :math:`1 / r`, with the distance :math:`r`, converts the density in polar coordinates to one per unit
        area.
        """
        offset = positions - pose[..., :2]
        distance = torch.hypot(offset[..., 0], offset[..., 1]).clamp_min(LEAST_DISTANCE)
        direction = torch.atan2(offset[..., 1], offset[..., 0])
        if self.options.encoding == "plain":
            direction = direction - torch.atan2(pose[..., 3], pose[..., 2])
        mean, width = softplus(outputs[..., 0]), softplus(outputs[..., 1]) + LEAST_WIDTH
        cosine = torch.where((outputs[..., 2] == 0) & (outputs[..., 3] == 0), 1.0, outputs[..., 2])
        middle = torch.atan2(outputs[..., 3], cosine)
        spread = math.pi * torch.sigmoid(outputs[..., 5]) + LEAST_WIDTH  # beyond pi it is practically uniform
        standard = (distance - mean) / width
        turn = direction - middle - outputs[..., 4] * standard
        turn = turn - 2 * math.pi * torch.round(turn / (2 * math.pi))
        wraps = 2 * math.pi * torch.arange(-WRAPS, WRAPS + 1, device=turn.device)
        log_direction = torch.logsumexp(-0.5 * ((turn[..., None] + wraps) / spread[..., None]) ** 2, -1)
        log_distance = -0.5 * standard**2 - torch.log(width) - torch.special.log_ndtr(mean / width)
        return log_distance + log_direction - torch.log(spread) - torch.log(distance) - math.log(2 * math.pi)


def _log_gaussian(positions: Tensor, parameters: Tensor) -> Tensor:
    """Log density of a Gaussian; parameters: mean (2), diagonal (2) and off-diagonal (1) of the Cholesky factor."""
    first = softplus(parameters[..., 2]) + LEAST_WIDTH
    second = softplus(parameters[..., 3]) + LEAST_WIDTH
    offset = positions - parameters[..., :2]
    u = offset[..., 0] / first
    v = (offset[..., 1] - parameters[..., 4] * u) / second
    return -0.5 * (u * u + v * v) - torch.log(first) - torch.log(second) - math.log(2 * math.pi)


def _turn(vectors: NDArray[np.float32], angle: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rotate vectors (..., 2) by an angle [rad]; zeros, which stand for missing paths, stay zeros."""
    x, y = vectors[..., 0], vectors[..., 1]
    turned = np.stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)], axis=-1)
    return turned.astype(np.float32)
