"""Baselines on raw IQ in a run: trained on the snapshots of the others, judged on the same ones, and resumable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from smoke import make, smoke_run

import locus
from locus.book import tables
from locus.book.paper import printed
from locus.experiment import iq_baselines
from locus.experiment.case import Case
from locus.experiment.iq_baselines import IqBaselines
from locus.experiment.libraries import Library, Observations
from locus.experiment.rows import Rows
from locus.experiment.table import Table
from locus.score import weight_files


@pytest.fixture(scope="module", autouse=True)
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with baselines on raw IQ beside its own."""
    with smoke_run(smoke_folder, lambda run: make([IqBaselines(run), Table(run), Observations(run, "train")])) as made:
        yield made


def test_training_snapshots_are_those_that_paths_were_estimated_from(run: locus.Run) -> None:
    stored = Observations(run, "train").open()
    paths = Library(run, "train").open().isel(group=slice(10, 12)).load()
    drawn = iq_baselines.draw_snapshots(run.config, paths, 10)
    np.testing.assert_array_equal(drawn.truth, stored.truth.isel(group=slice(10, 12)))
    for row, index in enumerate((10, 11)):  # traced anew, without the library
        np.testing.assert_array_equal(drawn.iq[row], Case(run.config, "train", index).snapshots.iq)
    assert drawn.attrs["noise_power"] == run.config.radio.noise_power


def test_rows_are_on_the_snapshots_of_the_run(run: locus.Run) -> None:
    data = IqBaselines(run).open()
    assert tuple(data.method.values) == weight_files.METHODS[1:]
    for name in iq_baselines.COMPARED:
        own = Rows(run, iq_baselines.EVALUATIONS[name]).open(name)
        np.testing.assert_array_equal(data.group, own.group)
        assert data[name].attrs["num_candidates"] == own.attrs["num_candidates"]
        assert data[name].shape == (own.sizes["snapshot"], len(data.method))
        assert (data[name] <= 0).all()


def test_losses_are_plain_means_and_the_best_epoch_was_kept(run: locus.Run) -> None:
    data, found = IqBaselines(run).open(), IqBaselines(run).summary()
    for name in iq_baselines.COMPARED:
        loss = (-data[name].astype(float) - math.log(50)).mean("snapshot")
        np.testing.assert_allclose(found.loss.sel(evaluation=name), loss, rtol=1e-6)
    np.testing.assert_array_equal(data.best_epoch, data.validation.argmin("epoch") + 1)
    assert not list((run.results / "blocks").glob("raw_iq/*")), "weights are not kept"


def test_a_killed_run_goes_on_with_the_network_in_progress(
    run: locus.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"training.num_epochs": 2, "training.num_layouts": 10, "evaluation.num_layouts": 3}
    small = locus.Run("small", locus.load_config("smoke", {**settings, "twin.evaluation": "image"}), root=tmp_path)
    trained: list[str] = []
    train = IqBaselines._train

    def killed(self: IqBaselines, name: str, examples: object) -> None:
        if name == "gmm_cart" and "killed" not in trained:
            trained.append("killed")
            raise KeyboardInterrupt
        trained.append(name)
        train(self, name, examples)

    monkeypatch.setattr(IqBaselines, "_train", killed)
    with pytest.raises(KeyboardInterrupt):
        make([IqBaselines(small)])
    make([IqBaselines(small)])
    assert trained == ["gauss_cart", "gauss_polar", "killed", "gmm_cart"]
    interrupted = IqBaselines(small).open()
    IqBaselines(small).make()
    assert interrupted.equals(IqBaselines(small).open()), "an interruption changes nothing"


def test_the_closer_reading_follows_from_the_numbers(run: locus.Run) -> None:
    """As close as the paper's own numbers, and as far as certainty."""
    theirs = printed().sel({"method": list(weight_files.METHODS[1:])})
    far = theirs.assign(ratio=theirs.ratio + 0.2)
    half = theirs.assign(ratio=theirs.ratio.where(theirs.evaluation == "grid", far.ratio))
    count = tables.nearer_readings
    assert count(table=far, raw=theirs, printed=printed()) == {"samples": 6, "paths": 0}
    assert count(table=theirs, raw=far, printed=printed()) == {"samples": 0, "paths": 6}
    assert count(table=theirs.assign(ratio=theirs.ratio + 0.1), raw=half, printed=printed()) == {
        "samples": 3,
        "paths": 3,
    }
    said = tables.which_reading(table=far, raw=theirs, printed=printed())
    # The paper prints two digits, our tables one
    assert "by at most 0.1 points; with estimated paths, by at most 20.0." in said
    assert said.endswith("the words of Sec. III-D taken literally.")
    worse = theirs.assign(ratio=theirs.ratio - 0.01)
    said = tables.which_reading(table=far, raw=worse, printed=printed())
    assert said.endswith("ours with samples and ours with paths: neither input reproduces them.")
    mixed = worse.assign(ratio=worse.ratio.where(worse.evaluation == "grid", theirs.ratio))
    said = tables.which_reading(table=far, raw=mixed, printed=printed())
    assert said.endswith("But three of them are better than ours with samples, so something else differs, too.")
    frame = tables.inputs_frame(Table(run).open(), IqBaselines(run).summary(), printed())
    assert frame.shape == (6, 3)
    assert frame.loc[("Eval Grid", "Gauss-Cart"), "in the paper"] == "0.91"
