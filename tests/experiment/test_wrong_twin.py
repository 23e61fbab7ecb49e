"""Cost of a wrong twin: rows differ from those of an ordinary evaluation only through the error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from smoke import make, smoke_run

import locus
from locus.book.figures import error_figures
from locus.experiment import wrong_twin
from locus.experiment.case import Case
from locus.experiment.conditions import Condition, conditions
from locus.experiment.floors import Floors
from locus.experiment.path_set_fit import fitted
from locus.experiment.rows import evaluate_group
from locus.experiment.weights import Weights
from locus.experiment.wrong_twin import SLACK, Robustness
from locus.judge.credible import CREDIBLE_MASS
from locus.judge.floor import floored


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with its networks under wrong twins."""
    with smoke_run(smoke_folder, lambda run: make([Robustness(run)])) as made:
        yield made


def of_kind(rows: xr.Dataset, *kinds: str) -> xr.Dataset:
    return rows.isel(condition=np.isin(rows.kind, kinds))


def test_without_an_error_rows_are_those_of_the_evaluation(run: locus.Run) -> None:
    assert Robustness(run).fresh()
    rows = Robustness(run).open()
    config = replace(run.config, twin=replace(run.config.twin, evaluation="image"))
    scorers = {"path_set": fitted(run)}
    scorers |= {name: locus.load_scorer(run.name, name) for name in ("locus_dt", "gmm_cart")}
    parts = [evaluate_group(config, index, "eval_random", scorers) for index in range(2)]
    plain = xr.concat(parts, "snapshot").sel(evaluation="random")
    exact = of_kind(rows, "none").isel(condition=0).sel({"method": list(scorers)})
    # The evaluation rounds paths to single precision, as libraries do
    np.testing.assert_allclose(exact.log_posterior, plain.log_posterior, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(exact.group, plain.group)


def test_methods_without_a_twin_ignore_a_wrong_room(run: locus.Run) -> None:
    rows = Robustness(run).open().log_posterior.sel({"method": "gmm_cart"})
    exact = rows.isel(condition=0)
    for kind in ("obstacles", "walls", "missing", "material", "scale"):
        assert (of_kind(rows, kind) == exact).all()
    for kind in ("position", "heading", "all", "transmitter"):
        assert (of_kind(rows, kind) != exact).any()
    for name in ("locus_dt", "path_set"):
        aware = Robustness(run).open().log_posterior.sel({"method": name})
        for kind in {one.kind for one in conditions(run.config)} - {"none"}:
            assert (of_kind(aware, kind) != aware.isel(condition=0)).any(), (name, kind)


def test_a_transmitter_that_hardly_moves_is_heard_as_before(run: locus.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same noise and truth; moved by metres, it is located at the nearest candidate."""
    scorers = {"locus_dt": locus.load_scorer(run.name), "path_set": fitted(run)}
    small = [Condition("none", "exact"), Condition("transmitter", "none", moved=1e-9)]
    monkeypatch.setattr(wrong_twin, "conditions", lambda _: small)
    exact, moved = wrong_twin.evaluate_group(run.config, 0, scorers, dict.fromkeys(scorers, 0.01)).log_posterior
    np.testing.assert_allclose(moved, exact, atol=1e-4)


def test_truths_inside_walls_of_the_twin_are_counted(run: locus.Run) -> None:
    rows = Robustness(run).open()
    assert rows.lost.dims == ("condition", "snapshot")
    assert not of_kind(rows, "none", "heading", "material", "transmitter").lost.any()


def test_conditions_fit_the_settings() -> None:
    def labels(kind: str, **changes: object) -> list[str]:
        config = locus.load_config("smoke", {name.replace("__", "."): value for name, value in changes.items()})
        return [one.label for one in conditions(config) if one.kind == kind]

    assert labels("material") == ["brick", "wood", "glass", "metal"]
    assert labels("material", room__material="wood") == ["brick", "glass", "metal"]
    assert labels("material", radio__carrier=60e9) == ["wood", "glass", "metal"]
    assert labels("missing") == ["1", "2", "3"]
    assert labels("missing", room__num_obstacles=1) == ["1"]


def test_a_floor_bounds_what_an_error_costs(run: locus.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        wrong_twin, "conditions", lambda _: [Condition("none", "exact"), Condition("missing", "3", {"missing": 3})]
    )
    share, count = 0.05, run.config.evaluation.num_candidates
    scorers = {"locus_dt": locus.load_scorer(run.name), "path_set": fitted(run)}
    rows = wrong_twin.evaluate_group(run.config, 0, scorers, dict.fromkeys(scorers, share))
    rows = rows.assign(share=("method", [share, share])).assign_attrs(num_candidates=count)
    mixed = wrong_twin.floored(rows)
    expected = (1 - share) * np.exp(rows.log_posterior) + share / count
    np.testing.assert_allclose(np.exp(mixed.log_posterior), expected, rtol=1e-12)
    assert float(-mixed.log_posterior.min() - math.log(count)) <= -math.log(share) + 1e-12
    assert (mixed.level != rows.level).any()


def test_floors_are_fitted_on_rooms_that_no_network_was_trained_on(run: locus.Run) -> None:
    """The share of each method has the least loss of all, half of the rooms having a wrong twin."""
    floors, training = Floors(run).open(), run.config.training
    first = training.num_layouts - training.num_validation_layouts
    assert sorted(set(floors.group.values)) == list(range(first, training.num_layouts))
    exact, wrong = (floors.isel(snapshot=floors.group % 2 == odd).log_posterior for odd in (0, 1))
    case = Case(run.config, "train", first + first % 2)
    own = exact.isel(snapshot=exact.group == case.index).sel({"method": "locus_dt"})
    expected = locus.load_scorer(run.name).log_posterior(case.paths, case.observed).values
    np.testing.assert_allclose(own, expected[range(len(case.truth)), case.truth], atol=1e-5)
    assert wrong.sizes["snapshot"] > 0
    for name in floors.method.values:
        logs, share = floors.log_posterior.sel({"method": name}), float(floors.share.sel({"method": name}))
        losses = [
            -floored(logs, training.num_candidates, one).mean() for one in (share, share / 2, min(1, 2 * share), 0)
        ]
        assert min(losses) == pytest.approx(losses[0], abs=1e-6)


def test_every_method_has_the_floor_that_was_fitted_to_it(run: locus.Run) -> None:
    rows, floors = Robustness(run).open(), Floors(run).open()
    mixed = wrong_twin.floored(rows)
    for name in ("locus_dt", "robust", "gmm_cart", "path_set"):
        share = float(floors.share.sel({"method": name}))
        assert float(rows.share.sel({"method": name})) == share
        own = rows.log_posterior.sel({"method": name}).values.astype(float)
        expected = np.log((1 - share) * np.exp(own) + share / run.config.evaluation.num_candidates)
        np.testing.assert_allclose(mixed.log_posterior.sel({"method": name}), expected, atol=1e-6)


def made_up(losses: dict[str, list[list[float]]], **variables: object) -> xr.Dataset:
    """Rows of losses (condition, snapshot) by method; a room has two snapshots."""
    logs = -np.moveaxis(np.array(list(losses.values())), 0, -1)
    count = logs.shape[1]
    data = xr.Dataset({"log_posterior": (("condition", "snapshot", "method"), logs), **variables})
    named = {name: ("condition", [f"{name} {row}" for row in range(len(logs))]) for name in ("kind", "label")}
    return data.assign_coords(method=list(losses), group=("snapshot", np.arange(count) // 2), **named)


def test_a_method_is_compared_with_the_best_of_the_others(rng: np.random.Generator) -> None:
    """Behind by more than the slack, by less, ahead, and behind on average, but only because of half of the rooms."""
    noise = rng.uniform(5, 7, 20)
    steps = np.array([3 * SLACK, SLACK / 2, -0.4, 0.2])[:, np.newaxis] * np.ones(20)
    steps[3, :10] -= 2
    steps[3, 10:] += 2
    better = [noise, noise + 1, noise, noise]
    other = [noise + 1, noise, noise + 1, noise + 1]
    rows = made_up({"ours": noise + steps, "one": np.array(better), "two": np.array(other)})
    found = wrong_twin.behind(rows, "ours", ("one", "two"))
    assert found.best.values.tolist() == ["one", "two", "one", "one"]
    np.testing.assert_allclose(found.difference, steps.mean(axis=1), atol=1e-9)
    assert found.worse.values.tolist() == [True, False, False, False]
    assert found.label.values.tolist() == [f"label {row}" for row in range(4)]


def test_surprising_snapshots_are_counted_where_they_are_known() -> None:
    p_value = np.array([[0.001, 0.5, 0.009, 0.011], [np.nan] * 4])
    rows = made_up({"ours": np.ones((2, 4))}, p_value=(("condition", "snapshot"), p_value))
    found = wrong_twin.noticed(rows)
    np.testing.assert_array_equal(found.noticed, [0.5, np.nan])
    np.testing.assert_array_equal(found.noticed_low, [0.5, np.nan])  # each of both rooms has one of two


def test_none_noticed_does_not_mean_that_none_ever_is() -> None:
    rows = made_up({"ours": np.ones((1, 4))}, p_value=(("condition", "snapshot"), np.full((1, 4), 0.5)))
    found = wrong_twin.noticed(rows)
    assert float(found.noticed[0]) == float(found.noticed_low[0]) == 0
    exact = scipy.stats.binomtest(0, 4).proportion_ci(0.95, method="exact")
    assert float(found.noticed_high[0]) == pytest.approx(exact.high)


def test_p_values_are_stored(run: locus.Run) -> None:
    rows = Robustness(run).open()
    assert rows.p_value.dims == ("condition", "snapshot")
    np.testing.assert_array_equal(wrong_twin.noticed(rows).noticed.isnull(), rows.p_value.isnull().all("snapshot"))


def test_tables_have_a_line_for_each_condition(run: locus.Run) -> None:
    rows = Robustness(run).open()
    found, count = wrong_twin.summary(rows), rows.sizes["condition"]
    assert error_figures.errors_frame(found, found).shape == (count, 8)
    assert error_figures.coverage_frame(found, wrong_twin.noticed(rows)).shape == (count, 5)


def test_what_is_surely_better_or_worse_is_coloured(run: locus.Run) -> None:
    rows = Robustness(run).open()
    same = wrong_twin.compared(rows, "locus_dt", "locus_dt")
    assert error_figures.only_if(same.isel(condition=[])) == "in no condition"
    assert error_figures.only_if(same).startswith("only if the twin is (exact), obstacles are moved (")
    ends = {"better": -1.0, "neither": 0.0, "worse": 1.0}
    shown = {name: same + shift for name, shift in ends.items()}
    table = error_figures.verdicts_frame({name: same.assign(one) for name, one in shown.items()})._repr_html_()
    known = int(same.difference.notnull().sum())
    assert table.count('class="better">-1.00<') == table.count('class="worse">+1.00<') == known > 0


def test_the_robust_network_is_trained_on_wrong_twins_and_the_same_snapshots(run: locus.Run) -> None:
    weights = Robustness(run).weights
    assert weights["robust"].hash() != weights["locus_dt"].hash()
    assert weights["robust"].path.name == "locus_dt.robust.safetensors"
    assert not (weights["robust"].library.open().aoa == weights["locus_dt"].library.open().aoa).all()
    with pytest.raises(ValueError, match=r"Expected 'robust' only with .* 'locus_dt' and seed 0, got 'gmm_cart' and 0"):
        Weights(run, "gmm_cart", robust=True)


def test_summary_is_plain_means(run: locus.Run) -> None:
    rows = Robustness(run).open()
    found = wrong_twin.summary(rows)
    count = run.config.evaluation.num_candidates
    loss = (-rows.log_posterior - math.log(count)).mean("snapshot")
    np.testing.assert_allclose(found.loss, loss, atol=1e-6)
    np.testing.assert_allclose(found.ratio, -loss / math.log(count), atol=1e-6)
    np.testing.assert_allclose(found.covered, (rows.level <= CREDIBLE_MASS).mean("snapshot"))
    assert ((found.loss_low <= found.loss + 1e-6) & (found.loss <= found.loss_high + 1e-6)).all()
