"""Cramér-Rao bound for angles and delays of one or several paths, and the estimator's error against SNR."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.receiver.estimator import estimate, threshold
from locus.receiver.observation import observe
from locus.settings.config import EstimatorOptions, Radio


def cramer_rao(
    radio: Radio, aoa: ArrayLike, delay: ArrayLike, gain: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower bound on the standard deviations (path) of angle [rad] and delay [s] of paths that are estimated together.

    Angles, delays and complex gains of all paths are unknown. ``gain`` is in units of the noise's standard deviation
    per sample and antenna, so that its squared magnitude is the SNR.
    """
    angle, turn = np.asarray(aoa, dtype=float), np.asarray(delay, dtype=float) / radio.period
    subcarrier, antenna = np.arange(radio.num_subcarriers)[:, np.newaxis], np.arange(radio.num_antennas)
    turn, sine, cosine = (one[:, np.newaxis, np.newaxis] for one in (turn, np.sin(angle), np.cos(angle)))
    wave = np.exp(-2j * np.pi * turn * subcarrier - 1j * np.pi * sine * antenna)
    heard = np.reshape(gain, (-1, 1, 1)) * wave
    slopes = [
        -1j * np.pi * cosine * antenna * heard,
        -2j * np.pi / radio.period * subcarrier * heard,
        wave,
        1j * wave,
    ]
    columns = np.concatenate(slopes).reshape(4 * len(angle), -1)
    size = np.linalg.norm(columns, axis=1)  # scaled, as parameters have different units
    fisher = 2 * np.real((columns / size[:, np.newaxis]).conj() @ (columns / size[:, np.newaxis]).T)
    deviation = np.sqrt(np.diag(np.linalg.inv(fisher))) / size
    return deviation[: len(angle)], deviation[len(angle) : 2 * len(angle)]


def error_against_snr(
    radio: Radio,
    options: EstimatorOptions,
    snr_db: NDArray[np.float64],
    aoa: Sequence[float],
    delay: Sequence[float],
    num_trials: int,
    seed: int,
) -> xr.Dataset:
    """RMS errors of the estimated paths, (``snr_db``), over ``num_trials`` snapshots of paths of equal strength.

    Phases between paths are spread evenly over the snapshots. A path is found if an estimate of its own is within one
    resolution cell of it, :math:`2 / M` in the sine of the angle and :math:`1 / B` in delay, with :math:`M` antennas
    and bandwidth :math:`B`; estimates are assigned so that their distances to the paths are smallest. Errors are those
    of snapshots in which all paths are found (``found``), NaN where these are fewer than one in twenty; the bounds are
    RMS values over all phases.

    Returns:
        Dataset (``snr_db``) with ``angle_error`` and ``angle_bound`` [rad], ``delay_error`` and ``delay_bound`` [s],
        and ``found``, the share of snapshots in which all paths are found. The attribute ``threshold_db`` is the SNR
        from which the estimator reports a path.
    """
    shape = (num_trials, len(aoa))
    phase = 2 * np.pi * np.outer(np.arange(num_trials) / num_trials, np.arange(len(aoa)))
    rows = []
    for i, snr in enumerate(snr_db):
        amplitude = math.sqrt(10 ** (snr / 10) * radio.noise_power / radio.tx_power)
        values = {"aoa": np.broadcast_to(aoa, shape), "delay": np.broadcast_to(delay, shape)}
        values["gain"] = amplitude * np.exp(1j * phase)
        paths = xr.Dataset({name: (("snapshot", "path"), value) for name, value in values.items()})
        paths["valid"] = abs(paths.gain) > 0
        taken = observe(paths, [np.random.default_rng([seed, i, trial]) for trial in range(num_trials)], radio)
        angle, late, found = _assign(estimate(taken, options), taken, aoa, delay, radio)
        enough = found.mean() >= 1 / 20
        errors = (np.sqrt(np.mean(error[found] ** 2)) if enough else np.nan for error in (angle, late))
        rows.append((*errors, found.mean()))
    angle_error, delay_error, found_share = np.array(rows).T
    bounds = np.array([cramer_rao(radio, aoa, delay, np.exp(1j * one)) for one in phase])  # (snapshot, 2, path) at 0 dB
    angle_bound, delay_bound = np.sqrt((bounds**2).mean((0, 2)))[:, np.newaxis] * 10 ** (-snr_db / 20)
    columns = {
        "angle_error": (angle_error, "rad", "error of the angle"),
        "angle_bound": (angle_bound, "rad", "bound of the angle"),
        "delay_error": (delay_error, "s", "error of the delay"),
        "delay_bound": (delay_bound, "s", "bound of the delay"),
        "found": (found_share, "1", "share of snapshots in which all paths are found"),
    }
    return xr.Dataset(
        {name: ("snr_db", value, {"units": u, "long_name": text}) for name, (value, u, text) in columns.items()},
        coords={"snr_db": ("snr_db", snr_db, {"units": "dB", "long_name": "SNR per path, sample and antenna"})},
        attrs={"threshold_db": 10 * math.log10(threshold(options, radio))},
    )


def _assign(
    observed: xr.Dataset, taken: xr.Dataset, aoa: Sequence[float], delay: Sequence[float], radio: Radio
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Errors of angle [rad] and delay [s] of the estimates nearest to the paths, (snapshot, path); whether found."""
    estimated = {name: observed[name].values[:, np.newaxis] for name in ("aoa", "delay", "valid")}
    angle = estimated["aoa"] - np.reshape(aoa, (-1, 1))  # (snapshot, path, estimate)
    late = estimated["delay"] + taken.sync_offset.values[:, np.newaxis, np.newaxis] - np.reshape(delay, (-1, 1))
    late = (late + radio.period / 2) % radio.period - radio.period / 2
    sine = np.sin(estimated["aoa"]) - np.sin(np.reshape(aoa, (-1, 1)))
    cells = np.maximum(np.abs(sine) * radio.num_antennas / 2, np.abs(late) * radio.bandwidth)
    cells = np.where(estimated["valid"], cells, np.inf)
    # As many estimates of nothing as there are paths, so that every path can be assigned one
    padding = [(0, 0), (0, 0), (0, len(aoa))]
    angle, late, cells = (np.pad(one, padding, constant_values=np.inf) for one in (angle, late, cells))
    choices = np.array(list(itertools.permutations(range(cells.shape[2]), len(aoa))))
    best = choices[cells[:, np.arange(len(aoa)), choices].sum(-1).argmin(1)][:, :, np.newaxis]
    angle, late, cells = (np.take_along_axis(one, best, 2)[..., 0] for one in (angle, late, cells))
    return angle, late, np.asarray((cells <= 1).all(1))
