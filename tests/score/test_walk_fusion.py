"""Walks against sampled errors, single snapshots, closed forms, and draws from their own model."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus.score.path_arrays import arrange_traced
from locus.score.path_set import PathSet
from locus.score.simulate import simulate
from locus.score.tolerance import Constants
from locus.score.walk import Odometry, Walk
from locus.score.walk_images import HEADING, PLAN, RECEIVER, find_bodies, find_images
from locus.settings.config import SPEED_OF_LIGHT, EstimatorOptions, Radio
from locus.twin.antenna import element_gain_db

EXACT = locus.Tolerance(0, 0, 0, 0)
RADIO = Radio(tx_power_dbm=-20.0)
ROOM = locus.Layout(shapely.box(0, 0, 14, 10))
POSES = [locus.Pose(4.0, 3.0, 0.2), locus.Pose(5.0, 4.5, 0.9), locus.Pose(6.5, 5.0, -0.3)]
CANDIDATES = np.array([[10.0, 7.0], [10.5, 6.6], [9.3, 7.2], [10.2, 7.9], [9.9, 6.1]])
ONE_LEVEL = dataclasses.replace(
    Constants(), levels=(1.0,), compass=(1.0,), weights=(1.0,), num_headings=(1,), floor=0.0,
    sine_excess=0.2, delay_excess=0.2, strength_excess_db=2.0, tail_share=1e-9,
    unknown=1e-6, miss_per_metre=0.0, unknown_per_metre=0.0, merge_cells=1e-3, changed=0.0, doubt=0.0,
)  # fmt: skip
WRONG = locus.Tolerance(plan=0.2, position=0.2, heading=math.radians(2), material_db=0.0)
SCORER = PathSet(RADIO, EstimatorOptions(), WRONG, ONE_LEVEL)
TWIN = locus.make_twin("image", RADIO, locus.TwinOptions(max_depth=1))


def traced(room: locus.Layout = ROOM, turn: float = 0.0, shift: tuple[float, float] = (0, 0)) -> list[xr.Dataset]:
    """Paths from all poses, with the receiver displaced and turned."""
    poses = [locus.Pose(one.x + shift[0], one.y + shift[1], one.heading + turn) for one in POSES]
    return [TWIN.trace(room, pose, CANDIDATES) for pose in poses]


def fuse(paths: list[xr.Dataset], seen: list[xr.Dataset], scorer: PathSet = SCORER, room: locus.Layout = ROOM) -> Walk:
    walk = Walk(room, scorer, correlation=0.0)
    for one, other in zip(paths, seen, strict=True):
        walk.add(one, other)
    return walk


def errors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Shared errors (sample, unknown) of one level: heading, receiver, four sides; the transmitter is where it is."""
    scale = np.array([WRONG.heading, *[WRONG.position / math.sqrt(2)] * 2, 0.0, 0.0, *[WRONG.plan] * 4])
    return rng.normal(size=(count, len(scale))) * scale


def shifted(paths: xr.Dataset, draws: np.ndarray) -> xr.Dataset:
    """Paths (candidate, path) as they are with shared errors (sample, unknown): all candidates of one sample first.

    Images are displaced linearly; their lengths and angles are exact.
    """
    x, y, heading = (float(paths[name]) for name in ("rx_x", "rx_y", "rx_heading"))
    arranged = arrange_traced(paths, RADIO, Constants())
    images = find_images(ROOM, find_bodies(ROOM), arranged, (x, y, heading), CANDIDATES, known=True)
    place = arranged.length[..., np.newaxis] * images.direction + np.einsum("cjau,su->scja", images.slope, draws)
    angle = np.arctan2(place[..., 1], place[..., 0]) - heading - draws[:, np.newaxis, np.newaxis, HEADING]
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    gain = element_gain_db(angle) - element_gain_db(arranged.azimuth)
    there = np.arange(angle.shape[2]) < arranged.num_paths[:, np.newaxis]
    samples = 10 * math.log10(RADIO.num_subcarriers * RADIO.num_antennas)
    strength = 20 * np.log10(np.where(there, arranged.root, 1.0)) + gain - samples
    length = np.hypot(place[..., 0], place[..., 1])
    columns = {"aoa": angle, "delay": length / SPEED_OF_LIGHT, "snr_db": strength}
    columns["valid"] = np.broadcast_to(there, angle.shape)
    flat = {name: (("candidate", "path"), one.reshape(-1, one.shape[-1])) for name, one in columns.items()}
    return xr.Dataset(flat, attrs=paths.attrs)


def drawn(paths: list[xr.Dataset], error: np.ndarray, truth: int, rng: np.random.Generator) -> list[xr.Dataset]:
    """Snapshots of a candidate from all poses, drawn from the model with one set of shared errors."""
    exact = PathSet(RADIO, EstimatorOptions(), EXACT, ONE_LEVEL)
    return [simulate(exact, shifted(one, error[np.newaxis]), [truth], rng).isel(snapshot=0) for one in paths]


def likelihoods(walk: Walk) -> np.ndarray:
    """Log likelihoods (candidate), up to a constant."""
    logs = walk.log_posterior().values
    return np.asarray(logs - logs[0])


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 7])
def test_the_walk_is_the_mean_over_sampled_errors(seed: int) -> None:
    """Exact likelihoods of three snapshots, multiplied, averaged over 20,000 draws of the errors that they share.

    The walk takes one assignment and linear errors, and sampling is good to 0.2 nats. So candidates within ten nats of
    the best agree to 1.5 nats, where likelihoods that are multiplied without shared errors miss by 1.5 to 6. The
    compass agrees to a third of its deviation. Snapshots in the other order give the same to 1.5 nats.
    """
    rng = np.random.default_rng(seed)
    paths, truth, error = traced(), int(rng.integers(len(CANDIDATES))), errors(rng, 1)[0]
    seen = drawn(paths, error, truth, rng)
    draws = errors(rng, 20_000)
    exact = PathSet(RADIO, EstimatorOptions(), EXACT, ONE_LEVEL)
    total = np.zeros((len(draws), len(CANDIDATES)))
    for one, snapshot in zip(paths, seen, strict=True):
        total += exact.log_likelihood(shifted(one, draws), snapshot).values.reshape(total.shape)
    sampled = np.logaddexp.reduce(total, axis=0)
    likely = sampled > sampled.max() - 10
    assert likely.sum() > 1
    walk, back = fuse(paths, seen), fuse(paths[::-1], seen[::-1])
    alone = sum(SCORER.log_likelihood(one, other).values for one, other in zip(paths, seen, strict=True))
    found, turned, added = (
        np.abs(one - one[truth] - (sampled - sampled[truth]))[likely]
        for one in (walk.log_posterior().values, back.log_posterior().values, alone)
    )
    assert found.max() < 1.5
    assert turned.max() < 2.0
    assert found.mean() < 0.6 * added.mean()

    weight = np.exp(total - total.max()).sum(axis=1)
    mean = weight @ draws[:, HEADING] / weight.sum()
    deviation = math.sqrt(weight @ (draws[:, HEADING] - mean) ** 2 / weight.sum())
    heading = walk.heading_error()
    assert heading.mean == pytest.approx(mean, abs=0.5 * deviation)
    assert heading.deviation == pytest.approx(deviation, rel=0.25)


def test_rooms_that_are_traced_again_agree() -> None:
    """The same with 1,500 rooms whose sides are really displaced, and with receivers that really stand elsewhere.

    So few draws are good to half a nat.
    """
    rng = np.random.default_rng(1)
    paths, truth = traced(), 2
    seen = drawn(paths, errors(rng, 1)[0], truth, rng)
    exact = PathSet(RADIO, EstimatorOptions(), EXACT, ONE_LEVEL)
    draws = errors(rng, 1500)
    worlds: list[list[xr.Dataset]] = [[] for _ in POSES]
    for error in draws:
        corners = ROOM.walls[:, :2].copy()
        for side, (x0, y0, x1, y1) in enumerate(ROOM.walls):
            normal = np.array([y0 - y1, x1 - x0]) / math.hypot(x1 - x0, y1 - y0)
            corners[[side, (side + 1) % 4]] += error[PLAN + side] * normal
        room = locus.Layout(shapely.Polygon(corners))
        shift = (float(error[RECEIVER]), float(error[RECEIVER + 1]))
        for step, one in enumerate(traced(room, float(error[HEADING]), shift)):
            worlds[step].append(one[["aoa", "delay", "snr_db", "valid"]].drop_vars(["rx_x", "rx_y", "rx_heading"]))
    total = np.zeros((len(draws), len(CANDIDATES)))
    for one, snapshot in zip(worlds, seen, strict=True):
        joined = xr.concat(one, "candidate").assign_attrs(paths[0].attrs)
        total += exact.log_likelihood(joined, snapshot).values.reshape(total.shape)
    sampled = np.logaddexp.reduce(total, axis=0)
    likely = sampled > sampled.max() - 10
    logs = fuse(paths, seen).log_posterior().values
    assert likely[truth]
    assert np.abs(logs - logs[truth] - (sampled - sampled[truth]))[likely].max() < 2.0


def large() -> tuple[list[xr.Dataset], xr.Dataset, locus.Layout]:
    """Paths of 60 candidates in a random room, and one snapshot of each of two of them."""
    rng = np.random.default_rng(5)
    layout = locus.Layout.random(rng)
    pose, points = locus.Pose.random(layout, rng), layout.sample(60, rng)
    paths = locus.make_twin("image").trace(layout, pose, points)
    seen = simulate(PathSet(), paths, np.flatnonzero(paths.valid.any("path"))[:12], rng)
    return [paths], seen, layout


@pytest.mark.parametrize("spacing", [0.0, 2.0])
def test_one_snapshot_has_the_posterior_of_a_path_set(spacing: float) -> None:
    """With an exact plan and compass, and no cell, both share the same errors: the receiver's position.

    They differ in what the path set leaves out, 0.1 % of the likelihood. In a cell, path sets place the transmitter
    independently for each path; a wrong compass has no effect on strengths there; and a wrong plan moves every
    reflection independently: together that makes a quarter of a nat on average.
    """
    (paths,), seen, layout = large()
    differences = {}
    for plan, tolerance in ((False, locus.Tolerance(plan=0, heading=0)), (True, locus.Tolerance())):
        scorer = PathSet(tolerance=tolerance)
        logs = scorer.log_posterior(paths, seen, spacing=spacing).values
        found = []
        for snapshot in range(seen.sizes["snapshot"]):
            walk = Walk(layout, scorer, spacing=spacing)
            walk.add(paths, seen.isel(snapshot=snapshot))
            found.append(walk.log_posterior().values)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
        differences[plan] = np.abs(np.array(found) - logs)
    if spacing == 0:
        assert differences[False].max() < 0.01
    assert differences[True].mean() < 0.25
    assert differences[True].max() > 0.01


def test_plans_with_many_bodies_err_independently_as_path_sets_do() -> None:
    (paths,), seen, layout = large()
    many = dataclasses.replace(layout, obstacles=(), materials=())
    boxes = tuple(shapely.box(x, 1, x + 0.5, 1.5) for x in range(5, 80, 4))
    many = dataclasses.replace(many, obstacles=boxes, materials=())
    scorer = PathSet(tolerance=locus.Tolerance(heading=0))
    walk = Walk(many, scorer)
    walk.add(paths.drop_vars("order"), seen.isel(snapshot=0))
    expected = scorer.log_posterior(paths.drop_vars("order"), seen.isel(snapshot=0)).values
    np.testing.assert_allclose(walk.log_posterior().values, expected, atol=0.01)
    walk.add(paths, seen.isel(snapshot=1))
    assert np.isfinite(walk.log_posterior()).all()


def test_repeating_a_snapshot_does_not_calibrate_the_compass_forever() -> None:
    """One path: compass and receiver position explain its angle together, however often it is heard.

    Variances h of the heading and a of the angle by position leave h a / (h + a) of the heading. Other paths are too
    weak to be reported, and the path's own errors shrink with the number of snapshots.
    """
    radio = Radio(tx_power_dbm=10.0)
    room, pose, points = (
        locus.Layout(shapely.box(0, 0, 400, 400)),
        locus.Pose(200, 200, 0.0),
        np.array([[220.0, 200.0]]),
    )
    tolerance = locus.Tolerance(plan=0, position=0.5, heading=math.radians(2), material_db=0)
    constants = dataclasses.replace(ONE_LEVEL, sine_excess=0.02)
    paths = locus.make_twin("image", radio, locus.TwinOptions(max_depth=0)).trace(room, pose, points)
    seen = paths[["aoa", "delay", "snr_db", "valid"]].isel(candidate=0).reset_coords(drop=True)
    seen["aoa"] = seen.aoa + 0.02
    walk = Walk(room, PathSet(radio, EstimatorOptions(), tolerance, constants))
    deviations = []
    for _ in range(30):
        walk.add(paths, seen)
        deviations.append(walk.heading_error().deviation)
    by_heading, by_place = tolerance.heading**2, tolerance.position**2 / 2 / 20**2
    left = math.sqrt(by_heading * by_place / (by_heading + by_place))
    assert deviations[-1] == pytest.approx(left, rel=0.02)
    assert deviations[0] == pytest.approx(left, rel=0.1)
    expected = -0.02 * by_heading / (by_heading + by_place)  # an angle that is too large: the true heading is smaller
    assert walk.heading_error().mean == pytest.approx(expected, rel=0.05)
    assert walk.heading_error().low < expected < walk.heading_error().high


def test_a_path_that_is_blocked_counts_once_from_one_place() -> None:
    """From one pose, the same missing path is one error of the plan. From poses far apart it is evidence each time."""
    constants = dataclasses.replace(ONE_LEVEL, miss=0.01, miss_per_metre=0.5, levels=(1.0,))
    scorer = PathSet(RADIO, EstimatorOptions(), locus.Tolerance(plan=0.2, position=0, heading=0), constants)

    def cost(distance: float) -> np.ndarray:
        """What a path that is never seen costs the first candidate after each snapshot."""
        walk, found = Walk(locus.Layout(shapely.box(0, 0, 200, 10)), scorer, correlation=0.0), []
        for step in range(6):
            pose = locus.Pose(4.0 + distance * step, 3.0, 0.2)
            place = np.array([[190.0, 7.0], [190.0, 7.5]])
            paths = TWIN.trace(walk.layout, pose, place).isel(path=slice(0, 1)).copy(deep=True)
            paths["snr_db"], paths["valid"] = paths.snr_db * 0 + 10.0, paths.valid & [[True], [False]]
            seen = paths[["aoa", "delay", "snr_db", "valid"]].isel(candidate=1).reset_coords(drop=True)
            walk.add(paths, seen)
            found.append(float(np.subtract(*walk.log_posterior().values[::-1])))
        return np.array(found)

    same, apart = cost(0.0), cost(25.0)
    assert same[0] == pytest.approx(apart[0], abs=1e-6)
    assert same[0] == pytest.approx(-math.log(0.11), abs=0.02)  # 0.01, and 0.5 per metre
    assert same[-1] < 1.2 * same[0]
    assert apart[-1] > 5.5 * apart[0]


def test_on_its_own_model_the_walk_is_calibrated() -> None:
    """Of 150 walks with errors drawn from the tolerance, nine tenths lie in 90 % sets, and so do their compasses.

    Four standard errors of a share are 0.1. The entropy promised and the loss found agree within four of theirs.
    """
    rng = np.random.default_rng(8)
    paths, levels, inside, excess = traced(), [], [], []
    for error in errors(rng, 150):
        truth = int(rng.integers(len(CANDIDATES)))
        walk = fuse(paths, drawn(paths, error, truth, rng))
        logs = walk.log_posterior().values
        probability, share = np.exp(logs), rng.random()
        levels.append(probability[logs > logs[truth]].sum() + share * probability[truth])
        known = probability > 0
        excess.append(-logs[truth] + probability[known] @ logs[known])
        heading = walk.heading_error()
        inside.append(heading.low <= error[HEADING] <= heading.high)
    assert np.isfinite(excess).all()
    assert np.mean(np.array(levels) <= 0.9) == pytest.approx(0.9, abs=0.1)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.1)
    assert abs(np.mean(excess)) < 4 * np.std(excess) / math.sqrt(len(excess)) + 0.02


def test_odometry_makes_the_compass_uncertain_again() -> None:
    """Variances add; how probable it is that nothing is heard depends on them a little."""
    paths, rng = traced(), np.random.default_rng(0)
    seen = drawn(paths, np.zeros(9), 0, rng)
    nothing = seen[0].assign(valid=seen[0].valid & False)
    way = math.hypot(POSES[1].x - POSES[0].x, POSES[1].y - POSES[0].y)
    steady = 0.0
    for odometry, variance in (
        (Odometry(), 0.0),
        (Odometry(heading_per_metre=0.1), 0.01 * way),
        (Odometry(heading_per_radian=0.1), 0.01 * 0.7),
    ):
        walk = Walk(ROOM, SCORER, odometry=odometry)
        walk.add(paths[0], seen[0])
        walk.add(paths[1], nothing)
        steady = steady or walk.heading_error().deviation
        assert walk.heading_error().deviation == pytest.approx(math.hypot(steady, math.sqrt(variance)), rel=1e-2)
    with pytest.raises(ValueError, match=r"Expected 'odometry\.heading_per_metre' in"):
        Odometry(heading_per_metre=-1.0)


def test_a_fork_leaves_the_walk_as_it_was() -> None:
    paths, rng = traced(), np.random.default_rng(0)
    seen = drawn(paths, np.zeros(9), 0, rng)
    walk = fuse(paths[:1], seen[:1])
    before, heading = walk.log_posterior().values, walk.heading_error()
    fork = walk.fork()
    fork.add(paths[1], seen[1])
    assert (walk.num_steps, fork.num_steps) == (1, 2)
    np.testing.assert_array_equal(walk.log_posterior().values, before)
    assert walk.heading_error() == heading
    walk.add(paths[1], seen[1])
    np.testing.assert_array_equal(walk.log_posterior().values, fork.log_posterior().values)


def test_correlated_snapshots_count_as_fewer() -> None:
    """At the full tolerance, three snapshots with a correlation of 0.5 count as 1.5; on an exact twin as three."""
    paths = traced()
    seen = drawn(paths, np.zeros(9), 0, np.random.default_rng(0))
    exact = PathSet(RADIO, EstimatorOptions(), EXACT, ONE_LEVEL)
    for scorer, share in ((SCORER, 0.5), (exact, 1.0)):
        logs = []
        for correlation in (0.0, 0.5):
            walk = Walk(ROOM, scorer, correlation=correlation)
            for one, other in zip(paths, seen, strict=True):
                walk.add(one, other)
            logs.append(walk.log_posterior().values)
        likely = np.isfinite(logs[0])
        plain, fewer = (one[likely] - one[0] for one in logs)
        np.testing.assert_allclose(fewer, share * plain, atol=1e-9)
    with pytest.raises(ValueError, match="Expected 'correlation' in"):
        Walk(ROOM, correlation=2.0)


@pytest.mark.parametrize("decibels", [-60.0, 0.0, 60.0])
@pytest.mark.parametrize("window", [0.0, 4e-6])
def test_it_stays_finite(decibels: float, window: float) -> None:
    """Very weak and very strong, synchronised or not, one antenna, snapshots of other candidates, or nothing heard."""
    (paths,), seen, layout = large()
    paths, seen = paths.assign(snr_db=paths.snr_db + decibels), seen.assign(snr_db=seen.snr_db + decibels)
    paths.attrs, seen.attrs = {}, {}
    for radio in (Radio(sync_window=window), Radio(sync_window=window, num_antennas=1)):
        walk = Walk(layout, PathSet(radio), spacing=1.0, prior=np.arange(paths.sizes["candidate"]))
        for snapshot in range(3):
            walk.add(paths, seen.isel(snapshot=snapshot))
        walk.add(paths, seen.isel(snapshot=0).assign(valid=seen.valid[0] & False))
        logs = walk.log_posterior().values
        assert np.isfinite(logs[1:]).all()
        assert logs[0] == -np.inf
        assert np.isfinite(walk.heading_error()).all()


def test_wrong_inputs_are_refused() -> None:
    (paths,), seen, layout = large()
    one = seen.isel(snapshot=0)
    walk = Walk(layout)
    for ask in (walk.log_posterior, walk.heading_error):
        with pytest.raises(ValueError, match="Expected a walk of at least one snapshot, got none"):
            ask()
    with pytest.raises(ValueError, match="Expected one snapshot 'observed'"):
        walk.add(paths, seen)
    with pytest.raises(ValueError, match="Expected 'paths' with the coordinate 'rx_x'"):
        walk.add(paths.drop_vars("rx_x"), one)
    with pytest.raises(ValueError, match="Expected 'prior' of shape"):
        Walk(layout, prior=[1.0]).add(paths, one)
    with pytest.raises(ValueError, match="Expected 'spacing' in"):
        Walk(layout, spacing=-1.0)
    walk.add(paths, one)
    with pytest.raises(ValueError, match="Expected the same 60 candidates as before, got 59"):
        walk.add(paths.isel(candidate=slice(1, None)), one)
    assert walk.num_steps == 1
