"""Evaluation: rows against separately computed values, resuming by blocks, and off-list transmitters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import locus
from locus.experiment import case, evaluation
from locus.experiment.case import make_snapshots, trace_group, trace_offlist
from locus.experiment.evaluation import Rows, evaluate_group
from locus.score import weight_files
from locus.score.method import MethodOptions
from locus.settings.config import Config

CONFIG = locus.load_config("smoke", {"twin.evaluation": "image", "evaluation.num_snapshots": 3})
SCORERS = {name: weight_files.make_method(name, MethodOptions(), seed=1) for name in weight_files.METHODS}


@pytest.fixture(scope="module")
def grid_rows() -> xr.Dataset:
    return evaluate_group(CONFIG, "eval_grid", 1, SCORERS)


def test_a_row_is_the_posterior_of_the_true_candidate() -> None:
    rows = evaluate_group(CONFIG, "test", 2, SCORERS).sel(evaluation="test")
    assert rows.log_posterior.dims == ("snapshot", "method")
    paths = trace_group(CONFIG, "test", 2)
    snapshots = make_snapshots(CONFIG, "test", 2, paths)
    observed = locus.estimate(snapshots, CONFIG.estimator)
    for name, scorer in SCORERS.items():
        expected = np.log(scorer.posterior(paths, observed)).values[np.arange(5), snapshots.truth]
        np.testing.assert_allclose(rows.log_posterior.sel({"method": name}), expected, rtol=1e-5)
    assert (rows.group == 2).all()
    assert set(rows.coords) >= {"group", "stratum", "snr_db"}
    np.testing.assert_allclose(rows.snr_db, paths.snr_db.isel(path=0)[snapshots.truth.values])


def test_evaluation_splits_have_the_limits_and_the_grid_both_readings(grid_rows: xr.Dataset) -> None:
    assert list(grid_rows.method.values) == [*weight_files.METHODS, "phase_blind", "bayes"]
    assert list(grid_rows.evaluation.values) == ["grid", "grid_offlist"]
    on_list = grid_rows.sel(evaluation="grid").log_posterior
    untrained = on_list.sel({"method": list(weight_files.METHODS)})
    assert float(on_list.sel({"method": "bayes"}).mean()) > float(untrained.mean("snapshot").max())


def test_off_list_transmitters_are_heard_and_their_truth_is_the_nearest_candidate() -> None:
    paths = trace_group(CONFIG, "eval_grid", 1)
    snapshots, true_paths = trace_offlist(CONFIG, 1, paths)
    assert true_paths.valid.any("path").all()
    layout = case.draw(CONFIG, "eval_grid", 1).layout
    assert layout.is_free(snapshots.position.values).all()
    candidates = np.stack([paths.x, paths.y], axis=1)
    for position, truth in zip(snapshots.position.values, snapshots.truth.values, strict=True):
        assert np.linalg.norm(candidates - position, axis=1).argmin() == truth
        assert np.linalg.norm(candidates - position, axis=1).min() > 1e-3, "not on the grid"
    again, _ = trace_offlist(CONFIG, 1, paths)
    xr.testing.assert_identical(snapshots, again)


def test_off_list_transmitters_that_nobody_hears_are_drawn_again() -> None:
    """Without reflections, no path reaches behind an obstacle."""
    config = locus.load_config("smoke", {"twin.evaluation": "image", "twin.max_depth": 0})
    for index in range(4):
        _, true_paths = trace_offlist(config, index, trace_group(config, "eval_grid", index))
        assert true_paths.valid.any("path").all()


def test_transmitters_that_nobody_hears_count_if_the_settings_want_them() -> None:
    """Pure-noise snapshots are near outage, and only their silence is informative."""
    changes = {"twin.evaluation": "image", "twin.max_depth": 0, "transmitter.heard": False}
    config = locus.load_config("smoke", changes)
    rows = [
        evaluation.evaluate_group(config, "eval_grid", index, {"locus_dt": SCORERS["locus_dt"]}) for index in (0, 1)
    ]
    silent = np.isinf(xr.concat(rows, "snapshot").snr_db)
    assert silent.any("snapshot").all(), "on the list and off it"
    assert (xr.concat(rows, "snapshot").stratum.where(silent, 3) == 3).all()


def test_groups_depend_on_their_index_alone(grid_rows: xr.Dataset) -> None:
    both = evaluation.evaluate_groups((0, 2), CONFIG.to_dict(), "eval_grid", SCORERS)
    xr.testing.assert_allclose(both.isel(snapshot=both.group == 1), grid_rows)


class TestBlocks:
    @pytest.fixture
    def rows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
        monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
        changes = {"training.num_test_layouts": 7, "evaluation.block": 3}
        monkeypatch.setattr(Rows, "scorers", lambda _: SCORERS)
        return Rows(locus.open_run("smoke", changes), "test")

    @pytest.fixture
    def calls(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        seen: list[int] = []

        def fake(config: Config, split: str, index: int, scorers: object) -> xr.Dataset:
            if index in STOP:
                raise KeyboardInterrupt
            seen.append(index)
            values = np.full((1, 2, 1), -float(index))
            coords = {"evaluation": ["test"], "method": ["locus_dt"], "group": ("snapshot", [index, index])}
            return xr.Dataset({"log_posterior": (("evaluation", "snapshot", "method"), values)}, coords)

        monkeypatch.setattr(evaluation, "evaluate_group", fake)
        return seen

    def test_a_killed_evaluation_goes_on_after_its_last_block(self, rows: Rows, calls: list[int]) -> None:
        STOP.add(5)
        with pytest.raises(KeyboardInterrupt):
            rows.make(None)
        STOP.clear()
        assert rows.todo() == [1, 2]
        assert not rows.fresh()
        done = calls[:3]
        calls.clear()
        rows.make(None)
        assert done == [0, 1, 2]
        assert calls == [3, 4, 5, 6]
        assert rows.fresh()
        np.testing.assert_array_equal(rows.open("test").group, np.repeat(range(7), 2))
        assert not list((rows.run.results / "blocks").iterdir())
        assert rows.open("test").attrs["num_candidates"] == 50
        assert "numpy" in json.loads(rows.open("test").attrs["versions"])

    def test_more_layouts_compute_only_the_new_ones(self, rows: Rows, calls: list[int]) -> None:
        rows.make(None)
        before = rows.open("test")
        calls.clear()
        changes = {"training.num_test_layouts": 10, "evaluation.block": 3}
        longer = Rows(locus.Run(rows.run.name, locus.load_config("smoke", changes)), "test")
        longer.make(None)
        assert calls == [6, 7, 8, 9], "the last block was cut short before"
        after = longer.open("test")
        assert longer.fresh()
        xr.testing.assert_equal(after.isel(snapshot=slice(14)), before)

    def test_other_settings_make_it_stale(self, rows: Rows, calls: list[int]) -> None:
        rows.make(None)
        changed = locus.load_config("smoke", {"training.num_test_layouts": 7, "training.learning_rate": 0.1})
        assert not Rows(locus.Run(rows.run.name, changed), "test").fresh()


STOP: set[int] = set()


def test_the_train_split_is_not_evaluated() -> None:
    with pytest.raises(ValueError, match=r"Expected 'split' in .*, got 'train'"):
        Rows(locus.open_run("smoke"), "train")
