r"""A transmitter that moves: traced and observed paths at several times in, a posterior of where it is now, out.

A forward filter on the candidates. In the time :math:`\Delta t` between two snapshots the transmitter goes anywhere
within the distance :math:`r`, ``speed`` times :math:`\Delta t`, measured along the shortest route around walls, all
places with the same probability. Whatever the bound allows is then as probable as anything else that it allows:
standing still, turning, or going straight ahead.

Each candidate stands for a square cell of side :math:`h`, and the transmitter may be anywhere in its own. A
displacement :math:`w` then leads from a cell to another one, :math:`d` away, with probability
:math:`L(w_x - d_x)\, L(w_y - d_y)`, where :math:`L(t) = \max(0, 1 - |t| / h)`, which is averaged over all :math:`w` up
to :math:`r`. With :math:`r` far below :math:`h` the probability of changing cell is that of a transmitter that goes on
through its cells, proportional to :math:`r / h`: steps that are shorter than a cell do not freeze it, and up to
:math:`r = h` the variance after :math:`n` steps of :math:`r / n` is the same for every :math:`n`. Since directions are
drawn anew at each snapshot, many steps longer than a cell spread less than a single one of the same total length.

Where walls cut off part of the reach, a factor for each candidate makes the probabilities of leaving it and of arriving
there sum to 1, so that all candidates stay equally probable as long as nothing is observed. Errors of the twin are
taken to be independent from snapshot to snapshot, unlike those of a walk around a transmitter that stands still
(:mod:`locus.score.walk`).
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numba import njit
from numpy.typing import ArrayLike, NDArray

from locus.room.geodesic import geodesic_distances, neighbours
from locus.room.layout import Layout
from locus.score.path_arrays import MAX_SPACING
from locus.score.path_set import PathSet
from locus.score.posterior import normalise
from locus.settings.checks import check_range

# mypy: disable-error-code="no-untyped-def"

RECIPE = 1

MAX_CANDIDATES = 3000
"""The filter stores a probability for each pair of candidates."""

_NUM_NODES = 64  # of the integral over all displacements
_SAME = 1e-4  # reaches that differ by less, relative to the side of a cell, have the same probabilities
_STILL = 1e-9  # reaches below this, relative to the side of a cell, are none; their squares may underflow
_MAX_ROUNDS, _ROUGHLY = 200, 1e-6  # of balancing; what is then left to 1 is added to the probability of staying


class Moving:
    """Posterior of a transmitter that moves at a bounded speed, snapshot by snapshot.

    Args:
        layout: the room.
        scorer: likelihood of path sets; by default with the radio of the traced paths.
        speed: largest speed of the transmitter [m/s].
        spacing: side of the cell that each candidate stands for [m].
        prior: non-negative weight of every candidate before the first snapshot, (candidate); uniform by default.

    Raises:
        ValueError: speed or spacing are not positive.
    """

    def __init__(
        self,
        layout: Layout,
        scorer: PathSet | None = None,
        *,
        speed: float,
        spacing: float,
        prior: ArrayLike | None = None,
    ) -> None:
        check_range("speed", speed, 0.0, open_low=True)
        check_range("spacing", spacing, 0.0, MAX_SPACING, open_low=True)
        self.scorer = scorer or PathSet()
        self._layout, self._speed, self._spacing, self._prior = layout, speed, spacing, prior
        self._time = math.nan
        self._steps: Steps | None = None
        self._logs: xr.DataArray | None = None
        self._before = np.zeros(0)  # probabilities (candidate) had nothing been observed, for the floor

    def add(self, paths: xr.Dataset, observed: xr.Dataset, time: float) -> None:
        """Take in a snapshot.

        Args:
            paths: traced paths (candidate, path) from this pose; always of the same candidates.
            observed: estimated paths (path).
            time: when it was taken [s], later than the previous one.

        Raises:
            ValueError: the times do not increase, there are too many candidates, or they changed.
        """
        if not math.isfinite(time):
            raise ValueError(f"Expected a finite 'time', got {time!r}")
        likelihood = self.scorer.log_likelihood(paths, observed, spacing=self._spacing)
        if self._logs is None or self._steps is None:
            xy = np.stack([paths.x.values, paths.y.values], axis=-1)
            self._steps = Steps(self._layout, xy, self._spacing)
            logs = normalise(np.zeros(len(xy)), self._prior)
            self._before = np.exp(logs)
        else:
            if not time > self._time:
                raise ValueError(f"Expected 'time' after {self._time!r} s, got {time!r}")
            if not (np.array_equal(paths.x, self._logs.x) and np.array_equal(paths.y, self._logs.y)):
                raise ValueError("Expected the same candidates in every snapshot, got others")
            reach = self._speed * (time - self._time)
            after, self._before = (self._steps.move(mass, reach) for mass in (np.exp(self._logs.values), self._before))
            with np.errstate(divide="ignore"):
                logs = np.log(after)
        self._time = time
        self._logs = likelihood.copy(data=normalise(logs + likelihood.values))

    def log_posterior(self) -> xr.DataArray:
        """Logarithm of the posterior (candidate) of where the transmitter is at the last snapshot.

        A small share of the distribution without any snapshot is mixed in, once rather than per snapshot, to cover what
        no component foresees.

        Raises:
            ValueError: no snapshot has been added.
        """
        if self._logs is None:
            raise ValueError("Expected at least one snapshot, got none; call add() first")
        share = self.scorer.constants.floor
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(math.log1p(-share) + self._logs.values, np.log(share) + np.log(self._before))
        return self._logs.copy(data=mixed).assign_attrs(units="1", long_name="logarithm of the posterior")


class Steps:
    """Where a transmitter goes from each candidate: routes around walls in, probabilities of changing cell out.

    Args:
        layout: the room.
        xy: candidates [m], (n, 2), at most ``MAX_CANDIDATES``.
        spacing: side of a cell [m].
    """

    def __init__(self, layout: Layout, xy: NDArray[np.float64], spacing: float) -> None:
        if len(xy) > MAX_CANDIDATES:
            raise ValueError(
                f"Expected at most {MAX_CANDIDATES} candidates of a transmitter that moves, got {len(xy)}; "
                "use a larger spacing or fewer candidates"
            )
        self._xy, self._spacing = xy, spacing
        self._distance = geodesic_distances(layout, xy)
        self._near = neighbours(self._distance)
        self._reach = -math.inf
        self._kernel = np.zeros((0, 0))

    def probabilities(self, reach: float) -> NDArray[np.float64]:
        """Probability (from, to) of each step for a reach [m]; symmetric, and each row sums to 1."""
        if abs(reach - self._reach) > _SAME * self._spacing:
            if reach > _STILL * self._spacing:
                self._kernel = _balanced(_overlaps(self._xy, self._distance, self._near, reach, self._spacing))
            else:
                self._kernel = np.eye(len(self._xy))
            self._reach = reach
        return self._kernel

    def move(self, mass: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
        """Probability (candidate) after a step, from that before."""
        return np.asarray(self.probabilities(reach) @ mass)


@njit(cache=True)
def _rise(t):
    """Integral of max(0, 1 - |t|) up to t."""
    if t <= 0.0:
        return 0.5 * max(1.0 + t, 0.0) ** 2
    return 1.0 - 0.5 * max(1.0 - t, 0.0) ** 2


@njit(cache=True)
def _overlap(dx, dy, reach, side):
    """Probability to get from a cell to the one at (dx, dy) by a displacement that is uniform in a disc.

    The integral along y is exact; along x, with w_x = reach sin(angle), midpoints make the sum over a grid exactly 1.
    """
    total = 0.0
    for node in range(_NUM_NODES):
        angle = math.pi * ((node + 0.5) / _NUM_NODES - 0.5)
        half = reach * math.cos(angle)
        along = 1.0 - abs(reach * math.sin(angle) - dx) / side
        if along > 0.0:
            total += along * half * (_rise((half - dy) / side) - _rise((-half - dy) / side))
    return total * side / (reach * _NUM_NODES * reach)


@njit(cache=True)
def _overlaps(xy, distance, near, reach, side):
    """Probability of each step (n, n) where no wall cuts it off; around corners, the bent route counts as straight.

    Neighbours farther apart than a cell, as at the ends of a passage too narrow for candidates, share a larger one.
    """
    found = np.zeros(distance.shape)
    diagonal = math.sqrt(2.0) * side
    for i in range(len(xy)):
        for j in range(i + 1):
            length = distance[i, j]
            if near[i, j] and length > max(side, reach):
                value = _overlap(length, 0.0, reach, length)
            elif length >= reach + diagonal:
                continue
            elif length + diagonal <= reach:
                value = side * side / (math.pi * reach * reach)
            else:
                dx, dy = xy[j, 0] - xy[i, 0], xy[j, 1] - xy[i, 1]
                stretch = length / math.hypot(dx, dy) if length > 0.0 else 0.0
                value = _overlap(stretch * dx, stretch * dy, reach, side)
            found[i, j] = found[j, i] = value
    return found


def _balanced(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric probabilities (n, n), rows of sum 1, from symmetric weights: a factor for each candidate (Sinkhorn)."""
    factor = np.ones(len(weights))
    for _ in range(_MAX_ROUNDS):
        total = factor * (weights @ factor)
        if abs(total - 1).max() < _ROUGHLY:
            break
        factor /= np.sqrt(total)
    weights *= factor * factor[:, np.newaxis]
    weights[np.diag_indices_from(weights)] += 1 - weights.sum(axis=1)
    return weights
