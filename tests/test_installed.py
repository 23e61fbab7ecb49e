"""A copy installed with pip, without its repository: every command works, or says in one line what is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import locus
from locus.cli import main
from locus.experiment.run import repository

PROGRAM = Path(__file__).with_name("installed_copy.py")
ROOM = repository() / "book/_static/room.geojson"
POSE = locus.Pose(70.123, 30.321, 2.8)

BOOK = r"the module '\w+' to be installed, got none; in a clone .*, `make setup` or `pip install -e '\.\[book\]'` .*"
CLONE = r"locus inside its repository, got an installed copy; clone it and `make setup`"
DATA = rf"{CLONE}, or set LOCUS_DATA to a folder for runs"
DEVICE = (
    r"TensorFlow and LiteRT to be installed for an export, got none; in a clone of the repository, `make device` "
    r"installs them into \.venv-device"
)
WORKS = (
    f"locate {ROOM} --pose={POSE.x},{POSE.y},{POSE.heading} --iq capture.npy --out map.nc --twin image",
    "doctor",
    "settings",
)
LACKS = {
    "reproduce": CLONE,
    "runs": CLONE,
    "book": CLONE,
    "build train": DATA,
    "observe train": DATA,
    "train": DATA,
    "evaluate": DATA,
    "sweep --over seed=0,1": DATA,
    "sensitivity": DATA,
    "solver": DATA,
    "export locus_dt.tflite": DEVICE,
}
"""Error messages of commands that need more than is installed."""

Calls = Callable[..., list[tuple[int, str, str]]]


@pytest.fixture
def calls(installed: Path, tmp_path: Path) -> Calls:
    """Runs commands of the installed copy; returns exit code, stdout and stderr of each."""

    def run(*lines: str, extras: str = "", home: Path = installed, **variables: str) -> list[tuple[int, str, str]]:
        environment = {name: value for name, value in os.environ.items() if name != "LOCUS_DATA"}
        done = subprocess.run(
            [sys.executable, PROGRAM, extras, *lines],
            cwd=tmp_path,
            env={**environment, **variables, "PYTHONPATH": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [tuple(json.loads(line)) for line in done.stdout.splitlines()]

    return run


def test_it_brings_the_weights(installed: Path) -> None:
    program = (
        "import locus as l; print(l.__file__, l.load_scorer('paper').name, l.load_scorer('paper', 'gmm_cart').name)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=installed, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(installed / "locus/__init__.py"), "locus_dt", "gmm_cart"]


def test_building_it_leaves_nothing_that_git_would_add(source_copy: Path) -> None:
    assert (source_copy / "build").is_dir()
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=source_copy, capture_output=True, text=True, check=True
    )
    assert [line for line in status.stdout.splitlines() if not line.startswith("A ")] == []


def test_every_command_works_or_says_what_it_lacks(
    calls: Calls, tmp_path: Path, image: locus.Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert {line.split()[0] for line in [*LACKS, *WORKS]} == set(listed)

    paths = image.trace(locus.Layout.from_geojson(ROOM), POSE, [[30.0, 40.0]]).isel(candidate=0)
    np.save(tmp_path / "capture.npy", locus.observe(paths, np.random.default_rng(0)).iq)
    found = calls(*WORKS, *LACKS)
    for line, (code, _, errors) in zip(WORKS, found, strict=False):
        assert (line, code, errors) == (line, 0, "")
    for (line, said), (code, out, errors) in zip(LACKS.items(), found[len(WORKS) :], strict=True):
        assert (line, code, out) == (line, 2, "")
        assert re.fullmatch(rf"locus {line.split()[0]}: Expected {said}\n", errors), errors


def test_a_data_folder_is_enough_to_train(calls: Calls, tmp_path: Path) -> None:
    small = "--profile smoke --set training.num_layouts=8 --set training.num_epochs=1 --workers 1"
    ((code, said, _),) = calls(f"train gmm_cart {small}", LOCUS_DATA=str(tmp_path))
    assert code == 0
    assert re.search(r"models/gmm_cart of run smoke-\w+: \d+ s\n", said)


def test_a_clone_without_the_extra_says_what_to_install(calls: Calls) -> None:
    for code, _, errors in calls("reproduce", "runs", "book", home=repository()):
        assert code == 2
        assert re.fullmatch(rf"locus \w+: Expected {BOOK}\n", errors), errors


def test_chapters_need_the_repository_even_with_the_extra(calls: Calls, tmp_path: Path) -> None:
    for data in ({}, {"LOCUS_DATA": str(tmp_path)}):
        for code, _, errors in calls("reproduce", "runs", "book", extras="book", **data):
            assert code == 2
            assert re.fullmatch(rf"locus \w+: Expected {CLONE}\n", errors), errors
