"""Chapter 8 at smoke size: relations that hold for any run."""

from pathlib import Path

import numpy as np
import pytest
from chapter import glued_numbers


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("08", smoke_folder)


def test_sizes_are_those_of_the_study(glued: dict[str, float]) -> None:
    assert (glued["num_rooms"], glued["num_steps"], glued["step_length"]) == (2, 8, 6)
    assert glued["certainty"] == pytest.approx(np.log(glued["num_candidates"]), abs=0.1)


def test_walks_are_better_than_guessing_and_not_better_than_certain(glued: dict[str, float]) -> None:
    for key in ("exact", "03", "1"):
        assert -glued["certainty"] <= glued[f"last_walk_{key}"] < 0
        assert 0 <= glued[f"covered_walk_{key}"] <= 100


def test_the_compass_of_the_maps_is_that_of_the_rows(glued: dict[str, float]) -> None:
    assert glued["compass_low"] <= glued["compass_mean"] <= glued["compass_high"]
    assert glued["map_turn"] == pytest.approx(abs(glued["compass_true"]))
    assert glued["map_turn"] <= 5


def test_searches_are_shares_of_all_rooms(glued: dict[str, float]) -> None:
    assert 0 <= glued["search_unclear"] <= glued["search_rooms"]
    for name in ("informed", "random", "straight", "turning"):
        assert 0 <= glued[f"found_{name}"] <= 100


def test_maps_are_compared_with_the_true_plan(glued: dict[str, float]) -> None:
    assert glued["mapped_rooms"] == 2
    assert glued["off_fine"] < glued["off_drifted"]
