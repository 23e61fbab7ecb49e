"""Localisation from your own data: room, receiver pose and captured IQ in, posterior of the position out."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.capture.candidates import (
    MAX_CANDIDATES,
    cell_candidates,
    find_spacing,
    grid_candidates,
    nearest_distance,
)
from locus.capture.choice import Choice, choose, warn_of_size
from locus.capture.doubts import check_loudness, excess_db, warn_of_misfit
from locus.capture.walk import Route, beside, find_route, follow
from locus.experiment.run import versions
from locus.judge.bootstrap import described
from locus.judge.credible import smallest_set
from locus.receiver.estimator import check_samples, estimate
from locus.room.layout import Layout, Pose, check_points
from locus.score import moving
from locus.score.path_arrays import MAX_SPACING
from locus.score.path_set import PathSet
from locus.score.tolerance import Tolerance
from locus.score.twin_fit import twin_fit
from locus.score.walk import Odometry
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin import make_twin
from locus.twin.base import ATTRIBUTES, check_scene

MAX_WALLS = 250
"""With more walls, sequences of three would not fit into Sionna's table."""
MAX_SNAPSHOTS = 1000

_LEAST_POWER = 0.1  # relative to the noise power, which every capture contains
_SEED = 0  # of the simulations that tell how well the twin fits


def locate(
    layout: Layout,
    pose: Pose | Sequence[Pose],
    iq: xr.Dataset | ArrayLike,
    candidates: ArrayLike | None = None,
    *,
    method: str | None = None,
    tolerance: Tolerance | None = None,
    weights: str | None = None,
    twin: str | None = None,
    radio: Radio | None = None,
    noise_power: float | None = None,
    spacing: float | None = None,
    check_power: bool = True,
    odometry: Odometry | None = None,
    speed: float | None = None,
    times: ArrayLike | None = None,
) -> xr.Dataset:
    """Compute the posterior of the transmitter's position from an IQ capture.

    Coordinates may have any origin: before it is traced, the room is centred on the origin or, for a network, where its
    training rooms were centred.

    With a sequence of poses, one per snapshot, the snapshots are those of a walk around one transmitter, or of several
    receivers at one time, and are fused. The errors that they share (compass, plan, the transmitter's place in its
    cell) are then unknowns of the whole walk.

    Args:
        layout: the room, with at most 250 walls.
        pose: pose of the receiver, or a sequence of poses, one per snapshot.
        iq: samples (sample, antenna), or up to 1000 snapshots (snapshot, sample, antenna); with one pose, each is
            located independently.
        candidates: possible positions [m], (n, 2), at most 10,000; by default, the centres of cells of a quarter of the
            radio's resolution or less (more if there would be too many), or for a network the free points of a 31 × 31
            grid.
        method: ``"path_set"``, the default, for any narrowband radio; or a trained network such as ``"locus_dt"``, with
            the estimator, tracing and feature options of its training.
        tolerance: how far the twin may be off, for ``"path_set"``; by default from exact to about 1 m and 5 degrees.
        weights: run or file with the weights of a network, as for :func:`locus.load_scorer`; by default the paper's.
        twin: ``"sionna"`` or ``"image"``; by default Sionna, or the twin that the weights were evaluated with.
        radio: by default the radio stored in ``iq``, else the one that the weights were trained for, or the paper's.
        noise_power: mean squared magnitude of a noise sample, in the units of ``iq``, used to scale ``iq``; if not
            given, ``iq`` is in √W.
        spacing: distance between neighbouring candidates of ``"path_set"`` [m], since the transmitter may be between
            them; 0 if it is on one of the given ones. By default, their median distance. Without
            ``candidates``, the size of the cells.
        check_power: refuse a capture that is stronger than any candidate could explain; if false, only warn.
        odometry: how fast errors of the poses grow along a walk; by default, they all share one error.
        speed: largest speed of a transmitter that moves [m/s]; by default, it stands still. Needs ``times``. Errors of
            plan and compass are then independent from snapshot to snapshot, and there are at most 3000 candidates.
        times: time of each snapshot of a walk [s], increasing; only with ``speed``.

    Returns:
        Dataset ([snapshot,] candidate) with ``posterior``, which sums to 1; ``credible``, the mask of the smallest set
        that holds 90 %; ``credible_area``, its area [m²]; ``map_x`` and ``map_y``, the most probable candidate [m]; and
        the estimated paths ``aoa``, ``delay``, ``snr_db`` and ``valid`` ([snapshot,] path). With ``"path_set"`` also
        ``twin_fit``, a p-value: the probability that a capture would fit an exact twin worse than this one fits, and
        ``twin_error`` ([snapshot,] level), the posterior of how wrong the twin is: the share of the tolerance that its
        errors reach. Attributes hold room, radio, method, twin and versions.

        With a sequence of poses, the dimension ``step`` replaces ``snapshot``, and the posterior of a step takes all
        snapshots up to it into account; ``rx_x``, ``rx_y`` and ``rx_heading`` (step) are the poses. ``heading_error``
        (step) is the mean of the compass error [rad], true heading minus the given one, with the 90 % interval from
        ``heading_error_low`` to ``heading_error_high``, unless the transmitter moves; ``twin_fit`` is that of each
        snapshot alone, and there is no ``twin_error``.

    Raises:
        ValueError: an input is out of range, the capture is impossibly strong, the weights were trained for another
            radio, the array is not narrowband, or a network is to fuse snapshots.
        FileNotFoundError: the weights do not exist.
    """
    choice = choose(method, weights, tolerance, radio or Radio.carried_by(iq))
    radio = choice.radio
    samples = _check_iq(iq, radio, noise_power)
    if len(layout.walls) > MAX_WALLS:
        raise ValueError(f"Expected a room of at most {MAX_WALLS} walls, got {len(layout.walls)}")
    route = find_route(layout, pose, samples, choice, odometry, speed, times)
    xy, spacing = _candidates(layout, route, candidates, spacing, choice)
    start = route.poses[0]
    check_scene(layout, start, xy if route.single else beside(layout, start, xy), radio)
    warn_of_size(layout, choice.size)

    x, y = _shift(layout, choice.size)
    backend = make_twin(twin or choice.twin.evaluation, radio, choice.twin)
    if not route.single:
        samples = samples.reshape(len(route.poses), *samples.shape[-2:])
    observed = estimate(samples, choice.estimator, radio, residual=choice.path_set is not None and route.single)
    room, there, places = layout.moved(x, y), route.moved(x, y), xy + np.array([x, y])
    attributes: dict[str, Any] = {
        **choice.attributes,
        **route.attributes,
        "twin": backend.name,
        "twin_options": json.dumps(dataclasses.asdict(choice.twin)),
        "estimator_options": json.dumps(dataclasses.asdict(choice.estimator)),
        "radio": json.dumps(dataclasses.asdict(radio)),
        "layout": json.dumps(layout.to_geojson()),
        "versions": json.dumps(versions()),
        **({"frame": json.dumps(dataclasses.asdict(layout.frame))} if layout.frame else {}),
        **({"remarks": "; ".join(layout.remarks)} if layout.remarks else {}),
    }
    scorer = choice.path_set
    if scorer:
        attributes |= {one: json.dumps(dataclasses.asdict(getattr(scorer, one))) for one in ("tolerance", "constants")}
        attributes["spacing"] = spacing
    if scorer and not route.single:
        observed = observed.rename(snapshot="step")
        result, loudest = follow(room, there, places, backend, scorer, observed, spacing)
    else:
        paths = backend.trace(room, there.poses[0], places)
        loudest = excess_db(paths, observed)
        result = _compare(paths, observed, choice, spacing)
    check_loudness(*loudest, refuse=check_power)
    if "twin_fit" in result:
        warn_of_misfit(result.twin_fit.values)
    return _label(layout, route, xy, result, observed).assign_attrs(attributes)


def _compare(paths: xr.Dataset, observed: xr.Dataset, choice: Choice, spacing: float) -> xr.Dataset:
    """Posterior of every snapshot by itself and, unless a network scores, how well the twin fits."""
    if choice.network is not None:
        return xr.Dataset({"posterior": choice.network.posterior(paths, observed)})
    scorer = choice.path_set or PathSet(choice.radio)
    result = xr.Dataset({"posterior": scorer.posterior(paths, observed, spacing=spacing)})
    result["twin_fit"] = twin_fit(scorer, paths, observed, np.random.default_rng(_SEED), spacing=spacing)
    result["twin_error"] = scorer.levels(paths, observed, spacing=spacing)
    result.twin_error.attrs = {"units": "1", "long_name": "posterior probability of the size of the twin's errors"}
    result.level.attrs = {"units": "1", "long_name": "errors of plan, position and materials over the tolerance"}
    return result


def _check_iq(iq: xr.Dataset | ArrayLike, radio: Radio, noise_power: float | None) -> NDArray[np.complex128]:
    """Check samples ([snapshot,] sample, antenna) and scale them to √W."""
    samples = np.asarray(iq.iq if isinstance(iq, xr.Dataset) else iq)
    check_samples(samples, radio)
    if samples.ndim == 3 and len(samples) > MAX_SNAPSHOTS:
        raise ValueError(f"Expected at most {MAX_SNAPSHOTS} snapshots in 'iq', got {len(samples)}")
    if not samples.any(axis=-2).all():
        raise ValueError(f"Expected 'iq' of every antenna, got only zeros at {np.argwhere(~samples.any(axis=-2))[0]}")
    if noise_power is not None:
        check_range("noise_power", noise_power, 0.0, 1e100, open_low=True)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            samples = samples.astype(np.complex128) * math.sqrt(radio.noise_power / max(noise_power, 1e-300))
        check_samples(samples, radio)
    power = float((np.abs(samples.astype(np.complex128)) ** 2).mean(axis=(-2, -1)).min())
    if power < _LEAST_POWER * radio.noise_power:
        raise ValueError(
            f"Expected 'iq' of at least the noise power, {radio.noise_power:.3g} W per sample, got {power:.3g}; "
            "give 'noise_power' in the units of 'iq'"
        )
    return samples.astype(np.complex128)


def _candidates(
    layout: Layout, route: Route, given: ArrayLike | None, spacing: float | None, choice: Choice
) -> tuple[NDArray[np.float64], float]:
    """Candidates (n, 2) [m], and the side of the square that each stands for [m]."""
    most = MAX_CANDIDATES if route.speed is None else moving.MAX_CANDIDATES
    pose = route.poses[0] if route.single else None
    if spacing is not None:
        check_range("spacing", spacing, 0.0, MAX_SPACING)
    if given is None:
        if choice.network is not None:
            return grid_candidates(layout, pose), 0.0
        return cell_candidates(layout, pose, spacing or find_spacing(layout, choice.radio), most)
    xy = check_points("candidates", given)
    if len(xy) > most:
        of = "" if route.speed is None else " of a transmitter that moves"
        raise ValueError(f"Expected at most {most} candidates{of}, got {len(xy)}")
    return xy, nearest_distance(xy) if spacing is None else spacing


def _shift(layout: Layout, size: float) -> tuple[float, float]:
    """Translation [m] that moves the centre of the room to that of training rooms with this side.

    The baselines predict positions in those coordinates, and Sionna's single precision is too coarse for map ones.
    """
    x0, y0, x1, y1 = layout.room.bounds
    return size / 2 - (x0 + x1) / 2, size / 2 - (y0 + y1) / 2


def _label(
    layout: Layout, route: Route, xy: NDArray[np.float64], result: xr.Dataset, observed: xr.Dataset
) -> xr.Dataset:
    """Label the result; positions are in the room's original coordinates."""
    posterior = result.posterior
    if not (np.isfinite(posterior.values).all() and np.allclose(posterior.values.sum(axis=-1), 1.0, atol=1e-6)):
        raise ValueError("Expected a finite posterior that sums to 1, got none; check the capture and the weights")
    lead = posterior.dims[:-1]
    credible = smallest_set(posterior.values)
    area = credible.sum(axis=-1) * layout.free_space.area / len(xy)
    best = xy[posterior.values.argmax(axis=-1)]
    return xr.Dataset(
        {
            "posterior": (posterior.dims, posterior.values, posterior.attrs),
            "credible": (posterior.dims, *described(credible, "1", "in the smallest set that holds 90 %")),
            "credible_area": (lead, *described(area, "m^2", "area of the smallest set that holds 90 %")),
            "map_x": (lead, *described(best[..., 0], "m", "x of the most probable candidate")),
            "map_y": (lead, *described(best[..., 1], "m", "y of the most probable candidate")),
            **{name: observed[name] for name in ("aoa", "delay", "snr_db", "valid")},
            **{name: result[name] for name in result.data_vars if name != "posterior"},
        },
        coords={
            **{name: ("candidate", xy[:, i], ATTRIBUTES[name]) for i, name in enumerate(("x", "y"))},
            **route.coordinates,
        },
    )
