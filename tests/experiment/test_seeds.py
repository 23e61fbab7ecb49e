"""Trainings from other seeds: as good as the first, apart from it, and counted in the table's intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.book.tables import intervals_hold, trainings_frame
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.seeds import JUDGED, Seeds
from locus.experiment.table import Table
from locus.experiment.weights import Weights, further_weights
from locus.judge import metrics


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, in which LOCUS-DT is trained twice."""
    with smoke_run(smoke_folder, lambda run: make([Seeds(run), Table(run)])) as made:
        yield made


def test_another_seed_is_another_training_of_the_same_network(run: locus.Run) -> None:
    assert list(further_weights(run)) == ["locus_dt.seed1"]
    first, again = (Weights(run, "locus_dt", seed=seed) for seed in (0, 1))
    assert again.fresh()
    assert again.hash() != first.hash()
    one, other = locus.load_scorer("smoke"), locus.load_scorer("smoke", "locus_dt.seed1")
    assert one.options == other.options
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert all(not np.allclose(a, b) for a, b in pairs if a.numel() > 1)


def test_means_are_those_of_the_rows(run: locus.Run) -> None:
    seeds = Seeds(run).open()
    assert list(zip(seeds.method.values, seeds.seed.values, strict=True)) == [("locus_dt", 0), ("locus_dt", 1)]
    for name in JUDGED:
        rows = Rows(run, EVALUATIONS[name]).open(name).sel({"method": "locus_dt"})
        wanted = [rows.log_posterior[rows.group == group].mean() for group in np.unique(rows.group)]
        np.testing.assert_allclose(seeds.log_posterior.sel(evaluation=name)[0], wanted, rtol=1e-5)
    assert not np.allclose(seeds.log_posterior[0], seeds.log_posterior[1])


def test_rows_of_further_trainings_are_not_kept(run: locus.Run) -> None:
    assert not list(run.results.glob("*/*seed*"))
    assert not [path for path in run.results.glob("*/SHA256SUMS") if "seed" in path.read_text()]
    assert Seeds(run).fresh()


def test_the_table_has_means_over_trainings(run: locus.Run) -> None:
    table, seeds = Table(run).open(), Seeds(run).open()
    count = table.num_trainings.to_series()
    assert count["locus_dt"] == 2
    assert (count.drop("locus_dt") == 1).all()
    for name in JUDGED:
        wanted = -seeds.log_posterior.sel(evaluation=name).mean() - np.log(table.num_candidates.sel(evaluation=name))
        found = table.loss.sel({"method": "locus_dt", "evaluation": name})
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    frame = trainings_frame(seeds, table)
    assert frame.trainings.to_dict() == {"LOCUS-DT": 2}
    low, high = frame.loc["LOCUS-DT", "R [%] on Eval Random"].split(" to ")
    own = 100 * float(table.ratio.sel({"method": "locus_dt", "evaluation": "random"}))
    assert float(low) - 0.05 <= own <= float(high) + 0.05
    assert intervals_hold(table) == "rooms and seeds of the training (2 trainings of LOCUS-DT, 1 of each baseline)"
    once = table.assign(num_trainings=table.num_trainings.clip(max=1))
    assert "each network was trained once" in intervals_hold(once)


def test_other_layouts_are_refused(run: locus.Run) -> None:
    rows = Rows(run, "eval_random").open("random")
    seeds = Seeds(run).open().sel(evaluation="random").isel(group=slice(1, None))
    with pytest.raises(ValueError, match="Expected 'trainings' on the 6 layouts of 'rows', got 5"):
        metrics.summary(rows, 50, np.random.default_rng(0), trainings=seeds)
