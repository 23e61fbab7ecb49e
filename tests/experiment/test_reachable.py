"""What could be reached: the true world is that of the snapshots, and sampled worlds are averaged as likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.book.figures import error_figures
from locus.experiment import reachable, splits, wrong_twin
from locus.experiment.conditions import Condition, conditions, exact_case, other_materials
from locus.experiment.reachable import NUM_WORLDS, Reachable
from locus.experiment.wrong_twin import Robustness
from locus.room import errors
from locus.room.layout import Pose
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants, Tolerance

CONFIG = locus.load_config("smoke")
EXACT = PathSet(tolerance=Tolerance(0, 0, 0, 0), constants=Constants())


@pytest.fixture(scope="module")
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with what could be reached under wrong twins."""
    with smoke_run(smoke_folder, lambda run: make([Robustness(run), Reachable(run)])) as made:
        yield made


def evaluate(monkeypatch: pytest.MonkeyPatch, *rows: Condition) -> np.ndarray:
    """Log posteriors (condition, snapshot, method) of the first room."""
    monkeypatch.setattr(reachable, "conditions", lambda _: list(rows))
    return reachable.evaluate_group(CONFIG, 0, Constants()).log_posterior.values


def of_truth(likelihood: np.ndarray) -> np.ndarray:
    """Log posterior of the truths of the first room, with a floor, from likelihoods (snapshot, candidate)."""
    truth = exact_case(CONFIG, 0).truth
    share = likelihood / likelihood.sum(axis=1, keepdims=True)
    return np.log(0.98 * share[np.arange(len(truth)), truth] + 0.02 / likelihood.shape[1])


def likelihoods(pose: Pose) -> np.ndarray:
    """Likelihoods (snapshot, candidate), each snapshot relative to the true room's largest, with a receiver there."""
    case = exact_case(CONFIG, 0)
    observed, reference = case.seen_by(EXACT), EXACT.log_likelihood(case.paths, case.seen_by(EXACT)).values
    logs = EXACT.log_likelihood(case.trace_believed((case.layout, pose)), observed).values
    return np.exp(logs - reference.max(axis=1, keepdims=True))


def test_the_true_world_is_that_of_the_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Condition("depth", "3 of 5", world={"max_depth": 5})
    moved = Condition("transmitter", "1 m", moved=1.0)
    found = evaluate(monkeypatch, Condition("none", "exact"), Condition("missing", "1", {"missing": 1}), deep, moved)
    case = exact_case(CONFIG, 0)
    own = EXACT.log_posterior(case.paths, case.seen_by(EXACT)).values[np.arange(len(case.truth)), case.truth]
    np.testing.assert_allclose(found[0, :, 0], own, rtol=1e-12)
    np.testing.assert_array_equal(found[1, :, 0], found[0, :, 0])
    assert np.isfinite(found[2, :, 0]).all()
    assert (found[2, :, 0] != found[0, :, 0]).any()
    assert np.isnan(found[3, :, 0]).all()
    assert np.isnan(found[[0, 2], :, 1]).all()
    assert np.isfinite(found[[1, 3], :, 1]).all()


def test_worlds_without_errors_are_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = evaluate(monkeypatch, Condition("walls", "0 m", {"walls": 0.0}))
    np.testing.assert_allclose(found[0, :, 1], of_truth(likelihoods(exact_case(CONFIG, 0).pose)), rtol=1e-9)


def test_likelihoods_of_sampled_worlds_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compass that may err to either side: some worlds are the true one, in the others it errs twice as much."""
    monkeypatch.setattr(reachable, "_REMAINING", 0.0)
    size = math.radians(4)
    found = evaluate(monkeypatch, Condition("heading", "4°", {"heading": size}))[0, :, 1]
    case = exact_case(CONFIG, 0)
    _, believed = case.believed({"heading": size})
    turn = believed.heading - case.pose.heading
    true, twice = (
        likelihoods(Pose(case.pose.x, case.pose.y, (case.pose.heading + step + math.pi) % (2 * math.pi) - math.pi))
        for step in (0.0, 2 * turn)
    )
    mixtures = [of_truth(n * true + (NUM_WORLDS - n) * twice) for n in range(NUM_WORLDS + 1)]
    (matched,) = [n for n, one in enumerate(mixtures) if np.allclose(one, found, rtol=1e-6)]
    assert 0 < matched < NUM_WORLDS


def test_worlds_are_sampled_unless_only_the_physics_differ() -> None:
    kinds = {one.kind for one in conditions(CONFIG) if not reachable.sampled(one)}
    assert kinds == {"none", "depth", "physics"}


def test_the_material_of_a_world_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The average over worlds of all materials is that of each material's likelihood, weighted by how often it came."""
    found = evaluate(monkeypatch, Condition("material", "metal", {"material": "metal"}))[0, :, 1]
    case = exact_case(CONFIG, 0)
    observed, reference = case.seen_by(EXACT), EXACT.log_likelihood(case.paths, case.seen_by(EXACT)).values
    rng, likelihood = splits.world_rng(CONFIG, "eval_random", 0), np.zeros(reference.shape)
    for _ in range(NUM_WORLDS):
        world, pose = errors.possible(
            *case.believed({"material": "metal"}),
            {"materials": (CONFIG.room.material, *other_materials(CONFIG))},
            rng,
            CONFIG.room,
        )
        assert len(set(world.materials)) == 1
        logs = EXACT.log_likelihood(case.trace_believed((world, pose)), observed).values
        likelihood += np.exp(logs - reference.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, of_truth(likelihood), rtol=1e-9)


def test_the_path_set_is_compared_on_the_same_snapshots(run: locus.Run) -> None:
    assert Reachable(run).fresh()
    rows, whole = Reachable(run).open(), wrong_twin.floored(Robustness(run).open())
    whole = whole.assign_attrs(num_candidates=rows.attrs["num_candidates"])
    found = reachable.summary(rows, whole)
    assert found.method.values.tolist() == ["path_set", "true_world", "sampled_worlds"]
    same = np.isin(whole.group, rows.group)
    loss = -whole.log_posterior.sel({"method": "path_set"})[:, same].mean("snapshot") - math.log(50)
    np.testing.assert_allclose(found.loss.sel({"method": "path_set"}), loss, atol=1e-5)
    kinds = conditions(run.config)
    known = [reachable.sampled(one) for one in kinds]
    np.testing.assert_array_equal(found.loss.sel({"method": "sampled_worlds"}).notnull(), known)
    table = error_figures.reachable_frame(found)
    assert len(table) == len(kinds)
    assert (table == "").sum().tolist() == [0, len(table) - sum(known), sum(one.moved > 0 for one in kinds)]
