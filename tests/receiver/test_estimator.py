"""The estimator against the Cramér-Rao bound and the transmitted paths, and on difficult input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import xarray as xr

from locus import EstimatorOptions, Radio
from locus.receiver import fit as fit_torch
from locus.receiver.estimator import despread, estimate, threshold
from locus.receiver.fit_numpy import State, fit, model, power, propose, refine
from locus.receiver.observation import observe

RADIO = Radio()
PERIOD = RADIO.period


def paths(aoa: list[float], delay: list[float], snr_db: list[float]) -> xr.Dataset:
    """Path set with the given angles, delays and SNRs, and different phases."""
    amplitude = np.sqrt(10 ** (np.array(snr_db) / 10) * RADIO.noise_power / RADIO.tx_power)
    gain = amplitude * np.exp(1j * np.arange(len(aoa)))
    data = xr.Dataset({"aoa": ("path", aoa), "delay": ("path", delay), "gain": ("path", gain)})
    return data.assign(valid=("path", np.ones(len(aoa), dtype=bool)))


def snapshots(data: xr.Dataset, count: int, seed: int = 0, radio: Radio = RADIO) -> xr.Dataset:
    rngs = [np.random.default_rng([seed, s]) for s in range(count)]
    return observe(data.expand_dims(snapshot=count).transpose("snapshot", "path"), rngs, radio)


def circular(difference: np.ndarray) -> np.ndarray:
    return (difference + PERIOD / 2) % PERIOD - PERIOD / 2


def cramer_rao(aoa: list[float], delay: list[float], snr_db: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the standard deviation of angle and delay from the inverse Fisher matrix, with unknown gains."""
    k, m = np.arange(128)[:, None], np.arange(8)[None, :]
    columns = []
    for i, (theta, tau, snr) in enumerate(zip(aoa, delay, snr_db, strict=True)):
        alpha = np.sqrt(10 ** (snr / 10)) * np.exp(1j * i)
        wave = np.exp(-2j * np.pi * k * tau / PERIOD) * np.exp(-1j * np.pi * m * np.sin(theta))
        columns += [
            -1j * np.pi * m * np.cos(theta) * alpha * wave,
            -2j * np.pi * k / PERIOD * alpha * wave,
            wave,
            1j * wave,
        ]
    jacobian = np.stack([c.ravel() for c in columns], axis=1)
    scale = np.linalg.norm(jacobian, axis=0)
    fisher = 2 * np.real((jacobian / scale).conj().T @ (jacobian / scale))  # noise of unit variance
    deviation = np.sqrt(np.diag(np.linalg.inv(fisher))) / scale
    return deviation[0::4], deviation[1::4]


SEPARATED = ([-0.9, -0.3, 0.1, 0.5, 1.0], [0.5e-7, 4e-7, 2e-7, 5.5e-7, 3e-7], [60.0, 57.0, 55.0, 52.0, 50.0])


def test_well_separated_paths_are_recovered_without_noise() -> None:
    data = paths(*SEPARATED)
    silent = observe(data, np.random.default_rng(0), Radio(noise_figure_db=-400.0))
    found = estimate(silent, radio=RADIO).isel(path=slice(5))
    assert found.valid.all()
    np.testing.assert_allclose(found.aoa, data.aoa, atol=1e-6)
    shifted = circular(data.delay.values - float(silent.sync_offset) - found.delay.values)
    np.testing.assert_allclose(shifted, 0, atol=1e-6 * PERIOD)
    np.testing.assert_allclose(abs(found.gain), abs(data.gain), rtol=1e-6)
    turned = data.gain.values * np.exp(1j * float(silent.carrier_phase))
    np.testing.assert_allclose(found.gain, turned, rtol=1e-5)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 60.0])
@pytest.mark.parametrize("snr", [0.0, 10.0, 20.0])
@pytest.mark.parametrize("two", [False, True], ids=["one path", "two paths"])
def test_error_is_at_the_cramer_rao_bound_and_without_bias(snr: float, degrees: float, two: bool) -> None:
    angle = np.radians(degrees)
    aoa, delay = ([angle, angle - 0.6], [1e-7, 1.3e-7]) if two else ([angle], [1e-7])
    strength = [snr, snr - 3] if two else [snr]
    count = 800
    taken = snapshots(paths(aoa, delay, strength), count)
    found = estimate(taken)
    assert bool(found.valid[:, : len(aoa)].all())
    bound_angle, bound_delay = cramer_rao(aoa, delay, strength)
    for i in range(len(aoa)):
        error = found.aoa.values[:, i] - aoa[i]
        late = circular(found.delay.values[:, i] - delay[i] + taken.sync_offset.values)
        for value, bound in ((error, bound_angle[i]), (late, bound_delay[i])):
            # The RMS of `count` normal numbers has a relative standard deviation of 1 / sqrt(2 count)
            assert np.sqrt(np.mean(value**2)) == pytest.approx(bound, rel=4 / np.sqrt(2 * count), abs=0)
            assert abs(value.mean()) < 5 * bound / np.sqrt(count)


def test_noise_does_not_split_a_path_into_two_loud_ones() -> None:
    """Two paths in one resolution cell may nearly cancel; fitted to noise, they would grow and mask the true path."""
    angle = np.radians(20.0)
    found = estimate(snapshots(paths([angle], [0.0], [-10.0]), 2000))
    error = found.aoa.values[:, 0] - angle
    bound = cramer_rao([angle], [0.0], [-10.0])[0][0]
    assert np.abs(error).max() < 6 * bound
    assert np.sqrt(np.mean(error**2)) == pytest.approx(bound, rel=4 / np.sqrt(2 * 2000), abs=0)


def test_false_alarms_come_at_the_rate_that_was_asked_for() -> None:
    silence = paths([0.0], [0.0], [-400.0])
    noise = snapshots(silence, 2000)
    for rate in (0.3, 0.05):
        options = EstimatorOptions(false_alarm=rate, num_paths=1)
        share = float(estimate(noise, options).valid.any("path").mean())
        assert share == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 2000) + 0.02)
    assert 10 * np.log10(threshold(EstimatorOptions(), RADIO)) == pytest.approx(-20.0, abs=0.1)


def test_estimate_does_not_depend_on_sync_offset_and_carrier_phase() -> None:
    """With the noise rotated and shifted along with the signal, only the delay changes."""
    first = observe(paths(*SEPARATED), np.random.default_rng(1)).iq.values
    shift = 37
    other = np.roll(first, -shift, axis=0) * np.exp(0.7j)
    a, b = estimate(first), estimate(other)
    np.testing.assert_allclose(b.aoa, a.aoa, atol=1e-7)
    np.testing.assert_allclose(b.snr_db, a.snr_db, atol=1e-6)
    np.testing.assert_allclose(
        circular(b.delay.values - a.delay.values + shift / RADIO.bandwidth)[a.valid], 0, atol=1e-14
    )


def test_every_batch_size_gives_the_same_bits() -> None:
    taken = snapshots(paths([0.2, -0.5, 0.9], [1e-7, 3e-7, 5e-7], [0.0, -5.0, -12.0]), 40).iq.values
    together = estimate(taken)
    for size in (1, 7, 39):
        parts = xr.concat([estimate(taken[i : i + size]) for i in range(0, 40, size)], "snapshot")
        xr.testing.assert_identical(parts, together)


def test_a_step_never_raises_the_cost() -> None:
    taken = snapshots(paths([0.2, 0.25], [1e-7, 1.02e-7], [10.0, 9.0]), 50)
    channel = despread(taken.iq.values, RADIO)
    rng = np.random.default_rng(0)
    start = rng.uniform(-3, 3, (2, 50, 2))
    gain = rng.standard_normal((50, 2, 2)) @ [1, 1j]
    state = State(start[0], start[1], gain, np.zeros(50))
    costs = [refine(channel, state, steps).cost for steps in range(1, 25)]
    assert all((after <= before).all() for before, after in itertools.pairwise(costs))


def test_the_proposal_is_the_highest_point_of_the_whole_matched_filter() -> None:
    """The compiled search skips rows that cannot contain the peak; a full two-dimensional transform agrees with it."""
    taken = snapshots(paths([0.2, -0.5], [1e-7, 3e-7], [-5.0, -25.0]), 100).iq.values
    taken[50:] = snapshots(paths([0.0], [0.0], [-400.0]), 50).iq.values  # half of them pure noise
    channel = despread(taken, RADIO)
    delay, angle, _, height = propose(channel, EstimatorOptions())
    surface = np.abs(np.fft.ifft2(channel, s=(256, 32), axes=(1, 2), norm="forward")) ** 2 / 1024
    np.testing.assert_allclose(height, surface.max(axis=(1, 2)), rtol=1e-9)
    row, column = np.unravel_index(surface.reshape(100, -1).argmax(axis=1), (256, 32))
    rounding = np.finfo(np.float32).eps  # initial values of the fit, rounded twice to single precision
    np.testing.assert_allclose(delay, 2 * np.pi * row / 256, rtol=rounding)
    np.testing.assert_allclose(angle, 2 * np.pi * column / 32, rtol=rounding)


@pytest.mark.parametrize("num_paths", [1, 3, 6])
def test_both_refinements_take_the_same_steps(num_paths: int) -> None:
    """The compiled CPU version and the batched GPU version agree, and the cost is the actual squared residual."""
    taken = snapshots(paths([0.2, -0.5, 0.9], [1e-7, 3e-7, 5e-7], [10.0, 5.0, 0.0]), 50)
    channel = despread(taken.iq.values, RADIO)
    rng = np.random.default_rng(0)
    start = rng.uniform(-3, 3, (2, 50, num_paths))
    gain = rng.standard_normal((50, num_paths, 2)) @ [1, 1j]
    state = State(start[0], start[1], gain, np.zeros(50))
    tensors = fit_torch.State(*(torch.from_numpy(part) for part in state))
    one, other = refine(channel, state, 4), fit_torch.refine(torch.from_numpy(channel), tensors, 4)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.cost, power(channel - model(one, 128, 8)).sum(axis=(1, 2)), rtol=1e-10)


def test_both_fits_find_the_same_paths() -> None:
    """NumPy and the compiled kernels on CPUs, torch on GPUs: the same steps from the same start."""
    taken = snapshots(paths([0.2, -0.5, 0.9], [1e-7, 3e-7, 5e-7], [10.0, 0.0, -12.0]), 60)
    channel, options = despread(taken.iq.values, RADIO), EstimatorOptions(false_alarm=0.9)
    level = threshold(options, RADIO) * channel[0].size
    one, other = fit(channel, options, level), fit_torch.fit(torch.from_numpy(channel), options, level)
    assert (one.valid.sum(axis=1) > 3).any()  # noise, too, which is harder to agree on
    np.testing.assert_array_equal(one.valid, other.valid)
    for a, b in zip(one[:3], other[:3], strict=True):
        np.testing.assert_allclose(a[one.valid], b[one.valid], rtol=1e-6, atol=1e-6)


def test_fewer_and_more_paths_than_asked_for() -> None:
    few = estimate(snapshots(paths([0.3], [1e-7], [20.0]), 50), EstimatorOptions(false_alarm=0.001))
    assert few.valid.sum("path").max() == 1
    assert (few.gain.values[~few.valid.values] == 0).all()
    assert (few.snr_db.values[~few.valid.values] == -np.inf).all()
    angles, delays = np.linspace(-1.2, 1.2, 10), np.linspace(0.2e-7, 6e-7, 10)
    many = estimate(snapshots(paths(angles.tolist(), delays.tolist(), np.linspace(20, 11, 10).tolist()), 20))
    assert many.valid.all()
    assert many.sizes["path"] == 6
    assert (np.diff(many.snr_db.values, axis=1) <= 0).all()
    np.testing.assert_allclose(many.aoa.values, np.broadcast_to(angles[:6], (20, 6)), atol=0.05)


@pytest.mark.parametrize(
    "iq",
    [
        np.zeros((128, 8), dtype=complex),
        observe(paths([0.3, 0.301], [1e-7, 1.001e-7], [20.0, 20.0]), np.random.default_rng(0)).iq.values,
        observe(paths([np.pi / 2], [1e-7], [20.0]), np.random.default_rng(0)).iq.values,
        observe(paths([0.3], [1e-7], [-60.0]), np.random.default_rng(0)).iq.values,
        np.ones((128, 8), dtype=complex),
        np.full((128, 8), 1e29, dtype=complex),
    ],
    ids=["zeros", "closer than the resolution", "end-fire", "-60 dB", "constant", "huge"],
)
def test_hard_input_gives_finite_labelled_output(iq: np.ndarray) -> None:
    found = estimate(iq)
    assert found.aoa.dims == ("path",)
    for name in ("aoa", "delay", "gain"):
        assert np.isfinite(found[name]).all()
    assert (abs(found.aoa) <= np.pi / 2).all()
    assert ((found.delay >= 0) & (found.delay < PERIOD)).all()
    assert all({"units", "long_name"} <= v.attrs.keys() for v in found.data_vars.values())


GOOD = np.zeros((128, 8), dtype=complex)


@pytest.mark.parametrize(
    ("iq", "message"),
    [
        (np.where(np.arange(8) == 3, np.nan, GOOD), r"Expected finite 'iq', got NaN or infinity at index \[0 3\]"),
        (np.where(np.arange(8) == 3, np.inf, GOOD), r"Expected finite 'iq'"),
        (GOOD[:, :7], r"Expected 'iq' of shape \(sample, antenna\) = \(128, 8\).*, got \(128, 7\)"),
        (GOOD.real, r"Expected complex 'iq', got float64"),
        (np.zeros((0, 128, 8), dtype=complex), r"got \(0, 128, 8\)"),
        (np.zeros(128, dtype=complex), r"Expected 'iq' of shape"),
    ],
)
def test_bad_samples_are_named(iq: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(iq)
