"""The phase-free limit against brute-force quadrature over all phases, and its calibration and error bars."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
import xarray as xr
from test_limits import TINY, basis_of, channel_of, group, log_mean, observed

from locus import Radio, observe
from locus.score.limits import phase_blind
from locus.score.phase_free import LEAST, _Sampler, _strongest_first, phase_free

KNOWN = dataclasses.replace(TINY, sync_window=0.0)


def every_path(rng: np.random.Generator, radio: Radio, shape: tuple[int, int], energy: float) -> xr.Dataset:
    """Candidates (candidate, path) all of whose paths are valid; ``energy`` is the mean of a path's, in noise units."""
    count = radio.num_subcarriers * radio.num_antennas
    paths = group(rng, radio, shape[0], energy / count, shape[1])
    gain = rng.uniform(0.5, 1.3, shape) * math.sqrt(energy / count * radio.noise_power / radio.tx_power)
    return paths.assign(
        gain=(("candidate", "path"), gain * np.exp(2j * np.pi * rng.random(shape))), valid=paths.valid | True
    )


def log_likelihood(columns: np.ndarray, y: np.ndarray, num_phases: int) -> float:
    """Log likelihood, up to a constant of y, by a sum over a grid of the phases of all columns (sample, path)."""
    grid = np.exp(2j * np.pi * np.arange(num_phases) / num_phases)
    phases = np.meshgrid(*[grid] * columns.shape[1], indexing="ij", copy=False)
    gram, seen = columns.conj().T @ columns, columns.conj().T @ y
    exponent = np.zeros(phases[0].shape)
    for j in range(len(gram)):
        rest = seen[j] - sum(gram[j, i] * phases[i] for i in range(j))
        exponent += 2 * (phases[j].conj() * rest).real - gram[j, j].real
    return log_mean(exponent.reshape(-1))


def by_force(paths: xr.Dataset, snapshot: np.ndarray, radio: Radio, num_phases: int, num_offsets: int) -> np.ndarray:
    """Log posterior by sums over phases and over offsets in the whole window."""
    y = channel_of(snapshot, radio).reshape(-1)
    score = []
    for candidate in range(paths.sizes["candidate"]):
        terms = []
        for offset in (np.arange(num_offsets) + 0.5) / num_offsets * radio.sync_window:
            columns, gains = basis_of(paths, candidate, float(offset), radio)
            terms.append(log_likelihood(columns * np.abs(gains), y, num_phases))
        score.append(log_mean(terms))
    return np.array(score) - np.logaddexp.reduce(score)


def log_bessel(x: float) -> float:
    return x + math.log(torch.special.i0e(torch.tensor(x, dtype=torch.float64)))


def at_truth(found: xr.Dataset, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(len(truth))
    return found.log_posterior.values[rows, truth], found.standard_error.values[rows, truth]


@pytest.mark.parametrize(
    ("num_paths", "energy", "num_phases"),
    [(1, 0.5, 64), (1, 2000.0, 2048), (2, 5.0, 64), (2, 1000.0, 512), (3, 1.0, 32), (3, 15.0, 80)],
)
@pytest.mark.parametrize("overlapping", [False, True])
def test_mean_weight_is_the_ratio_of_phase_free_to_phase_blind_likelihood(
    num_paths: int, energy: float, num_phases: int, overlapping: bool, rng: np.random.Generator
) -> None:
    paths = every_path(rng, KNOWN, (1, num_paths), energy)
    if overlapping:
        for name, scale in (("aoa", 0.2), ("delay", 0.1 / KNOWN.bandwidth)):
            paths[name] = paths[name].isel(path=[0] * num_paths) + scale * rng.random(paths.gain.shape)
    snapshots = observed(paths, np.array([0, 0, 0]), rng, KNOWN)
    (one,) = _strongest_first(paths, KNOWN)
    columns, gains = basis_of(paths, 0, 0.0, KNOWN)
    columns = columns * np.abs(gains)
    for snapshot in snapshots.iq.values:
        channel = channel_of(snapshot, KNOWN)
        y = channel.reshape(-1)
        covariance = np.eye(len(y)) + columns @ columns.conj().T
        power = np.vdot(y, y).real - np.vdot(y, np.linalg.solve(covariance, y)).real
        blind = power - float(np.linalg.slogdet(covariance)[1])
        sampler = _Sampler.of(one, channel, KNOWN, rng)
        sampler.draw(20_000)
        error = math.sqrt(sampler.variance)
        assert error < 0.1
        assert abs(sampler.log_mean - (log_likelihood(columns, y, num_phases) - blind)) < 4.5 * error + 1e-8


@pytest.mark.parametrize(("num_paths", "energy"), [(1, 10.0), (2, 0.5), (2, 20.0), (3, 5.0)])
@pytest.mark.parametrize("periods", [0.37, 1.3])
def test_it_is_the_integral_over_phases_and_offsets(
    num_paths: int, energy: float, periods: float, rng: np.random.Generator
) -> None:
    radio = dataclasses.replace(TINY, sync_window=periods * TINY.period)
    paths = every_path(rng, radio, (3, num_paths), energy)
    paths["valid"][2, 1:] = False  # candidates with different numbers of paths
    truth = np.array([1])
    snapshots = observed(paths, truth, rng, radio)
    found = phase_free(paths, snapshots, truth, rng, tolerance=0.01)
    expected = by_force(paths, snapshots.iq.values[0], radio, 20 if num_paths == 3 else 64, int(150 * periods))
    likely = expected > math.log(LEAST)
    error = 4.5 * found.standard_error.values[0] + 3e-3  # the sum over offsets is a midpoint rule
    assert (np.abs(found.log_posterior.values[0] - expected) < error)[likely].all()


def test_one_path_has_a_closed_form(rng: np.random.Generator) -> None:
    """With one path and a known offset, no draw matters: I0(2 a |b^H y|) exp(-a^2 |b|^2)."""
    paths = every_path(rng, KNOWN, (5, 1), 3.0)
    snapshots = observed(paths, np.array([0]), rng, KNOWN)
    y = channel_of(snapshots.iq.values[0], KNOWN).reshape(-1)
    score = []
    for c in range(5):
        columns, gains = basis_of(paths, c, 0.0, KNOWN)
        signal = columns[:, 0] * gains[0]
        score.append(log_bessel(2 * abs(np.vdot(signal, y))) - np.vdot(signal, signal).real)
    found = phase_free(paths, snapshots, np.array([0]), rng)
    np.testing.assert_allclose(found.log_posterior[0], score - np.logaddexp.reduce(score), atol=1e-6)
    np.testing.assert_allclose(found.standard_error, 0, atol=1e-9)


@pytest.mark.parametrize("energy", [2.0, 8.0])
def test_it_is_calibrated_on_scenes_of_its_own_model_and_better_than_the_phase_blind_receiver(energy: float) -> None:
    rng = np.random.default_rng(3)
    claimed, true, levels, gained = [], [], [], []
    for _ in range(25):
        paths = every_path(rng, TINY, (6, 3), energy)
        truth = rng.integers(6, size=8)
        drawn = paths.isel(candidate=xr.DataArray(truth, dims="snapshot")).reset_coords(drop=True)
        drawn["gain"] = abs(drawn.gain) * np.exp(2j * np.pi * rng.random(drawn.gain.shape))
        snapshots = observe(drawn, rng.spawn(8), TINY)
        logs = phase_free(paths, snapshots, truth, rng, tolerance=0.1, num_draws=(64, 4096)).log_posterior.values
        posterior, rows = np.exp(logs), np.arange(8)
        mine = posterior[rows, truth]
        above = np.where(posterior > mine[:, np.newaxis], posterior, 0).sum(1)
        claimed += list((posterior**2).sum(1))
        true += list(mine)
        levels += list(above + rng.uniform(size=8) * mine)
        gained += list(logs[rows, truth] - phase_blind(paths, snapshots).values[rows, truth])
    difference = np.array(true) - np.array(claimed)
    assert abs(difference.mean()) < 3 * difference.std() / math.sqrt(len(difference))
    steps = np.arange(len(levels)) / len(levels)
    assert np.abs(np.sort(levels) - steps).max() < 1.63 / math.sqrt(len(levels))  # Kolmogorov-Smirnov test at 1 %
    assert np.mean(true) > 1.2 / 6  # and it is informative
    # Where phases are uniform and amplitudes known, it is the exact posterior: on average nothing gains more
    assert np.mean(gained) > -2 * np.std(gained) / math.sqrt(len(gained))
    if energy > 5:
        assert np.mean(gained) > 2 * np.std(gained) / math.sqrt(len(gained))


@pytest.mark.parametrize("energy", [5.0, 200.0])
def test_the_standard_error_is_the_spread_over_seeds(energy: float, rng: np.random.Generator) -> None:
    paths = every_path(rng, TINY, (2, 3), energy)
    paths["delay"] = paths.delay.isel(path=[0, 0, 0]) + 0.3 / TINY.bandwidth * rng.random((2, 3))
    for name in ("aoa", "delay", "gain"):  # two candidates that are hard to tell apart
        paths[name] = paths[name].isel(candidate=[0, 0]) * (1 + 0.2 / math.sqrt(energy) * rng.random((2, 3)))
    truth = np.array([0])
    snapshots = observed(paths, truth, rng, TINY)
    runs = [phase_free(paths, snapshots, truth, seed, num_draws=(512, 512)) for seed in rng.spawn(60)]
    values, errors = np.array([at_truth(one, truth) for one in runs])[..., 0].T
    assert errors.min() > 1e-3
    # The standard deviation of 60 values is within 30 % of the truth, at three standard errors
    assert values.std(ddof=1) == pytest.approx(math.sqrt(np.mean(errors**2)), rel=0.3)


def test_draws_are_doubled_until_the_error_is_small(rng: np.random.Generator) -> None:
    paths = every_path(rng, TINY, (4, 3), 30.0)
    paths["delay"] = paths.delay.isel(path=[0, 0, 0]) + 0.3 / TINY.bandwidth * rng.random((4, 3))
    truth = np.array([0, 1])
    snapshots = observed(paths, truth, rng, TINY)
    few = phase_free(paths, snapshots, truth, rng, tolerance=1e-4, num_draws=(16, 100))
    assert int(few.num_draws.max()) == 64
    many = phase_free(paths, snapshots, truth, rng, tolerance=0.01, num_draws=(16, 2**20))
    assert (at_truth(many, truth)[1] <= 0.01).all()
    assert int(many.num_draws.max()) > 64


def test_order_of_paths_and_padding_do_not_matter(rng: np.random.Generator) -> None:
    paths = every_path(rng, TINY, (4, 3), 10.0)
    truth = np.array([0, 1, 3])
    snapshots = observed(paths, truth, rng, TINY)
    padding = xr.full_like(paths, np.nan).assign(valid=paths.valid & False)
    other = xr.concat([padding, paths.isel(path=[2, 0, 1])], "path").transpose("candidate", "path")
    first, second = (
        phase_free(one, snapshots, truth, np.random.default_rng(1)).log_posterior for one in (paths, other)
    )
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("snr_db", [-60, -20, 0, 20, 40])
def test_it_is_finite_at_any_snr(snr_db: float, rng: np.random.Generator) -> None:
    radio = Radio()
    count = radio.num_subcarriers * radio.num_antennas
    paths = every_path(rng, radio, (3, 4), 10 ** (snr_db / 10) * count)
    snapshots = observed(paths, np.array([0, 1]), rng, radio)
    found = phase_free(paths, snapshots, np.array([0, 2]), rng, num_draws=(256, 1024))
    assert np.isfinite(found.log_posterior).all()
    assert np.isfinite(found.standard_error).all()
    np.testing.assert_allclose(np.exp(found.log_posterior).sum("candidate"), 1)
    if snr_db == -60:
        np.testing.assert_allclose(found.log_posterior, -math.log(3), atol=0.05)
    if snr_db >= 0:
        assert float(found.log_posterior[0, 0]) > -1e-6


def test_improbable_candidates_are_not_sampled_unless_true(rng: np.random.Generator) -> None:
    paths = every_path(rng, TINY, (20, 2), 60.0)
    paths["valid"][5] = False
    snapshots = observed(paths, np.array([0]), rng, TINY)
    blind = phase_blind(paths, snapshots)
    unlikely = int(np.where(np.isfinite(blind), blind, 0).argmin())
    found = phase_free(paths, snapshots, np.array([unlikely]), rng)
    sampled = found.num_draws.values[0] > 0
    np.testing.assert_array_equal(sampled, (blind.values[0] >= math.log(LEAST)) | (np.arange(20) == unlikely))
    assert not sampled.all()
    shift = (found.log_posterior - blind).values[0, ~sampled & np.isfinite(blind.values[0])]
    np.testing.assert_allclose(shift, shift[0])
    assert np.isneginf(found.log_posterior.values[0, 5])
    np.testing.assert_allclose(np.exp(found.log_posterior).sum(), 1)
    np.testing.assert_array_equal(found.x, paths.x)


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 30.0, 1e4, 9e5, 2e6, 1e7])
def test_phases_are_drawn_accurately_at_any_concentration(concentration: float, rng: np.random.Generator) -> None:
    """E[1 - cos] is 1 - I1 / I0; it is what weights are sensitive to."""
    short = 1 - np.cos(rng.vonmises(0, concentration, 200_000))
    bessel = [
        float(f(torch.tensor(concentration, dtype=torch.float64))) for f in (torch.special.i1e, torch.special.i0e)
    ]
    assert short.mean() == pytest.approx(1 - bessel[0] / bessel[1], abs=4 * short.std() / math.sqrt(len(short)))


def test_wrong_input_is_named(rng: np.random.Generator) -> None:
    paths = every_path(rng, TINY, (3, 2), 1.0)
    snapshots = observed(paths, np.array([0, 1]), rng, TINY)
    with pytest.raises(ValueError, match=r"Expected 'snapshots' \(snapshot, ...\) and 'truth' \(snapshot\), got"):
        phase_free(paths, snapshots, np.array([0]), rng)
    with pytest.raises(ValueError, match=r"Expected 'snapshots' \(snapshot, ...\) and 'truth' \(snapshot\), got"):
        phase_free(paths, snapshots.isel(snapshot=0), np.array(0), rng)
    with pytest.raises(ValueError, match=r"Expected 'tolerance' in \(0, inf\), got 0"):
        phase_free(paths, snapshots, np.array([0, 1]), rng, tolerance=0.0)
    with pytest.raises(ValueError, match=r"Expected 'num_draws\[1\]' in \[64, inf\), got 32"):
        phase_free(paths, snapshots, np.array([0, 1]), rng, num_draws=(64, 32))
    with pytest.raises(ValueError, match=r"Expected 'paths' with gain"):
        phase_free(paths.drop_vars("gain"), snapshots, np.array([0, 1]), rng)
