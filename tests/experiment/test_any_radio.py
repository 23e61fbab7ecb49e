"""Other radios: only one factor differs, rooms scale, and the network runs only with its own radio."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray as xr
from smoke import make, smoke_run

import locus
from locus.book.figures import radio_figures
from locus.experiment import any_radio
from locus.experiment.any_radio import FACTORS, METHODS, AnyRadio, setups
from locus.experiment.case import Case
from locus.experiment.path_set_fit import fitted
from locus.score.limits import phase_blind
from locus.settings.config import Radio


@pytest.fixture(scope="module")
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with other radios."""
    with smoke_run(smoke_folder, lambda run: make([AnyRadio(run)])) as made:
        yield made


def values(factor: str, **changes: object) -> list[float]:
    config = locus.load_config("smoke", {name.replace("__", "."): value for name, value in changes.items()})
    return [one.value for one in setups(config) if one.factor == factor]


def test_one_factor_at_a_time() -> None:
    assert values("antennas") == [4, 8, 16]
    assert values("bandwidth") == [50, 200, 400]
    assert values("carrier") == [3.5, 12, 28]
    assert values("power") == [-10, 0, 10, 20, 30]
    assert values("room") == [20, 50, 100, 200]
    assert values("carrier", radio__carrier=60e9, room__material="floorboard") == [60]
    assert values("antennas", radio__carrier=3.5e9, radio__bandwidth=4e8) == [4, 8]  # 16 are too wide
    config = locus.load_config("smoke")
    for setup in setups(config):
        own = setup.settings(config)
        radio = {name for name in vars(Radio()) if getattr(own.radio, name) != getattr(config.radio, name)}
        assert len(radio) + (own.room != config.room) <= 1
        assert (own.twin, own.seed, own.estimator) == (config.twin, config.seed, config.estimator)


def test_a_smaller_room_is_the_same_room_scaled() -> None:
    config = locus.load_config("smoke")
    half = any_radio.Setup("room", 50.0, size=50.0).settings(config)
    large, small = Case(config, "eval_random", 0), Case(half, "eval_random", 0)
    both = [(case.layout.room, *case.layout.obstacles) for case in (large, small)]
    for one, other in zip(*both, strict=True):
        np.testing.assert_allclose(shapely.get_coordinates(other), shapely.get_coordinates(one) / 2, atol=1e-9)
    np.testing.assert_allclose(small.candidates, large.candidates / 2, atol=1e-9)


def test_every_setup_is_what_its_settings_give(run: locus.Run) -> None:
    assert AnyRadio(run).fresh()
    rows = AnyRadio(run).open()
    for number, setup in enumerate(setups(run.config)):
        if setup.factor == "carrier":
            own = setup.settings(run.config)
            case = Case(own, "eval_random", 1, locus.make_twin("image", own.radio, own.twin))
            stored = rows.log_posterior.isel(setup=number, snapshot=rows.group.values == 1)
            place = np.arange(len(case.truth))
            expected = phase_blind(case.paths, case.snapshots, own.radio).values[place, case.truth]
            np.testing.assert_allclose(stored.sel({"method": "phase_blind"}), expected, rtol=1e-4, atol=1e-4)
            scorer = locus.PathSet(own.radio, constants=fitted(run).constants)
            observed = locus.estimate(case.snapshots, scorer.estimator, residual=True)
            expected = scorer.log_posterior(case.paths, observed).values[place, case.truth]
            np.testing.assert_allclose(stored.sel({"method": "path_set"}), expected, rtol=1e-4, atol=1e-4)


def test_the_network_runs_only_with_its_own_radio(run: locus.Run) -> None:
    rows = AnyRadio(run).open()
    assert rows.own.values.sum() == len(FACTORS)
    known = rows.log_posterior.notnull().all("snapshot")
    assert known.sel({"method": ["path_set", "phase_blind"]}).all()
    runs = rows.own | rows.factor.isin(["power", "room"])
    np.testing.assert_array_equal(known.sel({"method": "locus_dt"}), runs)
    own = rows.log_posterior.isel(setup=rows.own.values).values
    np.testing.assert_array_equal(own, own[:1].repeat(len(own), axis=0))


def test_differences_are_plain_means(run: locus.Run) -> None:
    rows = AnyRadio(run).open()
    found, logs = any_radio.summary(rows), rows.log_posterior.astype(float)
    np.testing.assert_allclose(found.loss, (-logs - math.log(50)).mean("snapshot", skipna=False), rtol=1e-6)
    gap = (logs.sel({"method": "phase_blind"}) - logs).mean("snapshot", skipna=False)
    np.testing.assert_allclose(found.difference, gap.transpose("setup", "method"), atol=1e-6)
    steps = any_radio.rises(rows)
    assert steps.value.values.tolist() == [0, 10, 20, 30]
    powers = -logs.isel(setup=np.flatnonzero(rows.factor == "power")).sel({"method": "path_set"}).mean("snapshot")
    np.testing.assert_allclose(steps.difference, np.diff(powers), atol=1e-6)


def test_more_power_does_not_mislead_the_path_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """From -10 to +30 dB, at another carrier: the loss of few snapshots may wander, but not rise."""
    config = locus.load_config("smoke", {"evaluation.num_candidates": 100, "radio.carrier": 28e9})
    powers = [one for one in setups(config) if one.factor == "power"]
    monkeypatch.setattr(any_radio, "setups", lambda _: powers)
    scorers = {"path_set": locus.PathSet()}
    rows = xr.concat([any_radio.evaluate_group(config, index, scorers) for index in range(3)], "snapshot")
    loss = -rows.log_posterior.mean(["snapshot", "method"])
    assert (np.diff(loss) < 0.1).all()


def test_figure_and_table_show_every_setup(run: locus.Run) -> None:
    found = any_radio.summary(AnyRadio(run).open())
    shown = {axes.get_xlabel() for axes in radio_figures.radio_figure(found).axes}
    assert shown >= set(FACTORS.values())
    table = radio_figures.radio_frame(found)
    assert len(table) == found.sizes["setup"]
    assert (table["L of LOCUS-DT [nat]"] == "").sum() == 6
    assert set(METHODS) == set(found.method.values)
