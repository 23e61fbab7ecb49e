from dataclasses import replace

import numpy as np
import pytest

import locus
from locus.settings.config import Config, Radio
from locus.settings.profiles import load_config, parse_changes, profile_names


def test_noise_power_is_the_textbook_link_budget() -> None:
    # -174 dBm/Hz at 290 K (-173.975), plus 83.01 dB of bandwidth, plus 7 dB of noise figure
    import math

    noise_dbm = 10 * math.log10(locus.Radio().noise_power * 1e3)
    assert noise_dbm == pytest.approx(-173.975 + 83.010 + 7.0, abs=2e-3)
    assert locus.Radio().tx_power == pytest.approx(1e-3)
    assert locus.Radio().wavelength == pytest.approx(0.0249827, abs=1e-7)


@pytest.mark.parametrize("profile", profile_names())
def test_configuration_survives_a_round_trip(profile: str) -> None:
    config = load_config(profile)
    assert Config.from_dict(config.to_dict()) == config


def test_changes_from_the_command_line_reach_their_field() -> None:
    config = load_config(
        "quick", parse_changes(["room.size=80", "twin.refraction=true", "room.bent_side=[20, 30]", "seed=3"])
    )
    assert (config.room.size, config.twin.refraction, config.room.bent_side, config.seed) == (
        80.0,
        True,
        (20.0, 30.0),
        3,
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("radio.carrier=6e9", 6_000_000_000.0),
        ("radio.bandwidth=2.5E8", 250_000_000.0),
        ("training.weight_decay=1e-3", 0.001),
        ("training.num_layouts=1e3", 1000),
        ("training.num_layouts=1.0e+3", 1000),
        ("features.snr_range=[-3e1, 2e1]", (-30.0, 20.0)),
        ("room.material=wood", "wood"),
    ],
)
def test_numbers_may_have_an_exponent(setting: str, value: object) -> None:
    """YAML 1.1 reads most of these as strings."""
    section, name = setting.partition("=")[0].split(".")
    found = getattr(getattr(load_config("quick", parse_changes([setting])), section), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("size", [10, 20, 50, 200])
def test_obstacles_and_gaps_scale_with_the_room(size: int) -> None:
    room = load_config("quick", {"room.size": size}).room
    share = size / 100
    assert np.divide(room.rectangle_side, share) == pytest.approx([10, 30])
    assert np.divide(room.bent_side, share) == pytest.approx([15, 40])
    assert np.divide(room.arm_thickness, share) == pytest.approx([5, 10])
    assert (room.obstacle_gap, room.wall_gap) == pytest.approx((3 * share, 5 * share))
    assert room.clearance == min(0.5, 0.5 * share)
    assert (room.num_obstacles, room.grid_points, room.min_feasible) == (3, 31, 696)


def test_the_sync_window_holds_a_period_unless_it_is_set() -> None:
    assert Radio().sync_window == 4e-6
    narrow = Radio(bandwidth=20e6)
    assert narrow.sync_window == narrow.period == pytest.approx(6.4e-6)
    assert Radio(bandwidth=20e6, sync_window=4e-6).sync_window == 4e-6
    assert Radio(bandwidth=1.0).sync_window == 1.0  # the longest


def test_lengths_that_are_set_do_not_scale() -> None:
    room = load_config("quick", {"room.size": 50, "room.wall_gap": 5, "room.bent_side": [15, 40]}).room
    assert (room.wall_gap, room.bent_side, room.rectangle_side) == (5.0, (15.0, 40.0), (5.0, 15.0))
    config = load_config("quick", {"room.size": 50})
    again = Config.from_dict(config.to_dict())
    assert again == config, "what is written down is what is used"
    assert replace(again.room, size=40).wall_gap == 2.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"room.sise": 80}, r"Expected one of .*'size'.* in 'room\.', got room\.sise"),
        ({"rooom.size": 80}, r"Expected one of .*'room'.*, got rooom"),
        ({"room.size": "large"}, r"Expected 'room\.size' of type float, got 'large'"),
        ({"room.num_obstacles": 2.5}, r"Expected 'room\.num_obstacles' of type int, got 2\.5"),
        ({"twin.refraction": 1}, r"Expected 'twin\.refraction' of type bool, got 1"),
        ({"room.bent_side": [1.0]}, r"Expected 'room\.bent_side' as a list of 2 values"),
        ({"room.size": -1.0}, r"Expected 'room\.size' in \[10, 1000\], got -1\.0"),
        ({"room.size": 3}, r"Expected 'room\.size' in \[10, 1000\], got 3\.0"),
        ({"room.wall_gap": 48}, r"Expected obstacles that fit into the 4 m between .*, got 3 of at least 10 m"),
        (
            {"room.num_obstacles": 82},
            r"Expected obstacles that fit into the 90 m .*, got 82 of at least 10 m and 100 m2",
        ),
        ({"room.grid_points": 20}, r"Expected 'room\.min_feasible' at most 324, .*, got 696; lower it"),
        ({"radio.carrier": "6e9 Hz"}, r"Expected 'radio\.carrier' of type float, got '6e9 Hz'"),
        ({"radio.carrier": "inf"}, r"Expected 'radio\.carrier' in \(0, 1e\+13\], got inf"),
        ({"training.batch": "1e-3"}, r"Expected 'training\.batch' of type int, got '1e-3'"),
        ({"training.batch": "inf"}, r"Expected 'training\.batch' of type int, got 'inf'"),
        ({"twin.refraction": "1e0"}, r"Expected 'twin\.refraction' of type bool, got '1e0'"),
        ({"room.size": float("nan")}, r"Expected 'room\.size' in"),
        ({"twin.max_depth": -1}, r"Expected 'twin\.max_depth' in \[0, 10\], got -1"),
        ({"seed.x": 1}, r"Expected 'seed' of type int"),
        ({"room": 3}, r"Expected a mapping of settings for 'room', got 3"),
    ],
)
def test_bad_settings_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_config("quick", change)


def test_unknown_profile_and_malformed_setting_are_named() -> None:
    with pytest.raises(ValueError, match=r"Expected 'profile' in \['paper', .*'smoke'\], got 'huge'"):
        load_config("huge")
    with pytest.raises(ValueError, match=r"Expected a setting like 'room.size=80', got 'room.size'"):
        parse_changes(["room.size"])
