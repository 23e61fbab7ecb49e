"""Chapter 5 at smoke size: relations that any results must satisfy."""

import math
from pathlib import Path

import pytest
from chapter import glued_numbers


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("05", smoke_folder)


@pytest.mark.parametrize("evaluation", ["grid", "random", "grid_offlist"])
def test_the_three_measures_are_one(glued: dict[str, float], evaluation: str) -> None:
    loss, count = glued[f"loss_{evaluation}"], glued[f"candidates_{evaluation}"]
    assert glued[f"gain_{evaluation}"] == pytest.approx(math.exp(-loss), rel=1e-5)
    assert glued[f"ratio_{evaluation}"] == pytest.approx(-100 * loss / math.log(count), rel=1e-5)
    assert glued[f"snapshots_{evaluation}"] == 6 * glued[f"layouts_{evaluation}"] == 36


def test_nothing_beats_the_limit(glued: dict[str, float]) -> None:
    # Four networks, three methods without one, and the phase-blind receiver, on two evaluations
    assert 0 < glued["limit_above"] <= 16
    assert glued["limit_beaten"] == 0
    assert glued["bayes_loss"] <= glued["loss_random"]
    assert glued["to_limit"] == pytest.approx(glued["to_blind"] + glued["between_receivers"], abs=1e-5)
    # An ideal receiver gains much, but at most complete certainty about the candidate
    assert 30 < glued["bayes_ratio"] <= 100


def test_the_phase_free_limit_lies_between_its_neighbours(glued: dict[str, float]) -> None:
    assert glued["free_layouts"] == 2  # a quarter of six rooms, rounded up
    assert glued["free_snapshots"] == 4
    assert 0 <= glued["free_error"] < 0.02
    # In expectation; in four snapshots a receiver may be lucky by some tenths of a nat
    assert glued["phases_worth"] > -0.3
    assert glued["amplitudes_worth"] > -0.3
    assert glued["to_free"] > 0


def test_sixty_rooms_teach_something_that_carries_over(glued: dict[str, float]) -> None:
    assert glued["loss_random"] < 0
    assert glued["baselines_beaten"] >= 3  # of six, with the whole, wide interval above zero


def test_methods_without_a_network_know_something_without_training(glued: dict[str, float]) -> None:
    for name in ("fingerprint", "angle_strength", "path_set"):
        assert 0 < glued[f"{name}_ratio"] < glued["bayes_ratio"] + 5


def test_calibration_is_judged_within_a_band(glued: dict[str, float]) -> None:
    # 36 snapshots of 6 rooms: the binomial alone gives a pointwise half-width of 16 points at 50 %
    assert 10 < glued["band_50"] < 50
    assert glued["limit_calibrated"] == 1
    assert glued["covered_50"] == pytest.approx(50, abs=glued["band_50"] + 10)


def test_failure_is_made_again_as_it_was_evaluated(glued: dict[str, float]) -> None:
    assert glued["failure_again"] < 1e-4
    assert glued["failure_log_posterior"] < glued["failure_uniform_guess"]
    assert glued["failure_map_error"] > 0


def test_moved_transmitters_are_those_of_the_run(glued: dict[str, float]) -> None:
    assert glued["moved_layouts"] == 2  # a quarter of six rooms
    assert glued["moved_candidates"] == 50
    assert glued["moved_bayes_0"] <= glued["moved_phase_blind_0"] + 0.1
    # LOCUS-DT's features vary over metres
    assert glued["moved_locus_dt_20"] == pytest.approx(glued["moved_locus_dt_0"], abs=0.5)
