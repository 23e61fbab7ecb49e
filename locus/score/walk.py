r"""A walk: snapshots of one stationary transmitter from several poses in, a posterior after each of them out.

Snapshots of a walk share errors: the compass is off by the same angle every time, the same wall is displaced by the
same distance, the transmitter stands at the same place in its cell. Multiplying likelihoods would count each error once
per snapshot. So for every candidate and every component of the mixture of :mod:`locus.score.tolerance`, the filter
tracks a Gaussian over these errors (a Gaussian-sum filter). Its mean and covariance predict the paths of the next
snapshot; the best assignment of observed to traced paths then updates both. How paths move with the errors is in
:mod:`locus.score.walk_images`.

A wrong plan also blocks paths that the twin traces. A path blocked at one pose is probably blocked at nearby poses, so
each sequence of walls has a blocking probability, which decays to its prior as the receiver moves away. Errors that the
model leaves out (paths that the twin does not trace, strengths, wrong assignments) are still correlated between
snapshots. So :math:`n` snapshots count as :math:`n / (1 + \lambda (d + r (n - 1)))` independent ones. Here
:math:`\lambda` is the error of the twin that the snapshots themselves suggest, relative to the full tolerance and at
most 1; :math:`d` is the doubt of a single snapshot (``doubt`` of :class:`locus.score.tolerance.Constants`), and
:math:`r` is ``correlation``.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.room.layout import Layout
from locus.score.path_arrays import MAX_SPACING, arrange_observed, arrange_traced, find_widths
from locus.score.path_lists import check_both
from locus.score.path_set import PathSet
from locus.score.posterior import exponentiated, normalise
from locus.score.strength import detection_table
from locus.score.tolerance import components
from locus.score.walk_compass import HeadingError, heading_posterior
from locus.score.walk_cpu import advance
from locus.score.walk_images import HEADING, PLAN, RECEIVER, TRANSMITTER, find_bodies, find_images
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin.base import ATTRIBUTES
from locus.twin.check import check_dataset

RECIPE = 2

CORRELATION = 0.3
"""Correlation between snapshots of the errors that the filter does not model, for a twin at the full tolerance."""

HOPELESS_NATS = 35.0
"""Components of a candidate that are this much less probable than the best [nat] are dropped."""
SAME_VIEW = 3.0
"""Distance [m] over which the extra probability that a blocked path is still blocked falls by a factor of e."""
NUM_SLOTS = 64
"""Number of sequences of walls that are remembered for each candidate."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Odometry:
    """How fast the error of the pose grows: standard deviations after one metre or radian.

    Errors of successive steps are independent, so the standard deviation grows with the square root of the distance.
    """

    position_per_metre: float = 0.0
    """Error of the position along any axis [m] after one metre."""
    heading_per_metre: float = 0.0
    """Error of the heading [rad] after one metre."""
    heading_per_radian: float = 0.0
    """Error of the heading [rad] after a turn of one radian."""

    def __post_init__(self) -> None:
        for name in ("position_per_metre", "heading_per_metre", "heading_per_radian"):
            check_range(f"odometry.{name}", getattr(self, name), 0.0)


class Walk:
    """Fuses snapshots of one stationary transmitter, heard from several poses, with the errors that they share.

    Shared are the error of the compass, the offset of all receiver positions, the transmitter's place in its cell, and
    the displacement of each obstacle and of each side of the room. In plans with more than 40 such unknowns, one per
    side and two per obstacle, every reflection errs independently, as in :class:`locus.PathSet`.

    Args:
        layout: floor plan that the paths are traced in.
        scorer: likelihood of a single snapshot, with its tolerance; by default :class:`locus.PathSet` with its own.
        spacing: distance between neighbouring candidates [m], if the transmitter may be between them.
        odometry: how fast the error of the pose grows; by default not at all.
        prior: non-negative weight of every candidate, (candidate); uniform by default.
        correlation: correlation between snapshots of unmodelled errors, for a twin at the full tolerance; the default
            keeps sets honest on walks through validation rooms. Use 0 if the model is exact.
    """

    def __init__(
        self,
        layout: Layout,
        scorer: PathSet | None = None,
        *,
        spacing: float = 0.0,
        odometry: Odometry | None = None,
        prior: ArrayLike | None = None,
        correlation: float = CORRELATION,
    ) -> None:
        check_range("spacing", spacing, 0.0, MAX_SPACING)
        check_range("correlation", correlation, 0.0, 1.0)
        self.layout = layout
        self.scorer = scorer or PathSet()
        self.spacing = spacing
        self.odometry = odometry or Odometry()
        self.prior = prior
        self.correlation = correlation
        self.num_steps = 0
        """Number of snapshots added so far."""
        self._bodies = find_bodies(layout)
        self._mixture = components(self.scorer.tolerance, self.scorer.constants)
        self._pose: tuple[float, float, float] | None = None

    def add(self, paths: xr.Dataset, observed: xr.Dataset) -> None:
        """Add a snapshot.

        Args:
            paths: traced paths (candidate, path) of all candidates from the pose of this snapshot, which its
                coordinates ``rx_x``, ``rx_y`` and ``rx_heading`` give. All snapshots have the same candidates.
            observed: estimated paths (path), as returned by :func:`locus.estimate`.

        Raises:
            ValueError: an input has the wrong dimensions or values that are not finite, or other candidates.
        """
        check_dataset(observed, "observed")
        if "snapshot" in observed.dims:
            raise ValueError(f"Expected one snapshot 'observed' (path), got {dict(observed.sizes)}; add one at a time")
        observed = observed.expand_dims("snapshot")
        check_both(paths, observed)
        pose, place = self._check(paths)
        radio = self.scorer.radio or Radio.carried_by(paths) or Radio()
        estimator = self.scorer.estimator_of(observed)
        widths = find_widths(radio, self.scorer.constants, self.spacing)
        # Weights are carried along here, and what is known of the position shrinks
        mixture = self._mixture._replace(
            weight=np.ones_like(self._mixture.weight), variance=np.zeros_like(self._mixture.variance)
        )
        seen, _ = arrange_observed(observed, radio, estimator, mixture, widths)
        traced = arrange_traced(paths, radio, self.scorer.constants)
        images = find_images(self.layout, self._bodies, traced, pose, place, "order" in paths)
        if self._pose is None:
            self._start(place)
        self._drift(pose)
        self._pose = pose
        slots = self._find_slots(images.chain)
        self._weight += advance(
            traced,
            images,
            slots,
            seen,
            widths,
            self._mixture,
            self._hiding,
            detection_table(),
            self._alive,
            self._mean,
            self._spread,
            self._hidden,
        )
        weight = np.where(self._alive, self._weight, -np.inf)
        self._alive &= weight > weight.max() - HOPELESS_NATS
        self._weight -= weight.max()
        self.num_steps += 1

    def fork(self) -> Walk:
        """Copy of the walk so far, to try another snapshot without changing this one."""
        other = copy.copy(self)
        if self._pose is not None:
            for name in ("_weight", "_alive", "_mean", "_spread", "_hidden", "_chains"):
                setattr(other, name, getattr(self, name).copy())
        return other

    def log_posterior(self) -> xr.DataArray:
        """Logarithm of :meth:`posterior`."""
        self._check_started()
        logs = normalise(np.logaddexp.reduce(self._logs(), axis=1) / self._temperature(), self.prior)
        before = normalise(np.zeros(len(logs)), self.prior)
        share = self.scorer.constants.floor
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(math.log1p(-share) + logs, np.log(share) + before)
        coordinates = {name: ("candidate", self._place[:, axis], ATTRIBUTES[name]) for axis, name in enumerate("xy")}
        attributes = {"units": "1", "long_name": "logarithm of the posterior"}
        return xr.DataArray(mixed, coordinates, ("candidate",), attrs=attributes)

    def posterior(self) -> xr.DataArray:
        """Probability of every candidate after the snapshots so far, with a small share of the prior.

        Returns:
            DataArray (candidate) that sums to 1, with coordinates x and y.
        """
        return exponentiated(self.log_posterior())

    def heading_error(self) -> HeadingError:
        """Posterior of the compass error at the last pose, averaged over all candidates."""
        self._check_started()
        mean = self._mean[..., HEADING] - self._mixture.heading
        return heading_posterior(np.exp(self._joint()), mean, self._spread[..., HEADING, HEADING])

    def _temperature(self) -> float:
        """By how much snapshots with errors that the filter does not model count less than independent ones."""
        weight = np.exp(self._joint())
        level = float(weight.sum(axis=0) @ self._mixture.level / weight.sum())
        own, between = self.scorer.constants.doubt, self.correlation * (self.num_steps - 1)
        return 1 + min(level, 1.0) * (own + between)

    def _check(self, paths: xr.Dataset) -> tuple[tuple[float, float, float], Floats]:
        """Pose, and position (candidate, 2) of the candidates."""
        for name in ("x", "y", "rx_x", "rx_y", "rx_heading"):
            if name not in paths.coords:
                raise ValueError(f"Expected 'paths' with the coordinate {name!r}, got {sorted(map(str, paths.coords))}")
        place = np.stack([paths.x.values, paths.y.values], axis=1).astype(float)
        if self._pose is not None and not np.array_equal(place, self._place):
            raise ValueError(
                f"Expected the same {len(self._place)} candidates as before, got {len(place)}, or others; "
                "trace the same candidates from every pose"
            )
        x, y, heading = (float(paths[name]) for name in ("rx_x", "rx_y", "rx_heading"))
        return (x, y, heading), place

    def _start(self, place: Floats) -> None:
        """Prior of the shared errors: the Gaussians of every candidate and component."""
        mixture, sides = self._mixture, self._bodies.is_side
        count, size = len(mixture.weight), PLAN + len(self._bodies.is_side)
        variance = np.zeros((count, size))
        variance[:, HEADING] = mixture.turn_variance
        variance[:, RECEIVER : RECEIVER + 2] = mixture.variance[:, np.newaxis]
        variance[:, TRANSMITTER : TRANSMITTER + 2] = self.spacing**2 / 12
        # A side moves along its normal, an obstacle in any direction; a reflection has twice the squared displacement
        square = mixture.reflection_variance[:, np.newaxis] / 2
        variance[:, PLAN:] = np.where(sides, square, square / 2)
        self._place = place
        self._weight = np.broadcast_to(np.log(mixture.weight), (len(place), count)).copy()
        self._alive = np.ones((len(place), count), dtype=bool)
        self._mean = np.zeros((len(place), count, size))
        self._spread = np.broadcast_to(
            variance[:, :, np.newaxis] * np.eye(size), (len(place), count, size, size)
        ).copy()
        self._hiding = np.maximum(mixture.miss - min(self.scorer.constants.miss, 0.5), 0.0)
        self._hidden = np.broadcast_to(self._hiding[:, np.newaxis], (len(place), count, NUM_SLOTS)).copy()
        self._chains = np.full((len(place), NUM_SLOTS), -1, dtype=np.int64)
        normalise(np.zeros(len(place)), self.prior)  # checks the prior

    def _drift(self, pose: tuple[float, float, float]) -> None:
        """Add the odometry error since the last pose, and let the blocking probabilities decay."""
        if self._pose is None:
            return
        way = math.hypot(pose[0] - self._pose[0], pose[1] - self._pose[1])
        turn = abs((pose[2] - self._pose[2] + math.pi) % (2 * math.pi) - math.pi)
        usual = self._hiding[:, np.newaxis]
        self._hidden = usual + (self._hidden - usual) * math.exp(-way / SAME_VIEW)
        own = self.odometry
        for axis in (RECEIVER, RECEIVER + 1):
            self._spread[..., axis, axis] += own.position_per_metre**2 * way
        self._spread[..., HEADING, HEADING] += own.heading_per_metre**2 * way + own.heading_per_radian**2 * turn

    def _find_slots(self, chain: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place (candidate, path) of each sequence of walls in the memory, new ones included; -1 if there is none."""
        slots = np.full(chain.shape, -1)
        rows = np.arange(len(chain))
        for j in range(chain.shape[1]):
            known = self._chains == chain[:, j, np.newaxis]
            place = np.where(known.any(axis=1), known.argmax(axis=1), (self._chains < 0).argmax(axis=1))
            free = known.any(axis=1) | (self._chains[rows, place] < 0)
            used = free & (chain[:, j] >= 0)
            slots[used, j] = place[used]
            self._chains[rows[used], place[used]] = chain[used, j]
        return slots

    def _logs(self) -> Floats:
        """Log weights (candidate, component), up to a constant."""
        return np.where(self._alive, self._weight, -np.inf)

    def _joint(self) -> Floats:
        """Log weights (candidate, component) with the prior of the candidates; the largest is 0."""
        logs = self._logs() + normalise(np.zeros(len(self._place)), self.prior)[:, np.newaxis]
        return np.asarray(logs - logs.max())

    def _check_started(self) -> None:
        if self._pose is None:
            raise ValueError("Expected a walk of at least one snapshot, got none; use add(paths, observed) first")
