"""How well a capture fits the twin: uniform for draws from the model, low for a twin that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from path_sets import Model, Path, dataset, draw_paths
from scipy import stats

import locus
from locus.score.path_set import PathSet
from locus.score.twin_fit import twin_fit
from locus.settings.config import EstimatorOptions, Radio

MODEL = Model(Radio(sync_window=1.0), EstimatorOptions(false_alarm=0.999))
STRONG: list[Path] = [(0.3, 5.0, 300.0), (-0.7, 20.0, 200.0), (0.9, 31.0, 100.0)]


def fit(sets: list[list[Path]], seen: list[list[Path]], num_simulations: int = 199) -> np.ndarray:
    paths, observed = dataset(sets, "candidate", MODEL.radio), dataset(seen, "snapshot", MODEL.radio)
    scorer = PathSet(MODEL.radio, MODEL.estimator)
    return np.asarray(twin_fit(scorer, paths, observed, np.random.default_rng(0), num_simulations).values)


def test_it_is_uniform_if_the_twin_is_exact() -> None:
    """300 sets of the slow model, each of one of 50 candidates, some of which have no path."""
    rng = np.random.default_rng(3)
    sets = [draw_paths(rng, int(rng.integers(0, 6)), MODEL.radio, (0, 25)) for _ in range(50)]
    found = fit(sets, [MODEL.draw(sets[i], rng) for i in rng.integers(0, len(sets), 300)], 99)
    assert stats.kstest(found, "uniform").pvalue > 1e-3
    assert (found < 0.01).sum() <= stats.binom.ppf(0.9999, 300, 0.01)
    assert (found > 0.99).sum() <= stats.binom.ppf(0.9999, 300, 0.01)


def test_ties_are_broken_at_random() -> None:
    """No path on either side: nearly all statistics are those of clutter, whose number varies."""
    options = EstimatorOptions(false_alarm=1e-6)
    paths, observed = dataset([[]], "candidate", Radio()), dataset([[]] * 200, "snapshot", Radio())
    found = twin_fit(PathSet(None, options), paths, observed, np.random.default_rng(0), 49).values
    assert stats.kstest(found, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "seen",
    [
        [(0.5, 5.0, 300.0), (-0.5, 20.0, 200.0), (1.2, 31.0, 100.0)],  # a compass off by 0.2 to 0.3 rad
        [(0.3, 5.0, 300.0), (-0.7, 24.0, 200.0), (0.9, 40.0, 100.0)],  # walls elsewhere
        [(0.3, 5.0, 3e4), (-0.7, 20.0, 2e4), (0.9, 31.0, 1e4)],  # a wrong scale
        [(0.3, 5.0, 300.0)],  # paths that are missing
        [STRONG[0], (0.0, 70.0, 400.0), (-0.2, 90.0, 300.0)],  # paths that nothing predicts instead of two
    ],
    ids=["turned", "moved", "scaled", "missing", "unknown"],
)
def test_a_wrong_twin_is_noticed(seen: list[Path]) -> None:
    assert fit([STRONG], [seen])[0] < 0.01
    assert fit([STRONG, []], [seen])[0] < 0.01  # nor is a candidate without paths an excuse
    assert fit([STRONG], [STRONG])[0] > 0.05


def test_a_transmitter_within_its_cell_is_not_a_wrong_twin() -> None:
    """Candidates 2 m apart, transmitters anywhere, through the real estimator: an exact twin still fits."""
    rng = np.random.default_rng(0)
    layout = locus.Layout.random(rng)
    pose = locus.Pose(*layout.sample(1, rng)[0], 0.5)
    twin, scorer = locus.make_twin("image"), PathSet()
    grid = layout.grid(51)
    true = layout.sample(60, rng)
    heard = twin.trace(layout, pose, true).rename(candidate="snapshot").reset_coords(drop=True)
    observed = locus.estimate(locus.observe(heard, rng.spawn(60)), scorer.estimator)
    paths = twin.trace(layout, pose, grid)
    with_cells, without = (twin_fit(scorer, paths, observed, rng, 49, spacing).values for spacing in (2.0, 0.0))
    assert with_cells.mean() > without.mean() + 0.05
    assert with_cells.mean() > 0.4


def test_dimensions_follow_those_of_the_observed_paths() -> None:
    paths, observed = dataset([STRONG], "candidate", Radio()), dataset([STRONG] * 2, "snapshot", Radio())
    scorer = PathSet()
    several, single = (
        twin_fit(scorer, paths, one, np.random.default_rng(0)) for one in (observed, observed.isel(snapshot=0))
    )
    assert several.dims == ("snapshot",)
    assert single.dims == ()
    assert float(several[0]) == float(single)
    assert {"units", "long_name"} <= set(single.attrs)
    with pytest.raises(ValueError, match=r"Expected 'num_simulations' in \[1, inf\), got 0"):
        twin_fit(scorer, paths, observed, np.random.default_rng(0), 0)
