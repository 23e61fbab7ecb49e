"""Robustness: a run's networks and twins that are wrong in; what each error costs out.

The receiver hears transmitters of the true room; candidates are traced in a room, or for a pose, that is a little off.
Both sides use the exact image twin, so that the error is all that is wrong.
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
from locus.experiment.over_groups import over_groups
from locus.experiment.run import Run
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.bootstrap import means, resample, with_interval
from locus.judge.credible import CREDIBLE_MASS
from locus.room import errors
from locus.room.layout import Layout, Pose, away_from
from locus.room.materials import defined
from locus.score import weight_files
from locus.score.method import Method
from locus.settings.config import Config
from locus.twin import make_twin

RECIPE = 2

NUM_LAYOUTS = 200
"""Groups of Eval Random, the first ones; a quarter of them, if that is fewer."""

_SPLIT = "eval_random"
_METRES = (0.1, 0.3, 1.0, 3.0)
_DEGREES = (0.3, 1.0, 3.0, 10.0)
_MATERIALS = ("brick", "wood", "glass", "metal")


@dataclass(frozen=True)
class Condition:
    """One kind and size of error."""

    kind: str
    label: str
    errors: dict[str, Any] = field(default_factory=dict)
    """What the twin gets wrong, as :func:`locus.room.errors.believed` takes it."""
    moved: float = 0.0
    """How far the transmitter stands off its candidate [m]."""


def conditions(config: Config) -> list[Condition]:
    """What is measured; first the exact twin. ``all`` is :func:`locus.room.errors.everything`."""
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
    """A group of Eval Random, traced by the exact twin."""
    return Case(config, _SPLIT, index, make_twin("image", config.radio, config.twin))


def evaluate_group(config: Config, index: int, scorers: dict[str, Method]) -> xr.Dataset:
    """Rows (condition, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth.

    Also ``lost`` (condition, snapshot): whether the twin believes the truth where nothing could be traced. A
    transmitter off its candidate counts as found at the candidate that is nearest to it.
    """
    exact = exact_case(config, index)
    ties = np.random.default_rng([config.seed, index]).integers(2**63)
    area = exact.layout.free_space.area
    found = []
    for condition in conditions(config):
        case = exact.moved(condition.moved, _METRES) if condition.moved else exact
        paths = exact.trace_believed(exact.believed(condition.errors)) if condition.errors else exact.paths
        columns = [
            metrics.measure(scorer.log_posterior(paths, case.observed), case.truth, area, np.random.default_rng(ties))
            for scorer in scorers.values()
        ]
        rows = xr.concat(columns, "method")[["log_posterior", "level"]]
        found.append(rows.assign(lost=("snapshot", ~paths.valid.any("path").values[case.truth])))
    joined = xr.concat(found, "condition").transpose("condition", "snapshot", ...)
    return joined.assign_coords(method=list(scorers), group=("snapshot", np.full(len(exact.truth), index)))


class Robustness(Result):
    """``results/robustness.nc`` of a run: rows (condition, snapshot, method)."""

    stem = "robustness"

    @property
    def num_groups(self) -> int:
        """Groups that are evaluated."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def weights(self) -> dict[str, Weights]:
        """Networks that are compared: LOCUS-DT, the same trained with errors, and the strongest baseline."""
        return {
            "locus_dt": Weights(self.run, "locus_dt"),
            "robust": Weights(self.run, "locus_dt", robust=True),
            "gmm_cart": Weights(self.run, "gmm_cart"),
        }

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The weights."""
        return tuple(self.weights.values())

    def recipe(self) -> dict[str, Any]:
        """All that the file depends on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, _SPLIT, "image"),
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "conditions": [dataclasses.asdict(one) for one in conditions(config)],
            "num_groups": self.num_groups,
            "recipes": {"errors": errors.RECIPE, "wrong_twin": RECIPE, "metrics": metrics.RECIPE},
        }

    def seconds(self, num_workers: int) -> float:
        """About how long it takes on so many workers."""
        return 2.0 * self.num_groups / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups under every condition."""
        scorers = {name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()}
        groups = range(self.num_groups)
        with tqdm(total=len(groups), desc="evaluating with wrong twins", unit="group") as bar:
            data = over_groups(evaluate_group, self.run.config, groups, workers(), progress=bar.update, scorers=scorers)
        for name in ("kind", "label"):
            data[name] = ("condition", [getattr(one, name) for one in conditions(self.run.config)])
        data = data.set_coords(["kind", "label"])
        self.save(data, num_candidates=self.run.config.evaluation.num_candidates)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, gain and ratio under every condition, and ``covered``, the share of truths in 90 % sets.

    Dataset (condition, method); ``covered`` has ``_low`` and ``_high``, too. All conditions share the resamples.
    """
    index, weights = resample(rows.group.values, rows.sizes["snapshot"], np.random.default_rng(0), 2000)
    parts = []
    for number in range(rows.sizes["condition"]):
        one = rows.isel(condition=number)
        inside = (one.level <= CREDIBLE_MASS).transpose("snapshot", "method").values.astype(float)
        share = with_interval("covered", ("method",), means(inside, index, weights), "1", "share inside the 90 % sets")
        parts.append(metrics.summary(one, rows.attrs["num_candidates"], np.random.default_rng(0)).assign(share))
    return xr.concat(parts, "condition").assign_coords({name: rows[name] for name in ("kind", "label")})


def compared(rows: xr.Dataset, first: str, second: str) -> xr.Dataset:
    """Loss of one network less that of another, (condition): paired differences with their intervals."""
    parts = [
        metrics.paired(rows.isel(condition=index), first, second, np.random.default_rng(0))
        for index in range(rows.sizes["condition"])
    ]
    return xr.concat(parts, "condition").assign_coords({name: rows[name] for name in ("kind", "label")})


class Example(NamedTuple):
    """One snapshot, as an exact and a wrong twin explain it."""

    layout: Layout
    pose: Pose
    wrong: tuple[Layout, Pose]
    position: tuple[float, float]
    maps: dict[str, xr.DataArray]
    """Log posterior over the map's largest [nat], (candidate), by title."""
    gains: dict[str, float]
    """How many times as probable as by a blind guess the truth is on the group's own list, by title."""


def make_example(run: Run, index: int, size: float, num_points: int) -> Example:
    """The strongest snapshot of a group of Eval Random, with an exact twin and with one with errors of a ``size`` [m].

    The errors are :func:`locus.room.errors.everything`; maps have ``num_points`` per axis.
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
