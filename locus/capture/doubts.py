"""Doubts about a capture: its strongest path, and how well it fits the twin, in; errors and warnings out."""

from __future__ import annotations

import math
import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.score.twin_fit import UNUSUAL

_MOST_ABOVE_DB = 20.0  # a transmitter between two candidates may have a path stronger than theirs by this much


def excess_db(paths: xr.Dataset, observed: xr.Dataset) -> tuple[float, float]:
    """SNR [dB] of the strongest observed path, and how much it exceeds what is possible from any candidate."""
    heard, possible = (float(data.snr_db.where(data.valid).max()) for data in (observed, paths))
    return heard, heard - possible


def check_loudness(heard: float, excess: float, *, refuse: bool) -> None:
    """Raise a ValueError, or only warn, if a path is much stronger than any candidate's, see :func:`excess_db`."""
    if excess > _MOST_ABOVE_DB:
        possible = heard - excess
        remedy = "check the scale of the capture ('noise_power') and the transmit power of the radio"
        if refuse:
            raise ValueError(
                f"Expected a strongest path of at most {possible:.0f} dB SNR, what is possible from any candidate, "
                f"got {heard:.0f} dB; {remedy}, or say 'check_power=False' (--any-power)"
            )
        warnings.warn(
            f"The strongest path has an SNR of {heard:.0f} dB, but at most {possible:.0f} dB is possible from any "
            f"candidate: {remedy}",
            stacklevel=3,
        )


def warn_of_misfit(values: NDArray[np.float64]) -> None:
    """Warn if more snapshots fit badly than chance explains; if there is one, warn if it fits badly."""
    bad, count = int((values < UNUSUAL).sum()), values.size
    fewer = sum(math.comb(count, n) * UNUSUAL**n * (1 - UNUSUAL) ** (count - n) for n in range(bad))
    if 1 - fewer < 1.001 * UNUSUAL:
        which = f"{bad} of {count} snapshots fit" if count > 1 else "The capture fits"
        warnings.warn(
            f"{which} the twin worse than {1 - UNUSUAL:.0%} of what an exact twin would give (twin_fit below "
            f"{UNUSUAL:.0%}): check the plan and its scale, the pose, the pilot, the noise power and the radio",
            stacklevel=3,
        )
