"""Fixtures shared by several test files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import shapely
from smoke import make, smoke_run

import locus
from locus.experiment.run import repository
from locus.experiment.weights import Weights

LONG = (
    *("browser/test_again.py", "test_portable.py", "faults/test_build.py", "test_installed.py"),
    *("book/test_reproduce.py", "experiment/test_sweep.py", "experiment/test_sensitivity.py"),
    *("score/test_train.py", "score/test_limits.py", "score/test_densities.py"),
    *("explorer/test_parity.py", "experiment/test_twin_agreement.py"),
)
"""Files that take longest, longest first. The first makes the smoke run and the book, which others then find made."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--layouts", type=int, default=4, help="random rooms on which both twins are compared")
    parser.addoption("--book", metavar="FOLDER", help="look at this built book, of a smoke run, instead of a new one")
    parser.addoption("--smoke", metavar="FOLDER", help="data folder of the smoke run, to keep it for the next pytest")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests for several processes, which take whole files in this order."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Long files first; then those that wait for nothing, that read the smoke run, and that look at the book."""
    file = item.path.relative_to(Path(__file__).parent).as_posix()
    if file in LONG:
        return LONG.index(file)
    awaited = item.fixturenames  # type: ignore[attr-defined]
    return len(LONG) + (2 if "built" in awaited else "smoke_folder" in awaited)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def sionna() -> locus.Twin:
    return locus.make_twin("sionna")


@pytest.fixture(scope="session")
def image() -> locus.Twin:
    return locus.make_twin("image")


@pytest.fixture(params=["image", "sionna"])
def twin(request: pytest.FixtureRequest) -> locus.Twin:
    """Each twin in turn: both must pass the same tests."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def square() -> locus.Layout:
    """An empty room, 10 m by 10 m."""
    return locus.Layout(shapely.box(0, 0, 10, 10))


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that all processes of this pytest share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def smoke_folder(request: pytest.FixtureRequest, shared_folder: Path) -> Path:
    """Data folder of the smoke run that all tests share; see ``smoke.py``."""
    given = request.config.getoption("--smoke")
    return Path(given) if given else shared_folder / "smoke"


@pytest.fixture(scope="session")
def smoke_weights(smoke_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folder in which LOCUS-DT, trained at smoke size, takes the place of the paper's weights."""
    folder = tmp_path_factory.mktemp("weights")
    with smoke_run(smoke_folder, lambda run: make([Weights(run, "locus_dt")])) as run:
        for name in ("paper", "smoke"):
            shutil.copytree(run.models, folder / name / "models")
    return folder


@pytest.fixture(scope="session")
def source_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the tracked files that go into a wheel, after building one into ``dist`` next to it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    tracked = subprocess.run(["git", "ls-files"], cwd=repository(), capture_output=True, text=True, check=True)
    for name in tracked.stdout.split():
        if name.startswith(("locus/", "data/paper/models/")) or "/" not in name:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repository() / name, copy / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "dist"), "."]
    for command in (["git", "init", "--quiet"], ["git", "add", "."], build):
        subprocess.run(command, cwd=copy, check=True, capture_output=True)
    return copy


@pytest.fixture(scope="session")
def installed(source_copy: Path) -> Path:
    """Folder with the package installed from a wheel, without its repository."""
    (wheel,) = (source_copy.parent / "dist").glob("*.whl")
    site = source_copy.parent / "site"
    zipfile.ZipFile(wheel).extractall(site)
    return site
