"""Chapter 1 at smoke size, checked against physics."""

from pathlib import Path

import pytest
from chapter import glued_numbers, stays_fresh


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("01", smoke_folder)


def test_link_budget(glued: dict[str, float]) -> None:
    assert glued["noise_dbm"] == pytest.approx(-83.96, abs=0.01)  # k 290 K 200 MHz, 7 dB noise figure


def test_the_room_has_light_and_shadow(glued: dict[str, float]) -> None:
    # At 12 GHz, an isotropic element receives a free-space path above the noise up to 31 m; with 8 dBi ahead that
    # becomes 79 m, with -22 dBi behind 2.5 m. Most of a 100 m room is below the noise of one sample, a good part above.
    assert 5 < glued["above_noise"] < 80
    assert glued["silent"] < 25


def test_both_twins_agree(glued: dict[str, float]) -> None:
    assert glued["check_paths"] > 5 * 2 * 200
    assert glued["missing_percent"] <= 0.1
    assert glued["extra"] == 0


def test_care_pays_in_completeness(glued: dict[str, float]) -> None:
    # 1e6 rays over the sphere, 3 m walls: only rays within a degree or two of the plane can bounce three times
    assert glued["straightforward_missing"] > 10 * glued["missing_percent"]


def test_what_it_read_is_what_makes_it_due(glued: dict[str, float], smoke_folder: Path) -> None:
    assert stays_fresh("01", smoke_folder, {})
    assert stays_fresh("01", smoke_folder, {"training.num_layouts": 30, "estimator.num_paths": 5})
    assert not stays_fresh("01", smoke_folder, {"training.num_candidates": 49})
