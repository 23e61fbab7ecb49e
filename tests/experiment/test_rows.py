"""Rows against separately computed values, resuming by blocks, and off-list transmitters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import locus
from locus.experiment import rows as rows_module
from locus.experiment import scorers
from locus.experiment.case import Case, OffList
from locus.experiment.over_groups import over_groups
from locus.experiment.rows import Rows, evaluate_group
from locus.score import weight_files
from locus.score.limits import RECEIVERS
from locus.score.method import MethodOptions
from locus.settings.checksums import DamagedError
from locus.settings.config import Config

CONFIG = locus.load_config("smoke", {"twin.evaluation": "image", "evaluation.num_snapshots": 3})
SCORERS = {name: weight_files.make_method(name, MethodOptions(), seed=1) for name in weight_files.METHODS}


@pytest.fixture(scope="module")
def grid_rows() -> xr.Dataset:
    return evaluate_group(CONFIG, 1, "eval_grid", {**SCORERS, **RECEIVERS})


def test_a_row_is_the_posterior_of_the_true_candidate() -> None:
    rows = evaluate_group(CONFIG, 2, "test", SCORERS).sel(evaluation="test")
    assert rows.log_posterior.dims == ("snapshot", "method")
    case = Case(CONFIG, "test", 2)
    observed = locus.estimate(case.snapshots, CONFIG.estimator)
    for name, scorer in SCORERS.items():
        expected = np.log(scorer.posterior(case.paths, observed)).values[np.arange(5), case.truth]
        np.testing.assert_allclose(rows.log_posterior.sel({"method": name}), expected, rtol=1e-5)
    assert (rows.group == 2).all()
    assert set(rows.coords) >= {"group", "stratum", "snr_db"}
    np.testing.assert_allclose(rows.snr_db, case.paths.snr_db.isel(path=0)[case.truth])


def test_evaluation_splits_have_the_limits_and_the_grid_both_readings(grid_rows: xr.Dataset) -> None:
    assert list(grid_rows.method.values) == [*weight_files.METHODS, "phase_blind", "bayes"]
    assert list(grid_rows.evaluation.values) == ["grid", "grid_offlist"]
    on_list = grid_rows.sel(evaluation="grid").log_posterior
    untrained = on_list.sel({"method": list(weight_files.METHODS)})
    assert float(on_list.sel({"method": "bayes"}).mean()) > float(untrained.mean("snapshot").max())


def test_off_list_transmitters_are_heard_and_their_truth_is_the_nearest_candidate() -> None:
    case = Case(CONFIG, "eval_grid", 1).off_list()
    assert case.transmitters.paths.valid.any("path").all()
    assert case.layout.is_free(case.transmitters.position).all()
    for position, truth in zip(case.transmitters.position, case.truth, strict=True):
        assert np.linalg.norm(case.candidates - position, axis=1).argmin() == truth
        assert np.linalg.norm(case.candidates - position, axis=1).min() > 1e-3, "not on a candidate"
    xr.testing.assert_identical(case.snapshots, OffList(CONFIG, "eval_grid", 1).snapshots)


def test_off_list_transmitters_that_nobody_hears_are_drawn_again() -> None:
    """Without reflections, no path reaches behind an obstacle."""
    config = locus.load_config("smoke", {"twin.evaluation": "image", "twin.max_depth": 0})
    for index in range(4):
        assert OffList(config, "eval_grid", index).transmitters.paths.valid.any("path").all()


def test_transmitters_that_nobody_hears_count_if_the_settings_want_them() -> None:
    """Pure-noise snapshots are near outage; only the absence of paths is informative."""
    changes = {"twin.evaluation": "image", "twin.max_depth": 0, "transmitter.heard": False}
    config = locus.load_config("smoke", changes)
    rows = [evaluate_group(config, index, "eval_grid", {"locus_dt": SCORERS["locus_dt"]}) for index in (0, 1)]
    silent = np.isinf(xr.concat(rows, "snapshot").snr_db)
    assert silent.any("snapshot").all(), "both on candidates and off them"
    assert (xr.concat(rows, "snapshot").stratum.where(silent, 3) == 3).all()


def test_groups_depend_on_their_index_alone(grid_rows: xr.Dataset) -> None:
    both = over_groups(evaluate_group, CONFIG, range(2), None, split="eval_grid", scorers={**SCORERS, **RECEIVERS})
    xr.testing.assert_allclose(both.isel(snapshot=both.group == 1), grid_rows)


class TestBlocks:
    @pytest.fixture
    def rows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
        monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
        changes = {"training.num_test_layouts": 7, "evaluation.block": 3}
        monkeypatch.setattr(scorers, "load", lambda *_: None)
        return Rows(locus.open_run("smoke", changes), "test", ("locus_dt", "gmm_cart"))

    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
        seen: list[tuple[int, list[str]]] = []

        def fake(config: Config, index: int, split: str, scorers: dict[str, object]) -> xr.Dataset:
            if index in STOP:
                raise KeyboardInterrupt
            seen.append((index, list(scorers)))
            values = np.stack([np.full((1, 2), -float(index) - len(name)) for name in scorers], axis=2)
            coords = {"evaluation": ["test"], "method": list(scorers), "group": ("snapshot", [index, index])}
            return xr.Dataset({"log_posterior": (("evaluation", "snapshot", "method"), values)}, coords)

        monkeypatch.setattr(rows_module, "evaluate_group", fake)
        return seen

    def test_a_killed_evaluation_goes_on_after_its_last_block(
        self, rows: Rows, calls: list[tuple[int, list[str]]]
    ) -> None:
        STOP.add(5)
        with pytest.raises(KeyboardInterrupt):
            rows.make()
        STOP.clear()
        assert not rows.fresh()
        done = [index for index, _ in calls[:3]]
        calls.clear()
        rows.make()
        assert done == [0, 1, 2]
        assert [index for index, _ in calls] == [3, 4, 5, 6]
        assert rows.fresh()
        np.testing.assert_array_equal(rows.open("test").group, np.repeat(range(7), 2))
        assert not (rows.run.results / "blocks" / "test").exists()
        assert rows.open("test").attrs["num_candidates"] == 50
        assert "numpy" in json.loads(rows.open("test").attrs["versions"])

    def test_more_layouts_compute_only_the_new_ones(self, rows: Rows, calls: list[tuple[int, list[str]]]) -> None:
        rows.make()
        before = rows.open("test")
        calls.clear()
        changes = {"training.num_test_layouts": 10, "evaluation.block": 3}
        longer = Rows(locus.Run(rows.run.name, locus.load_config("smoke", changes)), "test", rows.chosen)
        longer.make()
        assert [index for index, _ in calls] == [6, 7, 8, 9], "the last block was incomplete before"
        after = longer.open("test")
        assert longer.fresh()
        xr.testing.assert_equal(after.isel(snapshot=slice(14)), before)

    def test_a_new_method_does_not_compute_the_others_again(
        self, rows: Rows, calls: list[tuple[int, list[str]]]
    ) -> None:
        rows.make()
        files = {path: path.stat().st_mtime_ns for path in rows.files}
        calls.clear()
        more = Rows(rows.run, "test", (*rows.chosen, "gauss_cart"))
        more.make()
        assert calls == [(index, ["gauss_cart"]) for index in range(7)]
        assert {path: path.stat().st_mtime_ns for path in rows.files} == files
        found = more.open("test")
        assert list(found.method.values) == ["locus_dt", "gmm_cart", "gauss_cart"]
        np.testing.assert_array_equal(found.log_posterior[0], [-8, -8, -10])

    def test_a_damaged_file_is_made_again_alone(self, rows: Rows, calls: list[tuple[int, list[str]]]) -> None:
        rows.make()
        calls.clear()
        victim = rows.path("test", "gmm_cart")
        victim.write_bytes(victim.read_bytes()[:-7])  # truncated
        assert rows.damaged() == ["gmm_cart.nc"]
        assert not rows.fresh()
        with pytest.raises(DamagedError, match=r"gmm_cart\.nc to match SHA256SUMS beside it, got another"):
            rows.open("test")
        rows.make()
        assert {name for _, names in calls for name in names} == {"gmm_cart"}
        assert rows.fresh()

    def test_other_settings_make_it_stale(self, rows: Rows, calls: list[tuple[int, list[str]]]) -> None:
        rows.make()
        changed = locus.load_config("smoke", {"training.num_test_layouts": 7, "training.learning_rate": 0.1})
        assert not Rows(locus.Run(rows.run.name, changed), "test", rows.chosen).fresh()


STOP: set[int] = set()


def test_the_train_split_is_not_evaluated() -> None:
    with pytest.raises(ValueError, match=r"Expected 'split' in .*, got 'train'"):
        Rows(locus.open_run("smoke"), "train")


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ValueError, match=r"Expected methods in \['locus_dt', .*\], got \['bayes'\]"):
        Rows(locus.open_run("smoke"), "test", ("bayes",))
