"""Candidate libraries and observations: contents, recovery from damage, and errors."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest
import xarray as xr

import locus
from locus.cli import main
from locus.experiment import cluster, store
from locus.experiment.case import Case
from locus.experiment.journal import Journal, StoreError, exclusive
from locus.experiment.libraries import Library, Observations

CHANGES = {"twin.evaluation": "image", "training.num_layouts": 5, "storage.block": 2}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folder with five groups in blocks of two, built by two workers."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(folder))
        build(Library(locus.open_run("smoke", CHANGES), "train"))
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A copy of the library that a test may damage."""
    shutil.copytree(built, tmp_path / "data")
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path / "data"))
    return Library(locus.open_run("smoke", CHANGES), "train")


def build(store: Library | Observations) -> None:
    with cluster.connect(2) as client:
        store.build(lambda: client)


def nobody() -> NoReturn:
    raise AssertionError("no worker should be requested")


def test_store_holds_each_group_as_it_is_made_alone(copy: Library) -> None:
    data = copy.open()
    assert dict(data.sizes) == {"group": 5, "candidate": 50, "path": 16}
    for index in range(5):
        alone, stored = Case(copy.run.config, "train", index).paths, data.isel(group=index).compute()
        for name in alone.variables:
            np.testing.assert_array_equal(stored[name].values, alone[name].values)
            assert stored[name].dtype == alone[name].dtype


def test_stored_precision_is_enough(copy: Library) -> None:
    """Rounding to the stored precision changes a path by less than a microradian and a hundredth of a millidecibel."""
    config = copy.run.config
    exact = Case(config, "train", 0, locus.make_twin("image", config.radio, config.twin)).paths
    stored = Case(config, "train", 0).paths
    assert float(abs(stored.aoa - exact.aoa).max()) < 1e-6
    assert float(abs(stored.delay - exact.delay).max()) == 0
    assert float(abs(stored.snr_db - exact.snr_db).where(exact.valid).max()) < 1e-4


def test_store_is_lazy_labelled_and_says_how_it_was_made(copy: Library) -> None:
    data = copy.open()
    assert all(variable.chunks is not None for variable in data.data_vars.values())
    assert all({"units", "long_name"} <= variable.attrs.keys() for variable in data.variables.values())
    assert all(variable.dtype.kind in "fcib" for variable in data.variables.values())  # no strings, no objects
    assert data.attrs["recipe"]["paths"]["seed"] == 0
    assert data.attrs["recipe"]["paths"]["backend"] == "image"
    assert data.attrs["config"] == copy.run.config.to_dict()
    assert data.attrs["versions"]["sionna-rt"] == "2.2.0"
    assert data.attrs["hash"] == copy.hash()
    sionna = Library(locus.open_run("smoke", {"twin.train": "sionna"}), "train").recipe()
    assert {"num_rays", "table_size"} <= sionna["paths"]["twin"].keys()  # Sionna's results depend on these


def test_a_store_made_with_other_settings_is_refused_and_told_apart(copy: Library) -> None:
    other = Library(locus.Run(copy.run.name, locus.load_config("smoke", {**CHANGES, "room.num_obstacles": 2})), "train")
    message = r"room\.num_obstacles is 3 in the store and 2 in the settings; use another run, or remove"
    with pytest.raises(StoreError, match=message):
        other.open()
    with pytest.raises(StoreError, match=message):
        other.build(nobody)
    # Settings that do not affect the groups may change.
    Library(
        locus.Run(copy.run.name, locus.load_config("smoke", {**CHANGES, "twin_check.num_layouts": 9})), "train"
    ).open()


def test_a_finished_store_is_not_computed_again(copy: Library, capsys: pytest.CaptureFixture[str]) -> None:
    copy.build(nobody)
    assert capsys.readouterr().out == "candidates of train: all 3 blocks are finished\n"


def test_a_missing_or_unfinished_store_says_how_to_go_on(copy: Library) -> None:
    lines = Journal(copy.path).path.read_text().splitlines(keepends=True)
    Journal(copy.path).path.write_text("".join(lines[:2]) + lines[2][:40])  # as after a kill
    assert len(copy.todo()) == 2
    with pytest.raises(StoreError, match=r"Expected 3 blocks of train candidates, got 1; `locus build train` resumes"):
        copy.open()
    with pytest.raises(
        StoreError, match=r"Expected the candidates of test in run smoke-.*, got none; `locus build test` builds it"
    ):
        Library(copy.run, "test").open()


def test_a_damaged_chunk_is_found_named_and_made_again_alone(copy: Library, capsys: pytest.CaptureFixture[str]) -> None:
    files = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in copy.path.rglob("c/*") if p.is_file()}
    files |= {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in copy.path.rglob("c/**/0") if p.is_file()}
    victim = copy.path / "gain/c/1/0/0"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    copy.build()
    assert "candidates of train: block 1 is damaged (gain/c/1/0/0); computing it again" in capsys.readouterr().out
    for path, (expected, stamp) in files.items():
        assert path.read_bytes() == expected
        of_block = path.relative_to(copy.path).parts[2] == "1"
        assert (path.stat().st_mtime_ns == stamp) != of_block
    assert copy.todo() == []


@pytest.mark.parametrize("name", ["zarr.json", "delay/zarr.json"])
def test_damaged_metadata_is_found_named_and_written_again(
    copy: Library, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Wrong metadata, like a changed byte order, would silently change the values."""
    before = copy.open().compute()
    victim = copy.path / name
    victim.write_text(victim.read_text().replace("little", "big") if "/" in name else "{")
    assert not copy.fresh()
    with pytest.raises(
        StoreError, match=rf"Expected train\.zarr .* got {name} damaged; `locus build train` repairs it"
    ):
        copy.open()
    copy.build(nobody)
    assert f"candidates of train: {name} is damaged; writing it again" in capsys.readouterr().out
    assert copy.fresh()
    xr.testing.assert_identical(copy.open().compute(), before)


def test_a_damaged_line_of_the_journal_costs_its_block_alone(copy: Library) -> None:
    """A flipped bit anywhere in the line of a block makes only that block due."""
    path = Journal(copy.path).path
    text = path.read_bytes()
    start = text.index(b"\n") + 1
    second = text.index(b"\n", start) + 1
    (block,) = re.findall(rb'"block": (\d)', text[start:second])
    for position in np.random.default_rng(0).integers(start, second - 1, size=40):
        damaged = bytearray(text)
        damaged[position] ^= 1 << int(position % 7)
        path.write_bytes(damaged)
        assert copy.todo() == [int(block)]


def test_a_lost_journal_makes_a_store_anew(copy: Library, capsys: pytest.CaptureFixture[str]) -> None:
    Journal(copy.path).path.unlink()
    assert not copy.fresh()
    copy.make()
    assert "its journal is missing or damaged" in capsys.readouterr().out
    assert copy.fresh()


class TestAdopt:
    @pytest.fixture
    def other(self, copy: Library) -> Library:
        """The same library in another run, not built yet."""
        return Library(locus.open_run("smoke", CHANGES, "other"), "train")

    def test_a_store_is_copied_so_that_damage_in_one_run_is_not_damage_in_the_other(
        self, copy: Library, other: Library
    ) -> None:
        assert other.adopt()
        assert other.fresh()
        (copy.path / "gain/c/1/0/0").write_bytes(b"damaged")
        assert other.fresh()
        assert copy.todo() == [1]

    @pytest.mark.parametrize("name", ["gain/c/1/0/0", "gain/zarr.json"])
    def test_a_damaged_store_is_not_copied(
        self, copy: Library, other: Library, name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (copy.path / name).write_bytes(b"damaged")
        assert not other.adopt()
        assert capsys.readouterr().out == f"{copy.run.name}/candidates/train is damaged; not copying it\n"
        assert not other.path.exists()


def test_half_written_files_are_cleared_away(copy: Library) -> None:
    scratch = copy.path / "gain/c/1/0/0.abc.partial"
    scratch.write_bytes(b"half")
    (copy.path / "gain/c/1/0/0").unlink()
    copy.build()
    assert not scratch.exists()
    assert (copy.path / "gain/c/1/0/0").exists()


def test_a_second_writer_is_told_who_holds_the_store(copy: Library, capsys: pytest.CaptureFixture[str]) -> None:
    with exclusive(copy.path):
        arguments = [word for key, value in CHANGES.items() for word in ("--set", f"{key}={value}")]
        assert main(["build", "train", "--profile", "smoke", *arguments]) == 2
    assert f"Expected train.zarr free for writing, got it held by process {os.getpid()}" in capsys.readouterr().err


def test_too_little_disk_is_an_error_before_work_starts(copy: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy.path)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda _: SimpleNamespace(free=10_000))
    with pytest.raises(
        StoreError, match=r"Expected [\d.]+ kB of free disk for train, got 10 kB; free some, or set LOCUS_DATA"
    ):
        copy.build(nobody)
    assert not copy.path.exists()


def test_dry_run_says_time_and_disk_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main(["build", "train", "--profile", "paper", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "train of run paper: 400 of 400 blocks to do, about" in text
    assert "at most 1.31 GiB" in text  # 8000 x 500 x (16 paths x 21 bytes + 16)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "Expected 'split' in ['train', 'test', 'eval_random', 'eval_grid'], got 'trian'"),
        (["train", "--workers", "0"], "Expected 'workers' in [1, 1024], got 0"),
        (
            ["train", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1"],
            "Expected 'workers' or 'scheduler', got both",
        ),
    ],
)
def test_bad_commands_are_named(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main(["build", "--profile", "smoke", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def observed(built: Path) -> Path:
    """The same data folder, with observations of the library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(built))
        build(Observations(locus.open_run("smoke", CHANGES), "train"))
    return built


@pytest.fixture
def observations(observed: Path, monkeypatch: pytest.MonkeyPatch) -> Observations:
    monkeypatch.setenv("LOCUS_DATA", str(observed))
    return Observations(locus.open_run("smoke", CHANGES), "train")


def test_a_snapshot_can_be_made_again_alone_with_the_same_bits(observations: Observations) -> None:
    """IQ is not stored: simulated from the store or retraced, alone or in a batch, it and its estimate are the same."""
    config, stored = observations.run.config, observations.open().compute()
    assert dict(stored.sizes) == {"group": 5, "snapshot": 5, "path": 6}
    library = observations.library.open()
    for index in (0, 4):
        again = Case(config, "train", index).snapshots
        from_store = Case(config, "train", index, traced=library.isel(group=index).compute()).snapshots
        np.testing.assert_array_equal(again.iq, from_store.iq)
        np.testing.assert_array_equal(again.truth, stored.truth[index])
        for snapshot in range(5):
            alone = locus.estimate(again.isel(snapshot=snapshot), config.estimator)
            for name in ("aoa", "delay", "gain", "valid"):
                expected = alone[name].values.astype(stored[name].dtype)
                np.testing.assert_array_equal(stored[name][index, snapshot], expected)


def test_the_true_transmitter_can_be_heard(observations: Observations) -> None:
    truth, valid = observations.open().truth.compute(), observations.library.open().valid.compute()
    for group in range(5):
        assert valid.isel(group=group, candidate=truth[group].values).any("path").all()
    assert len(np.unique(truth)) > 10


def test_observations_say_how_they_were_made_and_refuse_other_settings(observations: Observations) -> None:
    data = observations.open()
    assert data.attrs["recipe"]["estimates"]["estimator"]["num_paths"] == 6
    assert data.attrs["recipe"]["estimates"]["paths"] == observations.library.recipe()["paths"]
    assert all({"units", "long_name"} <= variable.attrs.keys() for variable in data.variables.values())
    other = locus.load_config("smoke", {**CHANGES, "estimator.false_alarm": 0.1})
    with pytest.raises(StoreError, match=r"estimator.false_alarm is 0.3 in the store and 0.1 in the settings"):
        Observations(locus.Run(observations.run.name, other), "train").open()
    # The library depends neither on the estimator nor on the link budget.
    Library(locus.Run(observations.run.name, other), "train").open()


def test_observations_need_their_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main(["observe", "train", "--profile", "smoke", "--workers", "1"]) == 2
    assert (
        "Expected the candidates of train in run smoke, got none; `locus build train` builds it"
        in capsys.readouterr().err
    )
