"""Arrays for the likelihood of path sets: Datasets of traced and observed paths in, the arrays of the kernel out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.receiver.estimator import threshold
from locus.score.path_set_cpu import LEAST_HEIGHT, MOST_SEEN
from locus.score.soft_detection import left_over
from locus.score.tolerance import DECIBEL, Components, Constants
from locus.settings.config import SPEED_OF_LIGHT, EstimatorOptions, Radio

WEAKEST = 0.5
"""Energy below which a traced path is ignored: it cannot be told from noise."""
STRONGEST = 1e12
"""Largest energy: beyond it, no error depends on the noise any more."""

MOST_MERGED = 0.95
"""Largest probability that a path is absorbed or disturbed."""

LOWEST_LEVEL = 2.5
"""The density of false paths holds for high energies; below this one it stays constant."""

Floats = NDArray[np.float64]


class Traced(NamedTuple):
    """Paths of the candidates, (candidate, path), strongest first."""

    num_paths: NDArray[np.int64]
    """(candidate): number of paths."""
    azimuth: Floats
    """Angle of arrival [rad]."""
    root: Floats
    """Square root of the energy."""
    delay: Floats
    """Delay [samples]."""
    length: Floats
    """Length of the path [m]."""
    order: Floats
    """Number of reflections."""
    merged: Floats
    """Probability that a stronger path absorbs it."""
    disturbed: Floats
    """Probability that it absorbs a weaker path and is estimated elsewhere."""


class Seen(NamedTuple):
    """Observed paths, (snapshot, path), strongest first."""

    num_paths: NDArray[np.int64]
    """(snapshot): number of paths."""
    root_threshold: Floats
    """(snapshot): root of the energy above which a path would have been reported."""
    sine: Floats
    """Sine of the angle of arrival."""
    root: Floats
    """Square root of the energy."""
    delay: Floats
    """Delay [samples]."""
    clutter: Floats
    """(snapshot, component, path): density of untraced paths in energy, sine and delay [1/sample], where observed."""
    weight: Floats
    """(snapshot, component): probability of the component and of the observed paths, if all are clutter, up to a factor
    per snapshot."""
    limit: Floats
    """(snapshot, component, path): exponent beyond which a term is negligible, whatever the traced path."""
    tail_limit: Floats
    """The same for a disturbed estimate."""
    left_over: NDArray[np.float32]
    """(snapshot, delay, sine): what the observed paths leave, see :mod:`locus.score.soft_detection`; may be empty."""


class Widths(NamedTuple):
    """Scales of the radio and of the estimator."""

    sine: float
    """Variance of an estimated sine at energy 1; 0 for a single antenna, which sees no angles."""
    delay: float
    """Variance of an estimated delay at energy 1 [samples²]."""
    sine_excess: float
    """Variance of the sine at infinite energy."""
    delay_excess: float
    """Variance of the delay at infinite energy [samples²]."""
    gain_excess: float
    """Variance of the relative error of the amplitude at infinite energy."""
    sine_tail: float
    """Variance that a disturbed sine has in addition."""
    delay_tail: float
    """Variance that a disturbed delay has in addition [samples²]."""
    gain_tail: float
    """Variance that a disturbed amplitude has in addition."""
    tail_share: float
    """Probability that an estimate is disturbed."""
    samples_per_metre: float
    """Delay per metre [samples/m]."""
    most_delay: float
    """Largest variance of a delay [samples²], which is known only modulo the period."""
    period: float
    """Period of the pilot [samples]."""
    blur: float
    """Variance of the transmitter's place about its candidate along any axis [m²]."""
    window: float
    """Sync offsets are uniform in [0, window), at most a period [samples]; 0 if the offset is known to be 0."""


MAX_SPACING = 1e6
"""Largest distance between neighbouring candidates [m]."""


def find_widths(radio: Radio, constants: Constants, spacing: float = 0.0) -> Widths:
    """Scales of the errors of estimated paths.

    Transmitters are uniform in a square of side ``spacing`` [m] about their candidate.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    cell = 2 / m
    window = min(radio.sync_window / radio.period, 1.0) * n
    known = window <= 1  # a window this narrow only blurs the delays
    return Widths(
        sine=6 / (math.pi**2 * (m * m - 1)) if m > 1 else 0.0,
        delay=3 * n * n / (2 * math.pi**2 * (n * n - 1)),
        sine_excess=(constants.sine_excess * cell) ** 2,
        delay_excess=constants.delay_excess**2 + (window**2 / 12 if known else 0.0),
        gain_excess=(DECIBEL * constants.strength_excess_db) ** 2,
        sine_tail=(constants.tail_cells * cell) ** 2,
        delay_tail=constants.tail_cells**2,
        gain_tail=(DECIBEL * constants.tail_db) ** 2,
        tail_share=constants.tail_share,
        samples_per_metre=radio.bandwidth / SPEED_OF_LIGHT,
        most_delay=(n / 6) ** 2,
        period=float(n),
        blur=spacing**2 / 12,
        window=0.0 if known else window,
    )


def arrange_traced(paths: xr.Dataset, radio: Radio, constants: Constants) -> Traced:
    """Traced paths (candidate, path) that are strong enough to matter, strongest first."""
    energy = _energy(paths, radio)
    count, order = _strongest_first(np.where(energy >= WEAKEST, energy, 0.0), paths.sizes["path"])
    angle, delay = (_take(paths[name].values.astype(float), order) for name in ("aoa", "delay"))
    reflections = _take(paths.order.values, order) if "order" in paths else np.ones(order.shape)
    root = np.sqrt(_take(energy, order)) * (np.arange(order.shape[1]) < count[:, np.newaxis])
    merged, disturbed = _merge(np.sin(angle), delay * radio.bandwidth, root, radio, constants.merge_cells)
    return Traced(
        count,
        (angle + math.pi) % (2 * math.pi) - math.pi,
        root,
        delay * radio.bandwidth,
        np.maximum(delay * SPEED_OF_LIGHT, 1e-3),
        np.maximum(reflections.astype(float), 0.0),
        merged,
        disturbed,
    )


def _merge(sine: Floats, delay: Floats, root: Floats, radio: Radio, cells: float) -> tuple[Floats, Floats]:
    """Probabilities that a path is absorbed by a stronger one, and that it absorbs a weaker one and errs by it.

    Two paths at a distance of d resolution cells are reported as one with probability exp(-(d / cells)^2), and that
    one is disturbed in proportion to the weaker path's amplitude.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    merged, disturbed = np.zeros_like(root), np.zeros_like(root)
    for j in range(1, root.shape[1]):  # paths are sorted: all before j are stronger
        apart = np.abs(sine[:, :j] - sine[:, j : j + 1])
        apart = np.minimum(apart, 2 - apart) * m / 2 if m > 1 else np.zeros_like(apart)
        late = np.abs((delay[:, :j] - delay[:, j : j + 1] + n / 2) % n - n / 2)
        both = np.exp(-(apart**2 + late**2) / cells**2) * (root[:, j : j + 1] > 0)
        merged[:, j] = 1 - np.prod(1 - both, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.where(both > 0, both * root[:, j : j + 1] / root[:, :j], 0.0)
        disturbed[:, :j] = 1 - (1 - disturbed[:, :j]) * (1 - size)
    return np.minimum(merged, MOST_MERGED), np.minimum(disturbed, MOST_MERGED)


def arrange_observed(
    observed: xr.Dataset, radio: Radio, estimator: EstimatorOptions, mixture: Components, widths: Widths
) -> tuple[Seen, Floats]:
    """Observed paths (snapshot, path), strongest first, and the log density (snapshot) left out of ``weight``.

    Paths below the threshold show that it was lower. If all reportable paths are reported, the weakest of them is the
    threshold.
    """
    energy = _energy(observed, radio)
    reportable = min(estimator.num_paths, MOST_SEEN)
    count, order = _strongest_first(energy, min(energy.shape[1], MOST_SEEN))
    energy = _take(energy, order)
    there = np.arange(energy.shape[1]) < count[:, np.newaxis]
    usual = threshold(estimator, radio) * radio.num_subcarriers * radio.num_antennas
    weakest = np.where(there, energy, np.inf).min(axis=1, initial=np.inf)
    level = np.where(count >= reportable, weakest, np.minimum(usual, weakest))
    energy = np.where(there, energy, usual)

    noise, expected = _false_paths(energy, radio), _num_false_paths(level, radio)
    # Densities and numbers of paths that the twin does not trace, if one is expected above the usual threshold
    unknown = 0.5 * math.sqrt(usual) * energy**-1.5
    unknown_above = np.sqrt(usual / level)
    area = 2 * radio.num_subcarriers
    clutter = (noise[:, np.newaxis] + mixture.unknown[:, np.newaxis] * unknown[:, np.newaxis]) / area
    logs = np.where(there[:, np.newaxis], np.log(clutter), 0.0).sum(axis=2) - mixture.unknown * unknown_above[:, None]
    first = logs[:, 0]

    def limit(sine: float, delay: float) -> Floats:
        # A path of any length and order has at least these variances, and its strength a density below 1
        least = sine * (delay + mixture.variance * widths.samples_per_metre**2)
        return np.log(1 / (2 * math.pi * np.sqrt(least[:, np.newaxis]) * LEAST_HEIGHT * clutter))

    sine, delay = widths.sine_excess, widths.delay_excess
    seen = Seen(
        count,
        np.sqrt(level),
        np.sin(_take(observed.aoa.values.astype(float), order)),
        np.sqrt(energy),
        _take(observed.delay.values.astype(float), order) * radio.bandwidth,
        clutter,
        mixture.weight * np.exp(logs - first[:, np.newaxis]),
        limit(sine, delay),
        limit(sine + widths.sine_tail, delay + widths.delay_tail),
        left_over(observed, radio),
    )
    return seen, first - expected


def _energy(paths: xr.Dataset, radio: Radio) -> Floats:
    """Energy after integration over all samples and antennas, in units of the noise; 0 where there is no path."""
    valid = paths.valid.values.astype(bool)
    decibels = np.where(valid, paths.snr_db.values.astype(float), 0.0)
    energy = radio.num_subcarriers * radio.num_antennas * 10 ** (decibels / 10)
    return np.asarray(np.where(valid, np.clip(energy, 1e-12, STRONGEST), 0.0))


def _strongest_first(energy: Floats, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of paths with any energy, at most ``most``, and the order of the paths."""
    order = np.argsort(-energy, axis=1, kind="stable")[:, :most]
    return np.minimum((energy > 0).sum(axis=1), most), order


def _take(values: NDArray[np.float64], order: NDArray[np.int64]) -> Floats:
    return np.ascontiguousarray(np.take_along_axis(values, order, axis=1))


def _cells(radio: Radio) -> float:
    n, m = radio.num_subcarriers, radio.num_antennas
    return math.pi / 3 * math.sqrt((n * n - 1) * max(m * m - 1, 1))


def _num_false_paths(level: Floats, radio: Radio) -> Floats:
    """Expected number of noise peaks above a level of energy."""
    high = np.maximum(level, LOWEST_LEVEL)
    return np.asarray(_cells(radio) * (high - 0.5) * np.exp(-high) + (high - level) * _false_paths(level, radio))


def _false_paths(energy: Floats, radio: Radio) -> Floats:
    """Density of noise peaks in energy, the derivative of their expected number."""
    high = np.maximum(energy, LOWEST_LEVEL)
    return np.asarray(_cells(radio) * (high - 1.5) * np.exp(-high))
