"""Soft detection against its closed form, SciPy, and the real estimator."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import xarray as xr
from path_sets import Model, dataset
from scipy import special

import locus
from locus.score.path_set import PathSet
from locus.score.soft_detection import PADDING, bessel_zero, left_over
from locus.score.tolerance import Constants
from locus.settings.config import EstimatorOptions, Radio

EXACT = locus.Tolerance(0, 0, 0, 0)
PLAIN = dataclasses.replace(Constants(), floor=0.0)
KNOWN = Radio(sync_window=0.0)
REPORTED, WEAK = (0.4, 20.0, 900.0), (-0.3, 50.0, 6.0)


def channel(sine: float, delay: float, energy: float, radio: Radio = KNOWN) -> np.ndarray:
    """Channel (subcarrier, antenna) of one path, in units of the noise's standard deviation."""
    n, m = radio.num_subcarriers, radio.num_antennas
    waves = np.outer(np.exp(-2j * np.pi * np.arange(n) * delay / n), np.exp(-1j * np.pi * np.arange(m) * sine))
    return np.asarray(math.sqrt(energy / (n * m)) * waves)


def with_residual(seen: xr.Dataset, residual: np.ndarray) -> xr.Dataset:
    """Observed paths with what they leave, (snapshot, subcarrier, antenna)."""
    return seen.assign(residual=(("snapshot", "subcarrier", "antenna"), residual.astype(np.complex64)))


def test_the_bessel_function_is_scipys() -> None:
    z = np.linspace(0, 200, 4001)
    np.testing.assert_allclose([bessel_zero(one) for one in z], special.i0e(z), rtol=2e-6)


def test_the_power_at_a_paths_place_is_its_energy() -> None:
    """On a point of the grid: exactly. At most an eighth of a cell beside one, linear interpolation loses 10 %."""
    observed = dataset([[REPORTED]], "snapshot", KNOWN)
    power = left_over(with_residual(observed, channel(0.25, 30.0, 9.0)[np.newaxis]), KNOWN)[0]
    assert power.shape == (128 * PADDING, 8 * PADDING)
    assert power[30 * PADDING, PADDING] == pytest.approx(9, rel=1e-5)
    assert power.max() == pytest.approx(9, rel=1e-5)


@pytest.mark.parametrize("energy", [1.0, 4.0, 8.0, 30.0])
def test_it_replaces_the_probability_of_a_miss_by_the_closed_form(energy: float) -> None:
    """One reported and one missing path, offset known: ln [(m + (1 - m) exp(-E) I0(2 sqrt(E P))) / P(missed)].

    The difference of two likelihoods; both leave out what one reported path of clutter adds, less than 0.02 nats.
    """
    model = Model(KNOWN, EstimatorOptions(), PLAIN)
    one = PathSet(KNOWN, model.estimator, EXACT, PLAIN)
    sine, miss = 0.25, PLAIN.miss
    paths = dataset([[REPORTED, (math.asin(sine), 50.0, energy)]], "candidate", KNOWN)
    seen = dataset([[REPORTED]], "snapshot", KNOWN)
    hard = float(one.log_likelihood(paths, seen)[0, 0])
    for power in (0.0, 2.0, 6.0):
        soft = float(one.log_likelihood(paths, with_residual(seen, channel(sine, 50.0, power)[np.newaxis]))[0, 0])
        ratio = miss + (1 - miss) * math.exp(-energy) * special.i0(2 * math.sqrt(energy * power))
        expected = math.log(ratio / model.miss(energy, model.threshold))
        assert soft - hard == pytest.approx(expected, abs=0.02)


def test_noise_alone_neither_speaks_for_a_path_nor_against_none() -> None:
    """Where there is only noise, the factor exp(-E) I0(2 sqrt(E P)) has the mean 1.

    For E = 1 its variance is I0(2) - 1 = 1.3, so the mean over 500 places has a standard error of 0.05; four of them.
    """
    rng = np.random.default_rng(0)
    noise = (rng.standard_normal((5, 128, 8)) + 1j * rng.standard_normal((5, 128, 8))) / math.sqrt(2)
    power = left_over(with_residual(dataset([[REPORTED]] * 5, "snapshot", KNOWN), noise), KNOWN)
    places = power[:, :: 5 * PADDING, ::PADDING][:, :, ::2].reshape(-1)[:500]
    assert np.exp(-1) * np.mean(special.i0(2 * np.sqrt(places))) == pytest.approx(1, abs=0.2)


def test_a_path_below_the_threshold_tells_through_the_real_estimator() -> None:
    """Candidates differ in a weak path only; with the residual, the true one of two gains in most of 100 snapshots."""
    radio = Radio()
    rng = np.random.default_rng(1)
    size = radio.num_subcarriers * radio.num_antennas
    candidates = [[REPORTED, WEAK], [REPORTED, (0.9, 90.0, 6.0)]]
    paths = dataset(candidates, "candidate", radio)
    gain = np.sqrt(np.array([900.0, 6.0]) / size * radio.noise_power / radio.tx_power)
    phases = np.exp(2j * np.pi * rng.random((100, 2)))
    columns = {
        "aoa": np.tile([REPORTED[0], WEAK[0]], (100, 1)),
        "delay": np.tile([REPORTED[1], WEAK[1]], (100, 1)) / radio.bandwidth,
        "gain": gain * phases,
        "valid": np.ones((100, 2), dtype=bool),
    }
    heard = xr.Dataset({name: (("snapshot", "path"), values) for name, values in columns.items()})
    one = PathSet(radio, EstimatorOptions(false_alarm=0.1), EXACT, PLAIN)
    observed = locus.estimate(locus.observe(heard, rng.spawn(100), radio), one.estimator, residual=True)
    soft, hard = (one.log_posterior(paths, seen)[:, 0] for seen in (observed, observed.drop_vars("residual")))
    assert float(soft.mean()) > float(hard.mean()) + 0.2
    assert float((soft > hard).mean()) > 0.7


def test_estimates_leave_noise() -> None:
    """The residual of strong paths has the power of the noise, 1 per sample, but for what the fit takes of it."""
    rng = np.random.default_rng(0)
    radio = Radio()
    layout = locus.Layout.random(rng)
    pose = locus.Pose(*layout.sample(1, rng)[0], 0.5)
    paths = locus.make_twin("image", radio).trace(layout, pose, layout.sample(20, rng))
    taken = locus.observe(paths.reset_coords(drop=True).rename(candidate="snapshot"), rng.spawn(20), radio)
    options = EstimatorOptions(num_paths=12, false_alarm=0.9)
    found = locus.estimate(taken, options, radio, residual=True)
    assert found.residual.dims == ("snapshot", "subcarrier", "antenna")
    power = (np.abs(found.residual.values) ** 2).mean(axis=(1, 2))
    assert np.median(power) == pytest.approx(1, abs=0.1)
    single = locus.estimate(taken.isel(snapshot=0), options, radio, residual=True)
    np.testing.assert_array_equal(single.residual, found.residual[0])
    assert "residual" not in locus.estimate(taken, options, radio)


def test_a_residual_of_another_radio_is_refused() -> None:
    seen = dataset([[REPORTED]], "snapshot", KNOWN)
    paths = dataset([[REPORTED]], "candidate", KNOWN)
    wrong = seen.assign(residual=(("snapshot", "subcarrier", "antenna"), np.zeros((1, 64, 8), dtype=complex)))
    with pytest.raises(ValueError, match=r"Expected 'residual' of 'observed' as finite complex numbers \(1, 128, 8\)"):
        PathSet(KNOWN).posterior(paths, wrong)
    with pytest.raises(ValueError, match="Expected 'residual' of 'observed' as finite"):
        PathSet(KNOWN).posterior(paths, with_residual(seen, np.full((1, 128, 8), np.nan)))
