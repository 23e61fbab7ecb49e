"""Chapter 6 at smoke size: relations that hold for any run."""

import json
from pathlib import Path

import pytest
from chapter import glued_numbers

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def glued(smoke_folder: Path) -> dict[str, float]:
    return glued_numbers("06", smoke_folder)


def test_the_lower_threshold_is_used(glued: dict[str, float]) -> None:
    assert glued["false_alarm"] > glued["usual_false_alarm"]


def test_nothing_untrained_beats_the_limit_by_much(glued: dict[str, float]) -> None:
    """Six rooms with six snapshots: a likelihood that is right may be ahead by chance, but not by far."""
    for name in ("grid", "random"):
        assert glued[f"r_ours_{name}"] < glued[f"r_blind_{name}"] + 10
        assert glued[f"r_ours_{name}"] > 10


def test_what_ships_gains_enough_and_what_does_not_is_left_out(glued: dict[str, float]) -> None:
    """An extension has to gain 0.1 nats and lose nothing with wrong twins; these numbers come from the benchmarks."""
    assert glued["residual_exact"] > -0.1
    assert glued["residual_wrong"] > 0
    parts = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["path_set_parts"]
    assert parts["exact"]["soft detection"]["change"] > 0.1
    assert parts["wrong"]["soft detection"]["change"] > 0
