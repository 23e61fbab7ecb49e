"""Greedy maximum-likelihood fit: channels of many snapshots in, their paths out.

A matched filter proposes a path; Levenberg-Marquardt refines all paths found so far together; the next one is sought in
what is left. Phases are counted from the middle of the band and of the array, where delay, angle and gain are least
coupled. All snapshots of a batch go side by side, and each gives the same bits as it would alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from locus.config import EstimatorOptions

_CONVERGED = 1e-9  # fall of the cost [noise variances] in one step, below which a fit has converged
_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e9


class Fit(NamedTuple):
    """Paths of many snapshots, (snapshot, path), in units of the noise; angles in radians a subcarrier or antenna."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    valid: Tensor


def fit(channel: Tensor, options: EstimatorOptions, level: float) -> Fit:
    """Add paths one at a time, refining all; a snapshot is done when a new path explains less than ``level``."""
    num_snapshots, n, m = channel.shape
    # The grid may miss the top of a peak by this much.
    proposal = 0.95 * level * (np.sinc(0.5 / options.angle_padding) * np.sinc(0.5 / options.delay_padding)) ** 2
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
        # Two paths in one resolution cell can cancel and grow without bound on noise alone: they must explain more.
        better = state.cost - grown.cost >= level * (1 + _crowded(grown, n, m).double())
        index, channel, state = index[better], channel[better], grown.take(better)
        result.store(index, state)
    return result.sorted(level / (n * m))


def _crowded(state: State, n: int, m: int) -> Tensor:
    """Whether two paths of a snapshot are closer than half a resolution cell, in delay and in angle."""

    def close(phase: Tensor, length: int) -> Tensor:
        apart = phase[:, :, None] - phase[:, None, :]
        return ((apart + math.pi) % (2 * math.pi) - math.pi).abs() < math.pi / length

    return (close(state.delay, n) & close(state.angle, m)).triu(1).any(2).any(1)


class State(NamedTuple):
    """A fit under way: (snapshot, path) each, and the squared misfit (snapshot)."""

    delay: Tensor
    angle: Tensor
    gain: Tensor
    cost: Tensor

    def take(self, which: Tensor) -> State:
        """The fits of some snapshots."""
        return State(*(part[which] for part in self))

    def add(self, delay: Tensor, angle: Tensor, gain: Tensor) -> State:
        """One more path for each snapshot; the cost is still that without it."""
        return State(
            torch.cat([self.delay, delay[:, None]], 1),
            torch.cat([self.angle, angle[:, None]], 1),
            torch.cat([self.gain, gain[:, None]], 1),
            self.cost,
        )


def power(values: Tensor) -> Tensor:
    """Squared magnitude, without the root that abs() takes."""
    return values.real.square() + values.imag.square()


def _basis(phase: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """exp(-j k phase) for k centred on 0, (snapshot, length, path), and its derivative by the phase."""
    k = torch.arange(length, dtype=torch.float64, device=phase.device) - (length - 1) / 2
    turn = -k[:, None] * phase[:, None, :]
    wave = torch.polar(torch.ones_like(turn), turn)
    return wave, -1j * k[:, None] * wave


def times(a: Tensor, b: Tensor) -> Tensor:
    """Complex product in real steps. Torch's own rounds differently at the end of an array, hence with its length."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def to_corner(delay: Tensor, angle: Tensor, n: int, m: int) -> Tensor:
    """Turn of a path from the middle of the band and of the array, where fits count from, to their first elements."""
    return times(_basis(delay, n)[0][:, 0], _basis(angle, m)[0][:, 0])


def model(state: State, n: int, m: int) -> Tensor:
    """Channel of the paths, eq. (20): (snapshot, subcarrier, antenna)."""
    over_delay, _ = _basis(state.delay, n)
    over_angle, _ = _basis(state.angle, m)
    return (over_delay * state.gain[:, None, :]) @ over_angle.transpose(1, 2)


def propose(residual: Tensor, options: EstimatorOptions) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Delay, angle, gain and height of the highest point of a zero-padded matched filter."""
    _, n, m = residual.shape
    rows, columns = n * options.delay_padding, m * options.angle_padding
    surface = torch.fft.ifft2(residual, s=(rows, columns), dim=(1, 2), norm="forward").flatten(1)
    best = power(surface).argmax(1)
    delay = 2 * math.pi / rows * torch.div(best, columns, rounding_mode="floor")
    angle = 2 * math.pi / columns * (best % columns)
    value = surface.gather(1, best[:, None])[:, 0]
    # The filter counts subcarriers and antennas from 0.
    gain = times(value, to_corner(delay[:, None], angle[:, None], n, m)[:, 0].conj())
    return delay, angle, gain / (n * m), power(value) / (n * m)


def refine(channel: Tensor, state: State, num_iterations: int) -> State:
    """Levenberg-Marquardt on all paths together: a step is taken only where it lowers the cost."""
    _, n, m = channel.shape
    cost = power(channel - model(state, n, m)).sum((1, 2))
    state = state._replace(cost=cost)
    result = State(*(part.clone() for part in state))
    damping = torch.full_like(cost, _DAMPING)
    index = torch.arange(len(cost), device=cost.device)
    for _ in range(num_iterations):
        trial = _step(channel, state, damping)
        lower = trial.cost < state.cost
        fall = state.cost - trial.cost
        state = State(*(torch.where(_like(lower, new), new, old) for new, old in zip(trial, state, strict=True)))
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


def _step(channel: Tensor, state: State, damping: Tensor) -> State:
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
    trial = State(
        state.delay + by_delay, state.angle + by_angle, state.gain + torch.complex(by_real, by_imaginary), state.cost
    )
    misfit = power(channel - model(trial, n, m)).sum((1, 2))
    return trial._replace(cost=torch.nan_to_num(misfit, nan=math.inf))


class _Result:
    """Finished paths of all snapshots."""

    def __init__(self, num_snapshots: int, num_paths: int, where: torch.device) -> None:
        shape = (num_snapshots, num_paths)
        self.delay, self.angle = (torch.zeros(shape, dtype=torch.float64, device=where) for _ in range(2))
        self.gain = torch.zeros(shape, dtype=torch.complex128, device=where)

    def store(self, index: Tensor, state: State) -> None:
        """Replace what is known of these snapshots."""
        count = state.gain.shape[1]
        for mine, theirs in zip((self.delay, self.angle, self.gain), state[:3], strict=True):
            mine[index, :count] = theirs

    def sorted(self, least: float) -> Fit:
        """Strongest first; paths below the ``least`` SNR are not valid."""
        strength = power(self.gain)
        order = strength.argsort(dim=1, descending=True, stable=True)
        delay, angle, gain = (part.gather(1, order) for part in (self.delay, self.angle, self.gain))
        return Fit(delay, angle, gain, strength.gather(1, order) >= least)
