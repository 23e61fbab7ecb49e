"""Training on problems with known answers, and resuming after an interruption."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from locus.judge.credible import credible_level
from locus.score import train
from locus.score.method import Method, MethodOptions
from locus.score.pairwise import PairNetwork
from locus.score.train import Examples, adjusted_loss, draw_candidates, left_out
from locus.score.weight_files import make_method
from locus.settings.config import Training
from locus.settings.profiles import load_config

ONE_PATH = MethodOptions(num_paths=1)
NOISE = 0.15
NUM_CANDIDATES = 60
FEW, ALL = 4, NUM_CANDIDATES - 1
"""Wrong candidates per step. With few, wrong weighting would show most."""


def known_problem(num_groups: int, seed: int, num_snapshots: int = 10) -> Examples:
    """Candidates are points on a line; a snapshot is the true point plus Gaussian noise. Unused features are zero."""
    rng = np.random.default_rng(seed)
    candidates = np.zeros((num_groups, NUM_CANDIDATES, 3), dtype=np.float32)
    candidates[..., 0] = rng.uniform(-1, 1, candidates.shape[:2])
    truth = rng.integers(NUM_CANDIDATES, size=(num_groups, num_snapshots))
    conditions = np.zeros((num_groups, num_snapshots, 3), dtype=np.float32)
    conditions[..., 0] = np.take_along_axis(candidates[..., 0], truth, 1) + rng.normal(0, NOISE, truth.shape)
    return Examples(*(torch.from_numpy(array) for array in (candidates, conditions, truth)))


class Truth(Method):
    """The true posterior of the known problem, by Bayes' rule."""

    name = "truth"

    def candidates(self, paths):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def conditions(self, paths, observed):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def forward(self, candidates: torch.Tensor, conditions: torch.Tensor) -> torch.Tensor:
        return -0.5 * ((candidates[..., None, :, 0] - conditions[..., :, None, 0]) / NOISE) ** 2


def fit(examples: Examples, seed: int = 0, **changes: float) -> tuple[PairNetwork, train.Trained]:
    torch.manual_seed(seed)
    method = PairNetwork(ONE_PATH)
    options = Training(**{"num_layouts": len(examples.truth), "num_epochs": 40, "batch": 8, **changes})
    return method, train.train(method, examples, options, 5e-3, (seed,), report=lambda _: None)


def covered(method: Method, examples: Examples, level: float) -> float:
    """Fraction of truths in the credible set of a given level."""
    with torch.no_grad():
        logs = torch.log_softmax(method(examples.candidates, examples.conditions).double(), -1).flatten(0, 1).numpy()
    truth = examples.truth.flatten().numpy()
    levels = credible_level(logs, truth, np.random.default_rng(0).random(len(truth)))
    return float((levels <= level).mean())


@pytest.fixture(scope="module")
def problem() -> Examples:
    return known_problem(400, seed=0)


@pytest.fixture(scope="module")
def held_out() -> Examples:
    return known_problem(200, seed=1)


LEVELS = (0.5, 0.8, 0.9)
ADDED = {"loss": (0.008, 0.006), 0.5: (0.008, 0.011), 0.8: (0.005, 0.008), 0.9: (0.004, 0.006)}
"""Excess of a trained network's loss and coverages over those of the true posterior: mean and standard deviation.

Measured by ``python tests/score/test_train.py`` over 20 seeds of weights, draws and held-out groups, for few and for
all wrong candidates; the larger of the two deviations. Rounding affects a training no more than another seed does.
"""


@pytest.fixture(scope="module")
def sampled(problem: Examples) -> PairNetwork:
    return fit(problem, num_negatives=FEW)[0]


@pytest.fixture(scope="module")
def complete(problem: Examples) -> PairNetwork:
    return fit(problem, num_negatives=ALL)[0]


def added(method: Method, examples: Examples) -> dict[str | float, float]:
    """Loss and coverages of a method minus those of the true posterior, on the same examples."""
    loss = adjusted_loss(method, examples) - adjusted_loss(Truth(), examples)
    coverages = {level: covered(method, examples, level) - covered(Truth(), examples, level) for level in LEVELS}
    return {"loss": loss, **coverages}


def test_the_true_posterior_covers_what_it_claims(held_out: Examples) -> None:
    assert adjusted_loss(Truth(), held_out) < -1
    for level in LEVELS:
        binomial = math.sqrt(level * (1 - level) / held_out.truth.numel())
        assert covered(Truth(), held_out, level) == pytest.approx(level, abs=4 * binomial)


@pytest.mark.parametrize("kind", ["sampled", "complete"])
def test_sampled_and_full_losses_are_minimised_by_the_true_posterior(
    kind: str, held_out: Examples, request: pytest.FixtureRequest
) -> None:
    for name, value in added(request.getfixturevalue(kind), held_out).items():
        mean, deviation = ADDED[name]
        assert value == pytest.approx(mean, abs=5 * deviation), name


@pytest.mark.parametrize("num_negatives", [1, FEW, 16])
def test_the_sampled_loss_makes_the_true_posterior_neither_sharper_nor_blunter(num_negatives: int) -> None:
    """With truths drawn from a network's own posterior, that posterior is true, and the mean slope of its loss zero."""
    num_groups, num_candidates = 500, 60
    rng = np.random.default_rng(0)
    method = make_method("locus_dt", ONE_PATH, seed=0)
    method.last.weight.data *= 30  # a few candidates get most of the mass
    candidates, conditions = (
        torch.from_numpy(rng.uniform(-1, 1, (num_groups, count, 3)).astype(np.float32))
        for count in (num_candidates, 20)
    )
    with torch.no_grad():
        scores = method(candidates, conditions)
    truth = (scores + torch.from_numpy(rng.gumbel(size=scores.shape))).argmax(-1)
    drawn = draw_candidates(num_groups, num_candidates, num_negatives, rng)
    rows = torch.arange(num_groups)[:, None]
    inputs = (candidates[rows, drawn], candidates[rows, truth], conditions, left_out(drawn, truth))
    slopes = np.empty(num_groups)  # with respect to a factor on all scores
    for group in range(num_groups):
        (gradient,) = torch.autograd.grad(method.loss(*(part[[group]] for part in inputs)), method.last.weight)
        slopes[group] = float((gradient * method.last.weight.detach()).sum())
    assert abs(slopes.mean()) < 4 * slopes.std() / math.sqrt(num_groups)


def test_an_unsampled_epoch_is_the_full_loss_and_gradient(problem: Examples) -> None:
    method = PairNetwork(ONE_PATH)
    part = problem.part(slice(0, 5))
    drawn = draw_candidates(5, NUM_CANDIDATES, ALL, np.random.default_rng(0))
    rows = torch.arange(5)[:, None]
    sampled = method.loss(
        part.candidates[rows, drawn], part.candidates[rows, part.truth], part.conditions, left_out(drawn, part.truth)
    )
    scores = method(part.candidates, part.conditions)
    full = torch.nn.functional.cross_entropy(scores.flatten(0, 1), part.truth.flatten())
    torch.testing.assert_close(sampled, full)
    parameters = [p for name, p in method.named_parameters() if name != "last.bias"]
    for one, other in zip(torch.autograd.grad(sampled, parameters), torch.autograd.grad(full, parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_wrong_candidates_are_drawn_uniformly_and_never_the_truth() -> None:
    """After a partial sort, the order of most elements depends on the processor and on their original positions."""
    rng = np.random.default_rng(0)
    truth = torch.tensor([[3, 7]])
    counts = np.zeros((2, 10))
    for _ in range(3000):
        drawn = draw_candidates(1, 10, 4, rng)
        assert len(np.unique(drawn)) == 5
        out = left_out(drawn, truth)
        for s in range(2):
            kept = np.delete(drawn[0].numpy(), out[0, s])
            assert len(kept) == 4
            counts[s, kept] += 1
    assert counts[0, 3] == counts[1, 7] == 0
    expected = 3000 * 4 / 9
    others = np.delete(counts.ravel(), [3, 17])
    assert np.abs(others - expected).max() < 5 * math.sqrt(expected * 5 / 9)


def test_permuted_twins_teach_nothing(problem: Examples) -> None:
    """Deliberately wrong: with candidates shuffled in both training and test, there is nothing to learn."""
    rng = np.random.default_rng(5)
    order = torch.from_numpy(rng.permuted(np.tile(np.arange(NUM_CANDIDATES), (400, 1)), axis=1))
    shuffled = problem._replace(candidates=problem.candidates[torch.arange(400)[:, None], order])
    method, result = fit(shuffled, num_epochs=10)
    assert abs(min(result.history["validation"])) < 0.05
    assert abs(adjusted_loss(method, shuffled.part(slice(-20, None)))) < 0.05


def test_a_score_that_is_told_the_answer_reaches_log_n(held_out: Examples) -> None:
    class Told(Truth):
        def forward(self, candidates: torch.Tensor, conditions: torch.Tensor) -> torch.Tensor:
            near = (candidates[..., None, :, 0] - conditions[..., :, None, 0]).abs() < 1e-9
            return 1e4 * near

    exact = torch.gather(held_out.candidates, 1, held_out.truth[..., None].expand(-1, -1, 3))
    assert adjusted_loss(Told(), held_out._replace(conditions=exact)) == pytest.approx(
        -math.log(NUM_CANDIDATES), abs=1e-6
    )


class InterruptedTrainingError(Exception):
    pass


def test_a_killed_training_ends_with_the_same_weights(
    problem: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = problem.part(slice(0, 60))
    options = Training(num_layouts=60, num_epochs=8, batch=8, num_negatives=20)

    def run(checkpoint: tuple[Path, str] | None) -> tuple[Method, train.Trained]:
        method = make_method("locus_dt", ONE_PATH, seed=4)
        return method, train.train(method, part, options, 5e-3, (1,), checkpoint, lambda _: None)

    undisturbed, reference = run(None)
    path = tmp_path / "one.checkpoint"
    save, count = train._State.save, 0

    def save_and_stop(self: train._State, *arguments: object) -> None:
        nonlocal count
        save(self, *arguments)
        count += 1
        if count in (2, 5):
            raise InterruptedTrainingError

    monkeypatch.setattr(train._State, "save", save_and_stop)
    for _ in range(2):
        with pytest.raises(InterruptedTrainingError):
            run((path, "this"))
    resumed, result = run((path, "this"))
    assert count == 8, "no epoch was computed twice"
    for name, tensor in undisturbed.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name])
    assert result.history["validation"] == reference.history["validation"]
    assert not path.exists()


def test_a_checkpoint_of_another_training_is_not_used(problem: Examples, tmp_path: Path) -> None:
    part, path = problem.part(slice(0, 20)), tmp_path / "one.checkpoint"
    options = Training(num_layouts=20, num_epochs=3, batch=8, num_negatives=20)
    state = train._State(make_method("locus_dt", ONE_PATH, seed=9), 5e-3, options)
    state.note(0.0, -99.0, 1.0)
    state.save(path, "another")
    method = make_method("locus_dt", ONE_PATH, seed=4)
    result = train.train(method, part, options, 5e-3, (1,), (path, "this"), lambda _: None)
    assert len(result.history["validation"]) == 3
    assert min(result.history["validation"]) > -99


def test_it_stops_when_validation_no_longer_improves_and_says_so(problem: Examples) -> None:
    said: list[str] = []
    part = problem.part(slice(0, 20))
    noise = part._replace(conditions=torch.zeros_like(part.conditions))  # nothing to learn
    options = Training(num_layouts=20, num_epochs=500, batch=8, patience=5)
    result = train.train(make_method("locus_dt", ONE_PATH), noise, options, 5e-3, report=said.append)
    assert len(result.history["validation"]) < 500
    assert "not improved for 5 epochs" in result.reason
    assert result.reason in said[0]


def test_validation_layouts_are_not_trained_on(problem: Examples) -> None:
    """The weights after one epoch do not depend on their truths."""
    part = problem.part(slice(0, 20))
    moved = part._replace(truth=part.truth.clone())
    moved.truth[-1] = (moved.truth[-1] + 1) % NUM_CANDIDATES
    weights = []
    for examples in (part, moved):
        method = make_method("locus_dt", ONE_PATH, seed=4)
        train.train(method, examples, Training(num_layouts=20, num_epochs=1, batch=8), 5e-3, report=lambda _: None)
        weights.append(method.twin.detach())
    assert torch.equal(*weights)


def test_one_step_of_paper_exact_runs() -> None:
    """The full schedule, 2000 epochs over all candidates, is meant for a GPU; here one step at the paper's sizes."""
    options = load_config("paper-exact").training
    assert options.num_epochs == 2000
    assert options.num_negatives == options.num_candidates - 1 == 499
    batch = dataclasses.replace(options, num_layouts=options.batch)
    method = make_method("locus_dt", MethodOptions())
    rng = torch.Generator().manual_seed(0)
    examples = Examples(
        torch.rand(options.batch, 500, 18, generator=rng),
        torch.rand(options.batch, 10, 18, generator=rng),
        torch.randint(500, (options.batch, 10), generator=rng),
    )
    state = train._State(method, options.learning_rate, batch)
    before = method.twin.detach().clone()
    train._one_epoch(state, examples, batch, np.random.default_rng(0))
    assert not torch.equal(before, method.twin)


if __name__ == "__main__":
    learning = known_problem(400, seed=0)
    for count in (FEW, ALL):
        trained = (fit(learning, seed, num_negatives=count)[0] for seed in range(20))
        found = [added(method, known_problem(200, 10_000 + seed)) for seed, method in enumerate(trained)]
        for name in ADDED:
            values = [one[name] for one in found]
            print(f"{count} {name}: {np.mean(values):.4f}, {np.std(values, ddof=1):.4f}", flush=True)
