"""The Bayes limit against brute-force integration, and its calibration."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
import xarray as xr

from locus import Radio, load_config, observe
from locus.experiment.case import Case
from locus.score import limits as module
from locus.score.limits import bayes, phase_blind
from locus.twin.antenna import array_response

TINY = Radio(num_subcarriers=8, num_antennas=2, bandwidth=200e6, sync_window=1.3 * 8 / 200e6)
LIMITS = pytest.mark.parametrize("limit", [bayes, phase_blind])
WINDOWS = pytest.mark.parametrize("periods", [0.0, 0.37, 1.0, 1.3, 6.25])


def group(rng: np.random.Generator, radio: Radio, num_candidates: int, snr: float, num_paths: int = 3) -> xr.Dataset:
    """Random candidates; ``snr`` is the mean SNR per sample of their paths."""
    dims, shape = ("candidate", "path"), (num_candidates, num_paths)
    scale = math.sqrt(snr * radio.noise_power / radio.tx_power / 2)
    valid = np.arange(num_paths) < rng.integers(1, num_paths + 1, num_candidates)[:, np.newaxis]
    gain = scale * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    values = {
        "aoa": rng.uniform(-np.pi, np.pi, shape),
        "delay": rng.uniform(0, 1.5 * radio.period, shape),
        "gain": np.where(valid, gain, 0),
        "valid": valid,
    }
    coordinates = {name: ("candidate", rng.uniform(0, 100, num_candidates)) for name in ("x", "y")}
    return xr.Dataset({name: (dims, value) for name, value in values.items()}, coordinates)


def observed(paths: xr.Dataset, truth: np.ndarray, rng: np.random.Generator, radio: Radio) -> xr.Dataset:
    true = paths.reset_coords(drop=True).isel(candidate=xr.DataArray(truth, dims="snapshot"))
    return observe(true, rng.spawn(len(truth)), radio)


def channel_of(snapshot: np.ndarray, radio: Radio) -> np.ndarray:
    """Channel (subcarrier, antenna) by explicit sums, from the pilot's formula; unit noise variance."""
    n = np.arange(radio.num_subcarriers)
    pilot = np.exp(-1j * np.pi * n * (n + radio.num_subcarriers % 2) / radio.num_subcarriers)
    transform = np.exp(-2j * np.pi * np.outer(n, n) / radio.num_subcarriers) / np.sqrt(radio.num_subcarriers)
    return (transform @ snapshot) / (transform @ pilot)[:, np.newaxis] / np.sqrt(radio.noise_power)


def basis_of(paths: xr.Dataset, candidate: int, offset: float, radio: Radio) -> tuple[np.ndarray, np.ndarray]:
    """Columns (subcarrier x antenna, path) and gains [sqrt(SNR)] of a candidate at a given sync offset."""
    one = paths.isel(candidate=candidate)
    one = one.isel(path=np.flatnonzero(one.valid))
    k = np.arange(radio.num_subcarriers)[:, np.newaxis, np.newaxis] * radio.bandwidth / radio.num_subcarriers
    late = one.delay.values - offset
    columns = np.exp(-2j * np.pi * k * late) * array_response(one.aoa.values, radio.num_antennas).T
    return columns.reshape(-1, len(late)), one.gain.values * math.sqrt(radio.tx_power / radio.noise_power)


def log_mean(values: Sequence[float] | np.ndarray) -> float:
    return float(np.logaddexp.reduce(values)) - math.log(len(values))


def assert_same(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    """Assert equality, except for the exact values of negligible probabilities."""
    likely = expected > -30
    np.testing.assert_allclose(found[likely], expected[likely], atol=atol)
    assert (found[~likely] < -30).all()


def coherent_by_force(paths: xr.Dataset, snapshot: np.ndarray, radio: Radio, num_offsets: int) -> np.ndarray:
    """Log posterior by loops over candidates, sync offsets in the whole window, and phases."""
    y = channel_of(snapshot, radio).reshape(-1)
    score = []
    for candidate in range(paths.sizes["candidate"]):
        terms = []
        for offset in (np.arange(num_offsets) + 0.5) / num_offsets * radio.sync_window:
            columns, gains = basis_of(paths, candidate, float(offset), radio)
            signal = columns @ gains
            phases = np.exp(2j * np.pi * np.arange(128) / 128)
            terms.append(log_mean(-np.sum(np.abs(y - phases[:, np.newaxis] * signal) ** 2, axis=1)))
        score.append(log_mean(terms))
    return np.array(score) - np.logaddexp.reduce(score)


def blind_by_force(paths: xr.Dataset, snapshot: np.ndarray, radio: Radio, num_offsets: int) -> np.ndarray:
    """Log posterior from dense covariance matrices, by loops over candidates and sync offsets."""
    y = channel_of(snapshot, radio).reshape(-1)
    score = []
    for candidate in range(paths.sizes["candidate"]):
        terms = []
        for offset in (np.arange(num_offsets) + 0.5) / num_offsets * radio.sync_window:
            columns, gains = basis_of(paths, candidate, float(offset), radio)
            covariance = np.eye(len(y)) + (columns * np.abs(gains) ** 2) @ columns.conj().T
            exponent = float((y.conj() @ np.linalg.solve(covariance, y)).real)
            terms.append(-float(np.linalg.slogdet(covariance)[1]) - exponent)
        score.append(log_mean(terms))
    return np.array(score) - np.logaddexp.reduce(score)


def plainly(limit: object, paths: xr.Dataset, snapshots: xr.Dataset, num_bins: int) -> np.ndarray:
    """Log posterior by the sum over all fine bins, in double precision."""
    radio = load_config("quick", {}).radio
    look = module._known_phases if limit is bayes else module._unknown_phases
    heard = paths.valid.values.any(1)
    channel = module.despread(torch.from_numpy(snapshots.iq.values), radio)
    coefficients, constant = module._powers(paths.isel(candidate=heard), channel, radio, look)
    prior = torch.from_numpy(module._folded_prior(radio, num_bins))
    score = torch.full((len(channel), len(heard)), -math.inf, dtype=torch.float64)
    for s, one in enumerate(coefficients):
        power = torch.fft.irfft(one, n=num_bins, norm="forward").clamp(min=0)
        x = 2 * power.sqrt()
        height = x + torch.special.i0e(x).log() if limit is bayes else power
        score[s, torch.from_numpy(heard)] = torch.logsumexp(height + prior.log(), 1) - constant
    return (score - score.logsumexp(1, keepdim=True)).numpy()


@pytest.fixture(scope="module")
def real() -> tuple[xr.Dataset, xr.Dataset]:
    """A traced group with the paper's radio; its snapshots range from pure noise to a very strong signal."""
    config = load_config("quick", {"training.num_candidates": 100})
    case = Case(config, "test", 1)
    return case.paths, case.snapshots


@WINDOWS
@pytest.mark.parametrize("snr", [0.02, 1.0])
def test_known_phases_are_the_integral_over_phase_and_offset(periods: float, snr: float) -> None:
    radio = dataclasses.replace(TINY, sync_window=periods * TINY.period)
    rng = np.random.default_rng([5, int(100 * periods)])
    paths = group(rng, radio, 4, snr)
    snapshots = observed(paths, np.array([0, 2]), rng, radio)
    found = bayes(paths, snapshots)
    for s in range(2):
        expected = coherent_by_force(paths, snapshots.iq.values[s], radio, 100 + int(250 * periods))
        assert_same(found.values[s], expected, 2e-3)


@WINDOWS
@pytest.mark.parametrize("snr", [0.1, 2.0])
def test_unknown_phases_are_a_gaussian_with_the_dense_covariance(periods: float, snr: float) -> None:
    radio = dataclasses.replace(TINY, sync_window=periods * TINY.period)
    rng = np.random.default_rng([6, int(100 * periods)])
    paths = group(rng, radio, 4, snr)
    snapshots = observed(paths, np.array([1, 3]), rng, radio)
    found = phase_blind(paths, snapshots)
    for s in range(2):
        expected = blind_by_force(paths, snapshots.iq.values[s], radio, 100 + int(250 * periods))
        assert_same(found.values[s], expected, 2e-3)


def test_unknown_phases_of_paths_that_coincide_add_their_powers() -> None:
    rng = np.random.default_rng(1)
    paths = group(rng, TINY, 3, 1e3, num_paths=1)
    snapshots = observed(paths, np.array([0]), rng, TINY)
    doubled = xr.concat([paths, paths], "path").transpose("candidate", "path")
    doubled["gain"] = doubled.gain / math.sqrt(2)
    np.testing.assert_allclose(phase_blind(doubled, snapshots), phase_blind(paths, snapshots), atol=1e-6)


@pytest.mark.parametrize("periods", [0.0, 0.001, 0.37, 1.0, 6.25])
def test_folded_prior_is_the_share_of_offsets_in_each_bin(periods: float) -> None:
    radio = dataclasses.replace(TINY, sync_window=periods * TINY.period)
    prior = module._folded_prior(radio, 64)
    offsets = (np.arange(640_000) + 0.5) / 640_000 * periods
    share = np.bincount(np.round(offsets * 64).astype(int) % 64, minlength=64) / len(offsets)
    np.testing.assert_allclose(prior, share, atol=1e-5)


def test_papers_window_has_weight_7_in_the_first_quarter_and_6_elsewhere() -> None:
    prior = module._folded_prior(Radio(), 4096)
    np.testing.assert_allclose(prior[1:1024] * 4096 * 6.25, 7)
    np.testing.assert_allclose(prior[1025:] * 4096 * 6.25, 6)


@LIMITS
def test_shortcuts_give_what_the_sum_over_all_bins_gives(limit, real) -> None:
    paths, snapshots = real
    found, expected = limit(paths, snapshots).values, plainly(limit, paths, snapshots, 4096)
    assert_same(found, expected, 1e-3)


@LIMITS
def test_more_bins_change_no_probability(limit, real) -> None:
    coarse, fine = (np.exp(limit(*real, num_bins=num_bins)) for num_bins in (4096, 8192))
    np.testing.assert_allclose(coarse, fine, atol=1e-3)


@pytest.mark.parametrize("snr", [0.03, 0.3])
@LIMITS
def test_posterior_is_calibrated(limit, snr: float) -> None:
    """With truths drawn from the prior, p(truth) has its claimed mean, and credible levels are uniform."""
    rng = np.random.default_rng(3)
    claimed, true, levels = [], [], []
    for _ in range(50):
        paths = group(rng, TINY, 6, snr)
        paths.valid[rng.integers(6)] = False
        heard = np.flatnonzero(paths.valid.any("path"))
        truth = rng.choice(heard, 8)
        if limit is phase_blind:  # according to its model, gains are redrawn for each snapshot
            drawn = paths.isel(candidate=xr.DataArray(truth, dims="snapshot")).reset_coords(drop=True)
            normal = rng.standard_normal((2, *drawn.gain.shape)) / math.sqrt(2)
            drawn["gain"] = abs(drawn.gain) * (normal[0] + 1j * normal[1])
            snapshots = observe(drawn, rng.spawn(8), TINY)
        else:
            snapshots = observed(paths, truth, rng, TINY)
        posterior = np.exp(limit(paths, snapshots, num_bins=512).values)
        mine = posterior[np.arange(8), truth]
        above = np.where(posterior > mine[:, np.newaxis], posterior, 0).sum(1)
        claimed += list((posterior**2).sum(1))
        true += list(mine)
        levels += list(above + rng.uniform(size=8) * mine)
    difference = np.array(true) - np.array(claimed)
    assert abs(difference.mean()) < 3 * difference.std() / math.sqrt(len(difference))
    steps = np.arange(len(levels)) / len(levels)
    assert np.abs(np.sort(levels) - steps).max() < 1.63 / math.sqrt(len(levels))  # Kolmogorov-Smirnov test at 1 %
    assert np.mean(true) > 1.2 / 6  # and it is informative


@LIMITS
def test_candidates_without_a_path_are_impossible_and_the_rest_sums_to_one(limit, real) -> None:
    paths, snapshots = real
    paths = paths.copy(deep=True)
    paths["valid"][3:6] = False
    found = limit(paths, snapshots)
    assert found.dims == ("snapshot", "candidate")
    np.testing.assert_array_equal(found.x, paths.x)
    np.testing.assert_array_equal(found.y, paths.y)
    silent = ~paths.valid.any("path").values
    assert silent[3:6].all()
    np.testing.assert_array_equal(np.isneginf(found.values).all(0), silent)
    np.testing.assert_allclose(np.exp(found).sum("candidate"), 1)


@LIMITS
def test_order_of_candidates_and_padding_do_not_matter(limit, real, rng) -> None:
    paths, snapshots = real
    order = rng.permutation(paths.sizes["candidate"])
    expected = limit(paths, snapshots).values
    np.testing.assert_allclose(limit(paths.isel(candidate=order), snapshots), expected[:, order], atol=1e-6)
    spoilt = paths.assign({name: paths[name].where(paths.valid, np.nan) for name in ("aoa", "delay", "gain")})
    np.testing.assert_array_equal(limit(spoilt, snapshots), expected)


@LIMITS
def test_one_snapshot_and_one_candidate(limit, real) -> None:
    paths, snapshots = real
    one = limit(paths, snapshots.isel(snapshot=4))
    assert one.dims == ("candidate",)
    np.testing.assert_allclose(one, limit(paths, snapshots)[4], atol=1e-6)
    alone = paths.isel(candidate=np.flatnonzero(paths.valid.any("path"))[:1])
    np.testing.assert_array_equal(limit(alone, snapshots), np.zeros((10, 1)))


def test_radio_can_be_given(real) -> None:
    paths, snapshots = real
    bare = snapshots.drop_attrs()
    np.testing.assert_array_equal(bayes(paths, bare, Radio()), bayes(paths, snapshots))
    with pytest.raises(ValueError, match="Expected 'iq' of shape"):
        bayes(paths, snapshots, TINY)


@LIMITS
def test_wrong_input_is_named(limit, real) -> None:
    paths, snapshots = real
    with pytest.raises(ValueError, match=r"Expected 'paths' with gain \(candidate, path\), got none"):
        limit(paths.drop_vars("gain"), snapshots)
    with pytest.raises(ValueError, match=r"Expected 'paths' with aoa \(candidate, path\), got \('path'"):
        limit(paths.transpose("path", "candidate"), snapshots)
    with pytest.raises(ValueError, match="Expected finite delay"):
        limit(paths.assign(delay=paths.delay * np.nan), snapshots)
    with pytest.raises(ValueError, match="Expected at least one candidate with a path in 'paths', got none"):
        limit(paths.assign(valid=paths.valid & False), snapshots)
    with pytest.raises(ValueError, match=r"Expected 'snapshots' with iq .* got none"):
        limit(paths, snapshots.drop_vars("iq"))
    with pytest.raises(ValueError, match=r"Expected 'snapshots' with iq .* got .'antenna'"):
        limit(paths, snapshots.transpose("antenna", "sample", "snapshot"))
    with pytest.raises(ValueError, match="Expected 'num_bins' in"):
        limit(paths, snapshots, num_bins=255)
