"""Sweeps: every combination once, shared stores computed once, resumed after an interruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from locus.cli import main
from locus.draw import sweep_figure
from locus.experiment import store, sweep
from locus.settings.profiles import parse_over

SMALL = {
    "training.num_layouts": 12,
    "training.num_test_layouts": 3,
    "training.num_epochs": 2,
    "evaluation.block": 2,
    "storage.block": 6,
}


def test_every_combination_is_a_run_of_its_own() -> None:
    runs = sweep.combinations("smoke", SMALL, {"estimator.num_paths": [2, 4, 6], "seed": [0, 1]})
    assert len(runs) == 6
    assert {(run.config.estimator.num_paths, run.config.seed) for run in runs.values()} == {
        (paths, seed) for paths in (2, 4, 6) for seed in (0, 1)
    }


def test_values_are_parsed_as_settings_are() -> None:
    assert parse_over(["seed=0,1", "twin.train=image", "room.size=80.5,90"]) == {
        "seed": [0, 1],
        "twin.train": ["image"],
        "room.size": [80.5, 90],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--over", "seed"], "Expected a setting like 'room.size=80', got 'seed'"),
        (["--over", "seed="], "Expected settings to sweep over, each with values"),
        (["--over", "sede=0,1"], "got sede"),
        (["--over", "seed=0", "--method", "magic"], "Expected 'method' in"),
        (["--over", "seed=0", "--evaluation", "magic"], "Expected 'evaluation' in"),
    ],
)
def test_bad_sweeps_fail_before_any_work(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main(["sweep", "--profile", "smoke", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_shares_stores_resumes_and_writes_table_and_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    built: list[Path] = []
    build = store.Store.build

    def counted(self: store.Store, workers: object) -> None:
        built.append(self.path)
        build(self, workers)

    monkeypatch.setattr(store.Store, "build", counted)
    command = ["sweep", "--profile", "smoke", "--over", "estimator.num_paths=2,6", "--over", "training.batch=4,8"]
    command += ["--workers", "1", *(f"--set={name}={value}" for name, value in SMALL.items())]
    assert main(command) == 0
    assert sum(path.parent.name == "candidates" for path in built) == 1, "one library serves all four runs"
    assert sum(path.parent.name == "observations" for path in built) == 2, "two numbers of paths"
    table = pd.read_csv(next((tmp_path / "sweeps").glob("*.csv")))
    assert len(table) == 4
    assert set(table["estimator.num_paths"]) == {2, 6}
    assert (table.ratio_low <= table.ratio).all()
    assert (table.ratio <= table.ratio_high).all()
    np.testing.assert_allclose(table.ratio, -table.loss / np.log(50))
    assert next((tmp_path / "sweeps").glob("*.png")).stat().st_size > 5000
    results = sorted(tmp_path.glob("*/results/test/locus_dt.nc"))
    assert len(results) == 4

    capsys.readouterr()
    times = [path.stat().st_mtime_ns for path in results]
    results[1].unlink()
    built.clear()
    assert main(command) == 0
    assert not built
    again = [path.stat().st_mtime_ns for path in results]
    assert [one == other for one, other in zip(times, again, strict=True)] == [True, False, True, True]
    assert "[1/1]" in capsys.readouterr().out


def test_the_figure_shows_ratio_and_interval_of_every_run() -> None:
    table = pd.DataFrame(
        {"seed": [1, 0], "ratio": [0.5, 0.4], "ratio_low": [0.45, 0.3], "ratio_high": [0.6, 0.5], "run": ["b", "a"]}
    )
    (axes,) = sweep_figure(table, ["seed"]).axes
    np.testing.assert_allclose(np.asarray(axes.containers[0].lines[0].get_ydata(), dtype=float), [40, 50])
    assert axes.get_xlabel() == "seed"
