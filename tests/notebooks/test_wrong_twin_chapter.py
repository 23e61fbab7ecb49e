"""Chapter 7 at smoke size: relations that hold for any network."""

from pathlib import Path

import pytest
from chapter import glued_numbers


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("07", smoke_folder)


def test_a_wrong_plan_does_not_affect_methods_without_a_twin(glued: dict[str, float]) -> None:
    for key in ("walls_1", "obstacles_1", "missing_1", "material_metal", "scale_2", "depth_2_of_3"):
        assert glued[f"{key}_gmm"] == glued["exact_gmm"]
    assert glued["heading_3_gmm"] != glued["exact_gmm"]


def test_sizes_are_those_of_the_run(glued: dict[str, float]) -> None:
    assert glued["num_layouts"] == 2
    assert glued["num_snapshots"] == 12
    assert glued["num_candidates"] == 50
    # What is glued has six digits, and is below 100
    assert glued["cost"] == pytest.approx(glued["exact_robust"] - glued["exact_ours"], abs=1e-4)
    assert glued["path_all"] == pytest.approx(glued["all_1_path"] - glued["all_1_ours"], abs=1e-4)
    for name in ("ours", "robust", "path"):
        assert 0 <= glued[f"covered_none_exact_{name}"] <= 100
