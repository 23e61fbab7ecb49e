"""Path sets drawn from the likelihood's own model: traced paths in, what an estimator would report of them, out.

The model is that of :mod:`locus.score.path_set`, with one component of the mixture per set.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from locus.receiver.estimator import threshold
from locus.score.path_arrays import Traced, Widths, arrange_traced, find_widths
from locus.score.path_set import PathSet
from locus.score.path_set_cpu import LEAST_ROOT, MOST_SEEN, MOST_SINE
from locus.score.tolerance import Components, components
from locus.settings.config import EstimatorOptions, Radio
from locus.twin.antenna import element_gain_db
from locus.twin.base import ATTRIBUTES

Floats = NDArray[np.float64]


def simulate(
    scorer: PathSet, paths: xr.Dataset, candidate: ArrayLike, rng: Generator, spacing: float = 0.0
) -> xr.Dataset:
    """Draw what the estimator may report of some candidates.

    Args:
        scorer: likelihood whose model is drawn from: its radio, estimator, tolerance and constants.
        paths: traced paths (candidate, path), as in :meth:`locus.PathSet.log_likelihood`.
        candidate: index of the candidate of each set, (snapshot).
        rng: random generator.
        spacing: distance between neighbouring candidates [m], if the transmitter may be between them.

    Returns:
        Dataset (snapshot, path) with ``aoa``, ``delay``, ``snr_db`` and ``valid``, strongest first, like that of
        :func:`locus.estimate`.
    """
    radio = scorer.radio or Radio.carried_by(paths) or Radio()
    which = np.asarray(candidate, dtype=np.int64)
    traced = Traced._make(part[which] for part in arrange_traced(paths, radio, scorer.constants))
    mixture = components(scorer.tolerance, scorer.constants)
    share = np.asarray(mixture.weight) / np.sum(mixture.weight)
    drawn = rng.choice(len(share), len(which), p=share)
    chosen = Components._make(part[drawn] for part in mixture)
    widths = find_widths(radio, scorer.constants, spacing)
    level = threshold(scorer.estimator, radio) * radio.num_subcarriers * radio.num_antennas
    reported = _reported(traced, chosen, widths, level, rng)
    clutter = _clutter(chosen.unknown, scorer.estimator, widths, level, rng)
    sine, delay, energy = (np.concatenate(pair, axis=1) for pair in zip(reported, clutter, strict=True))
    order = np.argsort(-energy, axis=1, kind="stable")[:, : min(scorer.estimator.num_paths, MOST_SEEN)]
    sine, delay, energy = (np.take_along_axis(part, order, axis=1) for part in (sine, delay, energy))
    return _label(sine, delay, energy, scorer.estimator, radio)


def _reported(
    traced: Traced, chosen: Components, widths: Widths, level: float, rng: Generator
) -> tuple[Floats, Floats, Floats]:
    """Sine, delay [samples] and energy of the traced paths as reported, (snapshot, path); energy 0 if they are not."""
    there = np.arange(traced.root.shape[1]) < traced.num_paths[:, np.newaxis]
    size = there.shape
    turned = (traced.azimuth + chosen.heading[:, np.newaxis] + math.pi) % (2 * math.pi) - math.pi
    root = traced.root * 10 ** ((element_gain_db(turned) - element_gain_db(traced.azimuth)) / 20)
    order = traced.order
    moved = chosen.reflection_variance[:, np.newaxis] * order + widths.blur
    close = (chosen.level == 0.0)[:, np.newaxis]
    disturbed = rng.random(size) < widths.tail_share + (1 - widths.tail_share) * close * traced.disturbed

    gain = widths.gain_excess + chosen.gain_variance[:, np.newaxis] * order + disturbed * widths.gain_tail
    widening = 1 + 2 * gain * root**2
    centre = np.sqrt(np.maximum((root**2 + 2) / widening - 2, 0.0))
    normal = rng.standard_normal((4, *size))
    normal[0] += math.sqrt(2) * centre
    energy = widening * (normal**2).sum(axis=0) / 2  # noncentral chi-square with four degrees of freedom
    miss = chosen.miss[:, np.newaxis]
    energy[~there | (energy <= level) | (rng.random(size) < miss + (1 - miss) * close * traced.merged)] = 0.0

    noise = 1 / (np.maximum(root, LEAST_ROOT) * np.sqrt(np.maximum(energy, level)))
    # Errors of the receiver's position and heading, which all paths share: see locus.score.common_errors
    ahead, left = np.sqrt(chosen.variance) * rng.standard_normal((2, size[0]))
    turn = np.sqrt(chosen.turn_variance) * rng.standard_normal(size[0])
    cosine, true_sine = np.cos(turned), np.sin(turned)
    nearer = cosine * ahead[:, np.newaxis] + true_sine * left[:, np.newaxis]
    aside = (true_sine * ahead[:, np.newaxis] - cosine * left[:, np.newaxis]) / traced.length - turn[:, np.newaxis]

    variance = widths.sine * noise + widths.sine_excess + disturbed * widths.sine_tail
    variance += (cosine / traced.length) ** 2 * moved
    sine = true_sine + cosine * aside + np.sqrt(np.minimum(variance, MOST_SINE)) * rng.standard_normal(size)
    sine = (sine + 1) % 2 - 1 if widths.sine > 0 else rng.uniform(-1, 1, size)
    variance = widths.delay * noise + widths.delay_excess + disturbed * widths.delay_tail
    variance += moved * widths.samples_per_metre**2
    late = np.sqrt(np.minimum(variance, widths.most_delay)) * rng.standard_normal(size)
    offset = rng.uniform(0, widths.window, (size[0], 1))
    return sine, (traced.delay - nearer * widths.samples_per_metre + late - offset) % widths.period, energy


def _clutter(
    unknown: Floats, estimator: EstimatorOptions, widths: Widths, level: float, rng: Generator
) -> tuple[Floats, Floats, Floats]:
    """Sine, delay [samples] and energy of noise peaks and of paths that the twin does not trace, (snapshot, path)."""
    num_false = rng.poisson(-math.log1p(-estimator.false_alarm), len(unknown))
    num_unknown = rng.poisson(unknown)
    size = (len(unknown), int((num_false + num_unknown).max(initial=0)))
    index = np.arange(size[1])
    false = index < num_false[:, np.newaxis]
    there = index < (num_false + num_unknown)[:, np.newaxis]
    # Beyond the level T, noise peaks have the density (x - 3/2) exp(-x): T plus one exponential variable or two
    second = rng.random(size) < 1 / (level - 0.5)
    peaks = level + rng.exponential(size=size) + second * rng.exponential(size=size)
    strong = level / rng.uniform(1e-6, 1, size) ** 2
    energy = np.where(there, np.where(false, peaks, strong), 0.0)
    return rng.uniform(-1, 1, size), rng.uniform(0, widths.period, size), energy


def _label(sine: Floats, delay: Floats, energy: Floats, estimator: EstimatorOptions, radio: Radio) -> xr.Dataset:
    valid = energy > 0
    with np.errstate(divide="ignore"):
        decibels = 10 * np.log10(energy / (radio.num_subcarriers * radio.num_antennas))
    values = {
        "aoa": np.where(valid, np.arcsin(sine), 0.0),
        "delay": np.where(valid, delay / radio.bandwidth, 0.0),
        "snr_db": decibels,
        "valid": valid,
    }
    attributes = {
        "radio": json.dumps(dataclasses.asdict(radio)),
        "estimator": json.dumps(dataclasses.asdict(estimator)),
    }
    return xr.Dataset(
        {name: (("snapshot", "path"), value, dict(ATTRIBUTES[name])) for name, value in values.items()},
        attrs=attributes,
    )
