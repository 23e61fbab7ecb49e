"""A slice of the campaign, and its book-keeping."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign import State
from campaign.flips import NAME, everything, flip, kinds, prepare, same
from campaign.kills import calm, differences, kill, targets
from locus.cli.commands import COMMANDS


def test_flipped_bits_are_noticed_in_every_kind_of_file(tmp_path: Path) -> None:
    prepare(tmp_path)
    expected = everything(tmp_path)
    found = kinds(tmp_path / NAME)
    known = {"chunk", ".journal", ".safetensors", ".nc", ".ipynb", ".checkpoint"}
    assert known | {"run.yml", "report.json", "SHA256SUMS", "zarr.json"} <= set(found)
    outcomes = [flip(tmp_path, number, expected) for number in range(5 * len(found))]
    assert not [detail for outcome, detail in outcomes if outcome == "wrong"]
    assert sum(outcome == "found" for outcome, _ in outcomes) > 3 * len(found)
    assert same(everything(tmp_path), expected)


def test_killed_commands_end_with_the_same_bits(tmp_path: Path) -> None:
    some = [targets()[name] for name in ("build", "train")]
    undisturbed, state = calm(tmp_path, some, whole=False), State(tmp_path)
    for first, target in enumerate(some):
        data = tmp_path / target.name / "data"
        kill(target, [2 * first, 2 * first + 1], undisturbed, data, state)
    assert state.counts("kills") == {"survived": 4}


def test_every_command_that_writes_is_killed_200_times_in_all() -> None:
    assert sum(target.num_kills for target in targets().values()) == 200
    killed = {target.command(Path("data"))[0] for target in targets().values()}
    idle = {"doctor", "settings", "sensitivity", "solver", "export"}  # write nothing, or see campaign.kills.targets
    assert killed | idle == set(COMMANDS)


def test_a_changed_or_a_temporary_file_is_a_difference() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == ""
    assert differences({"a": "1", "b": "3"}, {"a": "1", "b": "2"}) == "1 files differ: b"
    assert differences({"a": "1", ".b.7.nc": "3"}, {"a": "1"}) == "1 files differ: .b.7.nc"


def test_trials_are_counted_once_and_half_lines_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = State(tmp_path)
    state.note("kills", 0, "survived")
    state.note("kills", 1, "wrong", "a file differs")
    assert capsys.readouterr().out == "kills, trial 1: a file differs\n"
    with state.path.open("a", encoding="utf-8") as stream:
        stream.write('{"part": "kills", "tri')
    again = State(tmp_path)
    assert again.done("kills", 0)
    assert not again.done("kills", 1)  # it was wrong, and may be mended
    assert not again.done("kills", 2)
    assert not again.complete("kills", 2)
    again.note("kills", 1, "survived")
    assert again.complete("kills", 2)
    assert State(tmp_path).complete("kills", 2)
    again.note("kills", 1, "wrong", "once more")
    summary = again.summary({"kills": 200, "bit flips": 1000})
    assert summary["wrong"] == 1
    assert summary["parts"]["kills"]["planned"] == 200
    assert summary["parts"]["kills"]["done"] == 2
    assert summary["parts"]["bit flips"]["done"] == 0
