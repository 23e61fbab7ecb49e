"""Fixtures that several test files share."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import shapely

import locus
from locus.cli import main


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--layouts", type=int, default=4, help="random rooms on which both twins are compared")
    parser.addoption("--book", metavar="FOLDER", help="look at this built book, of a smoke run, instead of a new one")


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
    """Either twin: what holds for one must hold for the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def square() -> locus.Layout:
    """An empty room, 10 m by 10 m."""
    return locus.Layout(shapely.box(0, 0, 10, 10))


@pytest.fixture(scope="session")
def smoke_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folder in which LOCUS-DT, trained at smoke size, has the place of the paper's weights."""
    folder = tmp_path_factory.mktemp("weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(folder))
        assert main(["train", "locus_dt", "--profile", "smoke", "--workers", "2"]) == 0
    shutil.copytree(folder / "smoke" / "models", folder / "paper" / "models")
    return folder
