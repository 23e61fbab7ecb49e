"""Cramér-Rao bound for angle and delay of a single path, and the estimator's error against SNR."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.receiver.estimator import estimate, threshold
from locus.receiver.observation import observe
from locus.settings.config import EstimatorOptions, Radio


def cramer_rao(radio: Radio, snr_db: ArrayLike, aoa: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower bound on the standard deviation of angle [rad] and delay [s] of a single path with unknown complex gain.

    With phases referred to the centre of the band and of the array, the Fisher information matrix is diagonal; its
    entries follow from the spread of the subcarriers and of the antennas.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    energy = 10 ** (np.asarray(snr_db, dtype=float) / 10) * n * m
    angle = np.sqrt(6 / (energy * (m * m - 1))) / (math.pi * math.cos(aoa))
    delay = np.sqrt(6 / (energy * (n * n - 1))) * radio.period / (2 * math.pi)
    return angle, delay


def error_against_snr(
    radio: Radio, options: EstimatorOptions, snr_db: NDArray[np.float64], aoa: float, num_trials: int, seed: int
) -> xr.Dataset:
    """RMS error of the strongest estimated path, (snr_db), over ``num_trials`` snapshots of a single path."""
    rows = []
    for i, snr in enumerate(snr_db):
        amplitude = math.sqrt(10 ** (snr / 10) * radio.noise_power / radio.tx_power)
        dims, shape = ("snapshot", "path"), (num_trials, 1)
        values = {"aoa": np.full(shape, aoa), "delay": np.zeros(shape), "gain": np.full(shape, amplitude + 0j)}
        paths = xr.Dataset({name: (dims, value) for name, value in values.items()})
        paths["valid"] = abs(paths.gain) > 0
        taken = observe(paths, [np.random.default_rng([seed, i, trial]) for trial in range(num_trials)], radio)
        found = estimate(taken, options).isel(path=0)
        late = found.delay.values + taken.sync_offset.values
        late = (late + radio.period / 2) % radio.period - radio.period / 2
        valid = found.valid.values
        errors = (found.aoa.values - aoa, late)
        rows.append(
            (*(np.sqrt(np.mean(error[valid] ** 2)) if valid.any() else np.nan for error in errors), valid.mean())
        )
    angle_error, delay_error, detected = np.array(rows).T
    angle_bound, delay_bound = cramer_rao(radio, snr_db, aoa)
    columns = {
        "angle_error": (angle_error, "rad", "error of the angle"),
        "angle_bound": (angle_bound, "rad", "bound of the angle"),
        "delay_error": (delay_error, "s", "error of the delay"),
        "delay_bound": (delay_bound, "s", "bound of the delay"),
        "detected": (detected, "1", "share of snapshots with a path"),
    }
    return xr.Dataset(
        {name: ("snr_db", value, {"units": u, "long_name": text}) for name, (value, u, text) in columns.items()},
        coords={"snr_db": ("snr_db", snr_db, {"units": "dB", "long_name": "SNR per sample and antenna"})},
        attrs={"threshold_db": 10 * math.log10(threshold(options, radio))},
    )
