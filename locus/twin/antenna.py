"""Receive antennas: element gain and array response as functions of azimuth."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

ELEMENT_GAIN_DB, MOST_LOSS_DB = 8.0, 30.0
"""Gain [dBi] of an element at broadside, and how far it falls at most [dB]."""
HALF_POWER_WIDTH = np.deg2rad(65.0)
"""Angle [rad] between the directions in which an element hears half the power."""


@njit(cache=True)
def element_gain_db(azimuth):  # type: ignore[no-untyped-def]
    r"""Gain [dBi] of the 3GPP TR 38.901 element in the horizontal plane.

    ``azimuth`` is measured from broadside, in :math:`[-\pi, \pi)`.
    """
    return ELEMENT_GAIN_DB - np.minimum(12.0 * (azimuth / HALF_POWER_WIDTH) ** 2, MOST_LOSS_DB)


def array_response(aoa: ArrayLike, num_antennas: int) -> NDArray[np.complex128]:
    r"""Array response (..., antenna) of eq. (19), :math:`e^{-j \pi m \sin\theta}` for half-wavelength spacing."""
    sine = np.sin(np.asarray(aoa, dtype=float))[..., np.newaxis]
    return np.asarray(np.exp(-1j * np.pi * np.arange(num_antennas) * sine))
