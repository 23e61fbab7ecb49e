"""Any radio: settings that differ in one factor in; losses of path set, phase-blind receiver and LOCUS-DT out.

The path-set likelihood takes the radio from its settings, so nothing is trained here. LOCUS-DT runs where its radio is
that of its training: with other transmit powers and in rooms of other sizes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.room.materials import defined
from locus.score import limits, weight_files
from locus.score.limits import RECEIVERS
from locus.score.method import Scorer
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants
from locus.settings.config import Config, Room
from locus.twin import make_twin

RECIPE = 1

NUM_LAYOUTS = 50
"""Number of groups, the first of Eval Random; at most a quarter of its groups."""
NUM_CANDIDATES = 500
"""Number of candidates per group, to save time; at most as many as Eval Random has."""

FACTORS = {
    "antennas": "number of antennas",
    "bandwidth": "bandwidth [MHz]",
    "carrier": "carrier [GHz]",
    "power": "relative transmit power [dB]",
    "room": "room size [m]",
}
"""Titles of the factors, of which one at a time differs from the run's settings."""

METHODS = ("path_set", "phase_blind", "locus_dt")
"""The path set, the phase-blind receiver, and LOCUS-DT where it can run."""

_SPLIT = "eval_random"
_SAME_RADIO = ("power", "room")  # factors that LOCUS-DT's radio does not depend on
_SECONDS = 0.5  # per group and setup


@dataclass(frozen=True)
class Setup:
    """Settings that differ from the run's in one factor."""

    factor: str
    value: float
    """Value in the unit of the factor's title; of the transmit power, relative to the run's."""
    radio: dict[str, Any] = field(default_factory=dict)
    """Changed fields of the radio."""
    size: float | None = None
    """Side of the room [m], if changed; obstacles and gaps scale with it."""

    def settings(self, config: Config) -> Config:
        """Settings of a run with this change, and with shorter lists of candidates."""
        count = min(NUM_CANDIDATES, config.evaluation.num_candidates)
        evaluation = replace(config.evaluation, num_candidates=count)
        room = config.room
        if self.size is not None:
            kept = {name: getattr(room, name) for name in ("num_obstacles", "grid_points", "min_feasible", "material")}
            room = Room(size=self.size, **kept)
        return replace(config, radio=replace(config.radio, **self.radio), room=room, evaluation=evaluation)


def setups(config: Config) -> list[Setup]:
    """Setups to evaluate, ordered by factor and value; each factor has the run's own setup, too.

    Left out: carriers at which the room's material is not defined, and arrays that are too wide for the path set.
    """
    radio, size = config.radio, config.room.size
    found = [
        *(Setup("antennas", one, {"num_antennas": one}) for one in sorted({4, radio.num_antennas, 16})),
        *(Setup("bandwidth", one / 1e6, {"bandwidth": one}) for one in sorted({50e6, radio.bandwidth, 400e6})),
        *(Setup("carrier", one / 1e9, {"carrier": one}) for one in sorted({3.5e9, radio.carrier, 28e9})),
        *(Setup("power", one, {"tx_power_dbm": radio.tx_power_dbm + one}) for one in (-10, 0, 10, 20, 30)),
        *(Setup("room", one, size=None if one == size else one) for one in sorted({20.0, 50.0, size, 200.0})),
    ]
    return [one for one in found if _possible(one.settings(config))]


def _possible(config: Config) -> bool:
    try:
        PathSet(config.radio, constants=Constants())
    except ValueError:
        return False
    return defined(config.room.material, config.radio.carrier)


def evaluate_group(config: Config, index: int, scorers: dict[str, Scorer]) -> xr.Dataset:
    """Log posteriors (setup, snapshot, method) of the truths of a group; NaN for LOCUS-DT with another radio.

    Setups with the same settings, such as the run's own, which every factor includes, are computed once. All have the
    same rooms (scaled, if their size differs), and as far as possible the same candidates, transmitters and noise.
    """
    found: dict[Config, list[Any]] = {}
    rows = []
    for setup in setups(config):
        own = setup.settings(config)
        if own not in found:
            case = Case(own, _SPLIT, index, make_twin("image", own.radio, own.twin))
            place = np.arange(len(case.truth))
            found[own] = [
                case.log_posterior(one).values[place, case.truth]
                if name != "locus_dt" or setup.factor in _SAME_RADIO or own.radio == config.radio
                else np.full(len(place), np.nan)
                for name, one in scorers.items()
            ]
        rows.append(found[own])
    attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
    return xr.Dataset(
        {"log_posterior": (("setup", "snapshot", "method"), np.moveaxis(np.array(rows), 1, 2), attributes)},
        coords={"method": list(scorers), "group": ("snapshot", np.full(len(place), index))},
    )


class AnyRadio(Result):
    """``results/any_radio.nc`` of a run: ``log_posterior`` (setup, snapshot, method).

    Coordinates ``factor`` and ``value`` (setup) describe a setup; ``own`` says whether it is the run's own.
    """

    stem = "any_radio"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of LOCUS-DT, and the constants of the path set."""
        return (Weights(self.run, "locus_dt"), PathSetFit(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        own = Setup("room", config.room.size).settings(config)
        return {
            "estimates": ingredients.of_estimates(own, _SPLIT, "image"),
            "weights": Weights(self.run, "locus_dt").hash(),
            "path_set": PathSetFit(self.run).hash(),
            "setups": [dataclasses.asdict(one) for one in setups(config)],
            "num_groups": self.num_groups,
            "recipes": {"limits": limits.RECIPE, "any_radio": RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return _SECONDS * self.num_groups * len(setups(self.run.config)) / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups in every setup."""
        config = self.run.config
        known: dict[str, Scorer] = {
            "path_set": fitted(self.run),
            "phase_blind": RECEIVERS["phase_blind"],
            "locus_dt": weight_files.load_method(Weights(self.run, "locus_dt").path)[0],
        }
        scorers, groups = {name: known[name] for name in METHODS}, range(self.num_groups)
        with tqdm(total=len(groups), desc="trying other radios", unit="group") as bar:
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, scorers=scorers)
        tried = setups(config)
        columns = {name: ("setup", [getattr(one, name) for one in tried]) for name in ("factor", "value")}
        columns["own"] = ("setup", [one.size is None and one.settings(config).radio == config.radio for one in tried])
        count = min(NUM_CANDIDATES, config.evaluation.num_candidates)
        self.save(rows.assign_coords(columns), num_candidates=count)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss and ratio (setup, method) with intervals; ``difference`` is the loss less the phase-blind receiver's.

    The difference is paired over the snapshots; NaN of LOCUS-DT where it cannot run. All setups share the bootstrap
    resamples.
    """
    parts = []
    for number in range(rows.sizes["setup"]):
        one = metrics.known(rows.isel(setup=number))
        found = metrics.summary(one, rows.attrs["num_candidates"], np.random.default_rng(0))
        gaps = [metrics.paired(one, name, "phase_blind", np.random.default_rng(0)) for name in one.method.values]
        parts.append(found.merge(xr.concat(gaps, found.method)).reindex({"method": rows.method.values}))
    return xr.concat(parts, "setup").assign_coords({name: rows[name] for name in ("factor", "value", "own")})


def rises(rows: xr.Dataset, method: str = "path_set") -> xr.Dataset:
    """Paired change of the loss from each transmit power to the next one, (step): ``difference`` with intervals.

    Coordinate ``value`` (step) is the higher power. With more power the loss should not grow: an interval wholly above
    zero says that it does.
    """
    powers = rows.isel(setup=np.flatnonzero(rows.factor == "power")).sel({"method": method}).drop_vars("method")
    names = [f"{value:g}" for value in powers.value.values]
    pairs = powers[["log_posterior"]].rename(setup="method").drop_vars(["factor", "value", "own"])
    pairs = pairs.transpose("snapshot", "method").assign_coords(method=names)
    steps = [
        metrics.paired(pairs, after, before, np.random.default_rng(0)) for before, after in itertools.pairwise(names)
    ]
    return xr.concat(steps, "step").assign_coords(value=("step", powers.value.values[1:]))
