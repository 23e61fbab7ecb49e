"""Greedy maximum-likelihood fit: channels of many snapshots in, their paths out. For GPUs.

A matched filter proposes a path, Levenberg-Marquardt refines all paths found so far jointly, and the next path is
sought in the residual. Phases are referred to the centre of the band and of the array, where delay, angle and gain are
least coupled. All snapshots are processed side by side; on CPUs :mod:`locus.receiver.fit_numpy` takes the same steps
faster.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from locus.receiver import fit_cpu
from locus.receiver.fit_cpu import PROPOSED as PROPOSED
from locus.settings.config import EstimatorOptions


class Fit(NamedTuple):
    """Paths (snapshot, path): delay and angle in radians per subcarrier and per antenna, gain in units of the noise."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    valid: Tensor


def fit(channel: Tensor, options: EstimatorOptions, level: float) -> Fit:
    """Add paths one by one, refining all of them, up to ``options.num_paths``.

    The search ends when the matched filter has no peak worth refining, or a new path lowers the cost by less than
    ``level`` (twice that if two paths are closer than half a resolution cell in both delay and angle).
    """
    num_snapshots, n, m = channel.shape
    proposal = fit_cpu.proposal(options, level)
    zeros = torch.zeros(num_snapshots, 0, dtype=torch.float64, device=channel.device)
    state = State(zeros, zeros, zeros.to(channel.dtype), power(channel).sum((1, 2)))
    result = _Result(num_snapshots, options.num_paths, channel.device)
    index = torch.arange(num_snapshots, device=channel.device)
    for _ in range(options.num_paths):
        if len(index) == 0:
            break
        delay, angle, gain, height = propose(channel - model(state, n, m), options)
        keep = height >= proposal
        index, channel, state = index[keep], channel[keep], state.take(keep)
        grown = refine(channel, state.add(delay[keep], angle[keep], gain[keep]), options.num_iterations)
        # Two paths in one resolution cell can fit noise with large gains that nearly cancel: ask for more improvement.
        better = state.cost - grown.cost >= level * (1 + _crowded(grown, n, m).double())
        index, channel, state = index[better], channel[better], grown.take(better)
        result.store(index, state)
    return result.sorted(level / (n * m))


def _crowded(state: State, n: int, m: int) -> Tensor:
    """Whether two paths of a snapshot are closer than half a resolution cell in both delay and angle, (snapshot)."""

    def close(phase: Tensor, length: int) -> Tensor:
        apart = phase[:, :, None] - phase[:, None, :]
        return ((apart + math.pi) % (2 * math.pi) - math.pi).abs() < math.pi / length

    return (close(state.delay, n) & close(state.angle, m)).triu(1).any(2).any(1)


class State(NamedTuple):
    """Current estimate: delay, angle and gain (snapshot, path), and the squared residual (snapshot)."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    cost: Tensor

    def take(self, which: Tensor) -> State:
        """Select snapshots by index or mask."""
        return State(*(part[which] for part in self))

    def add(self, delay: Tensor, angle: Tensor, gain: Tensor) -> State:
        """Append a path to each snapshot; the cost is not updated."""
        return State(
            torch.cat([self.delay, delay[:, None]], 1),
            torch.cat([self.angle, angle[:, None]], 1),
            torch.cat([self.gain, gain[:, None]], 1),
            self.cost,
        )


def power(values: Tensor) -> Tensor:
    """Squared magnitude, without the square root of abs()."""
    return values.real.square() + values.imag.square()


def _centred(length: int, where: torch.device) -> Tensor:
    """Indices of subcarriers or antennas, relative to the centre."""
    return torch.arange(length, dtype=torch.float64, device=where) - (length - 1) / 2


def _wave(phase: Tensor, length: int) -> Tensor:
    """exp(-j k phase) for k centred on 0, (snapshot, length, path)."""
    turn = -_centred(length, phase.device)[:, None] * phase[:, None, :]
    return torch.polar(torch.ones_like(turn), turn)


def times(a: Tensor, b: Tensor) -> Tensor:
    """Complex product from real products. Torch's own rounds differently depending on the length of the array."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def to_corner(delay: Tensor, angle: Tensor, n: int, m: int) -> Tensor:
    """Phase factor that moves a path's reference from the centre of band and array to their first elements."""
    return times(_wave(delay, n)[:, 0], _wave(angle, m)[:, 0])


def model(state: State, n: int, m: int) -> Tensor:
    """Channel of the paths, eq. (20): (snapshot, subcarrier, antenna)."""
    return (_wave(state.delay, n) * state.gain[:, None, :]) @ _wave(state.angle, m).transpose(1, 2)


def propose(residual: Tensor, options: EstimatorOptions) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Delay, angle, gain and height of the highest peak of the zero-padded matched filter, each (snapshot)."""
    _, n, m = residual.shape
    rows, columns = n * options.delay_padding, m * options.angle_padding
    over_delay = torch.fft.ifft(residual, n=rows, dim=1, norm="forward")
    antennas, grid = torch.arange(m, device=residual.device), torch.arange(columns, device=residual.device)
    turn = 2 * math.pi / columns * (antennas[:, None] * grid % columns).double()
    over_angle = torch.polar(torch.ones_like(turn), turn)
    surface = (over_delay @ over_angle).flatten(1)
    best = power(surface).argmax(1)
    value = surface.gather(1, best[:, None])[:, 0]
    delay = 2 * math.pi / rows * torch.div(best, columns, rounding_mode="floor")
    angle = 2 * math.pi / columns * (best % columns)
    # The filter's phases are referred to subcarrier 0 and antenna 0.
    gain = times(value, to_corner(delay[:, None], angle[:, None], n, m)[:, 0].conj())
    return delay, angle, gain / (n * m), power(value) / (n * m)


def refine(channel: Tensor, state: State, num_iterations: int) -> State:
    """Refine all paths jointly by Levenberg-Marquardt; only steps that lower the cost are accepted."""
    k = _centred(channel.shape[1], channel.device)
    data = torch.cat([channel, k[:, None] * channel], 2)
    energy = power(channel).sum((1, 2))
    converged = fit_cpu.CONVERGED + fit_cpu.ROUNDING * energy
    system = _linearise(data, energy, state)
    state = state._replace(cost=system.cost)
    result = State(*(part.clone() for part in state))
    damping = torch.full_like(energy, fit_cpu.DAMPING)
    index = torch.arange(len(energy), device=energy.device)
    for _ in range(num_iterations):
        trial = _step(state, system, damping)
        ahead = _linearise(data, energy, trial)
        lower = ahead.cost < state.cost
        harder = damping * fit_cpu.DAMPING_FACTOR
        going = torch.where(lower, state.cost - ahead.cost > converged, harder < fit_cpu.MOST_DAMPING)
        state = _choose(lower, trial._replace(cost=ahead.cost), state)
        system = _choose(lower, ahead, system)
        damping = torch.where(lower, damping / fit_cpu.DAMPING_FACTOR, harder).clamp(min=fit_cpu.LEAST_DAMPING)
        if not going.all():
            for kept, now in zip(result, state, strict=True):
                kept[index] = now
            index, data, energy, converged, damping = (t[going] for t in (index, data, energy, converged, damping))
            state, system = state.take(going), _System(*(part[going] for part in system))
        if len(index) == 0:
            break
    for kept, now in zip(result, state, strict=True):
        kept[index] = now
    return result


class _System(NamedTuple):
    """Linearised problem at a state: squared residual, normal matrix and right-hand side of each snapshot."""

    cost: Tensor
    normal: Tensor
    right: Tensor


_Parts = TypeVar("_Parts", State, _System)


def _choose(mask: Tensor, new: _Parts, old: _Parts) -> _Parts:
    """``new`` for the snapshots where ``mask`` is true, else ``old``."""
    pairs = zip(new, old, strict=True)
    return type(new)(*(torch.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs))


def _linearise(data: Tensor, energy: Tensor, state: State) -> _System:
    """Normal equations of each snapshot; ``data`` is the channel and the channel times the centred subcarrier index.

    The Jacobian's columns for path i are the derivatives with respect to angle, delay, and real and imaginary part of
    the gain: gain A' F, gain A F', A F and j A F, with array factor A and delay factor F. The Jacobian is never formed:
    its inner products factor into small ones over antennas and over subcarriers. The projections of the model on the
    columns follow from these as well.
    """
    n, m = data.shape[1], data.shape[2] // 2
    num_paths = state.gain.shape[1]
    wave_f, wave_a = _wave(state.delay, n), _wave(state.angle, m)
    both_f = torch.cat([wave_f, _centred(n, data.device)[:, None] * wave_f], 2)
    both_a = torch.cat([wave_a, -1j * _centred(m, data.device)[:, None] * wave_a], 2)
    wave = torch.arange(num_paths, device=data.device)
    slope = wave + num_paths
    of_f, of_a = torch.cat([wave, slope, wave, wave]), torch.cat([slope, wave, wave, wave])

    # The derivative of the delay factor is -j times the subcarrier index times the factor itself.
    turn = torch.ones(2 * num_paths, dtype=data.dtype, device=data.device)
    turn[num_paths:] = -1j
    gram_f = (both_f.mH @ both_f) * (turn.conj()[:, None] * turn)
    gram_a = both_a.mH @ both_a
    gram = gram_f[:, of_f][:, :, of_f] * gram_a[:, of_a][:, :, of_a]
    projected = wave_f.mH @ data
    projected = torch.cat([projected[:, :, :m], 1j * projected[:, :, m:]], 1)
    measured = (projected[:, of_f] * both_a[:, :, of_a].transpose(1, 2).conj()).sum(2)
    modelled = (gram[:, :, 2 * num_paths : 3 * num_paths] @ state.gain[:, :, None])[:, :, 0]

    one = torch.ones_like(state.gain)
    weight = torch.cat([state.gain, state.gain, one, 1j * one], 1)
    normal = (gram * (weight.conj()[:, :, None] * weight[:, None, :])).real
    misfit = measured - modelled
    right = weight.real * misfit.real + weight.imag * misfit.imag
    explained = (2 * measured - modelled)[:, 2 * num_paths : 3 * num_paths]
    cost = energy - (state.gain.real * explained.real + state.gain.imag * explained.imag).sum(1)
    return _System(torch.nan_to_num(cost, nan=math.inf), normal, right)


def _step(state: State, system: _System, damping: Tensor) -> State:
    """State after one damped step."""
    diagonal = system.normal.diagonal(dim1=1, dim2=2)
    floor = fit_cpu.REGULAR * diagonal.amax(1, keepdim=True)
    damped = system.normal + torch.diag_embed(damping[:, None] * diagonal + floor)
    factor, _ = torch.linalg.cholesky_ex(damped)
    move = torch.cholesky_solve(system.right[:, :, None], factor)[:, :, 0]
    by_angle, by_delay, by_real, by_imaginary = move.split(state.gain.shape[1], 1)
    gain = state.gain + torch.complex(by_real, by_imaginary)
    return State(state.delay + by_delay, state.angle + by_angle, gain, state.cost)


class _Result:
    """Paths of all snapshots, including those already finished."""

    def __init__(self, num_snapshots: int, num_paths: int, where: torch.device) -> None:
        shape = (num_snapshots, num_paths)
        self.delay, self.angle = (torch.zeros(shape, dtype=torch.float64, device=where) for _ in range(2))
        self.gain = torch.zeros(shape, dtype=torch.complex128, device=where)

    def store(self, index: Tensor, state: State) -> None:
        """Replace the paths of the snapshots ``index``."""
        count = state.gain.shape[1]
        for mine, theirs in zip((self.delay, self.angle, self.gain), state[:3], strict=True):
            mine[index, :count] = theirs

    def sorted(self, least: float) -> Fit:
        """Paths sorted by decreasing strength; those with an SNR below ``least`` are not valid."""
        strength = power(self.gain)
        order = strength.argsort(dim=1, descending=True, stable=True)
        delay, angle, gain = (part.gather(1, order) for part in (self.delay, self.angle, self.gain))
        return Fit(delay, angle, gain, strength.gather(1, order) >= least)
