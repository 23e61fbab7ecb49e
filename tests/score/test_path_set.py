"""The likelihood of path sets against closed forms, brute force, draws from its own model, and invariances."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import xarray as xr
from path_sets import Model, Path, dataset, draw_paths
from scipy import stats

import locus
from locus.experiment.case import Case
from locus.judge.credible import credible_level
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants
from locus.settings.config import EstimatorOptions, Radio

EXACT = locus.Tolerance(0, 0, 0, 0)
SMALL = Radio(num_subcarriers=16, num_antennas=4, sync_window=1.0)
LOW = EstimatorOptions(false_alarm=0.999)
PLAIN = dataclasses.replace(Constants(), floor=0.0, changed=0.0, doubt=0.0)


def scorer(model: Model) -> PathSet:
    return PathSet(model.radio, model.estimator, EXACT, model.constants)


def likelihood(one: PathSet, sets: list[list[Path]], seen: list[list[Path]], padding: int = 0) -> np.ndarray:
    """Log likelihood (snapshot, candidate)."""
    radio = one.radio or Radio()
    paths, observed = dataset(sets, "candidate", radio, padding), dataset(seen, "snapshot", radio, padding)
    return np.asarray(one.log_likelihood(paths, observed).values)


def test_one_path_without_clutter_has_the_closed_form() -> None:
    """At an energy of 900 there is no noise, and without unknown paths only the traced one is left.

    The sync offset is unknown, so that the delay is uniform over the period.
    """
    model = Model(constants=dataclasses.replace(PLAIN, unknown=1e-30))
    for angle, x in ((0.4, 900.0), (0.42, 950.0), (0.3, 800.0), (math.pi - 0.4, 1000.0)):
        expected = 0.0
        for share, sine_excess, delay_excess, relative in model.kinds():
            scale, law = model.strength(900.0, relative)
            width = model.deviations(x, 900.0, sine_excess, delay_excess)[0]
            sine = stats.norm.pdf(math.sin(angle), math.sin(0.4), width)
            expected += share * law.pdf(2 * x / scale) * 2 / scale * sine / model.radio.num_subcarriers
        expected = math.log(expected * (1 - PLAIN.miss)) - model.num_clutter(model.threshold)
        (found,) = likelihood(scorer(model), [[(0.4, 20.0, 900.0)]], [[(angle, 77.0, x)]])[0]
        assert found == pytest.approx(expected, abs=1e-4)


def test_the_expected_number_of_false_paths_is_the_estimators() -> None:
    """No path on either side: what is left is the probability that noise yields none."""
    for rate in (0.01, 0.3, 0.999):
        options = EstimatorOptions(false_alarm=rate)
        (found,) = likelihood(PathSet(None, options, EXACT, PLAIN), [[]], [[]])[0]
        assert found == pytest.approx(math.log1p(-rate) - PLAIN.unknown, abs=1e-6)


@pytest.mark.parametrize("energy", [1.0, 8.0, 12.0, 40.0, 1000.0])
@pytest.mark.parametrize("tolerance", [EXACT, locus.Tolerance()], ids=["exact", "default"])
def test_every_traced_path_has_mass_one(energy: float, tolerance: locus.Tolerance) -> None:
    """The density of what one path may give, integrated above the threshold, and the probability of a miss sum to 1.

    The path's share is the likelihood with the path less that of clutter with the path missed, which holds for a
    mixture if all of its components expect the same clutter. The kernel leaves out pairs far below clutter, and
    detection is interpolated: 0.5 % together.
    """
    one = PathSet(SMALL, EstimatorOptions(), tolerance, dataclasses.replace(PLAIN, unknown_per_metre=0.0))
    root = math.sqrt(energy)
    roots = np.linspace(math.sqrt(Model(SMALL).threshold), max(root * 2.5, root + 6, 8), 161)
    sines = math.sin(0.3) + np.concatenate([-np.geomspace(1, 1e-3, 60), [0], np.geomspace(1e-3, 1, 60)])
    seen = [[(math.asin((s + 1) % 2 - 1), 3.0, u * u)] for u in roots for s in sines]
    missed, nothing = likelihood(one, [[(0.3, 5.0, energy)], []], [[]])[0]
    with_path, without = np.exp(likelihood(one, [[(0.3, 5.0, energy)], []], seen) - nothing).T
    share = (with_path - math.exp(missed - nothing) * without).reshape(len(roots), len(sines))
    over_sines = np.trapezoid(share, sines, axis=1)
    mass = np.trapezoid(over_sines * 2 * roots, roots) * SMALL.num_subcarriers
    assert mass + math.exp(missed - nothing) == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_close_to_brute_force(seed: int) -> None:
    """Sets of up to three paths, drawn from one of three candidates.

    Integration over the sync offset errs by less than 0.1 nats, 0.02 on average (four nodes per peak). Letting a
    traced path explain several observed ones, where the exact sum over assignments lets it explain one, adds less than
    0.05 nats on average. Paths merge up to 1.5 cells apart, so that some of these few do.
    """
    rng = np.random.default_rng(seed)
    model = Model(SMALL, EstimatorOptions(num_paths=3), dataclasses.replace(PLAIN, merge_cells=1.5))
    sets = [draw_paths(rng, n, SMALL) for n in (1, 2, 3)]
    seen = [model.draw(sets[n % 3], rng) for n in range(9)]
    found = likelihood(scorer(model), sets, seen)
    product, exact = (
        np.array([[model.log_likelihood(paths, one, flag, 3000) for paths in sets] for one in seen])
        for flag in (False, True)
    )
    assert np.abs(found - product).max() < 0.1
    assert np.abs(found - product).mean() < 0.02
    assert (product > exact - 1e-9).all()
    assert (product - exact).mean() < 0.05


@pytest.mark.parametrize("false_alarm", [0.3, 0.999])
def test_on_its_own_model_it_is_calibrated_and_reaches_the_entropy(false_alarm: float) -> None:
    """The mean of log p(truth) is minus the mean entropy, and credible levels are uniform.

    With 400 independent snapshots the mean difference should be within 4 of its standard errors, and the share of
    truths inside a set of mass u within 4 sqrt(u (1 - u) / 400).
    """
    rng = np.random.default_rng(1)
    model = Model(Radio(sync_window=1.0), EstimatorOptions(false_alarm=false_alarm), PLAIN)
    sets = [draw_paths(rng, int(rng.integers(0, 5)), model.radio, (0, 16)) for _ in range(100)]
    truth = rng.integers(0, len(sets), 400)
    seen = [model.draw(sets[index], rng) for index in truth]
    paths, observed = dataset(sets, "candidate", model.radio), dataset(seen, "snapshot", model.radio)
    logs = scorer(model).log_posterior(paths, observed).values
    own = logs[np.arange(len(logs)), truth]
    entropy = -(np.exp(logs) * logs).sum(axis=1)
    excess = -own - entropy
    assert -math.log(len(sets)) < own.mean() < -0.3  # neither hopeless nor trivial
    assert abs(excess.mean()) < 4 * excess.std() / math.sqrt(len(excess))
    levels = credible_level(logs, truth, rng.random(len(logs)))
    for mass in (0.25, 0.5, 0.75, 0.9):
        assert abs((levels <= mass).mean() - mass) < 4 * math.sqrt(mass * (1 - mass) / len(levels))


@pytest.mark.parametrize("energy", [8.0, 12.0, 20.0, 50.0])
def test_the_real_estimator_finds_paths_as_often_and_as_accurately_as_modelled(energy: float) -> None:
    """One path in 400 snapshots, sought with the usual threshold.

    The share found has a standard error of 0.025; four of them. The mean square of the errors over the modelled
    variances has one of sqrt(2 / 170) = 0.11 at the weakest; four of them, and 20 % for the sine, whose error is not
    small against a resolution cell there.
    """
    radio, model = Radio(), Model(estimator=EstimatorOptions(num_paths=1))
    amplitude = math.sqrt(energy / model.size * radio.noise_power / radio.tx_power)
    values = {"aoa": 0.2, "delay": 1e-7, "gain": complex(amplitude), "valid": True}
    dims = ("snapshot", "path")
    paths = xr.Dataset({name: (dims, np.full((400, 1), value)) for name, value in values.items()})
    taken = locus.observe(paths, np.random.default_rng(0).spawn(400), radio)
    found = locus.estimate(taken, model.estimator).isel(path=0)
    late = (found.delay - 1e-7 + taken.sync_offset) * radio.bandwidth
    late = (late + radio.num_subcarriers / 2) % radio.num_subcarriers - radio.num_subcarriers / 2
    sine = np.sin(found.aoa) - math.sin(0.2)
    own = (found.valid & (abs(late) < 1.5) & (abs(sine) < 0.3)).values  # the others are false paths
    expected = 1 - model.miss(energy, model.threshold)
    assert own.mean() == pytest.approx(expected, abs=0.1)
    widths = [model.deviations(model.size * 10 ** (one / 10), energy, 0, 0) for one in found.snr_db.values[own]]
    sine_width, delay_width = np.array(widths).T
    assert 0.5 < np.mean((late.values[own] / delay_width) ** 2) < 1.45
    assert 0.5 < np.mean((sine.values[own] / sine_width) ** 2) < 1.65


@pytest.fixture
def scene() -> tuple[list[list[Path]], list[list[Path]]]:
    """Twelve candidates, and what is reported of the first four."""
    rng = np.random.default_rng(3)
    model = Model(estimator=LOW)
    sets = [draw_paths(rng, int(rng.integers(0, 8)), model.radio) for _ in range(12)]
    return sets, [model.draw(one, rng) for one in sets[:4]]


def test_order_padding_and_sync_offset_do_not_matter(scene: tuple[list[list[Path]], list[list[Path]]]) -> None:
    """Sums over paths are rounded in the order of their strength, whatever the order in which they come."""
    sets, seen = scene
    one = PathSet(Radio(), LOW)
    found = likelihood(one, sets, seen)
    backwards = [path[::-1] for path in sets], [path[::-1] for path in seen]
    np.testing.assert_allclose(likelihood(one, *backwards), found, rtol=0, atol=1e-9)
    np.testing.assert_allclose(likelihood(one, sets[::-1], seen)[:, ::-1], found, rtol=0, atol=1e-9)
    np.testing.assert_allclose(likelihood(one, sets, seen, padding=5), found, rtol=0, atol=1e-9)
    later = [[(angle, (delay + 45.678) % 128, x) for angle, delay, x in paths] for paths in seen]
    np.testing.assert_allclose(likelihood(one, sets, later), found, rtol=0, atol=1e-6)
    np.testing.assert_allclose(likelihood(one, sets, seen[:1])[0], found[0], rtol=0, atol=1e-9)


def test_a_single_snapshot_and_a_prior() -> None:
    rng = np.random.default_rng(5)
    model = Model()
    sets = [draw_paths(rng, 3, model.radio) for _ in range(5)]
    paths, observed = dataset(sets, "candidate", model.radio), dataset([model.draw(sets[0], rng)], "snapshot", Radio())
    paths = paths.assign_coords(x=("candidate", np.arange(5.0)), y=("candidate", np.zeros(5)))
    one = PathSet(constants=dataclasses.replace(Constants(), doubt=0.0))
    both, single = (one.posterior(paths, seen) for seen in (observed, observed.isel(snapshot=0)))
    assert both.dims == ("snapshot", "candidate")
    assert single.dims == ("candidate",)
    np.testing.assert_array_equal(both.values[0], single.values)
    assert float(single.sum()) == pytest.approx(1)
    np.testing.assert_array_equal(single.x, paths.x)
    assert float(single.min()) >= Constants().floor / 5 * (1 - 1e-12)
    weights = np.array([0, 1, 2, 3, 4.0])
    weighted = one.posterior(paths, observed, weights).values[0]
    raw = np.exp(one.log_likelihood(paths, observed).values[0]) * weights
    share = Constants().floor
    np.testing.assert_allclose(weighted, (1 - share) * raw / raw.sum() + share * weights / 10, rtol=1e-9)
    with pytest.raises(ValueError, match="Expected 'prior'"):
        one.posterior(paths, observed, weights[:3])


def test_a_wrong_twin_is_doubted() -> None:
    """The log likelihood is divided by 1 + doubt times the mean level, which :meth:`locus.PathSet.levels` gives."""
    rng = np.random.default_rng(5)
    model = Model(estimator=LOW)
    sets = [draw_paths(rng, 5, model.radio) for _ in range(8)]
    shifted = [(a + 0.05, d + 0.4 * n, e) for n, (a, d, e) in enumerate(sets[0])]
    paths, observed = dataset(sets, "candidate", model.radio), dataset([sets[0], shifted], "snapshot", model.radio)
    one = PathSet(estimator=LOW, constants=dataclasses.replace(Constants(), floor=0.0))
    levels = one.levels(paths, observed)
    mean = (levels * levels.level).sum("level")
    assert mean[0] < 0.1 < 0.25 < mean[1]
    logs = one.log_likelihood(paths, observed) / (1 + Constants().doubt * mean)
    expected = np.exp(logs - np.logaddexp.reduce(logs.values, axis=1)[:, np.newaxis])
    np.testing.assert_allclose(one.posterior(paths, observed), expected.transpose("snapshot", "candidate"), atol=1e-3)


@pytest.mark.parametrize("apart", [0.25, 0.5, 1.0, 2.0])
def test_paths_that_the_real_estimator_reports_as_one_are_expected_to_merge(apart: float) -> None:
    """Two paths 23 dB above the noise, side by side in angle, in 200 snapshots with random phases.

    Whether they merge depends on their phases, which the model averages over, and on their strength, which it leaves
    out: within 0.35 of the modelled probability.
    """
    radio, model = Radio(), Model()
    amplitude = math.sqrt(200 / model.size * radio.noise_power / radio.tx_power)
    rng = np.random.default_rng(0)
    gain = amplitude * np.exp(2j * np.pi * rng.random((200, 2)))
    angles = np.arcsin([0.1, 0.1 + apart * 2 / radio.num_antennas])
    values = {
        "aoa": np.broadcast_to(angles, gain.shape),
        "delay": np.full(gain.shape, 1e-7),
        "gain": gain,
        "valid": np.ones(gain.shape, dtype=bool),
    }
    paths = xr.Dataset({name: (("snapshot", "path"), value) for name, value in values.items()})
    found = locus.estimate(locus.observe(paths, rng.spawn(200), radio), EstimatorOptions(false_alarm=0.01))
    single = float((found.valid.sum("path") < 2).mean())
    (_, _), (merged, _) = model.together([(angles[0], 20.0, 200.0), (angles[1], 20.0, 199.0)])
    assert single == pytest.approx(merged, abs=0.35)


def test_a_pair_that_fits_worse_is_less_likely() -> None:
    """Angle and delay away from the prediction, with a known and with an unknown sync offset."""
    known = PathSet(Radio(sync_window=0.0), tolerance=EXACT)
    path, off = (0.3, 40.0, 50.0), np.array([0, 0.02, 0.05, 0.1, 0.2, 0.4])
    for sign in (-1, 1):
        angles = likelihood(known, [[path]], [[(0.3 + sign * one, 40.0, 50.0)] for one in off])[:, 0]
        assert (np.diff(angles) < 0).all()
        delays = likelihood(known, [[path]], [[(0.3, 40.0 + sign * one * 4, 50.0)] for one in off])[:, 0]
        assert (np.diff(delays) < 0).all()
        two = [path, (-0.5, 60.0, 70.0)]
        seen = [[(0.3, 10.0 + sign * one * 4, 50.0), (-0.5, 30.0, 70.0)] for one in off]
        delays = likelihood(PathSet(tolerance=EXACT), [two], seen)[:, 0]
        assert (np.diff(delays) < 0).all()


def test_a_known_sync_offset_and_a_short_window_tell_more() -> None:
    """With the offset known, the likelihood is the integrand at that offset; else its mean over the window.

    The width of the integrand is that of a clean estimate, but 8 % are disturbed and wider: 0.3 nats.
    """
    path, seen = (0.3, 5.0, 200.0), (0.3, 5.0, 200.0)
    model = Model(constants=dataclasses.replace(PLAIN, unknown=1e-30))
    at_zero = math.log(model.pair(path, seen, np.zeros(1))[0]) - model.num_clutter(model.threshold)
    _, sine_excess, delay_excess, _ = model.kinds()[0]
    width = model.deviations(200.0, 200.0, sine_excess, delay_excess)[1] * math.sqrt(2 * math.pi)
    for periods, tolerance in ((0.0, 1e-4), (0.5, 0.3), (1.0, 0.3), (6.25, 0.3)):
        radio = Radio(sync_window=periods * model.radio.period)
        window = min(periods, 1) * radio.num_subcarriers
        expected = at_zero + (math.log(width / window) if window else 0)
        (found,) = likelihood(PathSet(radio, EstimatorOptions(), EXACT, model.constants), [[path]], [[seen]])[0]
        assert found == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("bandwidth", [200e6, 20e6], ids=["paper", "narrow"])
def test_a_capture_may_start_anywhere_in_the_period(bandwidth: float) -> None:
    """Samples moved around the period say the same of every place, unless a window is set."""
    radio, rng = Radio(bandwidth=bandwidth), np.random.default_rng(3)
    layout = locus.Layout.random(rng)
    paths = locus.make_twin("image", radio).trace(layout, locus.Pose.random(layout, rng), layout.sample(200, rng))
    strongest = int(np.argmax(paths.snr_db.values[:, 0]))
    iq = locus.observe(paths.isel(candidate=strongest), rng, radio)
    one = PathSet(radio)
    starts = np.arange(0, radio.num_subcarriers, 16)
    moved = [locus.estimate(iq.assign(iq=iq.iq.roll(sample=start)), one.estimator, residual=True) for start in starts]
    logs = np.array([one.log_posterior(paths, observed).values for observed in moved])
    assert logs[0, strongest] == logs[0].max()
    np.testing.assert_allclose(logs, np.broadcast_to(logs[0], logs.shape), atol=1e-3)


def test_a_wrong_plan_excuses_reflected_paths_only() -> None:
    """A path that is 3 m too long fits worse if it is direct than after three reflections off walls that may be off."""
    path, late = [(0.3, 40.0, 100.0)], [[(0.3, 40.0, 100.0)], [(0.3, 42.0, 100.0)]]
    radio = Radio(sync_window=0.0)
    one = PathSet(radio, tolerance=locus.Tolerance(plan=1, position=0, heading=0, material_db=0))
    paths, observed = dataset([path, path], "candidate", radio), dataset(late, "snapshot", radio)
    order = xr.DataArray([[0], [3]], dims=("candidate", "path"))
    direct, reflected = np.diff(one.log_likelihood(paths.assign(order=order), observed).values, axis=0)[0]
    assert direct < reflected - 1 < -1


def test_only_paths_stronger_than_the_weakest_reported_are_missed_when_all_slots_are_taken() -> None:
    """An unreported path costs what its absence tells: little if it may have lost its slot to stronger ones."""
    strong = [(-1 + 0.3 * n, 10.0 * n, 1000.0) for n in range(6)]
    extra = (1.2, 90.0, 100.0)
    sets, six, five = [strong, [*strong, extra]], [strong], [strong[:5]]
    full = np.diff(likelihood(PathSet(tolerance=EXACT), sets, six)[0])[0]
    partly = np.diff(likelihood(PathSet(tolerance=EXACT), sets, five)[0])[0]
    assert full == pytest.approx(0, abs=0.05)
    assert partly < -3


def test_a_candidate_without_paths_has_the_likelihood_of_clutter() -> None:
    model = Model(constants=PLAIN)
    seen = [(0.1, 3.0, 12.0), (-0.4, 70.0, 15.0)]
    expected = sum(math.log(model.clutter(x)) for _, _, x in seen) - model.num_clutter(model.threshold)
    (found, weak) = likelihood(scorer(model), [[], [(0.3, 5.0, 1e-3)]], [seen])[0]
    assert found == pytest.approx(expected, abs=1e-6)
    assert weak == found


@pytest.mark.parametrize("decibels", [-60, -30, 0, 30, 60])
@pytest.mark.parametrize("tolerance", [EXACT, None], ids=["exact", "default"])
def test_it_is_finite_for_any_strength_and_number_of_paths(decibels: float, tolerance: locus.Tolerance | None) -> None:
    rng = np.random.default_rng(0)
    gain = 10 ** (decibels / 10)
    sets = [[(a, d, gain * 1024 * e) for a, d, e in draw_paths(rng, n, Radio(), (-5, 5))] for n in (0, 1, 16)]
    for options in (EstimatorOptions(), EstimatorOptions(num_paths=16), EstimatorOptions(num_paths=64)):
        one = PathSet(Radio(), options, tolerance)
        found = likelihood(one, sets, [[(math.asin(math.sin(a)), d, e) for a, d, e in paths] for paths in sets])
        assert np.isfinite(found).all()
        assert found[2].argmax() == 2 or decibels < 0


@pytest.mark.parametrize(
    "changes",
    [
        {"num_antennas": 4},
        {"num_antennas": 16},
        {"bandwidth": 50e6},
        {"bandwidth": 400e6},
        {"num_antennas": 1},
        {"carrier": 3.5e9},
        {"num_subcarriers": 32},
    ],
    ids=str,
)
def test_other_radios(changes: dict[str, float]) -> None:
    """Through the real estimator: the true candidate, of 60, is far more probable than a guess."""
    radio = Radio(**changes)  # type: ignore[arg-type]
    rng = np.random.default_rng(2)
    layout = locus.Layout.random(rng)
    pose = locus.Pose(*layout.sample(1, rng)[0], 0.5)
    twin = locus.make_twin("image", radio)
    paths = twin.trace(layout, pose, layout.sample(60, rng))
    loud = np.argsort(-paths.snr_db.max("path").values)[:20]
    truth = paths.reset_coords(drop=True).isel(candidate=xr.DataArray(loud, dims="snapshot"))
    observed = locus.estimate(locus.observe(truth, rng.spawn(len(loud)), radio), LOW, radio)
    logs = PathSet(estimator=LOW).log_posterior(paths, observed).values
    assert logs[np.arange(len(loud)), loud].mean() + math.log(60) > 1.5


def test_a_single_antenna_sees_no_angle() -> None:
    one = PathSet(Radio(num_antennas=1), tolerance=EXACT)
    sets = [[(0.3, 5.0, 80.0), (0.5, 9.0, 60.0)]]
    first, second = likelihood(one, sets, [[(a, 5.0, 80.0), (a, 9.0, 60.0)] for a in (0.0, 0.9)])
    np.testing.assert_array_equal(first, second)


def test_a_wrong_compass_does_little_harm() -> None:
    """Turned by 4 degrees, the exact model finds all angles wrong; one that tolerates 5 degrees loses 3 nats a path."""
    rng = np.random.default_rng(0)
    true = [(a, d, e) for a, d, e in draw_paths(rng, 5, Radio(), (20, 30)) if abs(math.sin(a)) < 0.9]
    turned = [(a + math.radians(4), d, e) for a, d, e in true]
    seen = [(math.asin(math.sin(a)), d, e) for a, d, e in true]
    losses = {}
    for name, tolerance in (("exact", EXACT), ("compass", locus.Tolerance(plan=0, position=0, material_db=0))):
        right, wrong = likelihood(PathSet(tolerance=tolerance), [true, turned], [seen])[0]
        losses[name] = right - wrong
    assert losses["compass"] < losses["exact"] - 10
    assert 0 < losses["compass"] < 3 * len(true)


def test_a_room_is_told_from_guessing_through_the_real_estimator() -> None:
    """Ten snapshots of a room of the paper: at least 2 nats better than a guess among 500, as any of our methods is."""
    config = dataclasses.replace(locus.load_config("paper"), estimator=LOW)
    case = Case(config, "train", 3)
    logs = case.log_posterior(PathSet(estimator=LOW)).values
    assert logs[np.arange(len(logs)), case.truth].mean() + math.log(logs.shape[1]) > 2


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected a narrowband array, at most 0.5 samples across, got 0.86"):
        PathSet(Radio(num_antennas=16, bandwidth=400e6, carrier=3.5e9))
    good = dataset([[(0.1, 3.0, 12.0)]], "candidate", Radio())
    seen = dataset([[(0.1, 3.0, 12.0)]], "snapshot", Radio())
    with pytest.raises(ValueError, match=r"Expected 'paths' with delay \(candidate, path\), got none"):
        PathSet().posterior(good.drop_vars("delay"), seen)
    with pytest.raises(ValueError, match=r"Expected 'paths' with valid \(candidate, path\)"):
        PathSet().posterior(seen, seen)
    with pytest.raises(ValueError, match=r"Expected 'observed' with valid \(snapshot, path\)"):
        PathSet().posterior(good, good)
    with pytest.raises(ValueError, match="Expected finite aoa of valid 'observed', got NaN or infinity"):
        PathSet().posterior(good, seen.assign(aoa=seen.aoa * np.nan))


def test_levels_are_what_bayes_rule_makes_of_the_mixture() -> None:
    """Each level's own likelihood, weighted and normalised; a set drawn from the first level speaks for it."""
    rng = np.random.default_rng(5)
    model = Model(estimator=LOW)
    sets = [draw_paths(rng, 6, model.radio, (15, 30)) for _ in range(8)]
    seen = [model.draw(sets[0], rng) for _ in range(40)]
    paths, observed = dataset(sets, "candidate", model.radio), dataset(seen, "snapshot", model.radio)
    one = PathSet(model.radio, LOW, constants=PLAIN)
    found = one.levels(paths, observed)
    assert found.dims == ("snapshot", "level")
    np.testing.assert_array_equal(found.level, [0, 0.3, 1])
    np.testing.assert_allclose(found.sum("level"), 1)
    prior = dict(zip((0.0, 0.3, 1.0), (0.6, 0.2, 0.2), strict=True))
    logs = []
    for level, weight in prior.items():
        part = [i for i, size in enumerate(PLAIN.levels) if size == level]
        fields = {
            name: tuple(getattr(PLAIN, name)[i] for i in part)
            for name in ("levels", "compass", "weights", "num_headings")
        }
        alone = PathSet(model.radio, LOW, constants=dataclasses.replace(PLAIN, **fields))
        logs.append(math.log(weight) + np.logaddexp.reduce(alone.log_likelihood(paths, observed).values, axis=1))
    expected = np.exp(np.stack(logs, 1) - np.logaddexp.reduce(logs, axis=0)[:, np.newaxis])
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert found.sel(level=0).mean() > 0.75
    assert one.levels(paths, observed.isel(snapshot=0)).dims == ("level",)


def test_a_transmitter_between_candidates_is_forgiven_with_the_spacing() -> None:
    """Paths of a transmitter 1 m from its candidate: delays up to 0.67 samples off, each for itself."""
    path = [(0.3, 40.0, 300.0), (-0.4, 60.0, 200.0)]
    seen = [(0.3, 40.6, 300.0), (-0.4, 59.4, 200.0)]
    radio = Radio()
    paths, observed = dataset([path], "candidate", radio), dataset([seen], "snapshot", radio)
    one = PathSet(radio, LOW, EXACT, PLAIN)
    assert one.log_likelihood(paths, observed, spacing=2.0) > one.log_likelihood(paths, observed) + 2
    exact = dataset([path], "snapshot", radio)
    assert one.log_likelihood(paths, exact, spacing=2.0) < one.log_likelihood(paths, exact)
    with pytest.raises(ValueError, match=r"Expected 'spacing' in \[0, .*got -1"):
        one.log_likelihood(paths, observed, spacing=-1.0)
