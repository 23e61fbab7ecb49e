r"""An ideal estimator: traced paths in; what it would report if every path were alone, with the errors of theory, out.

In a real estimator, paths disturb each other, those closer than a resolution cell merge, and fits end in local optima.
This one has none of these problems. With the energy :math:`E` of a path (the SNR times :math:`N M`, with :math:`N`
subcarriers and :math:`M` antennas) it finds the energy :math:`x`; :math:`2 x` is noncentral chi-square with four
degrees of freedom and noncentrality :math:`2 E`, as it maximises over angle and delay. It reports the path if :math:`x`
exceeds the threshold of the usual estimator. Errors of sine and delay [samples] are Gaussian with the Cramér-Rao
variances :math:`6 / (\pi^2 (M^2 - 1) e)` and :math:`3 N^2 / (2 \pi^2 (N^2 - 1) e)` at :math:`e = \sqrt{x E}`, because
the higher the peak of a path of given energy, the closer it tends to lie to the true place. False paths are those of
pure noise: their number is Poisson, with the density :math:`C (x - 3/2)\, e^{-x}` in energy (see
:func:`locus.receiver.estimator.threshold`), uniform in sine and delay. Of all these, the strongest are reported, as
many as the usual estimator reports at most.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from locus.receiver.estimator import threshold
from locus.settings.config import EstimatorOptions, Radio
from locus.twin.base import ATTRIBUTES

RECIPE = 1

Floats = NDArray[np.float64]


def ideal_estimates(
    paths: xr.Dataset, rng: Generator, options: EstimatorOptions | None = None, radio: Radio | None = None
) -> xr.Dataset:
    """Draw what an ideal estimator would report.

    Args:
        paths: traced paths (snapshot, path) of the transmitters, with ``aoa``, ``delay``, ``snr_db`` and ``valid``.
        rng: draws sync offsets, noise and false paths.
        options: number of reported paths and false-alarm rate; by default those of ``EstimatorOptions()``.
        radio: waveform and antennas; by default the radio that the paths were traced with, else the paper's.

    Returns:
        Dataset (snapshot, path) with ``aoa``, ``delay``, ``snr_db`` and ``valid``, like :func:`locus.estimate`.
    """
    radio, options = radio or Radio.carried_by(paths) or Radio(), options or EstimatorOptions()
    n, samples = radio.num_subcarriers, radio.num_subcarriers * radio.num_antennas
    level = threshold(options, radio) * samples
    found = _true(paths, radio, rng), _false(paths.sizes["snapshot"], level, radio, rng)
    energy, sine, delay = np.concatenate(found, axis=2)
    delay = delay - rng.uniform(0, n, (len(delay), 1))
    order = np.argsort(-energy, axis=1)[:, : options.num_paths]
    energy, sine, delay = (np.take_along_axis(one, order, axis=1) for one in (energy, sine, delay))
    valid = energy > level
    with np.errstate(divide="ignore"):
        strength = np.where(valid, 10 * np.log10(energy / samples), -np.inf)
    values = {
        "aoa": np.where(valid, np.arcsin((sine + 1) % 2 - 1), 0.0),
        "delay": np.where(valid, delay % n / radio.bandwidth, 0.0),
        "snr_db": strength,
        "valid": valid,
    }
    data = {name: (("snapshot", "path"), value, ATTRIBUTES[name]) for name, value in values.items()}
    return xr.Dataset(data, attrs={"estimator": json.dumps(dataclasses.asdict(options))})


def _true(paths: xr.Dataset, radio: Radio, rng: Generator) -> Floats:
    """Energy, sine and delay [samples] found of every path, (3, snapshot, path); no energy where there is none."""
    n, m = radio.num_subcarriers, radio.num_antennas
    valid = paths.valid.values.astype(bool)
    energy = np.where(valid, n * m * 10 ** (np.where(valid, paths.snr_db.values, 0.0).astype(float) / 10), 1.0)
    found = rng.noncentral_chisquare(4, 2 * energy) / 2
    both = np.sqrt(found * energy)
    sine = np.sin(paths.aoa.values.astype(float)) + rng.normal(size=energy.shape) * np.sqrt(
        6 / (math.pi**2 * max(m * m - 1, 1) * both)
    )
    delay = paths.delay.values * radio.bandwidth + rng.normal(size=energy.shape) * np.sqrt(
        3 * n * n / (2 * math.pi**2 * (n * n - 1) * both)
    )
    return np.stack([np.where(valid, found, 0.0), np.where(valid, sine, 0.0), np.where(valid, delay, 0.0)])


def _false(num_snapshots: int, level: float, radio: Radio, rng: Generator) -> Floats:
    """Energy, sine and delay [samples] of false paths above a level, (3, snapshot, path), padded with no energy."""
    n, m = radio.num_subcarriers, radio.num_antennas
    cells = math.pi / 3 * math.sqrt((n * n - 1) * max(m * m - 1, 1))
    count = rng.poisson(cells * (level - 0.5) * math.exp(-level), num_snapshots)
    shape = (num_snapshots, max(count.max(initial=0), 1))
    # x - level has the density (y + level - 3/2) exp(-y): Gamma distributions of order 1 and 2, mixed
    order = 1 + (rng.random(shape) < 1 / (level - 0.5))
    energy = np.where(np.arange(shape[1]) < count[:, np.newaxis], level + rng.gamma(order), 0.0)
    return np.stack([energy, rng.uniform(-1, 1, shape), rng.uniform(0, n, shape)])
