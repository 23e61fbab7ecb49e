"""Moved transmitters: on their candidates they are those of an evaluation, and only exact phases suffer at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from smoke import make, smoke_run

import locus
from locus.book.tables import moved_frame, number_with_interval, three_digits
from locus.experiment import moved
from locus.experiment.moved import MovedTransmitters
from locus.experiment.rows import evaluate_group
from locus.score.limits import RECEIVERS


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with its transmitters moved."""
    with smoke_run(smoke_folder, lambda run: make([MovedTransmitters(run)])) as made:
        yield made


def test_on_the_candidates_rows_are_those_of_the_evaluation(run: locus.Run) -> None:
    assert MovedTransmitters(run).fresh()
    rows = MovedTransmitters(run).open()
    config = replace(run.config, twin=replace(run.config.twin, evaluation="image"))
    scorers = {"locus_dt": locus.load_scorer(run.name), **RECEIVERS}
    parts = [evaluate_group(config, index, "eval_random", scorers) for index in range(2)]
    plain = xr.concat(parts, "snapshot").sel(evaluation="random")
    assert rows.method.values.tolist() == plain.method.values.tolist()
    # The evaluation rounds paths to single precision, as libraries do
    np.testing.assert_allclose(rows.log_posterior.sel(distance=0), plain.log_posterior, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(rows.group, plain.group)


def test_exact_phases_suffer_within_a_wavelength(run: locus.Run) -> None:
    """25 mm are a wavelength: 20 mm turn the phases between paths, but hardly change their angles and powers."""
    config = locus.load_config("smoke", {"radio.tx_power_dbm": 30.0})
    scorers = {"locus_dt": locus.load_scorer(run.name), **RECEIVERS}
    rows = xr.concat([moved.evaluate_group(config, index, scorers) for index in range(3)], "snapshot")
    lost = {distance: moved.cost(rows, distance).difference for distance in (0.001, 0.02)}
    assert float(lost[0.02].sel({"method": "bayes"})) > 10
    assert float(lost[0.02].sel({"method": "bayes"})) > 3 * float(lost[0.001].sel({"method": "bayes"}))
    assert abs(float(lost[0.02].sel({"method": "locus_dt"}))) < 0.5


def test_losses_and_costs_are_plain_means(run: locus.Run) -> None:
    rows = MovedTransmitters(run).open()
    logs = rows.log_posterior.astype(float)
    found = moved.summary(rows)
    assert rows.attrs["num_candidates"] == run.config.evaluation.num_candidates == 50
    np.testing.assert_allclose(found.loss, (-logs - math.log(50)).mean("snapshot"), rtol=1e-6)
    assert ((found.loss_low <= found.loss + 1e-6) & (found.loss <= found.loss_high + 1e-6)).all()
    expected = (logs.sel(distance=0) - logs.sel(distance=0.4)).mean("snapshot")
    np.testing.assert_allclose(moved.cost(rows, 0.4).difference, expected, rtol=1e-6)


def test_every_cell_of_the_table_has_an_interval(run: locus.Run) -> None:
    found = moved.summary(MovedTransmitters(run).open())
    table = moved_frame(found)
    assert table.shape == (3, len(moved.DISTANCES))
    loss, low, high = (
        float(found[f"loss{end}"].sel({"method": "bayes", "distance": 0.005})) for end in ("", "_low", "_high")
    )
    shown = re.findall(r"-?[\d.]+", table.loc["Bayes limit", ("L [nat]", "5 mm")])
    largest = max(abs(loss), abs(low), abs(high))
    np.testing.assert_allclose([float(one) for one in shown], [loss, low, high], atol=max(0.0051, 0.0051 * largest))
    assert max(len(re.sub(r"\D", "", one)) for one in shown) == 3


def test_large_numbers_are_shown_with_three_digits() -> None:
    for numbers, expected in (
        ((-1.274, -2.05, -0.371), "-1.27 [-2.05, -0.37]"),
        ((41.8, 32.93, 52.1), "41.8 [32.9, 52.1]"),
        ((286.46, 5.93, 786.41), "286 [6, 786]"),
    ):
        assert number_with_interval(numbers, three_digits(numbers)) == expected
