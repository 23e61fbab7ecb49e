"""Chapter 3 at smoke size, checked against the properties of a posterior and its loss."""

import math
from pathlib import Path

import pytest
from chapter import glued_numbers


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("03", smoke_folder)


def test_network_is_the_papers(glued: dict[str, float]) -> None:
    assert glued["num_parameters"] == 36 * 64 + 64 + 64 * 16 + 16 + 16 + 1
    assert glued["halves_differ"] < 1e-4  # single precision


def test_the_truth_fits_better_than_a_middling_place(glued: dict[str, float]) -> None:
    assert glued["score_true"] > glued["score_middling"] + 1
    assert glued["rank_of_truth"] <= glued["num_candidates"] / 5


def test_weaker_snapshots_leave_more_room(glued: dict[str, float]) -> None:
    assert 0 < glued["strong_area"] < glued["weakest_area"] <= glued["free_area"]
    assert glued["strong_found"] > glued["weakest_found"]
    assert glued["strong_islands"] >= 1


def test_the_sum_converges_to_the_integral(glued: dict[str, float]) -> None:
    for name in ("strong", "middling", "weak"):
        share = glued[f"share_{name}"] / 100
        assert 0 < share <= 1
        assert glued[f"spread_500_{name}"] < glued[f"spread_20_{name}"]
    # The relative standard error of a mean of N is sqrt((1/share - 1) / N); 90 % lie within 1.64 standard errors
    expected = 1.645 * math.sqrt((100 / glued["share_weak"] - 1) / 500)
    assert glued["spread_500_weak"] == pytest.approx(expected, rel=0.3)


def test_it_has_learned_and_not_only_by_heart(glued: dict[str, float]) -> None:
    assert glued["best_train"] < -0.3
    assert glued["best_validation"] < -0.2
    assert glued["test_rooms"] == 10
    assert glued["test_snapshots"] == 50
    assert -math.log(50) < glued["test_loss_low"] < glued["test_loss"] < glued["test_loss_high"] < 0
    assert glued["test_gain"] == pytest.approx(math.exp(-glued["test_loss"]), rel=1e-4)
    assert glued["test_ratio"] == pytest.approx(-100 * glued["test_loss"] / math.log(50), rel=1e-4)


def test_a_lax_estimator_finds_more_paths(glued: dict[str, float]) -> None:
    assert glued["rate_rooms"] == 10
    assert glued["strict_paths"] < glued["lax_paths"]
    for name in ("strict", "lax"):
        assert glued[f"{name}_costs_low"] <= glued[f"{name}_costs"] <= glued[f"{name}_costs_high"]
        assert abs(glued[f"{name}_costs"]) < 1
