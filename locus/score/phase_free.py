r"""The phase-free limit: traced paths of a group and its snapshots in; the log posterior without path phases out.

A receiver knows angle, delay and amplitude :math:`a_p` of every path of a candidate; the phases are independent and
uniform. Given the sync offset, a snapshot is :math:`y = \sum_p a_p e^{j \phi_p} b_p + \text{noise}`. The integral over
all phases has no closed form, so it is estimated by importance sampling. The reference is the phase-blind receiver,
whose gains are Gaussian. An offset is drawn from its posterior; then the paths, strongest first, get a phase each,
while the gains of all later paths stay Gaussian, with covariance :math:`S_p = I + \sum_{k > p} a_k^2 b_k b_k^H`. With

.. math::

    \kappa_p = b_p^H S_p^{-1} b_p, \qquad r_p = b_p^H S_p^{-1} \Big(y - \sum_{k < p} a_k e^{j \phi_k} b_k\Big),

:math:`\phi_p` is drawn from its exact distribution in that model, von Mises with mean :math:`\arg r_p` and
concentration :math:`2 a_p |r_p|`. The step multiplies the likelihood by the ratio of the two models, path :math:`p`
with a uniform phase over path :math:`p` with a Gaussian gain:

.. math::

    W_p = (1 + a_p^2 \kappa_p) \exp\Big(-a_p^2 \kappa_p - \frac{a_p^2 |r_p|^2}{1 + a_p^2 \kappa_p}\Big)
        I_0(2 a_p |r_p|).

The mean of the product of all :math:`W_p` is, without bias, the ratio of the phase-free to the phase-blind likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from locus.receiver.estimator import despread
from locus.score.limits import phase_blind
from locus.score.sync_offset import folded_prior, nodes
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin.antenna import array_response

RECIPE = 1

LEAST = 1e-6
"""Phase-blind posterior above which a candidate is sampled."""

_BATCH = 4096  # draws evaluated together
_DOUBTFUL = 1 / 16  # variance of a log mean beyond which it rests on fewer than about 16 draws


def phase_free(
    paths: xr.Dataset,
    snapshots: xr.Dataset,
    truth: ArrayLike,
    rng: Generator,
    radio: Radio | None = None,
    tolerance: float = 0.02,
    num_draws: tuple[int, int] = (256, 65536),
) -> xr.Dataset:
    """Log posterior, eq. (2), of a receiver that knows all of each candidate's signal except phases and timing.

    Candidates with a phase-blind posterior of at least ``LEAST``, and the truth, are sampled. All others keep their
    phase-blind likelihood, which is too small to matter.

    Args:
        paths: traced paths (candidate, path) of a group.
        snapshots: Dataset from :func:`locus.observe`, ``iq`` (snapshot, sample, antenna).
        truth: index (snapshot) of the candidate whose log posterior is to be accurate.
        rng: draws offsets and phases.
        radio: waveform, antennas and link budget; by default the radio stored in ``snapshots``, else the paper's.
        tolerance: standard error [nat] of the truth's log posterior below which no more draws are made.
        num_draws: draws per candidate, first and at most; they are doubled where the error comes from.

    Returns:
        Dataset (snapshot, candidate) with ``log_posterior``, normalised over candidates, -inf for those without paths;
        its Monte Carlo ``standard_error`` [nat], which is too small for some candidates of negligible posterior, whose
        draws may all miss; and ``num_draws``.

    Raises:
        ValueError: an input has the wrong dimensions or values, or no candidate has a path.
    """
    check_range("tolerance", tolerance, 0.0, open_low=True)
    check_range("num_draws[0]", num_draws[0], 2)
    check_range("num_draws[1]", num_draws[1], num_draws[0])
    radio = radio or Radio.carried_by(snapshots) or Radio()
    blind = phase_blind(paths, snapshots, radio)
    index = np.asarray(truth)
    if blind.ndim != 2 or index.shape != blind.shape[:1]:
        raise ValueError(
            f"Expected 'snapshots' (snapshot, ...) and 'truth' (snapshot), got {blind.dims}, {index.shape}"
        )
    channel = despread(snapshots.iq.values, radio)
    candidates = _strongest_first(paths, radio)
    score, error = blind.values.copy(), np.zeros(blind.shape)
    count = np.zeros(blind.shape, dtype=np.int64)
    for s, y in enumerate(channel):
        sampled = np.flatnonzero(blind.values[s] >= math.log(LEAST))
        heard = np.isfinite(blind.values[s, index[s]])
        sampled = np.union1d(sampled, index[s : s + 1]) if heard else sampled
        samplers = [_Sampler.of(candidates[c], y, radio, rng) for c in sampled]
        _sample(samplers, blind.values[s], sampled, int(index[s]), tolerance, num_draws)
        score[s], error[s] = _posterior(samplers, blind.values[s], sampled)
        count[s, sampled] = [one.num_draws for one in samplers]
    dims = ("snapshot", "candidate")
    return xr.Dataset(
        {
            "log_posterior": (dims, score, {"units": "1", "long_name": "logarithm of the posterior probability"}),
            "standard_error": (dims, error, {"units": "nat", "long_name": "Monte Carlo error of the log posterior"}),
            "num_draws": (dims, count, {"units": "1", "long_name": "number of draws"}),
        },
        {name: paths[name] for name in ("x", "y") if name in paths.coords},
    )


class _Paths(NamedTuple):
    """Paths of one candidate, strongest first."""

    amplitude: NDArray[np.float64]
    """(path), in units of the noise."""
    turns: NDArray[np.float64]
    """(path): delay [periods]."""
    array: NDArray[np.complex128]
    """(path, antenna): array response."""


def _strongest_first(paths: xr.Dataset, radio: Radio) -> list[_Paths]:
    """Paths of each candidate, without padding."""
    amplitude = np.where(paths.valid, np.abs(paths.gain.values.astype(complex)), -1)
    order = np.argsort(-amplitude, axis=1, kind="stable")
    amplitude, aoa, delay = (
        np.take_along_axis(one, order, axis=1) for one in (amplitude, paths.aoa.values, paths.delay.values)
    )
    scale = math.sqrt(radio.tx_power / radio.noise_power)
    return [
        _Paths(
            scale * amplitude[c, :n],
            delay[c, :n].astype(float) / radio.period % 1,
            array_response(aoa[c, :n], radio.num_antennas),
        )
        for c, n in enumerate(paths.valid.values.sum(1))
    ]


@dataclass
class _Sampler:
    """Draws of one candidate and snapshot, in the notation of the module with a_j b_j in place of b_j, a_j = 1."""

    matched: NDArray[np.complex128]
    """(subcarrier, path): b_j^H y before the sum over subcarriers."""
    inverse: NDArray[np.complex128]
    """(path, path): inverse of U, where I + B^H B = U diag(d) U^H with U unit upper triangular."""
    earlier: NDArray[np.complex128]
    """(path, path): d_j conj(U_ij), the share of path i in r_j."""
    pivots: NDArray[np.float64]
    """(path): d_j = 1 + kappa_j."""
    offsets: NDArray[np.float64]
    """(node): sync offsets [periods]."""
    cumulative: NDArray[np.float64]
    """(node): phase-blind posterior probability of an offset up to this one."""
    rng: Generator
    log_weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    log_mean: float = math.nan
    """Logarithm of the mean weight."""
    variance: float = math.nan
    """Variance of ``log_mean``, estimated from the weights."""

    @classmethod
    def of(cls, paths: _Paths, channel: NDArray[np.complex128], radio: Radio, rng: Generator) -> _Sampler:
        """Sampler of one candidate for a ``channel`` (subcarrier, antenna) in units of the noise."""
        wave = np.exp(-2j * np.pi * np.arange(len(channel))[:, np.newaxis] * paths.turns) * paths.amplitude
        matched = (channel @ paths.array.conj().T) * wave.conj()
        gram = (wave.conj().T @ wave) * (paths.array.conj() @ paths.array.T)
        # S_j couples a path to the later ones: factorise from the last path to the first.
        factor = np.linalg.cholesky((gram + np.eye(len(gram)))[::-1, ::-1])[::-1, ::-1]
        root = factor.diagonal().real
        inverse = np.linalg.inv(factor / root)
        spectrum = np.fft.fft((inverse / root[:, np.newaxis]) @ matched.T, 2 * len(channel))
        power = (spectrum.real**2 + spectrum.imag**2).sum(0)
        offsets, log_mass = _nodes(np.fft.rfft(power, norm="forward")[: len(channel)], radio)
        cumulative = np.cumsum(np.exp(log_mass - log_mass.max()))
        earlier = (factor * root).conj().T
        return cls(matched, inverse, earlier, root**2, offsets, cumulative / cumulative[-1], rng)

    def draw(self, count: int) -> None:
        """Draw offsets and phases ``count`` times, and update the mean weight."""
        parts = [self._draw(min(_BATCH, count - first)) for first in range(0, count, _BATCH)]
        self.log_weights = np.concatenate([self.log_weights, *parts])
        weights = np.exp(self.log_weights - self.log_weights.max())
        average = weights.mean()
        self.log_mean = float(self.log_weights.max() + np.log(average))
        self.variance = float(weights.var(ddof=1) / len(weights) / average**2)

    @property
    def num_draws(self) -> int:
        """Number of draws made."""
        return len(self.log_weights)

    def _draw(self, count: int) -> NDArray[np.float64]:
        node = np.searchsorted(self.cumulative, self.rng.random(count), side="right")
        offset = self.offsets[np.minimum(node, len(self.offsets) - 1)]
        k = np.arange(len(self.matched))
        filtered = np.exp(-2j * np.pi * offset[:, np.newaxis] * k) @ self.matched
        first = self.inverse @ filtered.T  # r_j without the phases of earlier paths
        turned = np.empty_like(first)
        result = np.zeros(count)
        for j, pivot in enumerate(self.pivots):
            r = first[j] - self.earlier[j, :j] @ turned[:j]
            size = np.abs(r)
            turned[j] = np.exp(1j * self.rng.vonmises(np.angle(r), 2 * size))
            # log I0(2 |r|) - |r|^2 / d - kappa, arranged so that large terms cancel exactly
            bessel = np.log(torch.special.i0e(torch.from_numpy(2 * size)).numpy())
            result += math.log(pivot) + 1 - (size - pivot) ** 2 / pivot + bessel
        return result


def _sample(
    samplers: Sequence[_Sampler],
    blind: NDArray[np.float64],
    sampled: NDArray[np.int64],
    truth: int,
    tolerance: float,
    num_draws: tuple[int, int],
) -> None:
    """Draw until the log posterior of the truth is accurate, or every candidate that matters has the most draws."""
    for one in samplers:
        one.draw(num_draws[0])
    while True:
        known, before = np.exp(_posterior(samplers, blind, sampled)[0][sampled]), np.exp(blind[sampled])
        variance = np.array([one.variance for one in samplers])
        # A few draws that decide the mean may miss most of it: such a candidate may be as probable as it was before.
        share = np.maximum(known, np.where(variance > _DOUBTFUL, before, 0))
        share[sampled == truth] = 1 - np.minimum(known, np.where(variance > _DOUBTFUL, before, 1))[sampled == truth]
        part = share**2 * variance
        wanting = (part > tolerance**2 / len(samplers)) & [2 * one.num_draws <= num_draws[1] for one in samplers]
        if part.sum() <= tolerance**2 or not wanting.any():
            return
        for one, wants in zip(samplers, wanting, strict=True):
            if wants:
                one.draw(one.num_draws)


def _posterior(
    samplers: Sequence[_Sampler], blind: NDArray[np.float64], sampled: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log posterior (candidate), and its standard error by the delta method."""
    score, variance = blind.copy(), np.zeros(len(blind))
    for index, one in zip(sampled, samplers, strict=True):
        score[index] += one.log_mean
        variance[index] = one.variance
    score -= np.logaddexp.reduce(score)
    probability = np.exp(score)
    return score, np.sqrt((probability**2 * variance).sum() + (1 - 2 * probability) * variance)


def _nodes(coefficients: NDArray[np.complex128], radio: Radio) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Offsets (node) [periods], and the log of the phase-blind posterior mass at each, up to a constant.

    ``coefficients`` (subcarrier) are the Fourier coefficients of q(t), the output power of the phase-blind filters.
    """
    if radio.sync_window == 0:
        return np.zeros(1), np.zeros(1)
    return nodes(coefficients, folded_prior(radio), coherent=False)
