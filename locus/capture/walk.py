"""A walk with your own data: poses, and the paths heard at each, in; the posterior after each snapshot out.

Several receivers that hear one transmitter at the same time are the same computation: each is a pose of the walk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from locus.capture.choice import Choice
from locus.capture.doubts import excess_db
from locus.judge.bootstrap import described
from locus.room.layout import MIN_DISTANCE, Layout, Pose
from locus.score.moving import Moving
from locus.score.path_set import PathSet
from locus.score.posterior import exponentiated
from locus.score.twin_fit import twin_fit
from locus.score.walk import Odometry, Walk
from locus.settings.checks import check_range
from locus.settings.untrusted import real_numbers
from locus.twin import Twin
from locus.twin.base import ATTRIBUTES

MAX_POSES = 1000
_SEED = 0  # of the simulations that tell how well the twin fits
_DIRECTIONS = 16  # tried for a place beside the receiver


@dataclass(frozen=True)
class Route:
    """Where and when the snapshots were taken, and what may have moved meanwhile."""

    poses: tuple[Pose, ...]
    single: bool = False
    """Whether all snapshots were taken at one pose and have nothing to do with each other."""
    odometry: Odometry | None = None
    speed: float | None = None
    """Largest speed of the transmitter [m/s]; None if it stands still."""
    times: NDArray[np.float64] | None = None
    """Time of each snapshot [s], if the transmitter moves."""

    def moved(self, x: float, y: float) -> Route:
        """The same route translated by ``x`` and ``y`` [m]."""
        return replace(self, poses=tuple(replace(one, x=one.x + x, y=one.y + y) for one in self.poses))

    @property
    def coordinates(self) -> dict[str, Any]:
        """Poses, (step) unless there is a single one, and times as coordinates."""
        values = np.array([[one.x, one.y, one.heading] for one in self.poses]).T
        dims, values = ((), values[:, 0]) if self.single else ("step", values)
        names = ("rx_x", "rx_y", "rx_heading")
        found = {name: (dims, value, ATTRIBUTES[name]) for name, value in zip(names, values, strict=True)}
        if self.times is not None:
            found["time"] = (dims, self.times, {"units": "s", "long_name": "time of the snapshot"})
        return found

    @property
    def attributes(self) -> dict[str, Any]:
        """What a result says about the walk."""
        found: dict[str, Any] = {} if self.speed is None else {"speed": self.speed}
        return found | ({"odometry": json.dumps(asdict(self.odometry))} if self.odometry else {})


def find_route(
    layout: Layout,
    pose: Pose | Sequence[Pose],
    samples: NDArray[np.complex128],
    choice: Choice,
    odometry: Odometry | None,
    speed: float | None,
    times: ArrayLike | None,
) -> Route:
    """Check what was given of a walk around the transmitter; a single pose is not a walk.

    Raises:
        ValueError: an option does not go with the others, or a pose of a walk is not in the free space of the room.
    """
    if isinstance(pose, Pose):
        for name, value in {"odometry": odometry, "speed": speed, "times": times}.items():
            if value is not None:
                raise ValueError(f"Expected '{name}' with a list of poses only, got it with a single pose")
        return Route((pose,), single=True)
    poses = _check_poses(pose, len(samples) if samples.ndim == 3 else 1)
    if choice.network is not None:
        raise ValueError(
            f"Expected method 'path_set' for a walk, got {choice.attributes['method']!r}: posteriors of a network, "
            "multiplied, would count errors of plan and compass anew with each snapshot; locate them one by one"
        )
    _check_place(layout, poses)
    if (speed is None) != (times is None):
        given, missing = ("times", "speed") if speed is None else ("speed", "times")
        raise ValueError(f"Expected '{missing}' together with '{given}', for a transmitter that moves, got none")
    if speed is None:
        return Route(poses, odometry=odometry)
    if odometry is not None:
        raise ValueError(
            "Expected 'odometry' for a transmitter that stands still, got it with 'speed'; if the transmitter moves, "
            "errors of each pose are independent, and 'tolerance' says how large they are"
        )
    check_range("speed", speed, 0.0, open_low=True)
    return Route(poses, speed=speed, times=check_times(times, len(poses)))


def _check_poses(poses: Sequence[Pose], num_snapshots: int) -> tuple[Pose, ...]:
    found = tuple(poses) if isinstance(poses, Sequence) else (poses,)
    for i, one in enumerate(found):
        if not isinstance(one, Pose):
            raise ValueError(f"Expected 'pose' as a locus.Pose or a list of them, got {one!r} at index {i}")
    if not 1 <= len(found) <= MAX_POSES:
        raise ValueError(f"Expected 1 to {MAX_POSES} poses, got {len(found) or 'none'}")
    if len(found) != num_snapshots:
        raise ValueError(
            f"Expected one pose per snapshot, got {len(found)} pose{'s'[: len(found) > 1]} and "
            f"{num_snapshots} snapshot{'s'[: num_snapshots > 1]}"
        )
    return found


def _check_place(layout: Layout, poses: tuple[Pose, ...]) -> None:
    """Refuse poses in walls or outside; if these are most of them, they are probably in another frame than the room."""
    xy = np.array([[one.x, one.y] for one in poses])
    free = layout.is_free(xy, MIN_DISTANCE)
    if free.all():
        return
    first, count = int(free.argmin()), int((~free).sum())
    which = f"pose {first + 1} of {len(poses)} at [{xy[first, 0]:.6g} {xy[first, 1]:.6g}]"
    message = f"Expected all poses in free space, at least {MIN_DISTANCE} m from every wall, got {which}"
    if 2 * count > len(poses):
        room = np.reshape(layout.room.bounds, (2, 2))
        message = (
            f"Expected poses in the room's frame, got {count} of {len(poses)} in walls or outside: the room spans "
            f"{_spans(room)}, the poses {_spans(np.stack([xy.min(axis=0), xy.max(axis=0)]))}"
        )
    raise ValueError(message)


def _spans(corners: NDArray[np.float64]) -> str:
    return ", ".join(f"{name} = {low:.6g} to {high:.6g} m" for name, low, high in zip("xy", *corners, strict=True))


def check_times(times: ArrayLike | None, number: int) -> NDArray[np.float64]:
    """Times [s] as an array (number), finite and increasing."""
    found = real_numbers("times", times)
    if found.shape != (number,):
        raise ValueError(f"Expected 'times' of shape ({number},), one per pose, got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"Expected finite 'times', got {found[~np.isfinite(found)][0]}")
    late = np.diff(found) <= 0
    if late.any():
        i = int(late.argmax())
        raise ValueError(f"Expected increasing 'times', got {found[i + 1]:.15g} s after {found[i]:.15g} s")
    return found


def follow(
    layout: Layout,
    route: Route,
    xy: NDArray[np.float64],
    twin: Twin,
    scorer: PathSet,
    observed: xr.Dataset,
    spacing: float,
) -> tuple[xr.Dataset, tuple[float, float]]:
    """Fuse the snapshots of a walk.

    Args:
        layout: the room.
        route: poses in it.
        xy: candidates [m], (n, 2).
        twin: traces the candidates from every pose.
        scorer: likelihood of a snapshot.
        observed: estimated paths (step, path).
        spacing: distance between neighbouring candidates [m].

    Returns:
        Dataset with ``posterior`` (step, candidate), ``twin_fit`` (step) and, if the transmitter stands still,
        ``heading_error`` with the ends of its interval (step); and SNR and excess of the snapshot with the
        largest excess, see :func:`locus.capture.doubts.excess_db`.
    """
    rng = np.random.default_rng(_SEED)
    still = Walk(layout, scorer, spacing=spacing, odometry=route.odometry)
    moving = Moving(layout, scorer, speed=route.speed, spacing=spacing) if route.speed is not None else None
    places = {name: ("candidate", xy[:, i], ATTRIBUTES[name]) for i, name in enumerate(("x", "y"))}
    posteriors, fits, turns, loudest = [], [], [], (math.nan, -math.inf)
    for step, pose in enumerate(tqdm(route.poses, desc="walking", unit="pose", leave=False, disable=None)):
        paths, heard = twin.trace(layout, pose, beside(layout, pose, xy)), observed.isel(step=step)
        paths = paths.assign_coords(places)
        loudest = max(loudest, excess_db(paths, heard), key=lambda pair: pair[1])
        if moving is not None and route.times is not None:
            moving.add(paths, heard, float(route.times[step]))
        else:
            still.add(paths, heard)
            turns.append(still.heading_error())
        posteriors.append(exponentiated((moving or still).log_posterior()))
        fits.append(float(twin_fit(scorer, paths, heard, rng, spacing=spacing)))
    result = xr.Dataset({"posterior": xr.concat(posteriors, "step")})
    result["twin_fit"] = ("step", *described(np.array(fits), "1", "probability that an exact twin fits worse"))
    if turns:
        meanings = {
            "heading_error": ("mean", "mean error of the compass: true heading minus the given one"),
            "heading_error_low": ("low", "lower end of the 90 % interval of the compass error"),
            "heading_error_high": ("high", "upper end of the 90 % interval of the compass error"),
        }
        for name, (field, meaning) in meanings.items():
            result[name] = ("step", *described(np.array([getattr(one, field) for one in turns]), "rad", meaning))
    return result, loudest


def beside(layout: Layout, pose: Pose, xy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Candidates (n, 2) [m], those at the receiver's own place moved aside so that they can be traced.

    On a walk, a candidate in the receiver's way is as possible as any other.
    """
    near = np.hypot(xy[:, 0] - pose.x, xy[:, 1] - pose.y) < MIN_DISTANCE
    angle = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    around = np.array([pose.x, pose.y]) + 2 * MIN_DISTANCE * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    aside = around[layout.is_free(around, MIN_DISTANCE).argmax()]
    return np.where(near[:, np.newaxis], aside, xy)
