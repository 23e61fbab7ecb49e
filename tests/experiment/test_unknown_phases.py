"""The phase-free limit of a run: the same snapshots as the rows of the evaluation, between the two receivers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.book.tables import phases_frame
from locus.experiment import unknown_phases
from locus.experiment.rows import Rows
from locus.experiment.unknown_phases import METHODS, UnknownPhases


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with its phase-free limit."""
    with smoke_run(smoke_folder, lambda run: make([UnknownPhases(run)])) as made:
        yield made


def test_it_stands_beside_the_rows_of_the_same_snapshots(run: locus.Run) -> None:
    assert UnknownPhases(run).fresh()
    found = UnknownPhases(run).open()
    rows = Rows(run, "eval_random").open("random")
    assert found.method.values.tolist() == list(METHODS)
    assert found.group.values.tolist() == [0, 0, 1, 1]  # a quarter of six rooms, rounded up
    assert found.attrs["num_candidates"] == run.config.evaluation.num_candidates
    for name in ("locus_dt", "phase_blind", "bayes"):
        own, every = (one.log_posterior.sel({"method": name}) for one in (found, rows))
        expected = [every.values[every.group == index][:2] for index in (0, 1)]
        np.testing.assert_array_equal(own, np.concatenate(expected))


def test_a_group_can_be_sampled_again_alone(run: locus.Run) -> None:
    found = UnknownPhases(run).open().sel({"method": "phase_free"})
    again = unknown_phases.evaluate_group(run.config, 1)
    np.testing.assert_allclose(again.log_posterior, found.log_posterior[2:], rtol=1e-6)
    np.testing.assert_allclose(again.standard_error, found.standard_error[2:], rtol=1e-6)


def test_it_is_accurate_and_lies_between_the_receivers_with_and_without_phases(run: locus.Run) -> None:
    found = UnknownPhases(run).open()
    assert 0 <= unknown_phases.standard_error(found) < 0.02
    loss = -found.log_posterior.mean("snapshot")
    blind, free, known = (float(loss.sel({"method": name})) for name in ("phase_blind", "phase_free", "bayes"))
    # In expectation; in four snapshots a receiver may be lucky by some tenths of a nat
    assert known - 0.3 < free < blind + 0.3


def test_the_table_shows_losses_and_their_steps(run: locus.Run) -> None:
    rows = UnknownPhases(run).open()
    frame = phases_frame(rows)
    assert frame.index.tolist() == ["LOCUS-DT", "phase-blind receiver", "phase-free limit", "Bayes limit"]
    loss = -rows.log_posterior.mean("snapshot").values - np.log(rows.attrs["num_candidates"])
    shown, steps = ([cell.split(" ")[0] for cell in frame[name]] for name in ("L [nat]", "minus the line above [nat]"))
    np.testing.assert_allclose([float(cell) for cell in shown], loss, atol=0.0051)
    np.testing.assert_allclose([float(cell) for cell in steps[1:]], np.diff(loss), atol=0.0051)
    assert steps[0] == ""


def test_the_error_of_a_mean_is_that_of_independent_draws(run: locus.Run) -> None:
    rows = UnknownPhases(run).open()
    equal = rows.assign(standard_error=rows.standard_error * 0 + 0.1)
    assert unknown_phases.standard_error(equal) == pytest.approx(0.1 / np.sqrt(4), rel=1e-6)
