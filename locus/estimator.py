"""The online estimator: IQ samples in, the strongest paths that explain them out.

Maximum likelihood, eq. (23). A matched filter proposes a path; all paths found so far are then refined together by
Levenberg-Marquardt until they have converged; the next path is sought in what is left.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from locus.config import EstimatorOptions, Radio
from locus.device import device
from locus.observation import pilot
from locus.twin.base import ATTRIBUTES, snr_db

RECIPE = 1

_CONVERGED = 1e-9  # fall of the cost [noise variances] in one step, below which a fit has converged
_BATCH = 256  # snapshots that are fitted side by side: enough to be fast, few enough to stay in the cache
_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e9


def estimate(
    iq: xr.Dataset | NDArray[np.complex128], options: EstimatorOptions | None = None, radio: Radio | None = None
) -> xr.Dataset:
    """Estimated multipath of one snapshot or of many, eq. (7).

    Args:
        iq: what :func:`locus.observe` returns, or an array (sample, antenna) or (snapshot, sample, antenna).
        options: number of paths, false-alarm rate and steps; the defaults if missing.
        radio: waveform, antennas and noise; by default the one that ``iq`` carries, or the paper's.

    Returns:
        Dataset (path) or (snapshot, path) with ``aoa`` in [-pi/2, pi/2], ``delay`` in [0, period), ``gain``, ``snr_db``
        and ``valid``, strongest first. Padding has ``valid`` False, zero gain and an SNR of -inf.

    Raises:
        ValueError: the samples are of another shape or type, or not finite.
    """
    if radio is None:
        carried = isinstance(iq, xr.Dataset) and "radio" in iq.attrs
        radio = Radio(**json.loads(iq.attrs["radio"])) if carried else Radio()  # type: ignore[union-attr]
    options = options or EstimatorOptions()
    samples = np.asarray(iq.iq if isinstance(iq, xr.Dataset) else iq)
    single = samples.ndim == 2
    samples = samples[np.newaxis] if single else samples
    _check_samples(samples, radio)
    level = threshold(options, radio) * radio.num_subcarriers * radio.num_antennas
    batches = torch.from_numpy(samples.astype(np.complex128)).split(_BATCH)
    parts = [_fit(_despread(batch, radio), options, level) for batch in batches]
    data = _label(_Fit(*(torch.cat(column) for column in zip(*parts, strict=True))), radio)
    return data.isel(snapshot=0) if single else data


def threshold(options: EstimatorOptions, radio: Radio) -> float:
    """SNR per sample [1] that the strongest path in pure noise exceeds with the false-alarm rate.

    The matched filter of white noise is a random field over angle and delay. The expected number of its peaks above a
    level x (in units of its mean power) is, for high levels, that of its excursion sets: C (x - 1/2) exp(-x), where C
    follows from the spread of the frequencies and of the antennas.
    """
    n, m = radio.num_subcarriers, radio.num_antennas
    cells = math.pi / 3 * math.sqrt((n * n - 1) * max(m * m - 1, 1))
    wanted = -math.log1p(-options.false_alarm)
    low, high = 1.5, 100.0  # the formula falls from x = 3/2 on
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cells * (middle - 0.5) * math.exp(-middle) > wanted else (low, middle)
    return low / (n * m)


def matched_filter(
    iq: NDArray[np.complex128], radio: Radio, padding: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Matched filter of one snapshot (sample, antenna), for looking at.

    Returns:
        Sines of the angles, delays [s], and the filter's power (delay, angle) in units of what noise alone gives.
    """
    channel = _despread(torch.from_numpy(iq[np.newaxis]), radio)[0].cpu().numpy()
    n, m = channel.shape
    surface = np.fft.ifft2(channel, s=(2 * n, padding * m), norm="forward")
    power = np.fft.fftshift(np.abs(surface) ** 2 / (n * m), axes=1)
    sine = (np.arange(padding * m) - padding * m // 2) * 2 / (padding * m)
    return sine, np.arange(2 * n) / (2 * n) * radio.period, power


def _check_samples(samples: NDArray[np.complex128], radio: Radio) -> None:
    shape = (radio.num_subcarriers, radio.num_antennas)
    if samples.ndim != 3 or samples.shape[1:] != shape or len(samples) == 0:
        raise ValueError(
            f"Expected 'iq' of shape (sample, antenna) = {shape} or (snapshot, sample, antenna), got {samples.shape}"
        )
    if samples.dtype.kind != "c":
        raise ValueError(f"Expected complex 'iq', got {samples.dtype}")
    if not np.isfinite(samples).all():
        raise ValueError(f"Expected finite 'iq', got {np.argwhere(~np.isfinite(samples))[0]} that is not")


class _Fit(NamedTuple):
    """Paths of many snapshots, (snapshot, path), in units of the noise; angles in radians a subcarrier or antenna."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    valid: Tensor


def _despread(iq: Tensor, radio: Radio) -> Tensor:
    """Channel of each subcarrier and antenna (snapshot, subcarrier, antenna), noise of unit variance: eq. (21)."""
    spectrum = torch.fft.fft(torch.from_numpy(pilot(radio)), norm="ortho")
    channel = torch.fft.fft(iq, dim=1, norm="ortho") / spectrum[:, None]
    return (channel / math.sqrt(radio.noise_power)).to(device())


def _fit(channel: Tensor, options: EstimatorOptions, level: float) -> _Fit:
    """Add paths one at a time, refining all; a snapshot is done when a new path explains less than ``level``."""
    num_snapshots, n, m = channel.shape
    # The grid may miss the top of a peak by this much.
    proposal = 0.95 * level * (np.sinc(0.5 / options.angle_padding) * np.sinc(0.5 / options.delay_padding)) ** 2
    zeros = torch.zeros(num_snapshots, 0, dtype=torch.float64, device=channel.device)
    state = _State(zeros, zeros, zeros.to(channel.dtype), _power(channel).sum((1, 2)))
    result = _Result(num_snapshots, options.num_paths, channel.device)
    index = torch.arange(num_snapshots, device=channel.device)
    for _ in range(options.num_paths):
        if len(index) == 0:
            break
        delay, angle, gain, height = _propose(channel - _model(state, n, m), options)
        keep = height >= proposal
        index, channel, state = index[keep], channel[keep], state.take(keep)
        grown = _refine(channel, state.add(delay[keep], angle[keep], gain[keep]), options.num_iterations)
        better = state.cost - grown.cost >= level
        index, channel, state = index[better], channel[better], grown.take(better)
        result.store(index, state)
    return result.sorted(level / (n * m))


class _State(NamedTuple):
    """A fit under way: (snapshot, path) each, and the squared misfit (snapshot)."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    cost: Tensor

    def take(self, which: Tensor) -> _State:
        return _State(*(part[which] for part in self))

    def add(self, delay: Tensor, angle: Tensor, gain: Tensor) -> _State:
        return _State(
            torch.cat([self.delay, delay[:, None]], 1),
            torch.cat([self.angle, angle[:, None]], 1),
            torch.cat([self.gain, gain[:, None]], 1),
            self.cost,
        )


def _power(values: Tensor) -> Tensor:
    """Squared magnitude, without the root that abs() takes."""
    return values.real.square() + values.imag.square()


def _basis(phase: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """exp(-j k phase) for k centred on 0, (snapshot, length, path), and its derivative by the phase."""
    k = torch.arange(length, dtype=torch.float64, device=phase.device) - (length - 1) / 2
    turn = -k[:, None] * phase[:, None, :]
    wave = torch.polar(torch.ones_like(turn), turn)
    return wave, -1j * k[:, None] * wave


def _times(a: Tensor, b: Tensor) -> Tensor:
    """Complex product in real steps. Torch's own rounds differently at the end of an array, hence with its length."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def _to_corner(delay: Tensor, angle: Tensor, n: int, m: int) -> Tensor:
    """Turn of a path from the middle of the band and of the array, where fits count from, to their first elements."""
    return _times(_basis(delay, n)[0][:, 0], _basis(angle, m)[0][:, 0])


def _model(state: _State, n: int, m: int) -> Tensor:
    """Channel of the paths, eq. (20): (snapshot, subcarrier, antenna)."""
    over_delay, _ = _basis(state.delay, n)
    over_angle, _ = _basis(state.angle, m)
    return (over_delay * state.gain[:, None, :]) @ over_angle.transpose(1, 2)


def _propose(residual: Tensor, options: EstimatorOptions) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Delay, angle, gain and height of the highest point of a zero-padded matched filter."""
    _, n, m = residual.shape
    rows, columns = n * options.delay_padding, m * options.angle_padding
    surface = torch.fft.ifft2(residual, s=(rows, columns), dim=(1, 2), norm="forward").flatten(1)
    best = _power(surface).argmax(1)
    delay = 2 * math.pi / rows * torch.div(best, columns, rounding_mode="floor")
    angle = 2 * math.pi / columns * (best % columns)
    value = surface.gather(1, best[:, None])[:, 0]
    # The filter counts subcarriers and antennas from 0.
    gain = _times(value, _to_corner(delay[:, None], angle[:, None], n, m)[:, 0].conj())
    return delay, angle, gain / (n * m), _power(value) / (n * m)


def _refine(channel: Tensor, state: _State, num_iterations: int) -> _State:
    """Levenberg-Marquardt on all paths together: a step is taken only where it lowers the cost."""
    _, n, m = channel.shape
    cost = _power(channel - _model(state, n, m)).sum((1, 2))
    state = state._replace(cost=cost)
    result = _State(*(part.clone() for part in state))
    damping = torch.full_like(cost, _DAMPING)
    index = torch.arange(len(cost), device=cost.device)
    for _ in range(num_iterations):
        trial = _step(channel, state, damping)
        lower = trial.cost < state.cost
        fall = state.cost - trial.cost
        state = _State(*(torch.where(_like(lower, new), new, old) for new, old in zip(trial, state, strict=True)))
        damping = torch.where(lower, damping / 10, damping * 10).clamp(min=_LEAST_DAMPING)
        for kept, now in zip(result, state, strict=True):
            kept[index] = now
        going = torch.where(lower, fall > _CONVERGED, damping < _MOST_DAMPING)
        index, channel, state, damping = index[going], channel[going], state.take(going), damping[going]
        if len(index) == 0:
            break
    return result


def _like(mask: Tensor, values: Tensor) -> Tensor:
    return mask.reshape(-1, *[1] * (values.ndim - 1))


def _step(channel: Tensor, state: _State, damping: Tensor) -> _State:
    """One damped step. The Jacobian is never formed: its columns are products of a delay and an angle factor.

    For path i the columns are the derivatives by angle, by delay, and by the real and the imaginary part of its gain:
    gain A' F, gain A F', A F and j A F. So their inner products are products of two small ones.
    """
    _, n, m = channel.shape
    num_paths = state.gain.shape[1]
    wave_f, slope_f = _basis(state.delay, n)
    wave_a, slope_a = _basis(state.angle, m)
    residual = channel - (wave_f * state.gain[:, None, :]) @ wave_a.transpose(1, 2)
    both_f, both_a = torch.cat([wave_f, slope_f], 2), torch.cat([wave_a, slope_a], 2)

    wave = torch.arange(num_paths, device=channel.device)
    slope = wave + num_paths
    of_f, of_a = torch.cat([wave, slope, wave, wave]), torch.cat([slope, wave, wave, wave])
    one = torch.ones_like(state.gain)
    weight = torch.cat([state.gain, state.gain, one, 1j * one], 1)

    gram_f, gram_a = both_f.mH @ both_f, both_a.mH @ both_a
    weights = weight.conj()[:, :, None] * weight[:, None, :]
    normal = (gram_f[:, of_f][:, :, of_f] * gram_a[:, of_a][:, :, of_a] * weights).real
    projected = both_f.mH @ residual
    slope_of_cost = (projected[:, of_f] * both_a[:, :, of_a].transpose(1, 2).conj()).sum(2)
    right = weight.real * slope_of_cost.real + weight.imag * slope_of_cost.imag

    diagonal = normal.diagonal(dim1=1, dim2=2)
    # A path without gain has no derivative by angle and delay; the floor keeps the system regular.
    floor = 1e-12 * diagonal.amax(1, keepdim=True)
    damped = normal + torch.diag_embed(damping[:, None] * diagonal + floor)
    factor, _ = torch.linalg.cholesky_ex(damped)
    move = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    by_angle, by_delay, by_real, by_imaginary = move.split(num_paths, 1)
    trial = _State(
        state.delay + by_delay, state.angle + by_angle, state.gain + torch.complex(by_real, by_imaginary), state.cost
    )
    misfit = _power(channel - _model(trial, n, m)).sum((1, 2))
    return trial._replace(cost=torch.nan_to_num(misfit, nan=math.inf))


class _Result:
    """Finished paths of all snapshots."""

    def __init__(self, num_snapshots: int, num_paths: int, where: torch.device) -> None:
        shape = (num_snapshots, num_paths)
        self.delay, self.angle = (torch.zeros(shape, dtype=torch.float64, device=where) for _ in range(2))
        self.gain = torch.zeros(shape, dtype=torch.complex128, device=where)

    def store(self, index: Tensor, state: _State) -> None:
        """Replace what is known of these snapshots."""
        count = state.gain.shape[1]
        for mine, theirs in zip((self.delay, self.angle, self.gain), state[:3], strict=True):
            mine[index, :count] = theirs

    def sorted(self, least: float) -> _Fit:
        """Strongest first; paths below the ``least`` SNR are not valid."""
        power = _power(self.gain)
        order = power.argsort(dim=1, descending=True, stable=True)
        delay, angle, gain = (part.gather(1, order) for part in (self.delay, self.angle, self.gain))
        return _Fit(delay, angle, gain, power.gather(1, order) >= least)


def _label(fit: _Fit, radio: Radio) -> xr.Dataset:
    corner = _to_corner(fit.delay, fit.angle, radio.num_subcarriers, radio.num_antennas)
    gain = _times(fit.gain, corner).cpu().numpy() * math.sqrt(radio.noise_power / radio.tx_power)
    delay, angle, valid = (part.cpu().numpy() for part in (fit.delay, fit.angle, fit.valid))
    delay, angle = delay % (2 * np.pi), (angle + np.pi) % (2 * np.pi) - np.pi
    values = {
        "aoa": np.arcsin(angle / np.pi),
        "delay": delay / (2 * np.pi) * radio.period,
        "gain": gain,
        "valid": valid,
    }
    data = xr.Dataset({name: (("snapshot", "path"), np.where(valid, value, 0)) for name, value in values.items()})
    for name in data.data_vars:
        data[name].attrs = dict(ATTRIBUTES[str(name)])
    data.delay.attrs["long_name"] = "delay after the start of the snapshot, modulo the pilot's period"
    data["valid"] = data.valid.astype(bool)
    data["snr_db"] = snr_db(data.gain, radio)
    return data
