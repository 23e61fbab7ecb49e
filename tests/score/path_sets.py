"""The model of path sets written down a second time, with SciPy and loops: draws from it, and its likelihood."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.random import Generator
from scipy import stats

from locus.receiver.estimator import threshold
from locus.score.tolerance import Constants
from locus.settings.config import EstimatorOptions, Radio

Path = tuple[float, float, float]
"""Angle [rad], delay [samples], energy."""


def dataset(sets: Sequence[Sequence[Path]], dim: str, radio: Radio, padding: int = 0) -> xr.Dataset:
    """Path sets as a Dataset (``dim``, path), with NaN in the padding, which nobody may read."""
    longest = max([len(one) for one in sets] + [1]) + padding
    values = np.full((3, len(sets), longest), np.nan)
    for i, one in enumerate(sets):
        for j, path in enumerate(one):
            values[:, i, j] = path
    dims = (dim, "path")
    with np.errstate(divide="ignore"):
        snr = 10 * np.log10(values[2] / (radio.num_subcarriers * radio.num_antennas))
    data = {"aoa": values[0], "delay": values[1] / radio.bandwidth, "snr_db": snr}
    return xr.Dataset({name: (dims, one) for name, one in data.items()} | {"valid": (dims, ~np.isnan(values[0]))})


class Model(NamedTuple):
    """The exact twin's model: a single component without errors of the twin."""

    radio: Radio = Radio()
    estimator: EstimatorOptions = EstimatorOptions()
    constants: Constants = Constants()

    @property
    def size(self) -> int:
        return self.radio.num_subcarriers * self.radio.num_antennas

    @property
    def threshold(self) -> float:
        return threshold(self.estimator, self.radio) * self.size

    @property
    def cells(self) -> float:
        n, m = self.radio.num_subcarriers, self.radio.num_antennas
        return math.pi / 3 * math.sqrt((n**2 - 1) * (m**2 - 1))

    def together(self, paths: Sequence[Path]) -> list[tuple[float, float]]:
        """Probability of each path that a stronger one absorbs it, and that its own estimate is disturbed."""
        n, m = self.radio.num_subcarriers, self.radio.num_antennas
        alone, clean = [1.0] * len(paths), [1 - self.constants.tail_share] * len(paths)
        for (i, (angle, delay, strong)), (j, (other, later, weak)) in itertools.permutations(enumerate(paths), 2):
            if strong > weak:
                sine = (math.sin(angle) - math.sin(other) + 1) % 2 - 1
                late = (delay - later + n / 2) % n - n / 2
                merge = math.exp(-((sine * m / 2) ** 2 + late**2) / self.constants.merge_cells**2)
                alone[j] *= 1 - merge
                clean[i] *= 1 - merge * math.sqrt(weak / strong)
        return [(1 - a, 1 - c) for a, c in zip(alone, clean, strict=True)]

    def kinds(self, disturbed: float | None = None) -> list[tuple[float, float, float, float]]:
        """Share, and excess deviations of sine, delay and relative amplitude, of clean and of disturbed estimates."""
        disturbed = self.constants.tail_share if disturbed is None else disturbed
        one, cell, decibel = self.constants, 2 / self.radio.num_antennas, math.log(10) / 20
        clean = one.sine_excess * cell, one.delay_excess, decibel * one.strength_excess_db
        extra = one.tail_cells * cell, one.tail_cells, decibel * one.tail_db
        return [(1 - disturbed, *clean), (disturbed, *map(math.hypot, clean, extra))]

    def strength(self, energy: float, relative: float) -> tuple[float, stats.rv_continuous]:
        """Scale and frozen distribution of 2 x / scale."""
        widening = 1 + 2 * relative**2 * energy
        centre = max((energy + 2) / widening - 2, 0)
        return widening, stats.ncx2(4, 2 * centre) if centre > 0 else stats.chi2(4)

    def deviations(self, x: float, energy: float, sine: float, delay: float) -> tuple[float, float]:
        n, m, e = self.radio.num_subcarriers, self.radio.num_antennas, math.sqrt(x * energy)
        return (
            math.hypot(math.sqrt(6 / (math.pi**2 * (m**2 - 1) * e)), sine),
            math.hypot(math.sqrt(3 * n**2 / (2 * math.pi**2 * (n**2 - 1) * e)), delay),
        )

    def miss(self, energy: float, level: float, merged: float = 0.0, disturbed: float | None = None) -> float:
        found = 0.0
        for share, _, _, relative in self.kinds(disturbed):
            scale, law = self.strength(energy, relative)
            found += share * law.sf(2 * level / scale)
        return 1 - (1 - self.constants.miss) * (1 - merged) * found

    def clutter(self, x: float) -> float:
        """Density in energy, sine and delay."""
        unknown = self.constants.unknown / 2 * math.sqrt(self.threshold) * x**-1.5
        return (self.cells * (x - 1.5) * math.exp(-x) + unknown) / (2 * self.radio.num_subcarriers)

    def num_clutter(self, level: float) -> float:
        return self.cells * (level - 0.5) * math.exp(-level) + self.constants.unknown * math.sqrt(
            self.threshold / level
        )

    def level(self, seen: Sequence[Path]) -> float:
        full = len(seen) >= self.estimator.num_paths
        return min(path[2] for path in seen) if full else self.threshold

    def pair(
        self, path: Path, seen: Path, offsets: np.ndarray, merged: float = 0.0, disturbed: float | None = None
    ) -> np.ndarray:
        """Density of an observed path that stems from a traced one, (offset)."""
        (angle, delay, energy), (seen_angle, seen_delay, x) = path, seen
        n = self.radio.num_subcarriers
        total = np.zeros(len(offsets))
        for share, sine_excess, delay_excess, relative in self.kinds(disturbed):
            scale, law = self.strength(energy, relative)
            sine_width, delay_width = self.deviations(x, energy, sine_excess, delay_excess)
            apart = math.sin(seen_angle) - math.sin(angle) + 2 * np.arange(-2, 3)
            late = (seen_delay - delay + offsets + n / 2) % n - n / 2
            sines, delays = stats.norm.pdf(apart, 0, sine_width).sum(), stats.norm.pdf(late, 0, delay_width)
            total += share * law.pdf(2 * x / scale) * 2 / scale * sines * delays
        return (1 - self.constants.miss) * (1 - merged) * total

    def log_likelihood(self, paths: Sequence[Path], seen: Sequence[Path], exact: bool, num_offsets: int) -> float:
        """By a sum over sync offsets on a fine grid, and over all assignments (``exact``) or as a product of sums."""
        offsets = np.arange(num_offsets) / num_offsets * self.radio.num_subcarriers
        level = self.level(seen)
        both = list(zip(paths, self.together(paths), strict=True))
        misses = [self.miss(path[2], level, *shares) for path, shares in both]
        clutter = [self.clutter(path[2]) for path in seen]
        density = np.array([[self.pair(path, one, offsets, *shares) for one in seen] for path, shares in both])
        density = density.reshape(len(paths), len(seen), num_offsets)
        if exact:
            total = np.zeros(num_offsets)
            for choice in itertools.product(range(-1, len(paths)), repeat=len(seen)):
                used = [j for j in choice if j >= 0]
                if len(set(used)) == len(used):
                    unused = math.prod(misses[j] for j in range(len(paths)) if j not in used)
                    parts = [density[j, q] if j >= 0 else clutter[q] for q, j in enumerate(choice)]
                    total = total + unused * np.prod(np.broadcast_arrays(np.ones(num_offsets), *parts), axis=0)
        else:
            total = np.full(num_offsets, math.prod(misses))
            for q in range(len(seen)):
                total = total * (clutter[q] + sum(density[j, q] / misses[j] for j in range(len(paths))))
        return math.log(total.mean()) - self.num_clutter(level)

    def draw(self, paths: Sequence[Path], rng: Generator) -> list[Path]:
        """What the estimator reports of a candidate's paths."""
        n, found = self.radio.num_subcarriers, []
        offset = rng.uniform(0, n)
        for (angle, delay, energy), (merged, disturbed) in zip(paths, self.together(paths), strict=True):
            kind = self.kinds()[int(rng.random() < disturbed)]
            scale, law = self.strength(energy, kind[3])
            x = float(law.rvs(random_state=rng)) * scale / 2
            if x > self.threshold and rng.random() > self.constants.miss + (1 - self.constants.miss) * merged:
                widths = self.deviations(x, energy, kind[1], kind[2])
                sine, late = rng.normal([math.sin(angle), delay - offset], widths)
                found.append((math.asin((sine + 1) % 2 - 1), late % n, x))
        grid = np.linspace(self.threshold, self.threshold + 30, 3001)
        above = self.cells * (grid - 0.5) * np.exp(-grid)
        strong = np.interp(rng.uniform(0, above[0], rng.poisson(above[0])), above[::-1], grid[::-1])
        unknown = self.threshold / rng.random(rng.poisson(self.constants.unknown)) ** 2
        found += [(math.asin(rng.uniform(-1, 1)), rng.uniform(0, n), float(x)) for x in (*strong, *unknown)]
        return sorted(found, key=lambda path: -path[2])[: self.estimator.num_paths]


def draw_paths(rng: Generator, num_paths: int, radio: Radio, decibels: tuple[float, float] = (5, 25)) -> list[Path]:
    """Traced paths of a candidate with energies drawn uniformly in dB."""
    energy = 10 ** (rng.uniform(*decibels, num_paths) / 10)
    angle, delay = rng.uniform(-np.pi, np.pi, num_paths), rng.uniform(0, radio.num_subcarriers, num_paths)
    return [(float(a), float(d), float(e)) for a, d, e in zip(angle, delay, energy, strict=True)]
