"""Recording: the kernel of a chapter logs the settings that it reads from its run; other processes log nothing."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import locus
from locus.experiment import case as case_module
from locus.experiment.case import Case
from locus.experiment.libraries import Library
from locus.experiment.rows import Rows
from locus.experiment.table import Table
from locus.experiment.weights import Weights
from locus.settings import recording
from locus.settings.listing import flat


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File in which this process logs the settings read from the run ``smoke``."""
    monkeypatch.setattr(recording, "_record", None)
    file = tmp_path / "settings"
    recording.start("smoke", str(file))
    return file


def names_of(record: Path) -> list[str]:
    return record.read_text().splitlines()


def section(name: str) -> set[str]:
    return {one for one in flat(locus.load_config("smoke")) if one.startswith(f"{name}.")}


def test_a_field_is_noted_once_when_it_is_read(record: Path) -> None:
    config = locus.open_run("smoke").config
    assert names_of(record) == [], "opening a run reads nothing"
    assert config.training.num_candidates == locus.load_config("smoke").training.num_candidates
    assert (config.training.num_candidates, config.seed) == (50, 0)
    assert names_of(record) == ["training.num_candidates", "seed"]
    assert locus.open_run("smoke").config.radio.wavelength == config.radio.wavelength
    assert names_of(record)[2:] == ["radio.carrier"], "a property reads the fields that it is computed from"


@pytest.mark.parametrize("serialise", [dataclasses.asdict, dataclasses.astuple, repr, vars, pickle.dumps, replace])
def test_serialising_a_section_reads_all_of_it(record: Path, serialise) -> None:
    config = locus.open_run("smoke").config
    serialise(config.room)
    assert set(names_of(record)) == section("room")


@pytest.mark.parametrize(
    "serialise", [locus.Config.to_dict, dataclasses.asdict, lambda config: pickle.loads(pickle.dumps(config)), repr]
)
def test_serialising_a_configuration_reads_all_of_it(record: Path, serialise) -> None:
    config = locus.open_run("smoke").config
    assert serialise(config) == serialise(locus.load_config("smoke"))
    assert set(names_of(record)) == set(flat(config))


def test_a_copy_reads_what_it_keeps_and_is_not_watched_itself(record: Path) -> None:
    config = locus.open_run("smoke").config
    changed = replace(config, twin=replace(config.twin, max_paths=64))
    assert set(names_of(record)) == {"seed", *section("twin")} - {"twin.max_paths"}
    assert changed.twin.max_paths == 64
    assert "twin.max_paths" not in names_of(record), "the run's own value was not read"
    assert changed.room.size == 100
    assert "room.size" in names_of(record), "unchanged sections still belong to the run"


def test_a_view_passes_for_what_it_views(record: Path) -> None:
    config, own = locus.open_run("smoke").config, locus.load_config("smoke")
    assert hash(config) == hash(own)
    assert {own.twin: "cached"}.get(own.twin)
    assert names_of(record) == [], "hashing reads no setting"
    assert isinstance(config.room, locus.Room)
    assert config == own
    assert own == config
    assert type(pickle.loads(pickle.dumps(config.room))) is locus.Room
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.room.size = 3.0  # type: ignore[misc]


def test_only_the_run_of_the_chapter_is_recorded(record: Path) -> None:
    locus.open_run("quick").config.to_dict()
    locus.load_config("smoke").to_dict()
    assert names_of(record) == []


def test_a_hash_of_what_was_made_reads_nothing(record: Path) -> None:
    run = locus.open_run("smoke")
    for made in (Rows(run, "test"), Table(run), Weights(run, "locus_dt"), Library(run, "train")):
        assert made.hash()
    assert names_of(record) == []
    assert run.config.room.size
    assert names_of(record) == ["room.size"], "recording resumes afterwards"


def test_functions_read_what_they_depend_on_and_no_more(record: Path) -> None:
    """Includes two settings that chapters 1 and 2 once read undeclared. No twin exists yet, as in a new kernel."""
    case_module._make_twin_once.cache_clear()
    config = locus.open_run("smoke").config
    case = Case(config, "test", 0)
    assert len(case.candidates)
    read = set(names_of(record))
    assert read <= {"seed", "training.num_candidates", *section("room")}
    assert {"seed", "training.num_candidates", "room.size"} <= read
    assert len(case.snapshots.iq)
    more = set(names_of(record)) - read
    assert {"transmitter.heard", "training.num_snapshots", "twin.train", "twin.max_depth"} <= more
    assert more <= {"transmitter.heard", "training.num_snapshots"} | section("twin") | section("radio")
    assert not more & {"twin.evaluation", "twin.num_rays"}


def test_without_a_record_a_run_has_a_plain_configuration() -> None:
    config = locus.open_run("smoke").config
    assert type(config) is locus.Config
    assert type(config.room) is locus.Room
