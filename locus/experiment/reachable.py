"""What could be reached: wrong twins in; the loss of a path set that knows the true world, or samples worlds, out.

A user who knows how large the errors of a twin are can draw worlds that have such errors around the believed one, trace
the candidates in each, and average the likelihoods. This takes as many tracings as worlds, so it is computed for some
rooms only.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.conditions import (
    SPLIT,
    Condition,
    conditions,
    exact_case,
    heard,
    other_materials,
    world_twin,
)
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.wrong_twin import Robustness, by_condition, name_conditions
from locus.judge import metrics
from locus.judge.floor import floored
from locus.receiver import estimator
from locus.room import errors
from locus.score.method import normalise
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants, Tolerance
from locus.settings.config import Config

RECIPE = 2

NUM_LAYOUTS = 16
"""Number of groups, the first of Eval Random: at most a twentieth of its groups, but at least two."""
NUM_WORLDS = 16
"""Number of worlds drawn around the believed one."""
METHODS = ("true_world", "sampled_worlds")
"""The path set with the true world and no tolerance, and averaged over sampled worlds."""

_REMAINING = 0.5  # tolerance of each sampled world, relative to the errors: it is not the true one, either
_FLOOR = 0.02  # share of uniform guessing in the average over worlds; the path set itself has a floor, too
_EXACT = Tolerance(0.0, 0.0, 0.0, 0.0)


def sampled(condition: Condition) -> bool:
    """Whether worlds are sampled around the twin of a condition: not where only the physics differs."""
    return bool(condition.errors) or condition.moved > 0


def evaluate_group(config: Config, index: int, constants: Constants) -> xr.Dataset:
    """Log posteriors (condition, snapshot, method) of the truths of a group; NaN where a method has none.

    There is no true world for a transmitter off its candidate, and no world is sampled where only the physics differs.
    """
    exact = exact_case(config, index)
    none = np.full(len(exact.truth), np.nan)
    known: dict[str, NDArray[np.float64]] = {}
    rows = []
    for condition in conditions(config):
        world = f"{condition.world} {condition.moved}"  # conditions with the same snapshots have the same true world
        if world not in known:
            known[world] = none if condition.moved else _with_true_world(exact, condition, constants)
        rows.append([known[world], _with_sampled_worlds(exact, condition, constants) if sampled(condition) else none])
    attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
    return xr.Dataset(
        {"log_posterior": (("condition", "snapshot", "method"), np.moveaxis(np.array(rows), 1, 2), attributes)},
        coords={"method": list(METHODS), "group": ("snapshot", np.full(len(none), index))},
    )


def _with_true_world(exact: Case, condition: Condition, constants: Constants) -> NDArray[np.float64]:
    """Log posteriors (snapshot) of the truths if the twin traces the true world, with zero tolerance."""
    case, scorer, paths = heard(exact, condition), PathSet(tolerance=_EXACT, constants=constants), exact.paths
    if condition.world:
        traced = world_twin(exact.config, condition).trace(exact.layout, exact.pose, exact.candidates)
        paths = traced.isel(path=slice(exact.config.twin.max_paths))
    logs = scorer.log_posterior(paths, case.seen_by(scorer))
    return np.asarray(logs.values[np.arange(len(case.truth)), case.truth])


def _with_sampled_worlds(exact: Case, condition: Condition, constants: Constants) -> NDArray[np.float64]:
    """Log posteriors (snapshot) of the truths, from likelihoods averaged over worlds around the believed one."""
    case, sizes = heard(exact, condition), condition.errors
    rng = splits.world_rng(exact.config, SPLIT, exact.index)
    scorer = PathSet(tolerance=_remaining(condition), constants=constants)
    if condition.moved:
        worlds = [_moved_candidates(exact, condition.moved, rng) for _ in range(NUM_WORLDS)]
    else:
        believed = exact.believed(sizes)
        if "material" in sizes:
            sizes = {"materials": (exact.config.room.material, *other_materials(exact.config))}
        drawn = [errors.possible(*believed, sizes, rng, exact.config.room) for _ in range(NUM_WORLDS)]
        worlds = [exact.trace_believed(scene) for scene in drawn]
    observed = case.seen_by(scorer)
    summed = np.logaddexp.reduce(
        [scorer.log_likelihood(paths, observed, spacing=_REMAINING * condition.moved).values for paths in worlds]
    )
    own = normalise(summed)[np.arange(len(case.truth)), case.truth]
    return floored(own, len(exact.candidates), _FLOOR)


def _remaining(condition: Condition) -> Tolerance:
    """Tolerance for each sampled world, which still differs from the true one; all of it if obstacles are redrawn."""
    sizes = condition.errors
    if "missing" in sizes:
        return Tolerance()
    plan = max(sizes.get("obstacles", 0.0), sizes.get("walls", 0.0))
    return Tolerance(
        _REMAINING * plan, _REMAINING * sizes.get("position", 0.0), _REMAINING * sizes.get("heading", 0.0), 0.0
    )


def _moved_candidates(exact: Case, distance: float, rng: Generator) -> xr.Dataset:
    """Paths of candidates that are moved by ``distance`` [m], each in a random direction."""
    angle = rng.uniform(0, 2 * np.pi, len(exact.candidates))
    points = exact.candidates + distance * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return exact.trace_believed((exact.layout, exact.pose), points)


class Reachable(Result):
    """``results/reachable.nc`` of a run: ``log_posterior`` (condition, snapshot, method), NaN where there is none."""

    stem = "reachable"

    @property
    def num_groups(self) -> int:
        """Number of groups to evaluate."""
        return min(NUM_LAYOUTS, max(2, self.run.config.evaluation.num_layouts // 20), Robustness(self.run).num_groups)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The constants of the path set."""
        return (PathSetFit(self.run),)

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "snapshots": ingredients.of_snapshots(config, SPLIT, "image"),
            "world": ingredients.of_paths(config, SPLIT, "sionna")["twin"],
            "conditions": [dataclasses.asdict(one) for one in conditions(config)],
            "path_set": PathSetFit(self.run).hash(),
            "num_groups": self.num_groups,
            "recipes": {
                "errors": errors.RECIPE,
                "estimator": estimator.RECIPE,
                "metrics": metrics.RECIPE,
                "reachable": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 80.0 * self.num_groups * self.run.config.evaluation.num_candidates / 1000 / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups under every condition."""
        config, groups = self.run.config, range(self.num_groups)
        with tqdm(total=len(groups), desc="sampling worlds", unit="group") as bar:
            arguments = {"constants": fitted(self.run).constants}
            rows = over_groups(evaluate_group, config, groups, workers(), progress=bar.update, **arguments)
        self.save(name_conditions(rows, conditions(config)), num_candidates=config.evaluation.num_candidates)


def summary(rows: xr.Dataset, robustness: xr.Dataset) -> xr.Dataset:
    """Loss (condition, method) with intervals of the path set and of what could be reached on the same snapshots.

    Args:
        rows: what could be reached, from :class:`Reachable`.
        robustness: rows with ``path_set``, from :class:`locus.experiment.wrong_twin.Robustness`.
    """
    same = robustness.isel(snapshot=np.isin(robustness.group, rows.group))
    own = same[["log_posterior"]].sel({"method": ["path_set"]})
    joined = xr.concat([own, rows[["log_posterior"]]], "method", join="exact", coords="minimal", compat="override")

    def of(one: xr.Dataset) -> xr.Dataset:
        found = metrics.summary(metrics.known(one), rows.attrs["num_candidates"], np.random.default_rng(0))
        return found.reindex({"method": joined.method.values})

    return by_condition(joined, of)
