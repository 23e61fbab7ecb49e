"""Where the nats are: every step on the snapshots of the phase-free limit, and what the figure shows of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.book.figures.nats_figures import nats_figure
from locus.experiment import nats
from locus.experiment.case import Case
from locus.experiment.nats import TITLES, Nats
from locus.experiment.path_set_fit import fitted
from locus.experiment.rows import Rows
from locus.experiment.unknown_phases import UnknownPhases
from locus.score import path_set
from locus.score.angle_strength import AngleStrength

TOLERANT = ("delays.tolerant", "soft.tolerant", "left.tolerant", "ideal.tolerant")


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with its steps."""
    with smoke_run(smoke_folder, lambda run: make([Nats(run), Rows(run, "eval_random")])) as made:
        yield made


def test_every_step_is_there_and_stands_beside_the_limits(run: locus.Run) -> None:
    assert Nats(run).fresh()
    found, limits = Nats(run).open(), UnknownPhases(run).open()
    assert set(found.method.values) == {*TITLES, *TOLERANT}
    assert found.method.values.tolist()[: len(TITLES)] == list(TITLES)
    assert found.group.values.tolist() == limits.group.values.tolist()
    assert found.attrs["num_candidates"] == 50
    for name in limits.method.values:
        np.testing.assert_array_equal(*(one.log_posterior.sel({"method": name}) for one in (found, limits)))
    assert (found.log_posterior <= 0).all()


def test_the_path_set_is_that_of_the_table(run: locus.Run) -> None:
    rows = Rows(run, "eval_random").open("random").log_posterior.sel({"method": "path_set"})
    expected = np.concatenate([rows.values[rows.group == index][:2] for index in (0, 1)])
    found = Nats(run).open().log_posterior.sel({"method": "left.tolerant"})
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_steps_see_what_they_say(run: locus.Run) -> None:
    """Made again from the parts of the case; an ideal estimate is another at every draw, so only its mean is known."""
    case, found = Case(run.config, "eval_random", 1), Nats(run).open().isel(snapshot=[2, 3])
    exact = locus.PathSet(tolerance=locus.Tolerance(0, 0, 0, 0), constants=fitted(run).constants)
    own = {
        "set": AngleStrength().log_posterior(case.paths.isel(path=slice(6)), case.observed),
        "delays": exact.log_posterior(case.paths, case.observed.drop_vars("residual")),
        "soft": exact.log_posterior(case.paths, case.observed_with(exact.estimator).drop_vars("residual")),
        "left": exact.log_posterior(case.paths, case.observed_with(exact.estimator)),
    }
    for name, logs in own.items():
        expected = logs.values[[0, 1], case.truth[:2]]
        np.testing.assert_allclose(found.log_posterior.sel({"method": name}), expected, rtol=1e-5)
    again = nats.evaluate_group(run.config, 1, fitted(run)).log_posterior.sel({"method": "ideal"})
    np.testing.assert_allclose(again, found.log_posterior.sel({"method": "ideal"}), rtol=1e-5)


def test_steps_add_up(run: locus.Run) -> None:
    rows = Nats(run).open()
    found = nats.summary(rows)
    loss = -rows.log_posterior.mean("snapshot") - np.log(50)
    np.testing.assert_allclose(found.loss, loss, rtol=1e-5)
    for before, name in itertools.pairwise(TITLES):
        step = float(found.step.sel({"method": name}))
        assert step == pytest.approx(float(loss.sel({"method": name}) - loss.sel({"method": before})), abs=1e-5)
    assert np.isnan(found.step.sel({"method": ["locus_dt", *TOLERANT]})).all()


def test_it_is_stale_with_another_path_set(run: locus.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_set, "RECIPE", path_set.RECIPE + 1)
    assert not Nats(run).fresh()
    assert UnknownPhases(run).fresh()


def test_the_figure_shows_every_step(run: locus.Run) -> None:
    figure = nats_figure(nats.summary(Nats(run).open()))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(TITLES.values())
    assert len(axes.patches) == len(TITLES) - 1
    assert len(figure.legends[0].get_texts()) == 1
    plt.close(figure)
