"""Stages of the witness: stored outputs of earlier stages in; the output of a stage, and where it differs, out.

The tolerance of each stage covers the rounding of its own arithmetic, and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import shapely
import xarray as xr
from numpy.typing import NDArray

from locus.experiment import splits
from locus.experiment.case import Case, as_stored, draw_truth, split_twin
from locus.receiver import estimator, fit_cpu
from locus.receiver.observation import observe
from locus.room.layout import Layout, Pose
from locus.room.materials import permittivity
from locus.score.method import HIDDEN, Method
from locus.settings.config import SPEED_OF_LIGHT, Config, Radio
from locus.twin.antenna import array_response
from locus.twin.base import snr_db

NUM_CANDIDATES = 50
"""Candidates per group whose paths are stored, true ones first; all are traced, as the truth is drawn from all."""
NUM_SNAPSHOTS = 2
"""Snapshots per group whose samples are stored."""

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
"""Rounding error of one operation, relative to its result."""
ROUNDINGS = 4
"""Allowed error in units of one rounding error: a few operations in a row, each with the worst rounding."""
CORNER_SHARE = 1e-3
"""Share of paths that may appear or vanish: whether a path that grazes a corner exists depends on rounding."""


class Given(NamedTuple):
    """Input of a stage: settings, split and number of the group, outputs of earlier stages, and trained methods."""

    config: Config
    split: str
    number: int
    stored: xr.Dataset
    scorers: dict[str, Method]


def _layout(given: Given) -> xr.Dataset:
    case = Case(given.config, given.split, given.number)
    layout, pose = case.layout, case.pose
    walls = np.full((4 + 8 * given.config.room.num_obstacles, 4), np.nan)  # a T has eight walls
    polygon = np.full(len(walls), -1)
    walls[: len(layout.walls)], polygon[: len(layout.walls)] = layout.walls, layout.wall_polygons
    return xr.Dataset(
        {
            "walls": (("wall", "end"), walls),
            "polygon": ("wall", polygon),
            "pose": ("axis", [pose.x, pose.y, pose.heading]),
            "candidates": (("candidate", "plane"), case.candidates),
        }
    )


def _layout_differs(given: Given, now: xr.Dataset) -> str | None:
    """Tolerance: coordinates are sums of a few numbers in double precision."""
    if not np.array_equal(given.stored.polygon, now.polygon):
        return "the number of walls"
    return _beyond(given.stored, now, {name: ROUNDINGS * DOUBLE * _reach(given) for name in now if name != "polygon"})


def _twin(given: Given) -> xr.Dataset:
    stored, config = given.stored, given.config
    rings = [stored.walls.values[stored.polygon.values == i, :2] for i in range(int(stored.polygon.max()) + 1)]
    room, *obstacles = (shapely.Polygon(ring) for ring in rings)
    materials = (config.room.material,) * len(rings)
    layout = Layout(room, tuple(obstacles), materials, config.room.clearance)
    traced = split_twin(config, given.split).trace(layout, Pose(*stored.pose.values), stored.candidates.values)
    paths = as_stored(traced, config.radio)
    heard = paths.valid.any("path").values
    if "kept" in stored:
        kept = stored.kept.values
    else:
        truth = draw_truth(config, heard, _rngs(given))
        kept = np.array(list(dict.fromkeys([*truth, *range(len(heard))]))[:NUM_CANDIDATES])
    few = paths.isel(candidate=kept)
    return xr.Dataset(
        {
            "heard": ("candidate", heard),
            "kept": ("kept_candidate", kept),
            "aoa": (("kept_candidate", "path"), few.aoa.values),
            "delay": (("kept_candidate", "path"), few.delay.values),
            "gain": (("part", "kept_candidate", "path"), _parts(few.gain.values)),
            "order": (("kept_candidate", "path"), few.order.values),
        }
    )


def _twin_differs(given: Given, now: xr.Dataset) -> str | None:
    """Every stored path must match a computed one and vice versa, in any order: equally strong paths may swap.

    Path lengths carry the rounding of the coordinates, in single precision for Sionna and double for the image twin.
    A length error of one wavelength rotates the gain by one turn; reflection from a slab adds the rounded phase of its
    thickness. The angle error is the length error seen from the distance of the nearest wall.
    """
    config, stored = given.config, given.stored
    unit = SINGLE if splits.backend(config, given.split) == "sionna" else DOUBLE
    length = ROUNDINGS * unit * _reach(given)
    index = abs(np.sqrt(permittivity(config.room.material, config.radio.carrier)))
    slab = 4 * np.pi * config.twin.wall_thickness * index / config.radio.wavelength
    phase = 2 * np.pi * length / config.radio.wavelength + ROUNDINGS * unit * slab * config.twin.max_depth
    strength = np.hypot(*stored.gain.values)
    allowed = {
        "delay": np.full(strength.shape, length / SPEED_OF_LIGHT),
        "aoa": np.full(strength.shape, length / config.room.clearance + ROUNDINGS * SINGLE),  # stored in single
        "gain": (phase + ROUNDINGS * SINGLE) * strength,
    }
    before, after = (
        {"order": data.order.values, "delay": data.delay.values, "aoa": data.aoa.values, "gain": _complex(data.gain)}
        for data in (stored, now)
    )
    same = before["order"][:, :, None] == after["order"][:, None, :]
    for name, tolerance in allowed.items():
        same &= np.abs(before[name][:, :, None] - after[name][:, None, :]) <= tolerance[:, :, None]
    real = [data["order"] >= 0 for data in (before, after)]
    alone = (real[0] & ~same.any(2)).sum() + (real[1] & ~same.any(1)).sum()
    if alone > max(1, CORNER_SHARE * real[0].sum()):
        return f"{alone} of {real[0].sum()} paths"
    changed = (stored.heard.values != now.heard.values).sum()
    return f"'heard' at {changed} candidates" if changed > max(1, CORNER_SHARE * now.sizes["candidate"]) else None


def _observation(given: Given) -> xr.Dataset:
    stored, config = given.stored, given.config
    rngs = _rngs(given)
    truth = draw_truth(config, stored.heard.values, rngs)
    transmitters = stored.truth.values if "truth" in stored else truth
    rows = [stored.kept.values.tolist().index(one) for one in transmitters]
    paths = _stored_paths(given).isel(candidate=rows).rename(candidate="snapshot")
    snapshots = observe(paths[["aoa", "delay", "gain", "valid"]], rngs, config.radio)
    samples = _parts(snapshots.iq.values[:NUM_SNAPSHOTS] / np.sqrt(config.radio.noise_power)).astype(np.float32)
    return xr.Dataset(
        {"truth": ("snapshot", truth), "iq": (("part", "kept_snapshot", "sample", "antenna"), samples)},
    )


def _observation_differs(given: Given, now: xr.Dataset) -> str | None:
    """Tolerance: samples sum phases of up to a whole sync window, in double precision, and are stored in single."""
    if not np.array_equal(given.stored.truth, now.truth):
        return "'truth'"
    radio = given.config.radio
    phase = 2 * np.pi * radio.bandwidth * max(radio.sync_window, radio.period)
    strongest = float(np.abs(given.stored.iq).max())
    rounding = (SINGLE + ROUNDINGS * DOUBLE * radio.num_subcarriers * phase) * strongest
    return _beyond(given.stored, now, {"iq": 2 * rounding})


def _estimator(given: Given) -> xr.Dataset:
    config = given.config
    iq = _complex(given.stored.iq) * np.sqrt(config.radio.noise_power)
    observed = estimator.estimate(iq, config.estimator, config.radio)
    dims = ("kept_snapshot", "observed_path")
    return xr.Dataset(
        {
            "observed_aoa": (dims, observed.aoa.values),
            "observed_delay": (dims, observed.delay.values),
            "observed_gain": (("part", *dims), _parts(observed.gain.values)),
            "observed_valid": (dims, observed.valid.values),
        }
    )


def _estimator_differs(given: Given, now: xr.Dataset) -> str | None:
    """Both fits must explain the samples equally well.

    A fit stops when a step lowers its misfit by less than ``CONVERGED`` noise variances. Near a minimum the misfit
    grows with the squared distance between the fitted channels, so that this distance is compared rather than angles,
    which are ill-determined for unresolved paths. Where convergence is slow, the fits may be a thousand steps apart.
    """
    channels = [_channel(data, given.config.radio) for data in (given.stored, now)]
    energy = (np.abs(channels[0]) ** 2).sum(axis=(1, 2))
    allowed = 1000 * (fit_cpu.CONVERGED + fit_cpu.ROUNDING * energy)
    apart = (np.abs(channels[0] - channels[1]) ** 2).sum(axis=(1, 2))
    return "the estimated channel" if (apart > allowed).any() else None


def _score(given: Given) -> xr.Dataset:
    stored = given.stored
    gain = _complex(stored.observed_gain)
    dims = ("snapshot", "path")
    observed = xr.Dataset(
        {
            "aoa": (dims, stored.observed_aoa.values),
            "delay": (dims, stored.observed_delay.values),
            "gain": (dims, gain),
            "valid": (dims, stored.observed_valid.values.astype(bool)),
        }
    )
    observed["snr_db"] = snr_db(observed.gain, given.config.radio)
    paths = _stored_paths(given)
    scores = [scorer.log_posterior(paths, observed).values for scorer in given.scorers.values()]
    return xr.Dataset({"score": (("method", "kept_snapshot", "kept_candidate"), np.stack(scores).astype(np.float32))})


def _score_differs(given: Given, now: xr.Dataset) -> str | None:
    """Tolerance: the layers sum up to ``HIDDEN[0]`` terms, in single precision."""
    largest = np.abs(given.stored.score.values).max(axis=(1, 2), keepdims=True)
    return _beyond(given.stored, now, {"score": ROUNDINGS * HIDDEN[0] * SINGLE * largest})


class Stage(NamedTuple):
    """One stage of the computation."""

    compute: Callable[[Given], xr.Dataset]
    """Computes its output from the outputs of earlier stages."""
    differs: Callable[[Given, xr.Dataset], str | None]
    """Describes what differs from the stored output; None if nothing does."""


STAGES = {
    "layout": Stage(_layout, _layout_differs),
    "twin": Stage(_twin, _twin_differs),
    "observation": Stage(_observation, _observation_differs),
    "estimator": Stage(_estimator, _estimator_differs),
    "features, score or baselines": Stage(_score, _score_differs),
}
"""Stages in the order of computation, by the modules that compute them."""


def _beyond(stored: xr.Dataset, now: xr.Dataset, allowed: dict[Any, Any]) -> str | None:
    """Name of the first variable that differs by more than allowed; NaN equals NaN."""
    for name, tolerance in allowed.items():
        before, after = (data[name].values.astype(float) for data in (stored, now))
        if before.shape != after.shape or (np.isnan(before) != np.isnan(after)).any():
            return f"'{name}'"
        if (np.nan_to_num(np.abs(before - after)) > tolerance).any():
            return f"'{name}'"
    return None


def _reach(given: Given) -> float:
    """Distance [m] to the farthest mirror image of a point in the room, an upper bound of all coordinates."""
    return (2 * given.config.twin.max_depth + 1) * given.config.room.size


def _rngs(given: Given) -> list[np.random.Generator]:
    return splits.snapshot_rngs(given.config, given.split, given.number)


def _stored_paths(given: Given) -> xr.Dataset:
    """Stored paths (candidate, path) in the form that a twin returns."""
    stored, dims = given.stored, ("candidate", "path")
    order = stored.order.values
    x, y, heading = stored.pose.values
    xy = stored.candidates.values[stored.kept.values]
    paths = xr.Dataset(
        {
            "aoa": (dims, stored.aoa.values),
            "delay": (dims, stored.delay.values),
            "gain": (dims, _complex(stored.gain)),
            "order": (dims, order),
            "valid": (dims, order >= 0),
        },
        coords={
            "x": ("candidate", xy[:, 0]),
            "y": ("candidate", xy[:, 1]),
            "rx_x": x,
            "rx_y": y,
            "rx_heading": heading,
        },
    )
    paths["snr_db"] = snr_db(paths.gain, given.config.radio)
    return paths


def _channel(data: xr.Dataset, radio: Radio) -> NDArray[np.complex128]:
    """Channel (snapshot, subcarrier, antenna) of the estimated paths, eq. (20), in units of the noise amplitude."""
    gain = np.where(data.observed_valid, _complex(data.observed_gain), 0)
    gain = gain * np.sqrt(radio.tx_power / radio.noise_power)
    turns = data.observed_delay.values[..., np.newaxis] / radio.period * np.arange(radio.num_subcarriers)
    waves = np.exp(-2j * np.pi * turns)
    arrays = array_response(data.observed_aoa.values, radio.num_antennas)
    return np.asarray(np.einsum("sp,spn,spm->snm", gain, waves, arrays))


def _parts(values: NDArray[np.complexfloating]) -> NDArray[np.floating]:
    """Real and imaginary parts (part, ...), as netCDF has no complex numbers."""
    return np.stack([values.real, values.imag])


def _complex(parts: xr.DataArray) -> NDArray[np.complex128]:
    return np.asarray(parts.values[0] + 1j * parts.values[1])
