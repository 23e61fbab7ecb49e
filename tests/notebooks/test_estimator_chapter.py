"""Chapter 2 at smoke size, checked against the properties of an efficient estimator."""

from pathlib import Path

import pytest
from chapter import glued_numbers, stays_fresh


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("02", smoke_folder)


def test_error_is_at_the_bound(glued: dict[str, float]) -> None:
    # 13 SNRs x 200 snapshots: the mean of the ratios has a standard deviation of 0.05 / sqrt(13)
    assert glued["angle_over_bound"] == pytest.approx(1.0, abs=0.07)
    assert glued["delay_over_bound"] == pytest.approx(1.0, abs=0.07)


def test_threshold_and_detection(glued: dict[str, float]) -> None:
    assert glued["threshold_snr"] == pytest.approx(-20.0, abs=0.1)
    # The matched filter's amplitude at a path of -25 dB is Rice with mean 1.8 and exceeds 3.2 in 3 % of the snapshots;
    # the maximum over a resolution cell somewhat more often. At -15 dB it is 5 dB above the threshold.
    assert 1 < glued["found_low"] < 20
    assert glued["found_high"] > 98


def test_paths_apart_do_not_disturb_each_other(glued: dict[str, float]) -> None:
    assert glued["two_bound_ratio"] == pytest.approx(1.0, abs=0.02)
    assert glued["two_angle_over_bound"] == pytest.approx(1.0, abs=0.07)
    assert glued["two_delay_over_bound"] == pytest.approx(1.0, abs=0.07)


def test_paths_in_one_cell_are_harder(glued: dict[str, float]) -> None:
    assert glued["close_bound_ratio"] > 2
    assert glued["close_found_low"] < glued["close_found_middle"] < glued["close_found_high"]
    assert -10 < glued["close_always"] <= 10
    # At the bound where both are always found: at least five SNRs x 200 snapshots x 2 paths
    assert glued["close_angle_over_bound"] == pytest.approx(1.0, abs=0.1)
    assert glued["close_delay_over_bound"] == pytest.approx(1.0, abs=0.1)


def test_strong_paths_are_found_where_they_are(glued: dict[str, float]) -> None:
    assert glued["num_pairs"] == 4 * 5
    # A third of all snapshots comes from behind the array or from deep shadow.
    assert 40 < glued["share_found"] <= 100
    assert glued["folded_within"] > 50


def test_what_it_read_is_what_makes_it_due(glued: dict[str, float], smoke_folder: Path) -> None:
    assert stays_fresh("02", smoke_folder, {})
    assert stays_fresh("02", smoke_folder, {"training.num_layouts": 30, "twin_check.num_layouts": 3})
    assert not stays_fresh("02", smoke_folder, {"transmitter.heard": False})
