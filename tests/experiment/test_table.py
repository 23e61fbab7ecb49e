"""The table of results, from synthetic rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import locus
from locus.book import paper
from locus.book.tables import number_with_interval, paired_frame, paired_losses, quantiles_frame, results_frame
from locus.experiment import artifact, netcdf
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.run import Run
from locus.experiment.table import EVALUATION_TITLES, SCORER_TITLES, Table
from locus.judge import metrics

NUM_GROUPS, NUM_SNAPSHOTS = 8, 5
ONCE = {"training.num_seeds": 1}
"""Every network is trained once; ``test_seeds.py`` has a table with several trainings."""
MEASURES = [f"{name}{end}" for name in ("loss", "gain", "ratio") for end in ("", "_low", "_high")]


def made_up(evaluation: str, num_candidates: int, names: tuple[str, ...]) -> xr.Dataset:
    """Rows of some methods."""
    rng = np.random.default_rng(list(EVALUATIONS).index(evaluation))
    ease = np.linspace(0, 3, len(names))
    logs = -rng.exponential(1, (NUM_GROUPS * NUM_SNAPSHOTS, len(names))) - np.log(num_candidates) / (1 + ease)
    group = np.repeat(np.arange(NUM_GROUPS), NUM_SNAPSHOTS)
    return xr.Dataset(
        {"log_posterior": (("snapshot", "method"), logs)}, coords={"method": list(names), "group": ("snapshot", group)}
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run with up-to-date rows of every evaluation that the table reads."""
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    opened = locus.open_run("smoke", ONCE)
    for name, split in EVALUATIONS.items():
        rows = Rows(opened, split)
        count = 50 + len(name)
        data = made_up(name, count, rows.methods)
        for method in rows.methods:
            one = data.sel({"method": method}).reset_coords("method", drop=True)
            netcdf.save(rows.path(name, method), one, {"hash": rows.hash_of(method), "num_candidates": count})
    return opened


def test_values_are_those_of_the_summary(run: Run) -> None:
    Table(run).make()
    table = Table(run).open()
    for name in Table.evaluations:
        rows = Rows(run, EVALUATIONS[name]).open(name)
        wanted = metrics.summary(rows.sel({"method": list(SCORER_TITLES)}), 50 + len(name), np.random.default_rng(0))
        one = table.sel(evaluation=name)
        assert int(one.num_candidates) == 50 + len(name)
        for measure in MEASURES:
            np.testing.assert_allclose(one[measure], wanted[measure], rtol=1e-6)
        np.testing.assert_allclose(one.gain, np.exp(-one.loss), rtol=1e-5)
        np.testing.assert_allclose(one.ratio, -one.loss / np.log(50 + len(name)), rtol=1e-5)


def test_contract(run: Run) -> None:
    Table(run).make()
    table = Table(run).open()
    assert Table(run).path == run.results / "table.nc"
    assert table.method.values.tolist() == list(SCORER_TITLES)
    assert table.evaluation.values.tolist() == ["grid", "random", "grid_offlist"]
    for name in MEASURES:
        assert table[name].dims == ("method", "evaluation")
    for name in ("num_snapshots", "num_groups", "num_candidates"):
        assert table[name].dims == ("evaluation",)
    assert (table.num_groups == NUM_GROUPS).all()
    assert (table.num_snapshots == NUM_GROUPS * NUM_SNAPSHOTS).all()
    for variable in table.data_vars.values():
        assert {"units", "long_name"} <= set(variable.attrs)
    assert table.attrs["hash"] == Table(run).hash()
    assert "numpy" in json.loads(table.attrs["versions"])


def test_methods_come_before_the_receivers_that_limit_them() -> None:
    networks, others = ["locus_dt", "gauss_cart", "gauss_polar", "gmm_cart"], ["phase_blind", "bayes"]
    assert list(SCORER_TITLES) == [*networks, "fingerprint", "angle_strength", "path_set", *others]


def test_made_twice_it_has_the_same_bits(run: Run) -> None:
    Table(run).make()
    once = Table(run).open()
    Table(run).make()
    assert once.identical(Table(run).open())


def test_fresh_until_something_that_it_depends_on_changes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(run)
    assert not table.fresh()
    table.make()
    assert table.fresh()
    changed = locus.open_run("smoke", {**ONCE, "evaluation.num_snapshots": 7})
    assert Table(Run(run.name, changed.config)).hash() != table.hash()
    assert not Table(Run(run.name, changed.config)).fresh()
    unrelated = locus.open_run("smoke", {**ONCE, "twin_check.num_layouts": 3})
    assert Table(Run(run.name, unrelated.config)).fresh()
    monkeypatch.setattr(metrics, "RECIPE", metrics.RECIPE + 1)
    assert not table.fresh()


def test_step_makes_the_table_and_needs_the_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Table(run)
    assert step.name == "results/table"
    assert [need.name for need in step.needs] == ["results/eval_grid", "results/eval_random"]
    assert [due.name for due in artifact.due([step])] == ["results/table"]  # the rows are fresh
    step.make(lambda: pytest.fail("workers are not needed"))
    assert artifact.due([step]) == []
    monkeypatch.setattr(metrics, "RECIPE", metrics.RECIPE + 1)
    assert {"results/eval_grid", "results/eval_random", "results/table"} <= {due.name for due in artifact.due([step])}


def test_infinite_losses_are_kept(run: Run) -> None:
    path = Rows(run, "eval_random").path("random", "bayes")
    data = netcdf.load(path)
    data.log_posterior[0] = -np.inf
    netcdf.save(path, data, data.attrs)
    Table(run).make()
    table = Table(run).open().sel({"evaluation": "random"})
    assert table.loss.sel({"method": "bayes"}) == np.inf
    assert table.gain.sel({"method": "bayes"}) == 0
    assert np.isfinite(table.loss.sel({"method": "locus_dt"}))
    shown = results_frame(Table(run).open(), paper.printed())["this run"].loc[("Eval Random", "Bayes limit")]
    assert list(shown) == ["∞", "0.00", "-∞"]


def test_frame_shows_the_run_and_apart_from_it_what_the_paper_prints(run: Run) -> None:
    Table(run).make()
    table, printed = Table(run).open(), paper.printed()
    frame = results_frame(table, printed)
    assert frame.shape == (len(SCORER_TITLES) * len(EVALUATION_TITLES), 6)
    ours = frame["this run"].loc[("Eval Random", "LOCUS-DT")]
    one = table.sel({"method": "locus_dt", "evaluation": "random"})
    assert ours["L [nat]"] == f"{float(one.loss):.2f} [{float(one.loss_low):.2f}, {float(one.loss_high):.2f}]"
    theirs = frame["printed in the paper"]
    assert theirs.loc[("Eval Random", "LOCUS-DT")].tolist() == ["-3.38", "29.37", "48.93"]
    assert (theirs.xs("Bayes limit", level="method") == "").all(axis=None)
    assert (theirs.loc["Eval Grid, off the list"] == "").all(axis=None)


def test_other_frames(run: Run) -> None:
    rows = Rows(run, "eval_random").open("random")
    frame = paired_losses(rows, [("locus_dt", "gmm_cart"), ("gmm_cart", "locus_dt")])
    assert frame.difference.iloc[0] == pytest.approx(-frame.difference.iloc[1])
    assert (frame.low <= frame.difference).all()
    shown = paired_frame({"random": frame})
    assert shown["Eval Random"].iloc[0] == number_with_interval(frame.iloc[0].tolist(), ".2f")
    values = -rows.log_posterior.sel({"method": list(SCORER_TITLES)})
    quantiles = metrics.distribution(values, rows.group, np.random.default_rng(0))
    assert quantiles_frame({"loss": quantiles}).shape == (len(SCORER_TITLES), 2)
