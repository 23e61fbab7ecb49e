"""Base class of all twins: checks the inputs of a trace and labels the traced paths as a Dataset."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.room.layout import MIN_DISTANCE, Layout, Pose, check_points
from locus.room.materials import permittivity
from locus.settings.config import Radio, TwinOptions

RECIPE = 1


ATTRIBUTES = {
    name: {"units": units, "long_name": meaning}
    for name, units, meaning in (
        ("aoa", "rad", "angle of arrival relative to the heading"),
        ("delay", "s", "absolute delay"),
        ("gain", "1", "complex gain at antenna 0"),
        ("snr_db", "dB", "SNR per sample and antenna"),
        ("order", "1", "number of bounces"),
        ("valid", "1", "path is real, not padding"),
        ("x", "m", "x of the candidate"),
        ("y", "m", "y of the candidate"),
        ("rx_x", "m", "x of the receiver"),
        ("rx_y", "m", "y of the receiver"),
        ("rx_heading", "rad", "broadside direction of the receiver"),
    )
}
"""Units and long names of all variables of a path set."""


class PathArrays(NamedTuple):
    """Paths of all candidates, (candidate, path), strongest first; padding has order -1 and zeros elsewhere."""

    aoa: NDArray[np.float64]
    delay: NDArray[np.float64]
    gain: NDArray[np.complex128]
    order: NDArray[np.int64]


class Twin(ABC):
    r"""Digital twin :math:`\Psi` of eq. (4): maps a layout, a receiver pose and candidates to their multipath."""

    name: str

    def __init__(self, radio: Radio, options: TwinOptions) -> None:
        self.radio = radio
        self.options = options

    def trace(self, layout: Layout, pose: Pose, candidates: ArrayLike) -> xr.Dataset:
        """Trace the strongest paths of every candidate.

        Args:
            layout: the room.
            pose: position of antenna 0 and broadside direction of the receiver.
            candidates: possible transmitter positions [m], (candidate, 2).

        Returns:
            Dataset (candidate, path) with ``aoa``, ``delay``, ``gain``, ``snr_db``, ``order`` and ``valid``; strongest
            path first. Padding has ``valid`` False, zero gain, an SNR of -inf and order -1.

        Raises:
            ValueError: a position is not in free space, or a material is not defined at the carrier frequency.
        """
        xy = check_points("candidates", candidates)
        check_scene(layout, pose, xy, self.radio)
        return self._label(pose, xy, self._solve(layout, pose, xy))

    @abstractmethod
    def _solve(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        """Trace candidates (n, 2) whose positions have been checked."""

    def _label(self, pose: Pose, candidates: NDArray[np.float64], paths: PathArrays) -> xr.Dataset:
        dims = ("candidate", "path")
        data = xr.Dataset(
            {name: (dims, values) for name, values in paths._asdict().items()},
            coords={
                "x": ("candidate", candidates[:, 0]),
                "y": ("candidate", candidates[:, 1]),
                "rx_x": pose.x,
                "rx_y": pose.y,
                "rx_heading": pose.heading,
            },
            attrs={
                "twin": self.name,
                "max_depth": self.options.max_depth,
                "radio": json.dumps(dataclasses.asdict(self.radio)),
            },
        )
        data["valid"] = data.order >= 0
        for name in data.variables:
            data[name].attrs = dict(ATTRIBUTES[str(name)])
        data["snr_db"] = snr_db(data.gain, self.radio)
        return data


def snr_db(gain: xr.DataArray, radio: Radio) -> xr.DataArray:
    """SNR per sample and antenna [dB] of a path gain; -inf where the gain is zero. Lazy if the gain is."""
    magnitude = abs(gain)
    decibels: Any = 20 * np.log10(magnitude.where(magnitude > 0)) + radio.tx_power_dbm - radio.noise_power_dbm
    return xr.DataArray(decibels.fillna(-np.inf).assign_attrs(ATTRIBUTES["snr_db"]))


def check_scene(layout: Layout, pose: Pose, candidates: NDArray[np.float64], radio: Radio) -> None:
    """Raise a ValueError unless all positions can be traced and all materials are defined at the carrier frequency."""
    _check_free(layout, "pose", np.array([[pose.x, pose.y]]))
    _check_free(layout, "candidates", candidates)
    distance = np.hypot(candidates[:, 0] - pose.x, candidates[:, 1] - pose.y)
    if distance.min() < MIN_DISTANCE:
        raise ValueError(
            f"Expected 'candidates' at least {MIN_DISTANCE} m from the receiver, "
            f"got {candidates[distance.argmin()]} at index {int(distance.argmin())}"
        )
    for material in layout.materials:
        permittivity(material, radio.carrier)


def _check_free(layout: Layout, name: str, points: NDArray[np.float64]) -> None:
    free = layout.is_free(points, MIN_DISTANCE)
    if not free.all():
        index = int(np.argmin(free))
        raise ValueError(
            f"Expected '{name}' in free space, at least {MIN_DISTANCE} m from every wall, "
            f"got {points[index]} at index {index}"
        )
