"""Methods without a network in a run: evaluated with what each one sees, and the fingerprint's temperature fitted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.experiment import scorers, temperature
from locus.experiment.case import Case
from locus.experiment.path_set_fit import fitted
from locus.experiment.rows import Rows, methods_of
from locus.experiment.scorers import UNTRAINED_TITLES
from locus.experiment.temperature import Temperature
from locus.judge import metrics
from locus.score import angle_strength, fingerprint, path_lists, path_set, weight_files
from locus.score.angle_strength import AngleStrength
from locus.score.fingerprint import Fingerprint
from locus.score.limits import RECEIVERS

UNTRAINED = tuple(UNTRAINED_TITLES)


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with the rows of all methods."""
    with smoke_run(smoke_folder, lambda run: make([Rows(run, "eval_random")])) as made:
        yield made


def test_the_temperature_has_the_smallest_loss_on_rooms_of_the_train_split(run: locus.Run) -> None:
    assert Temperature(run).fresh()
    assert Temperature(run).groups == range(40, 60)  # only three of them validate
    found = Temperature(run).open()
    best = float(found.best)
    assert best == temperature.TEMPERATURES[int(found.loss.argmin("temperature"))]
    assert temperature.TEMPERATURES[0] < best < temperature.TEMPERATURES[-1]
    assert scorers.load(run, "fingerprint").temperature == best


def test_the_loss_of_a_temperature_is_that_of_the_scorer(run: locus.Run) -> None:
    case, found = Case(run.config, "train", 59), temperature.evaluate_group(run.config, 59)
    rows = np.arange(len(case.truth))
    for one in temperature.TEMPERATURES[[0, 90, 200]]:
        logs = Fingerprint(float(one)).log_posterior(case.paths, case.observed).values[rows, case.truth]
        np.testing.assert_allclose(found.loss.sel(temperature=one), -logs - np.log(50), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", UNTRAINED)
def test_a_row_is_the_posterior_of_the_true_candidate(run: locus.Run, name: str) -> None:
    """The path set looks at paths estimated with a lower threshold, the others at the run's own."""
    case = Case(run.config, "eval_random", 2)
    options = fitted(run).estimator if name == "path_set" else run.config.estimator
    scorer = {
        "fingerprint": Fingerprint(float(Temperature(run).open().best)),
        "angle_strength": AngleStrength(),
        "path_set": fitted(run),
    }[name]
    logs = scorer.log_posterior(case.paths, locus.estimate(case.snapshots, options, residual=True)).values
    rows = Rows(run, "eval_random").open("random")
    own = rows.log_posterior.sel({"method": name}).values[rows.group.values == 2]
    np.testing.assert_allclose(own, logs[np.arange(len(logs)), case.truth], rtol=1e-5)
    assert own.mean() > -np.log(50), "better than a guess"


def test_they_are_evaluated_wherever_the_receivers_are() -> None:
    for split in ("eval_random", "eval_grid"):
        assert methods_of(split) == (*weight_files.METHODS, *UNTRAINED, *RECEIVERS)
    assert not set(methods_of("test")) & set(UNTRAINED)


def test_rows_of_a_method_are_stale_if_its_own_recipe_changes(run: locus.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(run, "eval_random")
    before = {name: rows.hash_of(name) for name in rows.methods}
    for module, affected in (
        (path_set, {"path_set"}),
        (fingerprint, {"fingerprint"}),
        (temperature, {"fingerprint"}),
        (angle_strength, {"angle_strength"}),
        (path_lists, {"fingerprint", "angle_strength"}),
        (metrics, set(rows.methods)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, "RECIPE", module.RECIPE + 1)
            assert {name for name in rows.methods if rows.hash_of(name) != before[name]} == affected
    lower = {"estimator.false_alarm": 0.2}
    other = Rows(locus.Run(run.name, locus.load_config("smoke", lower)), "eval_random")
    assert all(other.hash_of(name) != before[name] for name in rows.methods)  # the stratum depends on it
    fewer = Rows(locus.Run(run.name, locus.load_config("smoke", {"training.validation_share": 0.5})), "eval_random")
    assert fewer.hash_of("fingerprint") != before["fingerprint"]
    assert fewer.hash_of("angle_strength") == before["angle_strength"]


def test_only_what_is_due_is_needed(run: locus.Run) -> None:
    needs = [need.name for need in Rows(run, "eval_grid", UNTRAINED).needs]
    assert needs == ["results/temperature", "models/path_set"]
    assert Rows(run, "eval_grid", ("angle_strength", "bayes")).needs == ()
