"""Soft detection: does the energy left over where a candidate's missing paths should be improve the path set?

The path set only knows that an unreported path was below the threshold. Here the factor for missing it is replaced by
the likelihood ratio of what is left at its place once all reported paths are subtracted, exp(-E) I0(2 sqrt(E P)), with
the matched filter's power P there: in all components of the mixture, or only in that of an exact twin, the only one
that knows where to look. Validation rooms of the training split, exact and wrong twins.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from record import record
from scipy import special

from locus.experiment.case import Case
from locus.experiment.libraries import training_errors
from locus.receiver.estimator import despread, threshold
from locus.score.path_set import PathSet
from locus.score.strength import detection, detection_table, shape
from locus.score.tolerance import Components, components
from locus.settings.config import Config, Radio

NUM_ROOMS = 80
_PADDING = 8  # grid points per resolution cell
_NEAR = np.array([1.0, 1.0])  # resolution cells within which a reported path explains a traced one


def left_over(iq: NDArray[np.complex128], observed: xr.Dataset, radio: Radio) -> NDArray[np.float64]:
    """Matched-filter power (delay, sine) of a snapshot without its reported paths, in units of the noise."""
    channel = despread(iq[np.newaxis], radio)[0]
    n, m = channel.shape
    valid = observed.valid.values
    k, a = np.arange(n)[:, np.newaxis], np.arange(m)[:, np.newaxis]
    delays = np.exp(-2j * np.pi * k * observed.delay.values[valid] * radio.bandwidth / n)
    angles = np.exp(-1j * np.pi * a * np.sin(observed.aoa.values[valid]))
    basis = (delays[:, np.newaxis] * angles).reshape(n * m, -1)
    if basis.shape[1]:
        gains = np.linalg.lstsq(basis, channel.ravel(), rcond=None)[0]
        channel = channel - (basis @ gains).reshape(n, m)
    surface = np.fft.ifft2(channel, (_PADDING * n, _PADDING * m), norm="forward")
    return np.asarray(np.abs(surface) ** 2 / (n * m))


def correction(
    paths: xr.Dataset, observed: xr.Dataset, power: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Change of the log likelihood (candidate) by what is left over at the offset that fits best."""
    radio = Radio.carried_by(paths) or Radio()
    n, m = radio.num_subcarriers, radio.num_antennas
    energy = np.where(paths.valid, n * m * 10 ** (paths.snr_db.values / 10), 0.0)
    sine, delay = np.sin(paths.aoa.values), paths.delay.values * radio.bandwidth
    seen = observed.isel(path=observed.valid.values)
    if not seen.sizes["path"]:
        return np.zeros(len(sine))
    seen_sine, seen_delay = np.sin(seen.aoa.values), seen.delay.values * radio.bandwidth
    seen_energy = n * m * 10 ** (seen.snr_db.values / 10)
    table, result = detection_table(), np.zeros(len(sine))
    for c in range(len(sine)):
        there = energy[c] > 0.5
        s, d, e = sine[c, there], delay[c, there], energy[c, there]
        if not len(e):
            continue
        offsets = (d[:, np.newaxis] - seen_delay).ravel()
        apart = (d[:, np.newaxis] - seen_delay - offsets[:, np.newaxis, np.newaxis] + n / 2) % n - n / 2
        close = np.exp(-(((s[:, np.newaxis] - seen_sine) / 0.06) ** 2) - (apart / 0.3) ** 2)
        weight = np.minimum(e[:, np.newaxis], seen_energy)
        best = (close * weight).sum(axis=(1, 2)).argmax()
        far = (np.abs(apart[best]) > _NEAR[1]) | (np.abs(s[:, np.newaxis] - seen_sine) > _NEAR[0] * 2 / m)
        missing = far.all(axis=1)
        row = np.rint((d[missing] - offsets[best]) * _PADDING).astype(int) % (_PADDING * n)
        column = np.rint(s[missing] / 2 * _PADDING * m).astype(int) % (_PADDING * m)
        soft = -e[missing] + np.log(special.i0e(z := 2 * np.sqrt(e[missing] * power[row, column]))) + z
        hard = [
            math.log1p(-detection(table, math.sqrt(level), *shape(math.sqrt(one), 0.0)) + 1e-9) for one in e[missing]
        ]
        result[c] = (soft - hard).sum()
    return result


def main() -> None:
    config = Config()
    scorer = PathSet()
    mixture = components(scorer.tolerance, scorer.constants)
    exact = (mixture.level == 0) & (mixture.heading == 0) & (mixture.turn_variance == 0)
    level = threshold(scorer.estimator, config.radio) * config.radio.num_subcarriers * config.radio.num_antennas
    training = config.training
    first = training.num_layouts - training.num_validation_layouts
    found: dict[str, list[float]] = {}
    for index in range(first, first + NUM_ROOMS):
        case = Case(config, "train", index)
        kind = "wrong" if index % 2 else "exact"
        paths = case.trace_believed(case.believed(*training_errors(config, index))) if index % 2 else case.paths
        observed, rows = case.seen_by(scorer), np.arange(len(case.truth))
        parts = [
            scorer._log_likelihoods(paths, observed, Components(*(column[chosen] for column in mixture)), 0.0)
            for chosen in (exact, ~exact)
        ]
        soft = np.stack(
            [
                correction(paths, one, left_over(case.snapshots.iq.values[i], one, config.radio), level)
                for i, one in enumerate(observed.isel(snapshot=i) for i in rows)
            ]
        )
        for where, everywhere in (("all", 1.0), ("exact component", 0.0)):
            for share in (0.0, 0.25, 0.5, 1.0):
                logs = np.logaddexp(parts[0] + share * soft, parts[1] + everywhere * share * soft)
                logs = logs - np.logaddexp.reduce(logs, axis=1)[:, np.newaxis]
                floor, count = scorer.constants.floor, logs.shape[1]
                logs = np.logaddexp(math.log1p(-floor) + logs, math.log(floor / count))
                loss = float((-logs[rows, case.truth] - math.log(count)).mean())
                found.setdefault(f"{kind}, {where}, {share:g}", []).append(loss)
    results = {}
    for name, losses in found.items():
        gain = np.array(losses) - found[name.rsplit(",", 1)[0] + ", 0"]
        error = gain.std(ddof=1) / math.sqrt(len(gain))
        results[name] = {"loss": float(np.mean(losses)), "gain": float(gain.mean()), "error": float(error)}
        print(f"{name}: {np.mean(losses):.3f}, by {gain.mean():+.3f} +- {error:.3f}")
    record("soft_detection", results)


if __name__ == "__main__":
    main()
