"""Robustness: a run's networks and twins with errors in; the loss that each error causes out.

Snapshots come from the true room; candidates are traced in a room, or for a pose, with errors. Both use the exact image
twin, so that these errors are the only mismatch.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.floors import Floors
from locus.experiment.over_groups import over_groups
from locus.experiment.run import Run
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.credible import CREDIBLE_MASS
from locus.judge.floor import with_floor
from locus.room import errors
from locus.room.layout import Layout, Pose, away_from
from locus.room.materials import defined
from locus.score import weight_files
from locus.score.method import Method
from locus.settings.config import Config
from locus.twin import make_twin

RECIPE = 3

NUM_LAYOUTS = 200
"""Number of groups, the first of Eval Random; at most a quarter of its groups."""

_SPLIT = "eval_random"
_METRES = (0.1, 0.3, 1.0, 3.0)
_DEGREES = (0.3, 1.0, 3.0, 5.0, 10.0)
_MATERIALS = ("brick", "wood", "glass", "metal")


@dataclass(frozen=True)
class Condition:
    """One kind and size of error."""

    kind: str
    label: str
    errors: dict[str, Any] = field(default_factory=dict)
    """Errors of the twin, in the form that :func:`locus.room.errors.believed` takes."""
    moved: float = 0.0
    """Distance of the transmitter from its candidate [m]."""


def conditions(config: Config) -> list[Condition]:
    """Conditions to evaluate, the exact twin first. Kind ``all`` is :func:`locus.room.errors.everything`."""
    materials = [name for name in _MATERIALS if name != config.room.material and defined(name, config.radio.carrier)]
    return [
        Condition("none", "exact"),
        *(Condition(kind, f"{m:g} m", {kind: m}) for kind in ("obstacles", "walls", "position") for m in _METRES),
        *(Condition("heading", f"{angle:g}°", {"heading": math.radians(angle)}) for angle in _DEGREES),
        *(Condition("missing", f"{n}", {"missing": n}) for n in range(1, min(3, config.room.num_obstacles) + 1)),
        *(Condition("material", name, {"material": name}) for name in materials),
        *(Condition("transmitter", f"{m:g} m", moved=m) for m in _METRES),
        *(Condition("all", f"{m:g} m", errors.everything(m)) for m in _METRES),
    ]


def exact_case(config: Config, index: int) -> Case:
    """Group of Eval Random, traced by the exact twin."""
    return Case(config, _SPLIT, index, make_twin("image", config.radio, config.twin))


def evaluate_group(config: Config, index: int, scorers: dict[str, Method], floors: dict[str, float]) -> xr.Dataset:
    """Rows (condition, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth.

    ``floored_log_posterior`` and ``floored_level`` are those of the posteriors with floors. ``lost`` (condition,
    snapshot) says whether the true candidate has no path in the wrong twin. For a transmitter moved from its candidate,
    the truth is the candidate nearest to it.
    """
    exact = exact_case(config, index)
    ties = np.random.default_rng([config.seed, index]).integers(2**63)
    area = exact.layout.free_space.area
    found = []
    for condition in conditions(config):
        case = exact.moved(condition.moved, _METRES) if condition.moved else exact
        paths = exact.trace_believed(exact.believed(condition.errors)) if condition.errors else exact.paths
        columns = []
        for name, scorer in scorers.items():
            logs = scorer.log_posterior(paths, case.observed)
            raw, floored = (
                metrics.measure(one, case.truth, area, np.random.default_rng(ties))[["log_posterior", "level"]]
                for one in (logs, with_floor(logs, floors[name]))
            )
            columns.append(raw.merge(floored.rename({key: f"floored_{key}" for key in floored.data_vars})))
        rows = xr.concat(columns, "method")
        found.append(rows.assign(lost=("snapshot", ~paths.valid.any("path").values[case.truth])))
    joined = xr.concat(found, "condition").transpose("condition", "snapshot", ...)
    return joined.assign_coords(method=list(scorers), group=("snapshot", np.full(len(exact.truth), index)))


class Robustness(Result):
    """``results/robustness.nc`` of a run: rows (condition, snapshot, method)."""

    stem = "robustness"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def weights(self) -> dict[str, Weights]:
        """Networks to compare: LOCUS-DT, LOCUS-DT trained with errors, and the strongest baseline."""
        return {
            "locus_dt": Weights(self.run, "locus_dt"),
            "robust": Weights(self.run, "locus_dt", robust=True),
            "gmm_cart": Weights(self.run, "gmm_cart"),
        }

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of the compared networks, and their floors."""
        return (*self.weights.values(), Floors(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, _SPLIT, "image"),
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "floors": Floors(self.run).hash(),
            "conditions": [dataclasses.asdict(one) for one in conditions(config)],
            "num_groups": self.num_groups,
            "recipes": {"errors": errors.RECIPE, "wrong_twin": RECIPE, "metrics": metrics.RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 2.0 * self.num_groups / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups under every condition."""
        scorers = {name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()}
        share = Floors(self.run).open().share
        floors = {name: float(share.sel({"method": name})) for name in scorers}
        groups, arguments = range(self.num_groups), {"scorers": scorers, "floors": floors}
        with tqdm(total=len(groups), desc="evaluating with wrong twins", unit="group") as bar:
            data = over_groups(evaluate_group, self.run.config, groups, workers(), progress=bar.update, **arguments)
        for name in ("kind", "label"):
            data[name] = ("condition", [getattr(one, name) for one in conditions(self.run.config)])
        data = data.set_coords(["kind", "label"])
        self.save(data, num_candidates=self.run.config.evaluation.num_candidates)


def floored(rows: xr.Dataset) -> xr.Dataset:
    """The rows with ``log_posterior`` and ``level`` of the posteriors with floors."""
    return rows.assign({name: rows[f"floored_{name}"] for name in ("log_posterior", "level")})


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, gain and ratio under every condition, and ``covered``, the share of truths in 90 % sets.

    Dataset (condition, method), with intervals ``_low`` and ``_high``. All conditions share the bootstrap resamples.
    """
    parts = []
    for number in range(rows.sizes["condition"]):
        one = rows.isel(condition=number)
        share = metrics.covered(one, CREDIBLE_MASS, np.random.default_rng(0))
        found = metrics.summary(one, rows.attrs["num_candidates"], np.random.default_rng(0))
        parts.append(found.assign(share.data_vars))
    return xr.concat(parts, "condition").assign_coords({name: rows[name] for name in ("kind", "label")})


def compared(rows: xr.Dataset, first: str, second: str) -> xr.Dataset:
    """Paired difference of the losses of two networks, first minus second, with intervals, (condition)."""
    parts = [
        metrics.paired(rows.isel(condition=index), first, second, np.random.default_rng(0))
        for index in range(rows.sizes["condition"])
    ]
    return xr.concat(parts, "condition").assign_coords({name: rows[name] for name in ("kind", "label")})


class Example(NamedTuple):
    """Posterior maps of one snapshot with an exact and a wrong twin."""

    layout: Layout
    pose: Pose
    wrong: tuple[Layout, Pose]
    position: tuple[float, float]
    maps: dict[str, xr.DataArray]
    """Log posterior (candidate) relative to the maximum of its map [nat], by title."""
    gains: dict[str, float]
    """Posterior probability of the truth relative to a uniform guess among the group's candidates, by title."""


def make_example(run: Run, index: int, size: float, num_points: int) -> Example:
    """Map the strongest snapshot of a group of Eval Random with an exact twin and with one that has errors.

    The errors are :func:`locus.room.errors.everything` of ``size`` [m]; maps have ``num_points`` per axis.
    """
    case = exact_case(run.config, index)
    strongest = int(case.transmitters.paths.snr_db.isel(path=0).values.argmax())
    observed, truth = case.observed.isel(snapshot=strongest), int(case.truth[strongest])
    wrong = case.believed(errors.everything(size))
    grid = away_from(case.pose, case.layout.grid(num_points))
    networks = {name: weight_files.load_method(weights.path)[0] for name, weights in Robustness(run).weights.items()}
    exact = (case.layout, case.pose)
    shown = {"exact twin": ("locus_dt", exact), "wrong twin": ("locus_dt", wrong)}
    shown["wrong twin, trained with errors"] = ("robust", wrong)
    maps, gains = {}, {}
    for title, (name, scene) in shown.items():
        fine = networks[name].log_posterior(case.trace_believed(scene, grid), observed)
        maps[title] = fine - fine.max()
        own = networks[name].log_posterior(case.trace_believed(scene), observed)
        gains[title] = float(np.exp(own[truth])) * len(case.candidates)
    x, y = case.candidates[truth]
    return Example(case.layout, case.pose, wrong, (x, y), maps, gains)
