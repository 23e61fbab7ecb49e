"""The fit of :mod:`locus.receiver.fit` on CPUs: channels of many snapshots in, their paths out. Needs no torch.

The same steps, with the kernels of :mod:`locus.receiver.fit_cpu` for the peaks and the refinement. A snapshot's result
does not depend, bit for bit, on the others in its batch.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.receiver import fit_cpu
from locus.settings.config import EstimatorOptions

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Booleans = NDArray[np.bool_]


class Fit(NamedTuple):
    """Paths (snapshot, path): delay and angle in radians per subcarrier and per antenna, gain in units of the noise."""

    delay: Floats
    angle: Floats
    gain: Complexes
    valid: Booleans


class State(NamedTuple):
    """Current estimate: delay, angle and gain (snapshot, path), and the squared residual (snapshot)."""

    delay: NDArray[Any]
    angle: NDArray[Any]
    gain: NDArray[Any]
    cost: NDArray[Any]

    def take(self, which: Booleans) -> State:
        """Select snapshots by a mask."""
        return State(*(part[which] for part in self))

    def add(self, delay: Floats, angle: Floats, gain: Complexes) -> State:
        """Append a path to each snapshot; the cost is not updated."""
        old = (self.delay, self.angle, self.gain)
        grown = [np.column_stack(pair) for pair in zip(old, (delay, angle, gain), strict=True)]
        return State(grown[0], grown[1], grown[2], self.cost)


@np.errstate(over="ignore", invalid="ignore")  # a channel so large that its squares overflow has no valid paths
def fit(channel: Complexes, options: EstimatorOptions, level: float) -> Fit:
    """Add paths one by one, refining all of them, up to ``options.num_paths``.

    The search ends when the matched filter has no peak worth refining, or a new path lowers the cost by less than
    ``level`` (twice that if two paths are closer than half a resolution cell in both delay and angle).
    """
    num_snapshots, n, m = channel.shape
    proposal = fit_cpu.proposal(options, level)
    none = np.zeros((num_snapshots, 0))
    state = State(none, none, none.astype(complex), power(channel).sum(axis=(1, 2)))
    delays, angles = np.zeros((2, num_snapshots, options.num_paths))
    gains = np.zeros((num_snapshots, options.num_paths), dtype=complex)
    index = np.arange(num_snapshots)
    for _ in range(options.num_paths):
        if len(index) == 0:
            break
        delay, angle, gain, height = propose(channel - model(state, n, m), options)
        keep = height >= proposal
        index, channel, state = index[keep], channel[keep], state.take(keep)
        grown = refine(channel, state.add(delay[keep], angle[keep], gain[keep]), options.num_iterations)
        # Two paths in one resolution cell can fit noise with large gains that nearly cancel: ask for more improvement.
        better = state.cost - grown.cost >= level * (1 + _crowded(grown, n, m))
        index, channel, state = index[better], channel[better], grown.take(better)
        for whole, part in zip((delays, angles, gains), state[:3], strict=True):
            whole[index, : part.shape[1]] = part
    strength = power(gains)
    order = np.argsort(-strength, axis=1, kind="stable")
    parts = (np.take_along_axis(part, order, axis=1) for part in (delays, angles, gains, strength))
    delays, angles, gains, strength = parts
    return Fit(delays, angles, gains, strength >= level / (n * m))


def _crowded(state: State, n: int, m: int) -> Booleans:
    """Whether two paths of a snapshot are closer than half a resolution cell in both delay and angle, (snapshot)."""

    def close(phase: Floats, length: int) -> Booleans:
        apart = phase[:, :, np.newaxis] - phase[:, np.newaxis, :]
        return np.asarray(np.abs((apart + math.pi) % (2 * math.pi) - math.pi) < math.pi / length)

    return np.asarray(np.triu(close(state.delay, n) & close(state.angle, m), 1).any(axis=(1, 2)))


def power(values: Complexes) -> Floats:
    """Squared magnitude, without the square root of abs()."""
    return np.asarray(values.real**2 + values.imag**2)


def times(a: Complexes, b: Complexes) -> Complexes:
    """Complex product from real products: NumPy's own may round differently depending on the length of the array."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=complex)
    result.real = a.real * b.real - a.imag * b.imag
    result.imag = a.real * b.imag + a.imag * b.real
    return result


def _wave(phase: Floats, length: int) -> Complexes:
    """exp(-j k phase) for k centred on 0, (snapshot, length, path)."""
    turn = -(np.arange(length) - (length - 1) / 2)[:, np.newaxis] * phase[:, np.newaxis, :]
    return _unit(turn)


def _unit(turn: Floats) -> Complexes:
    """exp(j turn)."""
    result = np.empty(turn.shape, dtype=complex)
    result.real, result.imag = np.cos(turn), np.sin(turn)
    return result


def to_corner(delay: Floats, angle: Floats, n: int, m: int) -> Complexes:
    """Phase factor that moves a path's reference from the centre of band and array to their first elements."""
    return times(_wave(delay, n)[:, 0], _wave(angle, m)[:, 0])


def model(state: State, n: int, m: int) -> Complexes:
    """Channel of the paths, eq. (20): (snapshot, subcarrier, antenna)."""
    scaled = times(_wave(state.delay, n), state.gain[:, np.newaxis, :])
    return np.asarray(scaled @ _wave(state.angle, m).transpose(0, 2, 1))


def propose(residual: Complexes, options: EstimatorOptions) -> tuple[Floats, Floats, Complexes, Floats]:
    """Delay, angle, gain and height of the highest peak of the zero-padded matched filter, each (snapshot)."""
    _, n, m = residual.shape
    rows, columns = n * options.delay_padding, m * options.angle_padding
    over_delay = np.fft.ifft(residual, n=rows, axis=1, norm="forward")
    over_angle = _unit(2 * math.pi / columns * (np.arange(m)[:, np.newaxis] * np.arange(columns) % columns))
    parts = (over_delay.real, over_delay.imag, over_angle.real, over_angle.imag)
    best, value = fit_cpu.highest_points(*(np.ascontiguousarray(part) for part in parts))
    # Rounded to single precision, as torch rounds products of integers and numbers: both versions start alike.
    delay = (np.float32(2 * math.pi / rows) * (best // columns).astype(np.float32)).astype(float)
    angle = (np.float32(2 * math.pi / columns) * (best % columns).astype(np.float32)).astype(float)
    # The filter's phases are referred to subcarrier 0 and antenna 0.
    corner = to_corner(delay[:, np.newaxis], angle[:, np.newaxis], n, m)[:, 0]
    return delay, angle, times(value, corner.conj()) / (n * m), power(value) / (n * m)


def refine(channel: Complexes, state: State, num_iterations: int) -> State:
    """Refine all paths jointly by Levenberg-Marquardt; only steps that lower the cost are accepted."""
    result = State(*(part.copy() for part in state))
    real, imaginary = (np.ascontiguousarray(part) for part in (channel.real, channel.imag))
    fit_cpu.refine_all(real, imaginary, *result, num_iterations)
    return result
