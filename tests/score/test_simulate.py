"""Path sets drawn from the likelihood's model: the same as those of a second, slow implementation, and calibrated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import xarray as xr
from path_sets import Model, Path, dataset, draw_paths
from scipy import stats

import locus
from locus.score.path_set import PathSet
from locus.score.simulate import simulate
from locus.score.tolerance import Constants
from locus.settings.config import EstimatorOptions, Radio

EXACT = locus.Tolerance(0, 0, 0, 0)
RADIO = Radio(sync_window=1.0)


def quantities(sets: xr.Dataset) -> dict[str, np.ndarray]:
    """What two samples of path sets are compared by."""
    valid = sets.valid.values
    relative = (sets.delay * RADIO.bandwidth - sets.delay.isel(path=0) * RADIO.bandwidth) % 128
    return {
        "number": valid.sum(axis=1),
        "strongest": sets.snr_db.values[valid.any(axis=1), 0],
        "energy": sets.snr_db.values[valid],
        "sine": np.sin(sets.aoa.values[valid]),
        "delay": sets.delay.values[valid],
        "relative delay": relative.values[:, 1:][valid[:, 1:]],
    }


@pytest.mark.parametrize(("false_alarm", "num_paths"), [(0.3, 6), (0.999, 6), (0.999, 3)])
def test_it_draws_what_the_slow_model_draws(false_alarm: float, num_paths: int) -> None:
    """Kolmogorov-Smirnov distances of 3000 fast sets and 200 slow ones; paths of one set are not independent."""
    rng = np.random.default_rng(0)
    model = Model(RADIO, EstimatorOptions(false_alarm=false_alarm, num_paths=num_paths))
    traced: list[Path] = [(0.3, 5.0, 60.0), (-0.7, 20.0, 20.0), (2.5, 31.0, 10.0), (1.2, 33.0, 5.0)]
    scorer = PathSet(model.radio, model.estimator, EXACT, model.constants)
    fast = simulate(scorer, dataset([traced], "candidate", RADIO), np.zeros(3000, dtype=int), rng)
    slow = dataset([model.draw(traced, rng) for _ in range(200)], "snapshot", RADIO)
    assert fast.sizes["path"] <= num_paths
    for name, expected in quantities(slow).items():
        assert stats.ks_2samp(quantities(fast)[name], expected).pvalue > 1e-4, name


def test_with_errors_of_the_twin_it_is_what_the_likelihood_expects() -> None:
    """The mean of log p(truth) is minus the mean entropy, within 4 standard errors, if the model is the likelihood's.

    Whatever the simulator gets wrong about turns, positions, reflections or misses makes the posterior too sure.
    """
    rng = np.random.default_rng(1)
    sets = [draw_paths(rng, int(rng.integers(1, 5)), RADIO, (10, 25)) for _ in range(60)]
    order = xr.DataArray(rng.integers(0, 4, (60, 4)), dims=("candidate", "path"))
    paths = dataset(sets, "candidate", RADIO).assign(order=order)
    scorer = PathSet(RADIO, EstimatorOptions(false_alarm=0.9))
    truth = rng.integers(0, len(sets), 600)
    logs = scorer.log_likelihood(paths, simulate(scorer, paths, truth, rng)).values
    logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    excess = -logs[np.arange(len(truth)), truth] + (np.exp(logs) * logs).sum(axis=1)
    assert abs(excess.mean()) < 4 * excess.std() / math.sqrt(len(excess))
    assert -math.log(60) < logs[np.arange(len(truth)), truth].mean() < -0.05  # neither hopeless nor trivial


def test_all_paths_share_the_errors_of_the_pose() -> None:
    """Strong paths, two from ahead and one from behind, and a receiver that is off by 1 m and 0.05 rad.

    It is nearer to what is ahead by as much as it is farther from what is behind. Of 4000 draws, standard deviations
    have a relative error of 1 %; five of them.
    """
    radio = Radio(sync_window=0.0)
    one = dataclasses.replace(Constants(), levels=(1.0,), compass=(1.0,), weights=(1.0,), num_headings=(1,))
    one = dataclasses.replace(one, miss_per_metre=0.0, unknown_per_metre=0.0, tail_share=0.0, miss=1e-9, unknown=1e-9)
    tolerance = locus.Tolerance(plan=0, position=1, heading=0.05, material_db=0)
    scorer = PathSet(radio, EstimatorOptions(false_alarm=1e-6), tolerance, one)
    traced = dataset([[(0.0, 50.0, 3e7), (0.2, 60.0, 2e7), (-math.pi, 70.0, 1e7)]], "candidate", radio)
    found = simulate(scorer, traced, np.zeros(4000, dtype=int), np.random.default_rng(0))
    late = found.delay.values * radio.bandwidth - [50, 60, 70]
    per_metre = radio.bandwidth / 299_792_458
    own = one.delay_excess
    expected = {(0, 0): 0.5, (0, 1): 0.5 * math.cos(0.2), (0, 2): -0.5}
    for (i, j), share in expected.items():
        covariance = share * per_metre**2 + (own**2 if i == j else 0)
        assert np.cov(late[:, i], late[:, j])[0, 1] == pytest.approx(covariance, rel=0.1)
    sine = np.sin(found.aoa.values) - [0, math.sin(0.2), 0]
    length = np.array([50, 60, 70]) / per_metre
    spread = np.hypot(0.05, math.sqrt(0.5) / length) * [1, math.cos(0.2), 1]
    np.testing.assert_allclose(sine.std(axis=0), np.hypot(spread, one.sine_excess / 4), rtol=0.05)
    assert np.corrcoef(sine[:, 0], sine[:, 1])[0, 1] > 0.9
    assert np.corrcoef(sine[:, 0], sine[:, 2])[0, 1] < -0.8


def test_the_form_is_that_of_an_estimate() -> None:
    scorer = PathSet(Radio(num_antennas=1), EstimatorOptions(false_alarm=0.5))
    paths = dataset([[], [(0.3, 5.0, 60.0)]], "candidate", RADIO)
    found = simulate(scorer, paths, [0, 1, 1], np.random.default_rng(0))
    assert found.valid.dims == ("snapshot", "path")
    assert EstimatorOptions.carried_by(found) == scorer.estimator
    assert Radio.carried_by(found) == scorer.radio
    assert all({"units", "long_name"} <= set(found[name].attrs) for name in found.data_vars)
    assert (np.diff(found.snr_db.where(found.valid, -1e9).values, axis=1) <= 0).all()
    assert not found.aoa.values[~found.valid.values].any()
