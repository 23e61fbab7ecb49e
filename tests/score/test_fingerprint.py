"""The nearest fingerprint against SciPy's assignment, and what its distance must not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from path_sets import Path, dataset, draw_paths
from scipy.optimize import linear_sum_assignment

from locus.receiver.estimator import threshold
from locus.score.fingerprint import MOST, Fingerprint
from locus.settings.config import EstimatorOptions, Radio

RADIO = Radio()
LEVEL = threshold(EstimatorOptions(), RADIO) * RADIO.num_subcarriers * RADIO.num_antennas


def distance(sets: list[list[Path]], seen: list[list[Path]], padding: int = 0) -> np.ndarray:
    """Distance (snapshot, candidate)."""
    paths, observed = dataset(sets, "candidate", RADIO, padding), dataset(seen, "snapshot", RADIO, padding)
    return Fingerprint(0.3, RADIO, EstimatorOptions()).distance(paths, observed).values


def pair(one: Path, other: Path, offset: float) -> float:
    apart = (math.sin(one[0]) - math.sin(other[0]) + 1) % 2 - 1
    late = (one[1] - other[1] - offset + 64) % 128 - 64
    return math.hypot(4 * apart, late, math.log10(one[2] / other[2]) / 2)


def by_scipy(paths: list[Path], seen: list[Path]) -> float:
    """The same with SciPy's assignment, in which every path may also stay alone."""
    paths = sorted((path for path in paths if path[2] > LEVEL), key=lambda path: -path[2])[:6]
    strongest = max(seen, key=lambda path: path[2], default=None)
    alone = (len(paths) + len(seen)) / 2
    found = [alone]
    for anchor in paths if strongest else []:
        cost = [[min(pair(one, path, strongest[1] - anchor[1]), 1) for one in seen] for path in paths]
        rows, columns = linear_sum_assignment(cost)
        found.append(alone - sum(1 - cost[j][q] for j, q in zip(rows, columns, strict=True)))
    return min(found)


def nearby(rng: np.random.Generator, paths: list[Path]) -> list[Path]:
    """Paths like the given ones, so that many pairs are close."""
    jitter = [rng.normal(0, (0.05, 0.3)) for _ in paths]
    return [(a + u, d + v, e * 10 ** rng.normal(0, 0.3)) for (a, d, e), (u, v) in zip(paths, jitter, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_the_assignment_is_the_best_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = [(rng.normal(0.2, 0.1), rng.normal(30, 0.5), 10 ** rng.uniform(1, 2)) for _ in range(8)]
    sets = [draw_paths(rng, n, RADIO) for n in (0, 1, 5, 12)] + [cluster]
    seen = [nearby(rng, sets[n])[:6] for n in (1, 2, 3, 4)] + [[]]
    expected = [[by_scipy(paths, one) for paths in sets] for one in seen]
    np.testing.assert_allclose(distance(sets, seen), expected, atol=1e-9)


def test_a_fingerprint_is_nearest_to_itself_and_a_missing_path_costs_a_half() -> None:
    paths = [(0.5, 40.0, 300.0), (-0.2, 55.5, 100.0), (1.2, 90.0, 40.0)]
    assert distance([paths, paths[:2], []], [paths])[0] == pytest.approx([0, 0.5, 1.5], abs=1e-9)
    assert distance([paths, paths[:2], []], [[]])[0] == pytest.approx([1.5, 1, 0], abs=1e-9)
    weak = [*paths, (0.0, 10.0, LEVEL / 2)]
    assert distance([weak], [paths])[0] == pytest.approx(0, abs=1e-9)  # below the threshold it is not expected
    louder = [(a, d, 10 * e) for a, d, e in paths]
    assert distance([paths], [louder])[0] == pytest.approx(3 * 0.5, abs=1e-9)  # 10 dB each


def test_both_ends_of_a_linear_array_are_one_direction() -> None:
    apart = 4 * (2 - math.sin(1.5) - math.sin(1.45))
    assert distance([[(1.5, 3.0, 50.0)]], [[(-1.45, 9.0, 50.0)]])[0, 0] == pytest.approx(apart, abs=1e-9)


def test_it_does_not_depend_on_offset_order_padding_and_the_side_of_the_array() -> None:
    rng = np.random.default_rng(1)
    sets = [draw_paths(rng, n, RADIO, (11, 25)) for n in (2, 4, 6)]
    seen = [nearby(rng, one) for one in sets]
    before = distance(sets, seen)
    assert before.max() > 1
    late = [[(a, (d + 101.3) % 128, e) for a, d, e in one] for one in seen]
    np.testing.assert_allclose(distance(sets, late), before, atol=1e-9)
    behind = [[(math.pi - a, d + 128, e) for a, d, e in one] for one in sets]
    np.testing.assert_allclose(distance(behind, seen), before, atol=1e-9)
    np.testing.assert_allclose(
        distance([one[::-1] for one in sets], [one[::-1] for one in seen], padding=3), before, atol=1e-9
    )


def test_the_temperature_turns_distances_into_probabilities() -> None:
    rng = np.random.default_rng(2)
    sets, seen = [draw_paths(rng, n, RADIO) for n in (1, 3, 5)], [draw_paths(rng, 2, RADIO)]
    paths, observed = dataset(sets, "candidate", RADIO), dataset(seen, "snapshot", RADIO)
    for temperature in (0.05, 2.0):
        posterior = Fingerprint(temperature).posterior(paths, observed.isel(snapshot=0))
        assert posterior.dims == ("candidate",)
        weights = np.exp(-distance(sets, seen)[0] / temperature)
        np.testing.assert_allclose(posterior, weights / weights.sum(), rtol=1e-9)
    prior = Fingerprint(1.0).posterior(paths, observed, [0, 1, 1]).values[0]
    assert prior[0] == 0
    assert prior.sum() == pytest.approx(1)


def test_strengths_from_nothing_to_huge_and_many_paths_are_finite() -> None:
    rng = np.random.default_rng(3)
    sets = [draw_paths(rng, 16, RADIO, (-60, 60)), []]
    seen = [draw_paths(rng, 16, RADIO, (-60, 60)), draw_paths(rng, 1, RADIO, (200, 300)), []]
    found = distance(sets, seen)
    assert np.isfinite(found).all()
    assert found[0, 1] == MOST / 2  # all that is compared has no partner


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected 'temperature' .*, got 0"):
        Fingerprint(0)
    good, seen = (dataset([[(0.1, 3.0, 12.0)]], dim, RADIO) for dim in ("candidate", "snapshot"))
    with pytest.raises(ValueError, match=r"Expected 'paths' with delay \(candidate, path\), got none"):
        Fingerprint(1).posterior(good.drop_vars("delay"), seen)
    with pytest.raises(ValueError, match="Expected finite aoa of valid 'observed', got NaN or infinity"):
        Fingerprint(1).posterior(good, seen.assign(aoa=seen.aoa * np.nan))
