"""Ideal receivers: traced paths of a group and its snapshots in, the log posterior from all samples out.

For a given sync offset :math:`t`, the likelihood of either receiver below depends on the snapshot through a filter
output power :math:`q(t)`. As a sum over subcarriers, :math:`q` is a trigonometric polynomial, given exactly by a few
Fourier coefficients, which :mod:`locus.score.sync_offset` integrates over :math:`t`.
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
from locus.score.sync_offset import folded_prior, log_integrals
from locus.settings.config import Radio
from locus.settings.device import device
from locus.twin.antenna import array_response

RECIPE = 2

_BATCH = 32, 8  # candidates filtered together, with known and unknown phases: they should fit into the cache

Look = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def bayes(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None = None) -> xr.DataArray:
    r"""Log posterior, eq. (2), of a receiver that knows each candidate's signal except for carrier phase and timing.

    A snapshot is :math:`y = e^{j \phi} D(t) s + \text{noise}`, where :math:`s` is the candidate's signal and
    :math:`D(t)` shifts it in time by the sync offset :math:`t`. The phase is integrated in closed form, which gives
    :math:`I_0(2 |s^H D(t)^H y|)\, e^{-|s|^2}`; the offset :math:`t` numerically. The prior is uniform over the
    candidates with paths.

    Args:
        paths: traced paths (candidate, path) of a group.
        snapshots: Dataset from :func:`locus.observe`, ``iq`` (sample, antenna) or (snapshot, sample, antenna).
        radio: waveform, antennas and link budget; by default the radio stored in ``snapshots``, else the paper's.

    Returns:
        Log posterior (candidate) or (snapshot, candidate), normalised over candidates; -inf for those without paths.

    Raises:
        ValueError: an input has the wrong dimensions or values, or no candidate has a path.
    """
    return _posterior(paths, snapshots, radio, _known_phases)


def phase_blind(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None = None) -> xr.DataArray:
    """Log posterior, eq. (2), of a receiver that knows angle, delay and mean power of each path, but not its gain.

    Path gains are independent zero-mean complex Gaussians with the traced powers :math:`P`, so that a snapshot is
    complex Gaussian with covariance :math:`I + A P A^H`; each column of :math:`A` is the array response of a path times
    its delay response. Arguments and result are those of :func:`bayes`.
    """
    return _posterior(paths, snapshots, radio, _unknown_phases)


@dataclass(frozen=True)
class IdealReceiver:
    """An ideal receiver as a scorer. It looks at the samples of snapshots, not at their estimated paths."""

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


RECEIVERS = {one.name: one for one in (IdealReceiver("phase_blind", phase_blind), IdealReceiver("bayes", bayes))}
"""Receivers that know the exact twin: without the phases and amplitudes of the paths, and with them (the limit)."""


def _posterior(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio | None, look: Look) -> xr.DataArray:
    radio = radio or Radio.carried_by(snapshots) or Radio()
    samples = _check(paths, snapshots, radio)
    heard = paths.valid.values.any(1)
    channel = torch.from_numpy(despread(samples, radio)).to(device())
    score = np.full((len(samples), len(heard)), -np.inf)
    score[:, heard] = _log_likelihood(paths.isel(candidate=heard), channel, radio, look)
    largest = score.max(1, keepdims=True)
    score -= largest + np.log(np.exp(score - largest).sum(1, keepdims=True))
    coordinates = {name: paths[name] for name in ("x", "y") if name in paths.coords}
    attributes = {"units": "1", "long_name": "logarithm of the posterior probability"}
    result = xr.DataArray(score, coordinates, ("snapshot", "candidate"), "log_posterior", attributes)
    return result.isel(snapshot=0) if snapshots.iq.ndim == 2 else result


def _check(paths: xr.Dataset, snapshots: xr.Dataset, radio: Radio) -> NDArray[np.complex128]:
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
    samples = np.asarray(snapshots.iq.values)
    samples = samples[np.newaxis] if samples.ndim == 2 else samples
    check_samples(samples, radio)
    return samples


def _log_likelihood(paths: xr.Dataset, channel: Tensor, radio: Radio, look: Look) -> NDArray[np.float64]:
    """Log likelihood (snapshot, candidate) up to a constant per snapshot, for candidates with at least one path."""
    coefficients, constant = _powers(paths, channel, radio, look)
    prior = folded_prior(radio) if radio.sync_window else None
    coherent = look is _known_phases
    return np.array([log_integrals(one, constant.numpy(), prior, coherent=coherent) for one in coefficients])


def _powers(paths: xr.Dataset, channel: Tensor, radio: Radio, look: Look) -> tuple[Tensor, Tensor]:
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
