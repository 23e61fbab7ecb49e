"""Chapter 4 at smoke size: what densities without a twin can and cannot represent."""

import math
from pathlib import Path

import pytest
from chapter import glued_numbers

BASELINES = ("gauss_cart", "gauss_polar", "gmm_cart")


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("04", smoke_folder)


def test_the_twin_is_ahead_of_every_baseline(glued: dict[str, float]) -> None:
    for name in BASELINES:
        assert glued[f"{name}_lead_low"] > 0
        assert glued[f"{name}_lead"] == pytest.approx(glued[f"{name}_loss"] - glued["locus_dt_loss"], abs=1e-4)
        assert glued[f"{name}_ratio"] == pytest.approx(-100 * glued[f"{name}_loss"] / math.log(50), abs=1e-3)


def test_densities_are_wide_and_smooth_where_the_twin_is_not(glued: dict[str, float]) -> None:
    for name in BASELINES:
        for kind in ("heard", "faint"):
            assert glued["locus_dt_faint_area"] < glued[f"{name}_{kind}_area"] <= 1.05 * glued["free_area"]
        assert glued[f"{name}_area"] > glued["locus_dt_area"]
    # A density is one ellipse, at most cut by obstacles; shadow boundaries cut the twin's map into many pieces
    for kind in ("heard", "faint"):
        assert glued[f"gauss_cart_{kind}_islands"] <= 2 < glued[f"locus_dt_{kind}_islands"]


def test_both_encodings_are_compared_on_the_same_snapshots(glued: dict[str, float]) -> None:
    for name in BASELINES:
        low, middle, high = (glued[f"{name}_turning{end}"] for end in ("_low", "", "_high"))
        assert low <= middle <= high
    assert glued["test_rooms"] == 10
    assert glued["test_candidates"] == 50


def test_samples_are_one_reading_of_the_input(glued: dict[str, float]) -> None:
    assert glued["raw_numbers"] == 2048
    for name in BASELINES:
        assert 1 <= glued[f"{name}_raw_best"] <= glued[f"{name}_raw_epochs"] <= 30
        assert glued[f"{name}_raw_random"] < glued["locus_dt_ratio"]


def test_paper_is_a_reference(glued: dict[str, float]) -> None:
    assert glued["gauss_cart_behind_paper"] == pytest.approx(glued["gauss_cart_loss"] + 0.1190, abs=1e-6)
