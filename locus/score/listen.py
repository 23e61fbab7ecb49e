r"""Where to listen next: what is known of the transmitter, and poses in reach, in; the information they promise, out.

The information that a snapshot promises is the mutual information between it and the transmitter's position: by how
many nats it will narrow the posterior, on average. It has no closed form. With :math:`p_i` the probability of candidate
:math:`i`, :math:`L_i` its likelihood and :math:`y_i` the path set that the twin predicts of it, free of noise, it is
approximated by

.. math::

   I &\approx -\sum_i p_i \log \sum_j p_j\, e^{-D_{ij}}, \\
   D_{ij} &= \log L_i(y_i) - \log L_j(y_i).

If all likelihoods are Gaussian about their predictions with the same covariance, :math:`D_{ij}` is a Kullback-Leibler
divergence, and the approximation is an upper bound. It serves to compare poses.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import shapely
import xarray as xr
from numpy.typing import NDArray

from locus.receiver.estimator import threshold
from locus.room.layout import MIN_DISTANCE, Layout, Pose, away_from
from locus.score.path_set import PathSet
from locus.score.posterior import normalise
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin.base import ATTRIBUTES, Twin

RECIPE = 1

NUM_CANDIDATES = 100
"""Number of draws that represent the posterior."""


def within_reach(layout: Layout, pose: Pose, step: float, num_directions: int = 8) -> list[Pose]:
    """Poses that a robot can take next: a step in each direction, facing ahead, or a turn on the spot to face it.

    Args:
        layout: the room.
        pose: the robot's present pose.
        step: length of a step [m].
        num_directions: number of directions, evenly spaced, beginning with the present heading.

    Returns:
        The steps whose route keeps the room's clearance from every wall; then the turns, the present heading last,
        since a second snapshot from the same pose adds least.
    """
    check_range("step", step, 0.0, open_low=True)
    check_range("num_directions", num_directions, 1)
    turns = 2 * math.pi / num_directions * np.arange(num_directions)
    headings = [float((pose.heading + turn + math.pi) % (2 * math.pi) - math.pi) for turn in turns]
    ends = [(pose.x + step * math.cos(angle), pose.y + step * math.sin(angle)) for angle in headings]
    clearance = max(layout.clearance, MIN_DISTANCE)
    steps = [
        Pose(*end, angle)
        for end, angle in zip(ends, headings, strict=True)
        if _is_free(layout, shapely.LineString([(pose.x, pose.y), end]), clearance)
    ]
    return [*steps, *(Pose(pose.x, pose.y, angle) for angle in (*headings[1:], headings[0]))]


def information(
    layout: Layout,
    twin: Twin,
    poses: list[Pose],
    log_posterior: xr.DataArray,
    scorer: PathSet | None = None,
    *,
    spacing: float = 0.0,
    num_candidates: int = NUM_CANDIDATES,
) -> xr.Dataset:
    """Approximate information that a snapshot from each of several poses promises.

    Args:
        layout: the room, as the twin knows it.
        twin: traces the candidates from each pose.
        poses: poses to compare, for instance from :func:`within_reach`.
        log_posterior: what is known so far, (candidate), with coordinates x and y, as from
            :meth:`locus.Walk.log_posterior`.
        scorer: likelihood of a snapshot, with its tolerance; by default :class:`locus.PathSet` with its own.
        spacing: distance between neighbouring candidates [m], if the transmitter may be between them.
        num_candidates: number of draws that represent the posterior, which limits the information to its logarithm.

    Returns:
        Dataset (pose) with ``information`` [nat], and the poses as coordinates x, y and heading.

    Raises:
        ValueError: there is no pose, or ``log_posterior`` has no positions.
    """
    if not poses:
        raise ValueError("Expected at least one of 'poses', got none: the robot is shut in")
    if log_posterior.dims != ("candidate",) or not {"x", "y"} <= set(log_posterior.coords):
        raise ValueError(f"Expected 'log_posterior' (candidate) with coordinates x and y, got {log_posterior.dims}")
    check_range("num_candidates", num_candidates, 2)
    scorer = scorer or PathSet()
    likely, probability = _represent(log_posterior.values, num_candidates)
    points = np.stack([log_posterior[axis].values[likely] for axis in ("x", "y")], axis=1)
    found = [_promise(layout, twin, pose, points, probability, scorer, spacing) for pose in poses]
    return xr.Dataset(
        {"information": ("pose", found, {"units": "nat", "long_name": "information that a snapshot promises"})},
        coords={
            "x": ("pose", [pose.x for pose in poses], ATTRIBUTES["rx_x"]),
            "y": ("pose", [pose.y for pose in poses], ATTRIBUTES["rx_y"]),
            "heading": ("pose", [pose.heading for pose in poses], ATTRIBUTES["rx_heading"]),
        },
    )


def _represent(log_posterior: NDArray[np.float64], count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Candidates that represent a posterior, and their probabilities: ``count`` draws at even steps of its sum.

    Unlike the most probable ones, they also stand for regions where many candidates share the probability.
    """
    reached = np.cumsum(np.exp(normalise(log_posterior)))
    drawn = np.searchsorted(reached, (np.arange(count) + 0.5) / count * reached[-1])
    likely, times = np.unique(np.minimum(drawn, len(reached) - 1), return_counts=True)
    return likely, times / count


def _promise(
    layout: Layout,
    twin: Twin,
    pose: Pose,
    points: NDArray[np.float64],
    probability: NDArray[np.float64],
    scorer: PathSet,
    spacing: float,
) -> float:
    """Information [nat] of a snapshot from one pose about candidates (candidate, 2) with these probabilities."""
    far = np.isin(points, away_from(pose, points)).all(axis=1)
    if far.sum() < 2:
        return 0.0
    paths = twin.trace(layout, pose, points[far])
    likelihood = scorer.log_likelihood(paths, predicted(paths, scorer), spacing=spacing).values
    probability = probability[far] / probability[far].sum()
    differences = likelihood - np.diag(likelihood)[:, np.newaxis]
    return float(-probability @ np.log(np.exp(differences) @ probability))


def predicted(paths: xr.Dataset, scorer: PathSet) -> xr.Dataset:
    """Noise-free report for each candidate, (snapshot, path): the strongest of its paths above the threshold."""
    radio = scorer.radio or Radio.carried_by(paths) or Radio()
    options = scorer.estimator
    level = 10 * math.log10(threshold(options, radio))
    found = paths.isel(path=slice(options.num_paths))
    valid = found.valid.values & (found.snr_db.values > level)
    values = {
        "aoa": np.where(valid, np.arcsin(np.sin(found.aoa.values)), 0.0),
        "delay": np.where(valid, found.delay.values % radio.period, 0.0),
        "snr_db": np.where(valid, found.snr_db.values, -np.inf),
        "valid": valid,
    }
    return xr.Dataset(
        {name: (("snapshot", "path"), value, dict(ATTRIBUTES[name])) for name, value in values.items()},
        attrs={"estimator": json.dumps(dataclasses.asdict(options)), "radio": json.dumps(dataclasses.asdict(radio))},
    )


def _is_free(layout: Layout, way: shapely.LineString, clearance: float) -> bool:
    """Whether a route lies in free space, at least ``clearance`` [m] from every wall."""
    space = layout.free_space
    return bool(space.contains(way) and space.boundary.distance(way) >= clearance)
