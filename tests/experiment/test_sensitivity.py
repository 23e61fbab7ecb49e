"""Sensitivities: readings of the paper, and how much they change the loss."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import locus
from locus.book import reading_page
from locus.experiment import cluster, sensitivity
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.sensitivity import Sensitivity, Variant, readings, variants

TINY = (
    ("twin.evaluation", "image"), ("twin.max_depth", 1), ("training.num_layouts", 8), ("training.num_epochs", 2),
    ("evaluation.num_layouts", 3),
)  # fmt: skip


def test_the_first_value_of_every_reading_is_the_one_chosen_in_the_paper_profile() -> None:
    config = locus.load_config("paper").to_dict()
    for reading in readings():
        if reading.name != "layouts":
            for setting, value in reading.changes(next(iter(reading.values))).items():
                section, _, name = setting.partition(".")
                assert config[section][name] == value, reading.name
    (by_evaluation,) = [reading for reading in readings() if reading.setting is None]
    assert set(by_evaluation.values.values()) <= EVALUATIONS.keys()
    assert locus.load_config("paper").training.num_layouts == 8000
    assert locus.load_config("sensitivity").training.num_layouts == 600


def test_variants_differ_from_the_chosen_reading_only_in_the_settings_of_their_own_reading() -> None:
    settings = {reading.name: set(reading.settings) for reading in readings()}
    chosen, *others = [(one.reading, one.runs()[0].config.to_dict()) for one in variants()]
    for reading, other in others:
        changed = {
            f"{section}.{name}"
            for section, fields in chosen[1].items()
            if isinstance(fields, dict)
            for name in fields
            if fields[name] != other[section][name]
        }
        assert changed == settings[reading]
    assert len({run.name for one in variants() for run in one.runs()}) == 3 * len(variants())


@pytest.mark.parametrize(("label", "scale"), [("half as large", 0.5), ("1.3 times as large", 1.3)])
def test_obstacles_of_another_size_are_scaled_in_every_side_and_fit_into_a_room(label: str, scale: float) -> None:
    (reading,) = [one for one in readings() if one.name == "obstacles"]
    own, other = (
        locus.load_config("paper", reading.changes(name)).room for name in (next(iter(reading.values)), label)
    )
    for name in ("rectangle_side", "bent_side", "arm_thickness"):
        np.testing.assert_allclose(getattr(other, name), np.multiply(getattr(own, name), scale))
    for seed in range(5):
        layout = locus.Layout.random(np.random.default_rng(seed), other)
        assert len(layout.grid(other.grid_points)) >= other.min_feasible


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants, one of them without reflections, and two seeds, at test size."""
    folder = tmp_path_factory.mktemp("sensitivity")
    with pytest.MonkeyPatch.context() as patch:
        _enter(patch, folder)
        with cluster.connect(1) as client:
            Sensitivity(locus.open_run("smoke")).make(lambda: client)
    return folder


def _enter(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("LOCUS_DATA", str(folder))
    patch.setattr(sensitivity, "PROFILE", "smoke")
    patch.setattr(sensitivity, "SEEDS", (0, 1))
    two = [Variant("chosen", "chosen", TINY), Variant("depth", "0", (*TINY, ("twin.max_depth", 0)))]
    patch.setattr(sensitivity, "variants", lambda: two)


def test_differences_are_those_of_the_same_groups(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the rows themselves, read one by one."""
    _enter(monkeypatch, small)
    one = Sensitivity(locus.open_run("smoke"))
    assert one.fresh()
    data = one.open()
    assert list(data.variant.values) == ["chosen: chosen", "depth: 0", "list: off the list"]
    losses = [
        [-np.log(50) - Rows(run, "eval_random", ("locus_dt",)).open("random").log_posterior.values.mean()
         for run in variant.runs()]
        for variant in sensitivity.variants()
    ]  # fmt: skip
    both = data.isel(variant=slice(2))
    np.testing.assert_allclose(both.loss, np.mean(losses, axis=1), atol=1e-5)
    np.testing.assert_allclose(both.ratio, -both.loss / np.log(50), atol=1e-6)
    np.testing.assert_allclose(both.difference_of_seed[1], np.subtract(losses[1], losses[0]), atol=1e-5)
    np.testing.assert_allclose(both.difference[1], np.subtract(losses[1], losses[0]).mean(), atol=1e-5)
    assert (both.difference[0] == 0) & (both.difference_low[0] == 0)
    assert both.difference_low[1] <= both.difference[1] <= both.difference_high[1]
    on, off = (
        np.mean([Rows(run, "eval_grid", ("locus_dt",)).open(name).log_posterior.values.mean()
                 for run in sensitivity.variants()[0].runs()])
        for name in ("grid", "grid_offlist")
    )  # fmt: skip
    np.testing.assert_allclose(data.difference[2], on - off, atol=1e-5)


def test_large_stores_are_gone_and_small_results_stay(small: Path) -> None:
    assert not list(small.glob("*/candidates/*.zarr"))
    assert len(list(small.glob("*/results/**/*.nc"))) == 2 * 3 + 2 * 1 + 1


def test_what_is_fresh_is_not_made_again(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _enter(monkeypatch, small)
    before = {path: path.stat().st_mtime_ns for path in small.glob("smoke-*/**/*") if path.is_file()}
    Sensitivity(locus.open_run("smoke")).make()
    assert {path: path.stat().st_mtime_ns for path in small.glob("smoke-*/**/*") if path.is_file()} == before


@pytest.fixture
def copy(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sensitivity:
    """A file of two variants, and the runs it was made from, free to be changed."""
    folder = shutil.copytree(small, tmp_path / "copy")
    _enter(monkeypatch, folder)
    return Sensitivity(locus.open_run("smoke"))


def test_a_new_variant_is_added_and_the_others_are_kept_bit_for_bit(
    copy: Sensitivity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new variant has the settings of an old one, so its row is known. The old row is marked to recognise it."""
    before, (chosen, old) = copy.open(), sensitivity.variants()
    marked = before.assign(loss=before.loss + (before.variant == old.name).astype("float32"))
    copy.save(marked)
    added = Variant(old.reading, "added", old.changes)
    monkeypatch.setattr(sensitivity, "variants", lambda: [chosen, added, old])
    assert not copy.fresh()
    copy.make()
    assert copy.fresh()
    after = copy.open()
    assert list(after.variant.values) == [chosen.name, added.name, old.name, "list: off the list"]
    xr.testing.assert_identical(after.sel(variant=marked.variant).drop_attrs(), marked.drop_attrs())
    row, known = (data.sel(variant=one.name, drop=True) for data, one in ((after, added), (before, old)))
    xr.testing.assert_identical(row.drop_attrs(), known.drop_attrs())


def test_a_file_is_kept_only_if_all_that_it_holds_is_up_to_date(
    copy: Sensitivity, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copy.kept() is not None
    with monkeypatch.context() as other:
        other.setattr(sensitivity, "SEEDS", (0, 2))
        assert copy.kept() is None
    copy.path.write_bytes(copy.path.read_bytes()[:-1])
    assert copy.kept() is None


def test_a_chosen_reading_with_another_loss_than_the_stored_one_is_told(copy: Sensitivity) -> None:
    data = copy.open()
    with pytest.warns(UserWarning, match=r"Expected a loss of .* nat of the chosen reading, as stored, got "):
        sensitivity.compare_readings(data.assign(loss=data.loss + 0.01))


def test_the_page_names_the_open_reading_that_lowers_r_most() -> None:
    told = reading_page.values(Sensitivity(locus.open_run("paper")).open())
    changes = {
        (one["reading"].title, row["label"]): float(row["change"].split()[0])
        for one in told["readings"]
        if one["reading"].name not in ("list", "order", "paths", "layouts")
        for row in one["rows"]
    }
    lowest = told["lowest"]
    assert changes[lowest["title"], lowest["label"]] == min(changes.values()) < 0
