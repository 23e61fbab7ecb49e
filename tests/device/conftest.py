"""Exported files, made once; without TensorFlow, all tests of this folder are skipped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from locus.experiment.case import Case
from locus.score.lite_convert import KINDS
from locus.score.pairwise import PairNetwork
from locus.score.weight_files import load_method
from locus.settings.config import Config

HERE = Path(__file__).parent
WEIGHTS = HERE.parents[1] / "data/paper/models/locus_dt.safetensors"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if find_spec("tensorflow") is None or find_spec("ai_edge_litert") is None:
        missing = pytest.mark.skip(reason="TensorFlow and LiteRT are in .venv-device, where `make test` runs this")
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(missing)


@pytest.fixture(scope="session")
def network() -> PairNetwork:
    return load_method(WEIGHTS)[0]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """File of each kind, exported from the paper's weights."""
    from locus.experiment.export import export

    folder = tmp_path_factory.mktemp("exported")
    return {kind: export(folder / f"{kind}.tflite", str(WEIGHTS), quantise=kind).path for kind in KINDS}


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    """Rooms that no network was trained on and no integer was calibrated on."""
    import locus

    config = Config()
    twin = locus.make_twin("image", config.radio, config.twin)
    return [Case(config, "test", index, twin) for index in range(4)]
