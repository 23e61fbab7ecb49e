"""The Bayes limit: traced paths of a group and its snapshots in, the exact log posterior out, which no method can beat.

For a given sync offset t, the likelihood of either receiver below depends on the snapshot through a filter output power
q(t). As a sum over subcarriers, q is a trigonometric polynomial, given exactly by a few Fourier coefficients. The
likelihood is then integrated over t: on a coarse grid, and on a fine grid where the coarse grid is too inaccurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from locus.receiver.estimator import check_samples, despread
from locus.settings.checks import check_range
from locus.settings.config import Radio
from locus.twin.antenna import array_response

RECIPE = 1

BINS = 4096
"""Bins of the sync offset over the pilot's period."""
KEPT = 20.0
"""[nat] below a candidate's peak down to which bins are summed."""

_BATCH = 32, 8  # candidates filtered together, with known and unknown phases: they should fit into the cache
_SMOOTH = 26.0  # largest exponent whose peak the coarse bins resolve: 8 per subcarrier, 16 with unknown phases
_REFINED = 8.0  # [nat] below a candidate's peak down to which bins are refined
_HOPELESS = 60.0  # [nat] below the best candidate: beyond it, a candidate's highest bin replaces the integral

Receiver = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def bayes(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None = None, num_bins: int = BINS) -> xr.DataArray:
    """Log posterior, eq. (2), of a receiver that knows each candidate's signal except for carrier phase and timing.

    A snapshot is y = exp(j phi) D(t) s + noise. The phase phi is integrated in closed form, which gives
    ``I0(2 |s^H D(t)^H y|) exp(-|s|^2)``; the offset t numerically. The prior is uniform over the candidates with paths.

    Args:
        paths: traced paths (candidate, path) of a group.
        snapshots: Dataset from :func:`locus.observe`, ``iq`` (sample, antenna) or (snapshot, sample, antenna).
        radio: waveform, antennas and link budget; by default the radio stored in ``snapshots``, else the paper's.
        num_bins: number of sync-offset bins per pilot period; the result equals the sum over all of them.

    Returns:
        Log posterior (candidate) or (snapshot, candidate), normalised over candidates; -inf for those without paths.

    Raises:
        ValueError: an input has the wrong dimensions or values, or no candidate has a path.
    """
    return _limit(paths, snapshots, radio, num_bins, _known_phases)


def phase_blind(
    paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None = None, num_bins: int = BINS
) -> xr.DataArray:
    """Log posterior, eq. (2), of a receiver that knows angle, delay and power of each path, but not its phase.

    Path gains are independent zero-mean complex Gaussians with the traced powers P, so that a snapshot is complex
    Gaussian with covariance I + A P A^H; each column of A is the array response of a path times its delay response.
    Arguments and result are those of :func:`bayes`.
    """
    return _limit(paths, snapshots, radio, num_bins, _unknown_phases)


@dataclass(frozen=True)
class Limit:
    """A limit as a scorer. It looks at the samples of snapshots, not at their estimated paths."""

    name: str
    compute: Callable[[xr.Dataset, xr.Dataset], xr.DataArray] = field(repr=False)
    sees: ClassVar[str] = "snapshots"

    def log_posterior(self, paths: xr.Dataset, snapshots: xr.Dataset) -> xr.DataArray:
        """Log posterior (candidate) or (snapshot, candidate)."""
        return self.compute(paths, snapshots)

    def posterior(self, paths: xr.Dataset, snapshots: xr.Dataset) -> xr.DataArray:
        """Posterior (candidate) or (snapshot, candidate) that sums to 1 over the candidates."""
        logarithm = self.log_posterior(paths, snapshots)
        return logarithm.copy(data=np.exp(logarithm.values)).assign_attrs(long_name="posterior probability")


LIMITS = {limit.name: limit for limit in (Limit("phase_blind", phase_blind), Limit("bayes", bayes))}
"""What an ideal receiver that knows the exact twin would reach, without and with the phases of the paths."""


def _limit(
    paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None, num_bins: int, look: Receiver
) -> xr.DataArray:
    radio = radio or Radio.carried_by(snapshots) or Radio()
    samples = _check(paths, snapshots, radio, num_bins)
    heard = paths.valid.values.any(1)
    channel = despread(torch.from_numpy(samples.astype(np.complex128)), radio)
    score = np.full((len(samples), len(heard)), -np.inf)
    score[:, heard] = _log_likelihood(paths.isel(candidate=heard), channel, radio, num_bins, look)
    largest = score.max(1, keepdims=True)
    score -= largest + np.log(np.exp(score - largest).sum(1, keepdims=True))
    coordinates = {name: paths[name] for name in ("x", "y") if name in paths.coords}
    attributes = {"units": "1", "long_name": "logarithm of the posterior probability"}
    result = xr.DataArray(score, coordinates, ("snapshot", "candidate"), "log_posterior", attributes)
    return result.isel(snapshot=0) if snapshots.iq.ndim == 2 else result


def _check(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio, num_bins: int) -> NDArray[np.complex128]:
    for name in ("aoa", "delay", "gain", "valid"):
        if name not in paths or paths[name].dims != ("candidate", "path"):
            found = paths[name].dims if name in paths else "none"
            raise ValueError(f"Expected 'paths' with {name} (candidate, path), got {found}")
        if not np.isfinite(paths[name].values[paths.valid.values.astype(bool)]).all():
            raise ValueError(f"Expected finite {name} of valid 'paths', got NaN or infinity")
    if not paths.valid.values.any():
        raise ValueError("Expected at least one candidate with a path in 'paths', got none")
    dims = snapshots.iq.dims if "iq" in snapshots else "none"
    if dims not in (("sample", "antenna"), ("snapshot", "sample", "antenna")):
        raise ValueError(f"Expected 'snapshots' with iq (sample, antenna) or (snapshot, sample, antenna), got {dims}")
    check_range("num_bins", num_bins, 2 * radio.num_subcarriers)
    samples = np.asarray(snapshots.iq.values)
    samples = samples[np.newaxis] if samples.ndim == 2 else samples
    check_samples(samples, radio)
    return samples


def _log_likelihood(
    paths: xr.Dataset, channel: Tensor, radio: Radio, num_bins: int, look: Receiver
) -> NDArray[np.float64]:
    """Log likelihood (snapshot, candidate) up to a constant per snapshot, for candidates with at least one path."""
    coherent = look is _known_phases
    coefficients, constant = _powers(paths, channel, radio, look)
    prior = _folded_prior(radio, num_bins)
    num_coarse = num_bins
    # A sync window shorter than a period leaves bins of zero prior, whose edges coarse bins would blur.
    while prior.all() and num_coarse % 2 == 0 and num_coarse >= (16 if coherent else 32) * radio.num_subcarriers:
        num_coarse //= 2
    # Band-limited prior: on functions that the coarse bins resolve, it gives the same sums as the fine one.
    coarse_prior = np.fft.irfft(np.fft.rfft(prior)[: num_coarse // 2 + 1], num_coarse) if prior.all() else prior
    rows = []
    for one in coefficients:
        # Single precision is enough for smooth peaks; sharper ones are refined in double precision.
        coarse = torch.fft.irfft(one.to(torch.complex64), n=num_coarse, norm="forward").clamp_(min=0)
        rows.append(_integrate(coarse, one.numpy(), constant.numpy(), prior, coarse_prior, coherent) - constant.numpy())
    return np.array(rows)


def _powers(paths: xr.Dataset, channel: Tensor, radio: Radio, look: Receiver) -> tuple[Tensor, Tensor]:
    """Fourier coefficients of q(t), (snapshot, candidate, subcarrier), and the constant term of each candidate."""
    valid = paths.valid.values.astype(bool)
    n, device = radio.num_subcarriers, channel.device
    coefficients = torch.empty(len(channel), len(valid), n, dtype=channel.dtype)
    constant = torch.empty(len(valid), dtype=torch.float64)
    turns = np.where(valid, paths.delay.values.astype(float) / radio.period % 1, 0)
    arrays = array_response(np.where(valid, paths.aoa.values, 0), radio.num_antennas)
    gains = np.where(valid, paths.gain.values, 0).astype(complex) * math.sqrt(radio.tx_power / radio.noise_power)
    # Candidates with equal numbers of paths are batched together to keep padding small.
    batch = _BATCH[0] if look is _known_phases else _BATCH[1]
    length = valid.shape[1] - np.argmax(valid[:, ::-1], axis=1)
    for index in np.split(np.argsort(length, kind="stable"), range(batch, len(valid), batch)):
        kept = slice(length[index].max())
        wave = np.exp(-2j * np.pi * turns[index, kept, np.newaxis] * np.arange(n))
        parts = (torch.from_numpy(part).to(device) for part in (gains[index, kept], wave, arrays[index, kept]))
        seen, constant[index] = look(channel, *parts)
        power = torch.from_numpy(_sum_power(torch.fft.fft(seen, n=2 * n).cpu().numpy()))
        coefficients[:, index] = torch.fft.rfft(power, norm="forward")[..., :n].transpose(0, 1)
    return coefficients, constant


def _known_phases(channel: Tensor, gain: Tensor, wave: Tensor, array: Tensor) -> tuple[Tensor, Tensor]:
    """Output of one filter per candidate, s^H y before the sum over subcarriers, and the energy of the signal s.

    Results are (candidate, filter, snapshot, subcarrier) and (candidate).
    """
    signal = (gain[..., None] * wave).mT @ array
    seen = torch.einsum("cka,ska->csk", signal.conj(), channel)
    return seen[:, None], torch.view_as_real(signal).square().sum((1, 2, 3))


def _unknown_phases(channel: Tensor, gain: Tensor, wave: Tensor, array: Tensor) -> tuple[Tensor, Tensor]:
    """Output of one filter per path, L^-1 P^(1/2) A^H y, and log det(L L^H) = log det(I + P^(1/2) A^H A P^(1/2)).

    By the Woodbury identity, their power is y^H y - y^H (I + A P A^H)^-1 y. L exists even if paths coincide.
    """
    root = gain.abs().to(gain.dtype)
    gram = (wave.conj() @ wave.mT) * (array.conj() @ array.mT) * (root[:, :, None] * root[:, None, :])
    factor = torch.linalg.cholesky(gram + torch.eye(gram.shape[-1], device=gram.device))
    whiten = torch.linalg.solve_triangular(factor, torch.diag_embed(root), upper=False)
    matched = (array.conj() @ channel.flatten(0, 1).T).unflatten(2, channel.shape[:2]) * wave.conj()[:, :, None]
    seen = (whiten @ matched.flatten(2)).view_as(matched)
    return seen, 2 * factor.diagonal(dim1=1, dim2=2).real.log().sum(1)


def _folded_prior(radio: Radio, num_bins: int) -> NDArray[np.float64]:
    """Prior probability of each bin of the sync offset modulo the pilot period; bin 0 is centred on offset 0."""
    if radio.sync_window == 0:
        return np.asarray(np.eye(1, num_bins)[0])
    window = radio.sync_window / radio.period
    edges = np.concatenate([[0], (np.arange(num_bins) + 0.5) / num_bins, [1]])
    below = math.floor(window) * edges + np.minimum(edges, window % 1)
    mass = np.diff(below) / window
    mass[0] += mass[-1]  # bin 0 wraps around the end of the period
    return np.asarray(mass[:-1])


@njit(cache=True, fastmath=True)
def _sum_power(spectrum):  # type: ignore[no-untyped-def]
    """Power (candidate, snapshot, bin), summed over filters, of spectra (candidate, filter, snapshot, bin)."""
    num_candidates, num_filters, num_snapshots, num_bins = spectrum.shape
    power = np.zeros((num_candidates, num_snapshots, num_bins))
    for c in range(num_candidates):
        for f in range(num_filters):
            for s in range(num_snapshots):
                for b in range(num_bins):
                    power[c, s, b] += spectrum[c, f, s, b].real ** 2 + spectrum[c, f, s, b].imag ** 2
    return power


def _integrate(
    coarse: Tensor,
    coefficients: NDArray[np.complex128],
    constant: NDArray[np.float64],
    prior: NDArray[np.float64],
    coarse_prior: NDArray[np.float64],
    coherent: bool,
) -> NDArray[np.float64]:
    """Logarithm of the integral of I0(2 sqrt(q)), or of exp(q), over the sync offset: (candidate), for one snapshot."""
    # A polynomial of degree n, at most M and M cos(a) somewhere, is at least M cos(a + n d) within d (Riesz; Boas).
    turn = (coefficients.shape[1] - 1) / 2 * math.pi / coarse.shape[1]
    highest = coarse.amax(1).double().numpy()
    top = highest if prior.all() else coarse[:, torch.from_numpy(prior > 0)].amax(1).double().numpy()
    result = _height(top, coherent)
    bound = highest / math.cos(turn) ** 2
    alive = _height(bound, coherent) - constant >= (result - constant).max() - _HOPELESS
    # The curvature of a peak, 2 sqrt(q) or 2 q, sets its width; twice the bins resolve four times the curvature.
    smooth = (2 * np.sqrt(highest) if coherent else 2 * highest / 4) <= _SMOOTH
    index = np.flatnonzero(alive & smooth)
    result[index] = _sum_smooth(coarse.numpy(), index, coarse_prior, coherent)
    wanted = np.sqrt(top) - _REFINED / 2 if coherent else np.sqrt(np.maximum(top - _REFINED, 0))
    angle = np.arccos(np.maximum(wanted, 0) / np.sqrt(np.maximum(bound, 1e-300))) + turn
    level = bound * np.cos(np.minimum(angle, math.pi / 2)) ** 2
    circle = np.exp(2j * math.pi / len(prior) * np.arange(len(prior)))
    for c in np.flatnonzero(alive & ~smooth):
        result[c] = _sum_refined(coarse.numpy()[c], coefficients[c], prior, coarse_prior, circle, level[c], coherent)
    return result


def _height(power: NDArray[np.float64], coherent: bool) -> NDArray[np.float64]:
    if not coherent:
        return power.copy()
    x = 2 * np.sqrt(power)
    return np.asarray(x + np.log(torch.special.i0e(torch.from_numpy(x)).numpy()))


@njit(cache=True, fastmath=True)
def _sum_smooth(coarse, index, prior, coherent):  # type: ignore[no-untyped-def]
    """Logarithm of the weighted sum over the coarse bins, for candidates ``index`` with small exponents."""
    result = np.empty(len(index))
    for i in range(len(index)):
        power = coarse[index[i]].astype(np.float64)
        top = power.max()
        if coherent:  # I0(2 sqrt(q)) = 1 + q / 1^2 (1 + q / 2^2 (1 + ...))
            value = np.ones(len(power))
            for m in range(int(2 * math.sqrt(top)) + 14, 0, -1):
                scale = 1 / m**2
                for b in range(len(power)):
                    value[b] = 1 + scale * power[b] * value[b]
            result[i] = math.log((value * prior).sum())
        else:
            result[i] = top + math.log((np.exp(power - top) * prior).sum())
    return result


@njit(cache=True)
def _sum_refined(coarse, coefficients, prior, coarse_prior, circle, level, coherent):  # type: ignore[no-untyped-def]
    """The same sum for one candidate, with the bins above ``level`` refined."""
    step = len(prior) // len(coarse)
    above = np.flatnonzero(coarse >= level)
    fine = (np.repeat(above * step - step // 2, step) + np.arange(len(above) * step) % step) % len(prior)
    fine = fine[prior[fine] > 0]
    below = np.flatnonzero((coarse < level) & (coarse_prior > 0))
    power = np.concatenate((_evaluate(coefficients, circle[fine]), coarse[below].astype(np.float64)))
    weight = np.concatenate((prior[fine], coarse_prior[below]))
    exponent = 2 * np.sqrt(np.maximum(power, 0)) if coherent else power
    top = exponent.max()
    total = 0.0
    for i in range(len(power)):
        if exponent[i] > top - KEPT:
            factor = _bessel(exponent[i]) if coherent else 1.0
            total += weight[i] * factor * math.exp(exponent[i] - top)
    return top + math.log(total)


@njit(cache=True)
def _bessel(x):  # type: ignore[no-untyped-def]
    """exp(-x) I0(x) by Abramowitz and Stegun 9.8.1 and 9.8.2; accurate to 2e-7 for all x."""
    if x < 3.75:
        t = (x / 3.75) ** 2
        series = 1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813))
        return math.exp(-x) * (1 + t * (3.5156229 + t * (3.0899424 + t * series)))
    t = 3.75 / x
    series = 0.00916281 + t * (-0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377)))
    return (0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * series)))) / math.sqrt(x)


@njit(cache=True, fastmath=True)
def _evaluate(coefficients, points):  # type: ignore[no-untyped-def]
    """Evaluate the real polynomial with these Fourier coefficients at points on the unit circle."""
    result = np.empty(len(points))
    for start in range(0, len(points), 64):  # blocks that fit into registers and the L1 cache
        turn_real, turn_imaginary = points[start : start + 64].real.copy(), points[start : start + 64].imag.copy()
        real, imaginary = np.ones(len(turn_real)), np.zeros(len(turn_real))
        total = np.full(len(turn_real), coefficients[0].real)
        for m in range(1, len(coefficients)):
            a, b = 2 * coefficients[m].real, 2 * coefficients[m].imag
            for i in range(len(turn_real)):
                x = real[i] * turn_real[i] - imaginary[i] * turn_imaginary[i]
                imaginary[i] = real[i] * turn_imaginary[i] + imaginary[i] * turn_real[i]
                real[i] = x
                total[i] += a * x - b * imaginary[i]
        result[start : start + 64] = total
    return result
