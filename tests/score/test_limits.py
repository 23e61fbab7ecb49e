"""The ideal receivers against brute-force integration, and their calibration."""

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
from locus.score import sync_offset
from locus.score.limits import bayes, phase_blind
from locus.score.sync_offset import folded_prior
from locus.twin.antenna import array_response

TINY = Radio(num_subcarriers=8, num_antennas=2, bandwidth=200e6, sync_window=1.3 * 8 / 200e6)
LIMITS = pytest.mark.parametrize("limit", [bayes, phase_blind])
WINDOWS = pytest.mark.parametrize("periods", [0.0, 0.001, 0.37, 1.3, 6.25])
POWERS = pytest.mark.parametrize("snr_db", [-15, 0, 20, 40])


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


def close_group(rng: np.random.Generator, radio: Radio, num_candidates: int, snr: float) -> xr.Dataset:
    """Candidates that differ by little more than the noise and the sync offset hide, at any SNR."""
    return close_to(group(rng, radio, 1, snr), rng, radio, num_candidates)


def close_to(one: xr.Dataset, rng: np.random.Generator, radio: Radio, num_candidates: int) -> xr.Dataset:
    paths = one.isel(candidate=[0] * num_candidates).copy(deep=True)
    snr = float((abs(one.gain) ** 2).sum()) * radio.tx_power / radio.noise_power
    energy = snr * radio.num_subcarriers * radio.num_antennas
    paths["gain"] = paths.gain * (1 + 0.3 * rng.standard_normal(paths.gain.shape) / math.sqrt(energy))
    late = rng.uniform(0, min(radio.sync_window, radio.period), num_candidates)
    paths["delay"] = paths.delay + xr.DataArray(late, dims="candidate")
    return paths


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


def turned(snapshot: np.ndarray, radio: Radio) -> np.ndarray:
    """Channel (offset, subcarrier x antenna) as it would be without the sync offset, for many offsets in the window.

    Their step is a third of the width of a peak of energy |y|^2; much less where the window may cut through a peak.
    """
    y = channel_of(snapshot, radio)
    periods = radio.sync_window / radio.period
    per_period = (100 if periods < 1 else 8) * radio.num_subcarriers * np.linalg.norm(y)
    num_offsets = 10 + int(per_period * periods)
    offset = (np.arange(num_offsets) + 0.5) / num_offsets * periods
    turn = np.exp(-2j * np.pi * offset[:, np.newaxis] * np.arange(radio.num_subcarriers))
    return (turn[..., np.newaxis] * y).reshape(len(offset), -1)


def coherent_by_force(paths: xr.Dataset, snapshot: np.ndarray, radio: Radio) -> np.ndarray:
    """Log posterior by loops over candidates and phases, summed over sync offsets in the whole window."""
    y = turned(snapshot, radio)
    score = []
    for candidate in range(paths.sizes["candidate"]):
        columns, gains = basis_of(paths, candidate, 0.0, radio)
        signal = columns @ gains
        product, energy = y @ signal.conj(), float(np.vdot(signal, signal).real)
        high = np.abs(product)[np.abs(product) > np.abs(product).max() - 20]
        # Offset by offset, phases are centred on the best one and span six widths of the peak about it.
        width = np.minimum(np.pi, 6 / np.sqrt(2 * np.maximum(high, 1e-9)))
        phase = width * (np.arange(32)[:, np.newaxis] / 16 - 1)
        terms = 2 * high * np.cos(phase) + np.log(width / np.pi)
        score.append(log_mean(terms.ravel()) + math.log(len(high) / len(product)) - energy)
    return np.array(score) - np.logaddexp.reduce(score)


def blind_by_force(paths: xr.Dataset, snapshot: np.ndarray, radio: Radio) -> np.ndarray:
    """Log posterior from dense covariance matrices, by a loop over candidates, summed over sync offsets."""
    y = turned(snapshot, radio)
    score = []
    for candidate in range(paths.sizes["candidate"]):
        columns, gains = basis_of(paths, candidate, 0.0, radio)
        covariance = np.eye(y.shape[1]) + (columns * np.abs(gains) ** 2) @ columns.conj().T
        exponent = np.einsum("ti,ij,tj->t", y.conj(), np.linalg.inv(covariance), y, optimize=True).real
        score.append(log_mean(-exponent) - float(np.linalg.slogdet(covariance)[1]))
    return np.array(score) - np.logaddexp.reduce(score)


def plainly(limit: object, paths: xr.Dataset, snapshots: xr.Dataset, num_bins: int) -> np.ndarray:
    """Log posterior by the sum over many bins of the paper's window, in double precision."""
    radio = Radio.carried_by(snapshots) or Radio()
    look = module._known_phases if limit is bayes else module._unknown_phases
    heard = paths.valid.values.any(1)
    channel = torch.from_numpy(module.despread(snapshots.iq.values, radio))
    coefficients, constant = module._powers(paths.isel(candidate=heard), channel, radio, look)
    weight = np.where(np.arange(num_bins) < num_bins // 4, 7.0, 6.0)
    weight[[0, num_bins // 4]] = 6.5
    score = torch.full((len(channel), len(heard)), -math.inf, dtype=torch.float64)
    for s, one in enumerate(coefficients):
        logs = []
        for candidate in one:
            power = torch.fft.irfft(candidate, n=num_bins, norm="forward").clamp(min=0)
            x = 2 * power.sqrt()
            height = x + torch.special.i0e(x).log() if limit is bayes else power
            logs.append(torch.logsumexp(height + torch.from_numpy(weight / 6.25).log(), 0) - math.log(num_bins))
        score[s, torch.from_numpy(heard)] = torch.stack(logs) - constant
    return (score - score.logsumexp(1, keepdim=True)).numpy()


@pytest.fixture(scope="module")
def real() -> tuple[xr.Dataset, xr.Dataset]:
    """A traced group with the paper's radio; its snapshots range from pure noise to a very strong signal."""
    config = load_config("quick", {"training.num_candidates": 100})
    case = Case(config, "test", 1)
    return case.paths, case.snapshots


@WINDOWS
@POWERS
@pytest.mark.parametrize(("limit", "by_force"), [(bayes, coherent_by_force), (phase_blind, blind_by_force)])
def test_posterior_is_the_integral_over_phases_and_offset(limit, by_force, periods: float, snr_db: int) -> None:
    radio = dataclasses.replace(TINY, sync_window=periods * TINY.period)
    rng = np.random.default_rng([5, int(1000 * periods), snr_db + 99])
    paths = close_group(rng, radio, 4, 10 ** (snr_db / 10))
    snapshots = observed(paths, np.array([0, 2]), rng, radio)
    found = limit(paths, snapshots)
    assert (found > -20).sum() >= 4  # something to compare
    for s in range(2):
        assert_same(found.values[s], by_force(paths, snapshots.iq.values[s], radio), 2e-3)


def test_unknown_phases_of_paths_that_coincide_add_their_powers() -> None:
    rng = np.random.default_rng(1)
    paths = group(rng, TINY, 3, 1e3, num_paths=1)
    snapshots = observed(paths, np.array([0]), rng, TINY)
    doubled = xr.concat([paths, paths], "path").transpose("candidate", "path")
    doubled["gain"] = doubled.gain / math.sqrt(2)
    np.testing.assert_allclose(phase_blind(doubled, snapshots), phase_blind(paths, snapshots), atol=1e-6)


@pytest.mark.parametrize("periods", [0.001, 0.37, 1.0, 1.3, 6.25])
def test_folded_prior_is_the_density_of_offsets_modulo_the_period(periods: float) -> None:
    prior = folded_prior(dataclasses.replace(TINY, sync_window=periods * TINY.period))
    offsets = (np.arange(640_000) + 0.5) / 640_000 * periods % 1
    share = (offsets < prior.edge).mean()
    assert prior.before * prior.edge == pytest.approx(share, abs=1e-5)
    assert prior.after * (1 - prior.edge) == pytest.approx(1 - share, abs=1e-5)


def test_papers_window_has_weight_7_in_the_first_quarter_and_6_elsewhere() -> None:
    assert folded_prior(Radio()) == pytest.approx((0.25, 7 / 6.25, 6 / 6.25))


@pytest.mark.parametrize("periods", [1.3, 6.25])
def test_weights_of_bins_integrate_what_the_bins_resolve(periods: float, rng) -> None:
    prior = folded_prior(dataclasses.replace(TINY, sync_window=periods * TINY.period))
    coefficients = rng.standard_normal(7) + 1j * rng.standard_normal(7)
    offsets = (np.arange(100_000) + 0.5) / 100_000 * periods
    waves = np.exp(2j * np.pi * offsets[:, np.newaxis] * np.arange(7))
    found = np.fft.irfft(coefficients, 32, norm="forward") @ sync_offset._bin_weights(prior, 32)
    assert found == pytest.approx(((waves * coefficients).real @ np.where(np.arange(7) > 0, 2, 1)).mean(), rel=1e-6)


@LIMITS
@pytest.mark.parametrize(("tx_power_dbm", "ranks", "num_bins"), [(0.0, (0, 40, 90), 2**19), (17.0, (0,), 2**22)])
def test_papers_radio_agrees_with_a_sum_over_many_bins(limit, tx_power_dbm, ranks, num_bins, real) -> None:
    """The widest steps are a third of the narrowest peak; the strongest candidate has +40 dB per sample at 17 dBm."""
    radio = Radio(tx_power_dbm=tx_power_dbm)
    paths = real[0]
    energy = (abs(paths.gain) ** 2).sum("path").values
    strong = np.argsort(-energy)[list(ranks)]
    rng = np.random.default_rng(2)
    chosen = xr.concat([close_to(paths.isel(candidate=[one]), rng, radio, 2) for one in strong], "candidate")
    snapshots = observed(chosen, 2 * np.arange(len(ranks)), rng, radio)
    assert_same(limit(chosen, snapshots).values, plainly(limit, chosen, snapshots, num_bins), 1e-3)


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
        posterior = np.exp(limit(paths, snapshots).values)
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
