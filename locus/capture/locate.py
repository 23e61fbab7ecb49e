"""Localization from your own data: room, receiver pose and captured IQ in, posterior of the position out."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings

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
from locus.experiment.run import versions
from locus.judge.bootstrap import described
from locus.judge.credible import smallest_set
from locus.receiver.estimator import check_samples, estimate
from locus.room.layout import Layout, Pose, check_points
from locus.score.path_set import PathSet
from locus.score.tolerance import Tolerance
from locus.score.twin_fit import UNUSUAL, twin_fit
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin import make_twin
from locus.twin.base import ATTRIBUTES, check_scene

MAX_WALLS = 250
"""With more walls, sequences of three would not fit into Sionna's table."""
MAX_SNAPSHOTS = 1000

_LEAST_POWER = 0.1  # relative to the noise power, which every capture contains
_MOST_ABOVE_DB = 20.0  # a transmitter between two candidates may have a path stronger than theirs by this much
_SEED = 0  # of the simulations that tell how well the twin fits


def locate(
    layout: Layout,
    pose: Pose,
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
) -> xr.Dataset:
    """Compute the posterior of the transmitter's position from an IQ capture.

    Coordinates may have any origin: the room is moved to the origin, or where the training rooms were, before it is
    traced.

    Args:
        layout: the room, with at most 250 walls.
        pose: pose of the receiver.
        iq: samples (sample, antenna), or up to 1000 snapshots (snapshot, sample, antenna), each located independently.
        candidates: possible positions [m], (n, 2), at most 10,000; by default, centres of cells as small as the radio
            can tell apart, or for a network the free points of a 31 x 31 grid.
        method: ``"path_set"``, the default, for any narrowband radio; or a trained network such as ``"locus_dt"``, with
            the estimator, tracing and feature options of its training.
        tolerance: how far the twin may be off, for ``"path_set"``; by default from exact to about 1 m and 5 degrees.
        weights: run or file with the weights of a network, as for :func:`locus.load_scorer`; by default the paper's.
        twin: ``"sionna"`` or ``"image"``; by default Sionna, or the twin that the weights were evaluated with.
        radio: by default the radio stored in ``iq``, else the one that the weights were trained for, or the paper's.
        noise_power: mean squared magnitude of a noise sample, in the units of ``iq``, used to scale ``iq``; if not
            given, ``iq`` is in W^0.5.
        spacing: distance between neighbouring candidates of ``"path_set"`` [m], since the transmitter may be between
            them; 0 if it is on one of the given ones. By default, their median distance.

    Returns:
        Dataset ([snapshot,] candidate): ``posterior``, which sums to 1; ``credible``, the mask of the smallest set that
        holds 90 %; ``credible_area``, its area [m^2]; ``map_x`` and ``map_y``, the most probable candidate [m]; and the
        estimated paths ``aoa``, ``delay``, ``snr_db`` and ``valid`` ([snapshot,] path). With ``"path_set"`` also
        ``twin_fit``, the probability that an exact twin would fit the capture worse, and ``twin_error`` ([snapshot,]
        level), the posterior of how wrong the twin is: the share of the tolerance that its errors reach. Attributes
        hold room, radio, method, twin and versions.

    Raises:
        ValueError: an input is out of range, the weights were trained for another radio, or the array is not
            narrowband.
        FileNotFoundError: the weights do not exist.
    """
    choice = choose(method, weights, tolerance, radio or Radio.carried_by(iq))
    radio = choice.radio
    samples = _check_iq(iq, radio, noise_power)
    if len(layout.walls) > MAX_WALLS:
        raise ValueError(f"Expected a room of at most {MAX_WALLS} walls, got {len(layout.walls)}")
    xy, spacing = _candidates(layout, pose, candidates, spacing, choice)
    check_scene(layout, pose, xy, radio)
    warn_of_size(layout, choice.size)

    x, y = _shift(layout, choice.size)
    backend = make_twin(twin or choice.twin.evaluation, radio, choice.twin)
    observed = estimate(samples, choice.estimator, radio)
    there = Pose(pose.x + x, pose.y + y, pose.heading)
    paths = backend.trace(layout.moved(x, y), there, xy + np.array([x, y]))
    _warn_of_scale(paths, observed)
    attributes = {
        **choice.attributes,
        "twin": backend.name,
        "twin_options": json.dumps(dataclasses.asdict(choice.twin)),
        "estimator_options": json.dumps(dataclasses.asdict(choice.estimator)),
        "radio": json.dumps(dataclasses.asdict(radio)),
        "layout": json.dumps(layout.to_geojson()),
        "versions": json.dumps(versions()),
    }
    if choice.network is not None:
        posterior = choice.network.posterior(paths, observed)
        return _label(layout, pose, xy, posterior, observed).assign_attrs(attributes)
    scorer = choice.path_set or PathSet(radio)
    attributes |= {name: json.dumps(dataclasses.asdict(getattr(scorer, name))) for name in ("tolerance", "constants")}
    attributes["spacing"] = spacing
    result = _label(layout, pose, xy, scorer.posterior(paths, observed, spacing=spacing), observed)
    result["twin_fit"] = twin_fit(scorer, paths, observed, np.random.default_rng(_SEED), spacing=spacing)
    result["twin_error"] = scorer.levels(paths, observed, spacing=spacing)
    result.twin_error.attrs = {"units": "1", "long_name": "posterior probability of the size of the twin's errors"}
    result.level.attrs = {"units": "1", "long_name": "errors of plan, position and materials over the tolerance"}
    _warn_of_misfit(result.twin_fit.values)
    return result.assign_attrs(attributes)


def _check_iq(iq: xr.Dataset | ArrayLike, radio: Radio, noise_power: float | None) -> NDArray[np.complex128]:
    """Check samples ([snapshot,] sample, antenna) and scale them to W^0.5."""
    samples = np.asarray(iq.iq if isinstance(iq, xr.Dataset) else iq)
    check_samples(samples, radio)
    if samples.ndim == 3 and len(samples) > MAX_SNAPSHOTS:
        raise ValueError(f"Expected at most {MAX_SNAPSHOTS} snapshots in 'iq', got {len(samples)}")
    if not samples.any(axis=-2).all():
        raise ValueError(f"Expected 'iq' of every antenna, got only zeros at {np.argwhere(~samples.any(axis=-2))[0]}")
    if noise_power is not None:
        check_range("noise_power", noise_power, 0.0, open_low=True)
        samples = samples * math.sqrt(radio.noise_power / noise_power)
    power = float((np.abs(samples.astype(np.complex128)) ** 2).mean(axis=(-2, -1)).min())
    if power < _LEAST_POWER * radio.noise_power:
        raise ValueError(
            f"Expected 'iq' of at least the noise power, {radio.noise_power:.3g} W per sample, got {power:.3g}; "
            "give 'noise_power' in the units of 'iq'"
        )
    return samples.astype(np.complex128)


def _candidates(
    layout: Layout, pose: Pose, given: ArrayLike | None, spacing: float | None, choice: Choice
) -> tuple[NDArray[np.float64], float]:
    """Candidates (n, 2) [m], and the side of the square that each stands for [m]."""
    if spacing is not None:
        check_range("spacing", spacing, 0.0)
    if given is None:
        if choice.network is not None:
            return grid_candidates(layout, pose), 0.0
        return cell_candidates(layout, pose, spacing or find_spacing(layout, choice.radio))
    xy = check_points("candidates", given)
    if len(xy) > MAX_CANDIDATES:
        raise ValueError(f"Expected at most {MAX_CANDIDATES} candidates, got {len(xy)}")
    return xy, nearest_distance(xy) if spacing is None else spacing


def _shift(layout: Layout, size: float) -> tuple[float, float]:
    """Translation [m] that moves the centre of the room to that of training rooms with this side.

    The baselines predict positions in those coordinates, and Sionna's single precision is too coarse for map ones.
    """
    x0, y0, x1, y1 = layout.room.bounds
    return size / 2 - (x0 + x1) / 2, size / 2 - (y0 + y1) / 2


def _warn_of_scale(paths: xr.Dataset, observed: xr.Dataset) -> None:
    heard, possible = (float(data.snr_db.where(data.valid).max()) for data in (observed, paths))
    if heard > possible + _MOST_ABOVE_DB:
        warnings.warn(
            f"The strongest path has an SNR of {heard:.0f} dB, but at most {possible:.0f} dB is possible from any "
            "candidate: check the scale of the capture ('noise_power') and the transmit power of the radio",
            stacklevel=3,
        )


def _warn_of_misfit(values: NDArray[np.float64]) -> None:
    """Warn if more snapshots fit badly than chance would have it; for a single one, if it does."""
    bad, count = int((values < UNUSUAL).sum()), values.size
    fewer = sum(math.comb(count, n) * UNUSUAL**n * (1 - UNUSUAL) ** (count - n) for n in range(bad))
    if 1 - fewer < 1.001 * UNUSUAL:
        which = f"{bad} of {count} snapshots fit" if count > 1 else "The capture fits"
        warnings.warn(
            f"{which} the twin worse than {1 - UNUSUAL:.0%} of what an exact twin would give (twin_fit below "
            f"{UNUSUAL:.0%}): check the plan and its scale, the pose, 'noise_power' and the radio",
            stacklevel=3,
        )


def _label(
    layout: Layout, pose: Pose, xy: NDArray[np.float64], posterior: xr.DataArray, observed: xr.Dataset
) -> xr.Dataset:
    """Label the result; positions are in the room's original coordinates."""
    lead = posterior.dims[:-1]
    credible = smallest_set(posterior.values)
    area = credible.sum(axis=-1) * layout.free_space.area / len(xy)
    best = xy[posterior.values.argmax(axis=-1)]
    receiver = {"rx_x": pose.x, "rx_y": pose.y, "rx_heading": pose.heading}
    return xr.Dataset(
        {
            "posterior": (posterior.dims, posterior.values, posterior.attrs),
            "credible": (posterior.dims, *described(credible, "1", "in the smallest set that holds 90 %")),
            "credible_area": (lead, *described(area, "m^2", "area of the smallest set that holds 90 %")),
            "map_x": (lead, *described(best[..., 0], "m", "x of the most probable candidate")),
            "map_y": (lead, *described(best[..., 1], "m", "y of the most probable candidate")),
            **{name: observed[name] for name in ("aoa", "delay", "snr_db", "valid")},
        },
        coords={
            **{name: ("candidate", xy[:, i], ATTRIBUTES[name]) for i, name in enumerate(("x", "y"))},
            **{name: ((), value, ATTRIBUTES[name]) for name, value in receiver.items()},
        },
    )
