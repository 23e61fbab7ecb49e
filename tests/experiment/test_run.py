from pathlib import Path

import pytest
import yaml

import locus
from locus.cli import main


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    return tmp_path


def test_a_run_is_named_after_its_profile_and_its_changes() -> None:
    assert locus.open_run("quick").name == "quick"
    assert locus.open_run("quick", {"room.size": 100.0}).name == "quick"  # same as the default
    changed = locus.open_run("quick", {"room.size": 80})
    assert changed.name.startswith("quick-")
    assert len(changed.name) == len("quick-") + 8
    assert changed.name == locus.open_run("quick", {"room.size": 80.0}).name
    assert changed.name != locus.open_run("quick", {"room.size": 81}).name


def test_a_saved_run_opens_by_its_name(data: Path) -> None:
    run = locus.open_run("quick", {"room.size": 80})
    run.save()
    assert locus.open_run(run.name) == run
    content = yaml.safe_load((data / run.name / "run.yml").read_text())
    assert content["config"]["room"]["size"] == 80.0
    assert content["versions"]["sionna-rt"] == "2.2.0"
    assert sorted(path.name for path in (data / run.name).iterdir()) == [
        "SHA256SUMS",
        "run.yml",
    ]  # no scratch file is left


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"got 'quack'; `locus reproduce` makes one"):
        locus.open_run("quack")
    with pytest.raises(ValueError, match=r"Expected a profile of .* to change, got run 'quack'"):
        locus.open_run("quack", {"seed": 1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "--profile", "huge"], "got 'huge'"),
        (["reproduce", "--set", "room.sise=3"], "got room.sise"),
        (
            ["reproduce", "--profile", "smoke", "--only", "99"],
            "Expected 'only' to be the start of one of ['01_digital_twin', ",
        ),
        (["book", "--run", "smoke"], "Expected chapter 01_digital_twin in run smoke, got none"),
    ],
)
def test_bad_commands_fail_in_one_line_before_any_work(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(data.iterdir()) == []


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"locus {locus.__version__}\n"
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(word in text for word in ("doctor", "reproduce", "book"))
