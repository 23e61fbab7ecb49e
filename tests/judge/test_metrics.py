"""Metrics against known answers, and on deliberately wrong posteriors."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from locus.judge import bootstrap
from locus.judge.metrics import (
    STRATA,
    by,
    coverage,
    distribution,
    known,
    measure,
    paired,
    stratum,
    strongest_snr,
    summary,
)

NEVER = -np.inf


def posterior(logits: np.ndarray, candidates: np.ndarray | None = None) -> xr.DataArray:
    """Normalised log posterior (snapshot, candidate); by default candidates are one metre apart on the x axis."""
    logits = np.asarray(logits, dtype=float)
    logs = logits - np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
    logs -= logits.max(axis=1, keepdims=True)
    if candidates is None:
        candidates = np.stack([np.arange(logits.shape[1]), np.zeros(logits.shape[1])], axis=1)
    coords = {"x": ("candidate", candidates[:, 0]), "y": ("candidate", candidates[:, 1])}
    return xr.DataArray(logs, dims=("snapshot", "candidate"), coords=coords)


def table(log_posterior: np.ndarray, group: np.ndarray, **coords: np.ndarray) -> xr.Dataset:
    """Rows of methods a, b, ... from log posteriors (snapshot, method)."""
    columns = {name: ("snapshot", value) for name, value in {"group": group, **coords}.items()}
    methods = list("abcdef"[: log_posterior.shape[1]])
    return xr.Dataset({"log_posterior": (("snapshot", "method"), log_posterior)}, coords={"method": methods, **columns})


def path_sets(sets: list[list[tuple[float, int]]]) -> xr.Dataset:
    """Path sets from lists of (snr_db, order); the padding is a strong path of order 0, which must be ignored."""
    width = max(map(len, sets)) + 1
    padded = [[*paths, *[(99.0, 0)] * (width - len(paths))] for paths in sets]
    values = np.array(padded, dtype=float)
    valid = np.arange(width) < np.array([len(paths) for paths in sets])[:, np.newaxis]
    dims = ("snapshot", "path")
    return xr.Dataset(
        {"snr_db": (dims, values[..., 0]), "order": (dims, values[..., 1].astype(int)), "valid": (dims, valid)}
    )


def drawn_levels(
    rng: np.random.Generator, temperature: float, num_groups: int = 60, num_snapshots: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Credible levels and layouts, with truths drawn from a posterior that is then sharpened or flattened."""
    logits = 3 * rng.standard_normal((num_groups * num_snapshots, 40))
    logits[:, :5] = NEVER
    right = np.exp(posterior(logits).values)
    truth = np.array([rng.choice(40, p=row) for row in right])
    level = measure(posterior(logits / temperature), truth, 1.0, rng).level.values
    return level, np.repeat(np.arange(num_groups), num_snapshots)


def uniformity(level: np.ndarray) -> float:
    """Kolmogorov-Smirnov distance to the uniform distribution times sqrt(n): above 1.95 with probability 0.001."""
    ordered, n = np.sort(level), len(level)
    steps = np.arange(n + 1) / n
    return float(np.sqrt(n) * max((ordered - steps[:-1]).max(), (steps[1:] - ordered).max()))


def test_uniform_posterior_gains_nothing_exactly(rng: np.random.Generator) -> None:
    for num in (50, 500, 696, 1000):
        logs = posterior(np.zeros((6, num)))
        logs.values[:] = -np.log(num)
        rows = measure(logs, np.arange(6), 100.0, rng).log_posterior.expand_dims(method=["a"]).to_dataset()
        result = summary(rows.assign_coords(group=("snapshot", np.arange(6) // 2)), num, rng)
        for end in ("", "_low", "_high"):
            assert result["loss" + end].item() == 0
            assert result["gain" + end].item() == 1
            assert result["ratio" + end].item() == 0
            assert not np.signbit(result["ratio" + end].item())  # prints as 0, not -0


def test_certain_posterior_reaches_the_largest_gain(rng: np.random.Generator) -> None:
    truth = np.array([3, 0, 7])
    logits = np.where(np.arange(20) == truth[:, np.newaxis], 0, NEVER)
    measured = measure(posterior(logits), truth, 40.0, rng)
    result = summary(table(measured.log_posterior.values[:, np.newaxis], truth), 20, rng)
    assert result.loss.item() == pytest.approx(-np.log(20))
    assert result.gain.item() == pytest.approx(20)
    assert result.ratio.item() == pytest.approx(1)
    np.testing.assert_array_equal(measured.map_error, 0)
    np.testing.assert_array_equal(measured.mean_error, 0)
    np.testing.assert_array_equal(measured.area, 2)


def test_equations_24_and_25_by_hand(rng: np.random.Generator) -> None:
    """Truths of probability 1/2, 1/4, 1/8 and 1 among 16: L = log 2 (1 + 2 + 3 + 0) / 4 - log 16 = -2.5 log 2."""
    logs = np.log([[0.5, 1 / 16], [0.25, 1 / 4], [0.125, 1 / 4], [1.0, 1 / 4]])
    result = summary(table(logs, np.array([0, 0, 0, 1])), 16, rng)
    np.testing.assert_allclose(result.loss, np.array([-2.5, -1.5]) * np.log(2))
    np.testing.assert_allclose(result.gain, 2 ** np.array([2.5, 1.5]))
    np.testing.assert_allclose(result.ratio, [2.5 / 4, 1.5 / 4])
    assert (result.num_snapshots, result.num_groups) == (4, 2)
    # Two layouts: a quarter of the resamples contain only the first, another quarter only the second
    np.testing.assert_allclose(result.loss_low, np.array([-4, -2]) * np.log(2))
    np.testing.assert_allclose(result.loss_high, np.array([-2, -4 / 3]) * np.log(2))
    np.testing.assert_array_equal(result.gain_low, np.exp(-result.loss_high))
    np.testing.assert_array_equal(result.ratio_high, -result.loss_low / np.log(16))
    difference = paired(table(logs, np.array([0, 0, 0, 1])), "a", "b", rng)
    np.testing.assert_allclose(
        [difference.difference, difference.difference_low, difference.difference_high],
        np.array([-1, -2, -2 / 3]) * np.log(2),
    )


def test_a_method_that_rules_out_the_truth_has_infinite_loss(rng: np.random.Generator) -> None:
    logs = np.full((40, 3), -1.0)
    logs[0, 1:] = NEVER
    rows = table(logs, np.arange(40) // 2)
    result = summary(rows, 10, rng)
    assert result.loss[0] == pytest.approx(1 - np.log(10))
    assert result.loss_high[0] == pytest.approx(1 - np.log(10))
    assert (result.loss[1], result.loss_high[1], result.gain[1], result.ratio[1]) == (np.inf, np.inf, 0, NEVER)
    assert result.loss_low[1] == pytest.approx(1 - np.log(10))  # a third of the resamples do not contain that layout
    assert paired(rows, "b", "a", rng).difference == np.inf
    assert paired(rows, "a", "b", rng).difference_low == NEVER
    both = paired(rows, "b", "c", rng)
    assert np.isnan([both.difference, both.difference_low, both.difference_high]).all()


def test_interval_resamples_layouts_because_their_snapshots_are_alike() -> None:
    """95 % intervals cover the true mean in 95 % of the experiments; those from resampled snapshots do not."""
    rng = np.random.default_rng(1)
    num_groups, num_snapshots, repeats = 50, 8, 300
    shared = rng.standard_normal((repeats, num_groups, 1))
    values = -5 + 0.7 * shared + 0.7 * rng.standard_normal((repeats, num_groups, num_snapshots))
    group = np.repeat(np.arange(num_groups), num_snapshots)
    held = {"layouts": 0, "snapshots": 0}
    for value in values.reshape(repeats, -1, 1):
        for name, one in (("layouts", group), ("snapshots", np.arange(len(group)))):
            result = summary(table(value, one), 2, rng, num_resamples=300)
            held[name] += bool(result.loss_low < 5 - np.log(2) < result.loss_high)
    assert 0.91 <= held["layouts"] / repeats <= 0.98  # binomial: 0.95 +- 3 x 0.0126, minus the percentile bias
    assert held["snapshots"] / repeats < 0.75


def test_pairs_are_kept() -> None:
    """Common variation cancels; the interval of the difference covers the true one and is narrower."""
    rng = np.random.default_rng(2)
    group, repeats, held = np.repeat(np.arange(40), 5), 200, 0
    for _ in range(repeats):
        hard = rng.standard_normal((40, 1)).repeat(5, axis=1).ravel() + rng.standard_normal(200)
        own = 0.3 * rng.standard_normal((200, 2)) + 0.2 * rng.standard_normal((40, 2)).repeat(5, axis=0)
        rows = table(-8 + hard[:, np.newaxis] + own + [0.5, 0], group)
        result = paired(rows, "a", "b", rng, num_resamples=300)
        held += bool(result.difference_low < -0.5 < result.difference_high)
    assert 0.90 <= held / repeats <= 0.985
    alone = summary(rows, 2, rng)
    width = result.difference_high - result.difference_low
    assert (width < 0.5 * (alone.loss_high - alone.loss_low)).all()
    np.testing.assert_allclose(result.difference, alone.loss[0] - alone.loss[1])


def test_bootstrap_has_the_variance_that_theory_gives(rng: np.random.Generator) -> None:
    """For layouts of unequal size, the interval is +- 1.96 standard errors of the ratio estimator."""
    sizes = rng.integers(1, 12, 400)
    group = np.repeat(np.arange(400), sizes)
    loss = 4 + rng.standard_normal(400)[group]
    result = summary(table(-loss[:, np.newaxis], group), 2, rng, num_resamples=4000)
    residual = np.bincount(group, loss - loss.mean())
    error = 1.96 * np.sqrt((residual**2).sum()) / len(group)
    np.testing.assert_allclose((result.loss_high - result.loss_low).item() / 2, error, rtol=0.06)


@pytest.mark.parametrize("of_trainings", [0.0, 0.1, 0.5])
def test_interval_over_rooms_and_trainings_covers_the_mean_of_both(of_trainings: float) -> None:
    """Standard deviation 1 between 100 rooms (so 0.1 of their mean), and ``of_trainings`` between 3 trainings.

    At least 95 % of the intervals must hold the mean over all rooms and trainings, 0, less three standard errors of
    that share over the experiments. Without the trainings, most of them would miss it where trainings differ most.
    """
    rng, num, hits, hits_without = np.random.default_rng(7), 400, 0, 0
    for _ in range(num):
        values = rng.normal(size=100) + of_trainings * rng.normal(size=(3, 1)) + 0.1 * rng.normal(size=(3, 100))
        _, weights = bootstrap.resample(np.arange(100), 100, rng, 400)
        draws = bootstrap.over_trainings(values, weights, rng)
        np.testing.assert_allclose(draws[0], values.mean())
        for kind, found in (("with", draws), ("without", bootstrap.means(values[:1].T, np.arange(100), weights)[:, 0])):
            ends = bootstrap.with_interval("mean", (), found, "1", "mean")
            inside = ends["mean_low"][1] <= 0 <= ends["mean_high"][1]
            hits, hits_without = (hits + inside, hits_without) if kind == "with" else (hits, hits_without + inside)
    assert hits / num >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / num)
    if of_trainings == 0.5:
        assert hits_without / num < 0.6
    if of_trainings == 0.0:  # hardly wider than needed where trainings do not differ
        assert hits / num <= 0.99


def test_same_generator_gives_same_intervals_and_methods_share_resamples() -> None:
    logs = -np.random.default_rng(0).exponential(size=(60, 1)).repeat(2, axis=1)
    rows = table(logs, np.arange(60) // 3)
    first, again = (summary(rows, 10, np.random.default_rng(5)) for _ in range(2))
    xr.testing.assert_identical(first, again)
    assert first.loss_low[0] == first.loss_low[1]
    shuffled = rows.isel(snapshot=np.random.default_rng(1).permutation(60))
    xr.testing.assert_allclose(first, summary(shuffled, 10, np.random.default_rng(5)))


def test_level_of_a_calibrated_posterior_is_uniform_with_candidates_ruled_out() -> None:
    assert uniformity(drawn_levels(np.random.default_rng(3), 1.0, 400)[0]) < 1.95


def test_level_is_uniform_when_few_candidates_tie() -> None:
    """Six candidates with two distinct probabilities, two of them ruled out: coarse and tied, yet uniform."""
    rng = np.random.default_rng(4)
    probability = np.array([0.3, 0.1, 0.0, 0.3, 0.3, 0.0])
    truth = rng.choice(6, size=4000, p=probability)
    logits = np.log(probability, out=np.full(6, NEVER), where=probability > 0)
    level = measure(posterior(np.tile(logits, (4000, 1))), truth, 1.0, rng).level.values
    assert uniformity(level) < 1.95
    assert (level[truth == 1] >= 0.9).all()
    assert (level[truth != 1] <= 0.9 + 1e-12).all()
    level = measure(posterior(np.tile(logits, (9, 1))), np.full(9, 2), 1.0, rng).level.values
    np.testing.assert_allclose(level, 1)


def test_coverage_catches_wrong_confidence_and_passes_the_right_one() -> None:
    rng = np.random.default_rng(5)
    right, sharp, blurred = (coverage(*drawn_levels(rng, t), rng) for t in (1.0, 0.6, 1.6))
    assert right.calibrated
    assert not sharp.calibrated
    assert not blurred.calibrated
    middle = slice(0.3, 0.9)
    assert (sharp.coverage < sharp.low).sel(nominal=middle).all()  # over-confident: fewer truths inside than claimed
    assert (blurred.coverage > blurred.high).sel(nominal=middle).all()
    assert (right.coverage[0], right.low[0], right.high[0]) == (0, 0, 0)
    assert (right.coverage[-1], right.low[-1], right.high[-1]) == (1, 1, 1)


def test_coverage_counts_by_hand_and_survives_constant_levels(rng: np.random.Generator) -> None:
    result = coverage([0.1, 0.2, 0.2, 0.7], [0, 0, 1, 1], rng, [0.0, 0.1, 0.2, 0.5, 1.0])
    np.testing.assert_array_equal(result.coverage, [0, 0.25, 0.75, 0.75, 1])
    assert not coverage(np.ones(20), np.arange(20), rng).calibrated  # every truth ruled out
    assert not coverage(np.zeros(20), np.arange(20), rng).calibrated


@pytest.mark.parametrize("alike", [0.0, 0.6])
def test_band_is_simultaneous(alike: float) -> None:
    """The whole curve of calibrated levels is in the band in 95 % of the experiments, even if snapshots correlate."""
    rng = np.random.default_rng(6)
    num_groups, num_snapshots, repeats, held = 60, 6, 300, 0
    group = np.repeat(np.arange(num_groups), num_snapshots)
    quantiles = np.sort(rng.standard_normal(200_000))  # levels are ranks in this sample, hence uniform
    for _ in range(repeats):
        shared = rng.standard_normal(num_groups)[group]
        normal = np.sqrt(alike) * shared + np.sqrt(1 - alike) * rng.standard_normal(len(group))
        held += bool(coverage(np.searchsorted(quantiles, normal) / 200_000, group, rng, num_resamples=300).calibrated)
    assert 0.91 <= held / repeats <= 0.985


@pytest.mark.parametrize("num", [1, 7, 10, 50, 500, 696, 1000])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_area_of_a_uniform_posterior(num: int, kind: type, rng: np.random.Generator) -> None:
    logs = posterior(np.zeros((1, num))).astype(kind)
    measured = measure(logs, [0], 5000.0, rng)
    assert measured.area.item() == pytest.approx(-(-9 * num // 10) / num * 5000)


def test_errors_and_area_by_hand(rng: np.random.Generator) -> None:
    candidates = np.array([[0.0, 0.0], [6.0, 8.0], [0.0, 8.0], [6.0, 0.0]])
    with np.errstate(divide="ignore"):
        logits = np.log([[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [0.95, 0.05, 0.0, 0.0]])
    measured = measure(posterior(logits, candidates), [1, 2, 1], 400.0, rng)
    np.testing.assert_allclose(np.exp(measured.log_posterior), [0.5, 0.3, 0.05])
    np.testing.assert_allclose(measured.map_error, [10, 10, 10])  # the first of two modes
    np.testing.assert_allclose(measured.mean_error, [5, np.hypot(3.6, 4.0), 9.5])
    np.testing.assert_allclose(measured.area, [200, 300, 100])
    position = np.array([[3.0, 4.0], [6.0, 3.0], [0.0, 1.0]])
    moved = measure(posterior(logits, candidates), [1, 2, 1], 400.0, rng, position)
    np.testing.assert_allclose(moved.map_error, [5, 3, 1])
    np.testing.assert_allclose(moved.mean_error, [0, np.hypot(2.4, 1.0), np.hypot(0.3, 0.6)], atol=1e-12)
    np.testing.assert_array_equal(moved.log_posterior, measured.log_posterior)


def test_order_of_candidates_does_not_matter(rng: np.random.Generator) -> None:
    candidates, truth = rng.uniform(0, 50, (30, 2)), rng.integers(0, 30, 12)
    logits = 2 * rng.standard_normal((12, 30))
    logits[:, 3] = logits[:, 4] = NEVER
    order = rng.permutation(30)
    there = np.argsort(order)[truth]
    first = measure(posterior(logits, candidates), truth, 9.0, np.random.default_rng(1))
    second = measure(posterior(logits[:, order], candidates[order]), there, 9.0, np.random.default_rng(1))
    xr.testing.assert_allclose(first, second)


def test_strata_of_hand_made_path_sets() -> None:
    sets = path_sets(
        [
            [(-5.0, 1), (-10.0, 0)],  # line of sight, though not the strongest
            [(-5.0, 2), (-25.0, 1)],
            [(-5.0, 3), (-6.0, 2)],
            [(-18.0, 0)],  # at the threshold
            [(-18.1, 0), (-30.0, 1)],
            [],
        ]
    )
    codes = stratum(sets, -18.0)
    assert [STRATA[code] for code in codes.values] == [
        *("line of sight", "one bounce", "more bounces", "line of sight", "near outage", "near outage")
    ]
    np.testing.assert_array_equal(strongest_snr(sets), [-5, -5, -5, -18, -18.1, NEVER])
    assert codes.dtype.kind == "i"


def test_methods_that_lack_a_snapshot_are_left_out() -> None:
    logs = np.array([[-1.0, np.nan, NEVER], [-2.0, -1.0, -1.0]])
    assert known(table(logs, np.arange(2))).method.values.tolist() == ["a", "c"]


def test_by_gives_each_bin_its_own_summary(rng: np.random.Generator) -> None:
    group, code = np.arange(60) // 3, np.array([0, 1, 0] * 18 + [0, 0, 0, 0, 0, 3])
    logs = -rng.exponential(size=(60, 2)) - code[:, np.newaxis]
    snr = np.linspace(-40, 20, 60)
    snr[0] = NEVER
    rows = table(logs, group, stratum=code, snr_db=snr)
    result = by(rows, "stratum", 100, rng)
    assert tuple(result.bin.values) == STRATA
    assert result.loss.dims == ("bin", "method")
    np.testing.assert_array_equal(result.num_snapshots, [41, 18, 0, 1])
    np.testing.assert_array_equal(result.num_groups, [20, 18, 0, 1])
    np.testing.assert_allclose(result.loss[0], -logs[code == 0].mean(axis=0) - np.log(100))
    np.testing.assert_allclose(result.loss[3], -logs[59] - np.log(100))
    assert (result.loss_low < result.loss_high)[:2].all()
    assert result.loss[2].isnull().all()
    assert result.loss_low[2:].isnull().all()  # no interval for zero or one layout
    curve = by(rows, "snr_db", 100, rng)
    assert list(curve.bin.values[[0, 1, -1]]) == ["below -30 dB", "-30 to -20 dB", "above 10 dB"]
    np.testing.assert_array_equal(
        curve.num_snapshots, np.histogram(snr[1:], [-99, -30, -20, -10, 0, 10, 99])[0] + [1, 0, 0, 0, 0, 0]
    )
    np.testing.assert_allclose(curve.loss[-1], -logs[snr >= 10].mean(axis=0) - np.log(100))


def test_quantiles_by_hand_and_against_numpy(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    values = xr.DataArray(
        np.stack([np.arange(1.0, 11.0), np.arange(10.0, 0.0, -1.0) ** 2], axis=1),
        dims=("snapshot", "method"),
        coords={"method": ["a", "b"]},
        attrs={"units": "m", "long_name": "error"},
    )
    result = distribution(values, np.arange(10) // 5, rng)
    np.testing.assert_array_equal(result.value, [[5, 25], [9, 81]])
    # Two layouts of five snapshots: extreme resamples contain only one of them
    np.testing.assert_array_equal(result.value_low, [[3, 9], [5, 25]])
    np.testing.assert_array_equal(result.value_high, [[8, 64], [10, 100]])
    drawn = xr.DataArray(rng.exponential(size=(300, 1)), dims=("snapshot", "method"), coords={"method": ["a"]})
    seeded = [distribution(drawn, np.arange(300) // 3, np.random.default_rng(1), [0.1, 0.5, 0.99])]
    expected = np.quantile(drawn.values[:, 0], [0.1, 0.5, 0.99], method="inverted_cdf")
    np.testing.assert_array_equal(seeded[0].value[:, 0], expected)
    monkeypatch.setattr(bootstrap, "_BLOCK", 1000)
    seeded.append(distribution(drawn, np.arange(300) // 3, np.random.default_rng(1), [0.1, 0.5, 0.99]))
    xr.testing.assert_identical(*seeded)


def test_interval_of_the_median_covers_it() -> None:
    rng = np.random.default_rng(8)
    group, repeats, held = np.repeat(np.arange(50), 6), 200, 0
    for _ in range(repeats):
        error = np.exp(rng.standard_normal(50)[group] + rng.standard_normal(300))  # median 1
        values = xr.DataArray(error[:, np.newaxis], dims=("snapshot", "method"), coords={"method": ["a"]})
        result = distribution(values, group, rng, num_resamples=300).isel(quantile=0)
        held += bool(result.value_low <= 1 <= result.value_high)
    assert 0.90 <= held / repeats <= 0.985


def test_everything_is_labelled_and_can_be_stored(rng: np.random.Generator, tmp_path) -> None:
    logs = posterior(rng.standard_normal((6, 9))).assign_coords(group=("snapshot", np.arange(6) // 2))
    measured = measure(logs, np.arange(6), 10.0, rng)
    assert "group" in measured.coords
    rows = measured.expand_dims(method=["a"]).assign_coords(stratum=("snapshot", np.arange(6) % 4))
    results = [
        measured,
        summary(rows, 9, rng),
        paired(rows, "a", "a", rng),
        by(rows, "stratum", 9, rng),
        coverage(measured.level, measured.group, rng),
        distribution(rows.map_error, rows.group, rng),
    ]
    for number, result in enumerate(results):
        for name, variable in result.data_vars.items():
            assert {"units", "long_name"} <= set(variable.attrs), name
        result.to_netcdf(tmp_path / f"{number}.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / f"{number}.nc", engine="h5netcdf") as stored:
            xr.testing.assert_equal(stored, result)


def test_errors_name_the_argument(rng: np.random.Generator) -> None:
    logs, rows = posterior(np.zeros((2, 4))), table(np.full((4, 1), -1.0), np.arange(4), stratum=np.array([0, 1, 2, 7]))
    values = xr.DataArray(np.ones((4, 1)), dims=("snapshot", "method"), coords={"method": ["a"]})
    calls = {
        "Expected 'log_posterior' with dims": lambda: measure(logs.T, [0, 1], 1.0, rng),
        "Expected normalised 'log_posterior'": lambda: measure(logs + 1, [0, 1], 1.0, rng),
        "Expected normalised 'log_posterior', ": lambda: measure(logs * np.nan, [0, 1], 1.0, rng),
        r"Expected 'truth' as integers in \[0, 4\)": lambda: measure(logs, [0, 4], 1.0, rng),
        "Expected 'truth' as integers": lambda: measure(logs, [0.0, 1.0], 1.0, rng),
        r"Expected 'truth' of shape \(2,\), got \(1,\)": lambda: measure(logs, [0], 1.0, rng),
        r"Expected 'position' of shape \(2, 2\)": lambda: measure(logs, [0, 1], 1.0, rng, [[1.0, 2.0, 3.0]] * 2),
        "Expected 'area' in": lambda: measure(logs, [0, 1], 0.0, rng),
        "Expected 'paths' with 'order'": lambda: stratum(path_sets([[(1.0, 1)]]).drop_vars("order"), 0.0),
        "Expected 'num_candidates' in": lambda: summary(rows, 1, rng),
        "Expected 'num_resamples' in": lambda: summary(rows, 4, rng, 10),
        "Expected 'rows' with 'log_posterior'": lambda: summary(rows.drop_vars("log_posterior"), 4, rng),
        "Expected 'rows' with coordinates": lambda: summary(rows.drop_vars("group"), 4, rng),
        "Expected 'rows.log_posterior' at most 0": lambda: summary(rows + 2, 4, rng),
        "Expected 'rows.log_posterior' at most 0 and not NaN": lambda: summary(rows * np.nan, 4, rng),
        r"Expected 'second' in \['a'\], got 'b'": lambda: paired(rows, "a", "b", rng),
        r"Expected 'key' in \['stratum', 'snr_db'\]": lambda: by(rows, "snr_db", 4, rng),
        "Expected 'rows.stratum'": lambda: by(rows, "stratum", 4, rng),
        "Expected 'level' as a list": lambda: coverage([0.5, 1.5], [0, 1], rng),
        "Expected 'nominal' as a list": lambda: coverage([0.5, 0.5], [0, 1], rng, [np.nan]),
        r"Expected 'group' of shape \(2,\)": lambda: coverage([0.5, 0.5], [0], rng),
        "Expected 'group' with at least 2 layouts": lambda: coverage([0.5, 0.5], [3, 3], rng),
        r"Expected 'values' \(snapshot, method\)": lambda: distribution(values * np.nan, np.arange(4), rng),
        r"Expected 'shares' in \(0, 1\]": lambda: distribution(values, np.arange(4), rng, [0.0]),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message):
            call()
