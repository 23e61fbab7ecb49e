"""The ideal estimator against SciPy's distributions and the Cramér-Rao bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from locus.receiver.crlb import cramer_rao
from locus.receiver.estimator import threshold
from locus.receiver.ideal import ideal_estimates
from locus.settings.config import EstimatorOptions, Radio

RADIO = Radio()
SAMPLES = RADIO.num_subcarriers * RADIO.num_antennas
NUM = 4000


def traced(*paths: tuple[float, float, float], count: int = NUM) -> xr.Dataset:
    """The same paths, each angle [rad], delay [s] and energy, in every snapshot; one of padding behind them."""
    columns = np.array([*paths, (np.nan, np.nan, np.nan)])
    values = {"aoa": columns[:, 0], "delay": columns[:, 1], "snr_db": 10 * np.log10(columns[:, 2] / SAMPLES)}
    values["valid"] = ~np.isnan(columns[:, 0])
    return xr.Dataset({name: (("snapshot", "path"), np.tile(one, (count, 1))) for name, one in values.items()})


def energies(found: xr.Dataset) -> np.ndarray:
    """Energies of all reported paths."""
    return SAMPLES * 10 ** (found.snr_db.values[found.valid.values] / 10)


@pytest.mark.parametrize("rate", [0.3, 0.999])
def test_noise_gives_as_many_false_paths_as_the_threshold_promises(rate: float) -> None:
    options = EstimatorOptions(num_paths=40, false_alarm=rate)
    found = ideal_estimates(traced(), np.random.default_rng(0), options, RADIO)
    expected, level = -math.log1p(-rate), threshold(options, RADIO) * SAMPLES
    count = found.valid.values.sum(axis=1)
    assert count.mean() == pytest.approx(expected, abs=4 * math.sqrt(expected / NUM))
    assert (count == 0).mean() == pytest.approx(1 - rate, abs=4 * math.sqrt(rate * (1 - rate) / NUM))

    def above(x: np.ndarray) -> np.ndarray:
        return (x - 0.5) * np.exp(level - x) / (level - 0.5)

    assert stats.kstest(energies(found), lambda x: 1 - above(x)).pvalue > 1e-3
    assert stats.kstest(np.sin(found.aoa.values[found.valid.values]), stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(found.delay.values[found.valid.values], stats.uniform(0, RADIO.period).cdf).pvalue > 1e-3


@pytest.mark.parametrize("energy", [8.0, 12.0])
def test_weak_paths_are_found_as_often_as_a_maximum_over_angle_and_delay(energy: float) -> None:
    options = EstimatorOptions(false_alarm=1e-4)  # hardly any false paths, which would be counted
    found = ideal_estimates(traced((0.3, 1e-7, energy)), np.random.default_rng(1), options, RADIO)
    law, level = stats.ncx2(4, 2 * energy), threshold(options, RADIO) * SAMPLES
    share = law.sf(2 * level)
    near = np.abs(np.sin(found.aoa.values) - math.sin(0.3)) < 0.3
    assert (found.valid.values & near).sum() / NUM == pytest.approx(share, abs=4 * math.sqrt(share / NUM) + 1e-4)


def test_errors_are_those_of_the_bound() -> None:
    """At an energy of 10,000: with 4000 snapshots the deviation is known to 1.1 %."""
    path = (0.4, 2.1e-7, 1e4)
    other = (-0.9, 5.3e-7, 9e3)
    found = ideal_estimates(traced(path, other), np.random.default_rng(2), EstimatorOptions(), RADIO)
    first = np.where(found.aoa.values[:, 0] > 0, 0, 1)[:, np.newaxis]
    angle, late = (np.take_along_axis(found[name].values, first, axis=1)[:, 0] for name in ("aoa", "delay"))
    rest = np.take_along_axis(found.delay.values, 1 - first, axis=1)[:, 0]
    sine, delay = (float(one[0]) for one in cramer_rao(RADIO, [0.4], [2.1e-7], [math.sqrt(1e4 / SAMPLES)]))
    assert np.std(angle) == pytest.approx(sine, rel=0.06)
    assert np.mean(angle) == pytest.approx(0.4, abs=4 * sine / math.sqrt(NUM))
    between = (rest - late) % RADIO.period  # the sync offset cancels
    assert np.mean(between) == pytest.approx(3.2e-7, abs=4 * math.sqrt(2.2 / NUM) * delay)
    assert np.std(between) == pytest.approx(delay * math.sqrt(1 + 10 / 9), rel=0.06)
    assert stats.kstest(late, stats.uniform(0, RADIO.period).cdf).pvalue > 1e-3


def test_the_strongest_are_reported_and_padding_is_empty() -> None:
    paths = [(0.1 * n, 1e-8 * n, 10.0 ** (2 + n / 4)) for n in range(8)]
    found = ideal_estimates(traced(*paths, count=50), np.random.default_rng(3), EstimatorOptions(num_paths=3), RADIO)
    assert found.sizes == {"snapshot": 50, "path": 3}
    assert found.valid.all()
    assert (found.snr_db.diff("path") <= 0).all()
    assert np.abs(found.aoa - 0.7).min("path").max() < 0.05
    silent = ideal_estimates(traced(count=50), np.random.default_rng(3), EstimatorOptions(false_alarm=1e-9), RADIO)
    assert not silent.valid.any()
    assert np.isneginf(silent.snr_db).all()
    assert (silent.aoa == 0).all()
    assert EstimatorOptions.carried_by(silent) == EstimatorOptions(false_alarm=1e-9)
