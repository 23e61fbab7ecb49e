"""Localization from your own data: room, receiver pose and captured IQ in, posterior of the position out."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.experiment.run import versions
from locus.experiment.weights import load_with_header
from locus.judge.bootstrap import described
from locus.judge.credible import smallest_set
from locus.receiver.estimator import check_samples, estimate
from locus.room.layout import Layout, Pose, away_from, check_points, draw_position
from locus.settings import units
from locus.settings.checks import check_range
from locus.settings.config import Config, Radio
from locus.twin import make_twin
from locus.twin.base import ATTRIBUTES, check_scene

GRID_POINTS = 31
"""Points per axis of the default candidate grid."""
MAX_CANDIDATES = 10_000
MAX_WALLS = 250
"""With more walls, sequences of three would not fit into Sionna's table."""
MAX_SNAPSHOTS = 1000

_MUST_MATCH = ("carrier", "bandwidth", "num_antennas", "num_subcarriers")  # the link budget may differ from training
_LEAST_POWER = 0.1  # relative to the noise power, which every capture contains
_MOST_ABOVE_DB = 20.0  # a transmitter between two candidates may have a path stronger than theirs by this much
_UNUSUAL = 2.0  # warn if the room is larger or smaller than the training rooms by more than this factor


def locate(
    layout: Layout,
    pose: Pose,
    iq: xr.Dataset | ArrayLike,
    candidates: ArrayLike | None = None,
    *,
    weights: str = "paper",
    method: str = "locus_dt",
    twin: str | None = None,
    radio: Radio | None = None,
    noise_power: float | None = None,
) -> xr.Dataset:
    """Compute the posterior of the transmitter's position from an IQ capture.

    Coordinates may have any origin: the room is moved to where the training rooms were before it is traced. Estimator,
    tracing and feature options are those that the weights were trained with.

    Args:
        layout: the room, with at most 250 walls.
        pose: pose of the receiver.
        iq: samples (sample, antenna), or up to 1000 snapshots (snapshot, sample, antenna), each located independently.
        candidates: possible positions [m], (n, 2), at most 10,000; by default the free points of a 31 x 31 grid.
        weights: run or file, as for :func:`locus.load_scorer`.
        method: trained method of the run.
        twin: ``"sionna"`` or ``"image"``; by default the twin that the weights were evaluated with.
        radio: by default the radio stored in ``iq``, else the one that the weights were trained for.
        noise_power: mean squared magnitude of a noise sample, in the units of ``iq``, used to scale ``iq``; if not
            given, ``iq`` is in W^0.5.

    Returns:
        Dataset ([snapshot,] candidate): ``posterior``, which sums to 1; ``credible``, the mask of the smallest set that
        holds 90 %; ``credible_area``, its area [m^2]; ``map_x`` and ``map_y``, the most probable candidate [m]; and the
        estimated paths ``aoa``, ``delay``, ``snr_db`` and ``valid`` ([snapshot,] path). Attributes hold room, radio,
        weights, twin and versions.

    Raises:
        ValueError: an input is out of range, or the weights were trained for another radio.
        FileNotFoundError: the weights do not exist.
    """
    scorer, header = load_with_header(weights, method)
    config = Config.from_dict(header["config"])
    radio = radio or Radio.carried_by(iq) or config.radio
    _check_radio(radio, config.radio, weights)
    samples = _check_iq(iq, radio, noise_power)
    if len(layout.walls) > MAX_WALLS:
        raise ValueError(f"Expected a room of at most {MAX_WALLS} walls, got {len(layout.walls)}")
    xy = _check_candidates(layout, pose, candidates)
    check_scene(layout, pose, xy, radio)
    _warn_of_size(layout, scorer.options.size)

    x, y = _shift(layout, scorer.options.size)
    backend = make_twin(twin or config.twin.evaluation, radio, config.twin)
    observed = estimate(samples, config.estimator, radio)
    there = Pose(pose.x + x, pose.y + y, pose.heading)
    paths = backend.trace(layout.moved(x, y), there, xy + np.array([x, y]))
    _warn_of_scale(paths, observed)
    attributes = {
        "weights": weights,
        "weights_hash": header["hash"],
        "method": header["method"],
        "twin": backend.name,
        "twin_options": json.dumps(dataclasses.asdict(config.twin)),
        "estimator_options": json.dumps(dataclasses.asdict(config.estimator)),
        "radio": json.dumps(dataclasses.asdict(radio)),
        "layout": json.dumps(layout.to_geojson()),
        "versions": json.dumps(versions()),
    }
    posterior = scorer.posterior(paths, observed)
    return _label(layout, pose, xy, posterior, observed).assign_attrs(attributes)


def words(data: xr.Dataset) -> list[str]:
    """Summary of the result of :func:`locate`, one line per snapshot."""
    snapshots = [data.isel(snapshot=i) for i in range(data.sizes["snapshot"])] if "snapshot" in data.dims else [data]
    return [
        f"{int(one.valid.sum())} paths; most probable at x = {float(one.map_x):.1f} m, y = {float(one.map_y):.1f} m "
        f"({float(one.posterior.max()):.1%}); 90 % in {units.area(float(one.credible_area))} m^2"
        for one in snapshots
    ]


def grid_candidates(layout: Layout, pose: Pose, num_points: int = GRID_POINTS) -> NDArray[np.float64]:
    """Free points [m] of a grid over the room, ``num_points`` per axis, (n, 2), except the receiver's position."""
    check_range("grid", num_points, 1, math.isqrt(MAX_CANDIDATES))
    xy = away_from(pose, layout.grid(num_points))
    if len(xy) == 0:
        raise ValueError(f"Expected a grid with free points, got none in {_space(layout)}")
    return xy


def random_candidates(layout: Layout, pose: Pose, num_points: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random points [m] in the free space, (num_points, 2)."""
    check_range("candidates", num_points, 1, MAX_CANDIDATES)
    if layout.free_space.buffer(-layout.clearance).is_empty:
        raise ValueError(f"Expected free space, got none in {_space(layout)}")
    return np.stack([draw_position(layout, pose, rng) for _ in range(num_points)])


def _check_radio(radio: Radio, trained: Radio, weights: str) -> None:
    different = [name for name in _MUST_MATCH if getattr(radio, name) != getattr(trained, name)]
    if different:
        theirs, ours = (", ".join(f"{name} {getattr(one, name):g}" for name in different) for one in (trained, radio))
        changes = " ".join(f"--set radio.{name}={getattr(radio, name)}" for name in different)
        raise ValueError(
            f"Expected a radio like that of the weights {weights!r} ({theirs}), got {ours}; "
            f"`locus train locus_dt {changes}` trains weights for it"
        )


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


def _check_candidates(layout: Layout, pose: Pose, candidates: ArrayLike | None) -> NDArray[np.float64]:
    xy = grid_candidates(layout, pose) if candidates is None else check_points("candidates", candidates)
    if len(xy) > MAX_CANDIDATES:
        raise ValueError(f"Expected at most {MAX_CANDIDATES} candidates, got {len(xy)}")
    return xy


def _shift(layout: Layout, size: float) -> tuple[float, float]:
    """Translation [m] that moves the centre of the room to that of the training rooms.

    The baselines predict positions in those coordinates, and Sionna's single precision is too coarse for map ones.
    """
    x0, y0, x1, y1 = layout.room.bounds
    return size / 2 - (x0 + x1) / 2, size / 2 - (y0 + y1) / 2


def _warn_of_size(layout: Layout, size: float) -> None:
    x0, y0, x1, y1 = layout.room.bounds
    if not size / _UNUSUAL <= max(x1 - x0, y1 - y0) <= size * _UNUSUAL:
        warnings.warn(
            f"The weights were trained on rooms of {size:g} m x {size:g} m, this one is {_extent(layout)}: "
            "its posterior may be over- or under-confident",
            stacklevel=3,
        )


def _warn_of_scale(paths: xr.Dataset, observed: xr.Dataset) -> None:
    heard, possible = (float(data.snr_db.where(data.valid).max()) for data in (observed, paths))
    if heard > possible + _MOST_ABOVE_DB:
        warnings.warn(
            f"The strongest path has an SNR of {heard:.0f} dB, but at most {possible:.0f} dB is possible from any "
            "candidate: check the scale of the capture ('noise_power') and the transmit power of the radio",
            stacklevel=3,
        )


def _extent(layout: Layout) -> str:
    x0, y0, x1, y1 = layout.room.bounds
    return f"{x1 - x0:.3g} m x {y1 - y0:.3g} m"


def _space(layout: Layout) -> str:
    return f"a room of {_extent(layout)}, {layout.clearance} m from every wall; lengths are in metres"


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
