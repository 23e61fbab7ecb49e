"""Settings as text: every setting has a meaning, and only requested changes are listed as changed."""

from __future__ import annotations

import dataclasses

import pytest

from locus.cli import main
from locus.settings import listing
from locus.settings.config import Config
from locus.settings.profiles import load_config, parse_changes, profiles

SECTIONS = {"": Config()} | {
    field.name: getattr(Config(), field.name)
    for field in dataclasses.fields(Config)
    if dataclasses.is_dataclass(getattr(Config(), field.name))
}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_has_a_meaning(section: str) -> None:
    kind = type(SECTIONS[section])
    assert kind.__doc__
    names = [field.name for field in dataclasses.fields(kind) if section or field.name not in SECTIONS]
    meanings = listing.meanings(kind)
    assert list(meanings) == names
    assert all(meaning[0].isupper() and meaning.endswith(".") for meaning in meanings.values())


def test_settings_are_listed_with_value_default_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--profile", "quick", "--set", "room.size=50", "--set", "radio.carrier=6e9"]) == 0
    text = capsys.readouterr().out
    found = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line.startswith("  ")}
    assert found["radio.carrier"] == "radio.carrier 6e+09 (default 1.2e+10) Frequency of the lowest subcarrier [Hz]."
    assert found["room.wall_gap"].startswith("room.wall_gap 2.5 (default 5) Minimum distance")
    assert found["training.num_layouts"].startswith("training.num_layouts 1200 (default 8000) ")
    assert found["twin.refraction"] == "twin.refraction false Trace paths through walls (Sionna only)."
    number = sum(len(part) if isinstance(part, dict) else 1 for part in Config().to_dict().values())
    assert len(found) == number
    assert "\nroom: Distribution of random rooms." in text


@pytest.mark.parametrize(
    "wanted",
    [
        [],
        ["room.num_obstacles=5"],
        ["seed=3", "room.size=50"],
        ["radio.carrier=12345678901.0"],
        ["room.size=50", "room.wall_gap=5"],
        ["room.min_feasible=300", "evaluation.num_grid_candidates=200", "twin.refraction=true"],
        ["room.bent_side=[20, 30]", "features.order=angle"],
    ],
)
def test_changes_are_what_was_asked_for(wanted: list[str]) -> None:
    found = listing.changes(load_config("quick", parse_changes(wanted)), "quick")
    assert {f"{name}={listing.words(value)}" for name, value in found.items()} == set(wanted)


def test_a_run_without_a_known_profile_shows_no_changes() -> None:
    assert listing.changes(Config(), "") == {}


@pytest.mark.parametrize("command", ["reproduce", "sweep", "build", "observe", "train", "evaluate", "settings"])
def test_help_says_what_each_profile_is_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert "--profile {paper,paper-exact,quick,sensitivity,smoke}" in text
    assert all(meaning and f"{name:12}  {meaning}" in text for name, meaning in profiles().items())
