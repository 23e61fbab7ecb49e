import pytest

import locus
from locus.config import Config
from locus.profiles import load_config, parse_changes, profile_names


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
    ("change", "message"),
    [
        ({"room.sise": 80}, r"Expected one of .*'size'.* in 'room\.', got room\.sise"),
        ({"rooom.size": 80}, r"Expected one of .*'room'.*, got rooom"),
        ({"room.size": "large"}, r"Expected 'room\.size' of type float, got 'large'"),
        ({"room.num_obstacles": 2.5}, r"Expected 'room\.num_obstacles' of type int, got 2\.5"),
        ({"twin.refraction": 1}, r"Expected 'twin\.refraction' of type bool, got 1"),
        ({"room.bent_side": [1.0]}, r"Expected 'room\.bent_side' as a list of 2 values"),
        ({"room.size": -1.0}, r"Expected 'room\.size' in \(0, inf\), got -1\.0"),
        ({"room.size": float("nan")}, r"Expected 'room\.size' in"),
        ({"twin.max_depth": -1}, r"Expected 'twin\.max_depth' in \[0, inf\), got -1"),
        ({"seed.x": 1}, r"Expected 'seed' of type int"),
        ({"room": 3}, r"Expected settings for 'room', got 3"),
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
