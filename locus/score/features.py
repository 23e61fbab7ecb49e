"""Features (Sec. II-F): traced or observed path sets in, network inputs out."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.settings.config import FeatureOptions
from locus.twin.check import check_paths

RECIPE = 1

PER_PATH = 3
"""Features per path: cosine and sine of the angle of arrival, and the scaled SNR. The delay is not used."""

_READ = ("aoa", "snr_db", "valid")


def features(paths: xr.Dataset, num_paths: int = 6, options: FeatureOptions | None = None) -> NDArray[np.float32]:
    """Features of the strongest paths, the same for traced and observed paths.

    Each path has three: cosine and sine of the angle of arrival, and the SNR in dB, clipped to ``options.snr_range``
    and scaled to [0, 1]. A missing path (``valid`` False: not detected, or not traced) is encoded as three zeros, which
    no real path has.

    Args:
        paths: ``aoa``, ``snr_db`` and ``valid`` (..., path), strongest first.
        num_paths: number of strongest paths to use, :math:`K` in the paper.
        options: SNR range and order of the paths; by default those of ``FeatureOptions()``.

    Returns:
        Array (..., 3 × ``num_paths``).
    """
    options = options or FeatureOptions()
    check_paths(paths, "paths", None, _READ, finite=False)  # what is not finite is clipped, or has no score
    strongest = paths[list(_READ)].isel(path=slice(num_paths))
    aoa, snr, valid = (strongest[name].transpose(..., "path").values for name in _READ)
    if options.order == "angle":
        # By the sine, since a linear array cannot tell front from back; missing paths stay last
        by_angle = np.argsort(np.where(valid, np.sin(aoa), np.inf), axis=-1, kind="stable")
        aoa, snr, valid = (np.take_along_axis(values, by_angle, axis=-1) for values in (aoa, snr, valid))
    low, high = options.snr_range
    numbers = np.zeros((*valid.shape[:-1], num_paths, PER_PATH), dtype=np.float32)
    scaled = (np.clip(snr, low, high) - low) / (high - low)
    for column, values in enumerate((np.cos(aoa), np.sin(aoa), scaled)):
        numbers[..., : valid.shape[-1], column] = np.where(valid, values, 0)
    return numbers.reshape(*valid.shape[:-1], -1)
