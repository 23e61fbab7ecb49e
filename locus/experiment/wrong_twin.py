"""Robustness: a run's networks, the path-set likelihood and wrong twins in; the loss that each error causes, out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment import ingredients
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.conditions import SPLIT, conditions, exact_case, expected, heard
from locus.experiment.floors import Floors
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.run import Run
from locus.experiment.weights import Weights
from locus.judge import floor, metrics
from locus.judge.bootstrap import means, resample, with_interval
from locus.judge.credible import CREDIBLE_MASS
from locus.room import errors
from locus.room.layout import Layout, Pose, away_from
from locus.score import weight_files
from locus.score.method import Scorer
from locus.score.path_set import PathSet
from locus.score.twin_fit import UNUSUAL, twin_fit
from locus.settings.config import Config

RECIPE = 4

NUM_LAYOUTS = 100
"""Number of groups, the first of Eval Random; at most a quarter of its groups."""

NUM_FITTED = 2
"""Number of snapshots per group whose fit to the twin is judged."""

SLACK = 0.05
"""Loss [nat] by which a method may be behind another one before it counts as worse."""


def evaluate_group(config: Config, index: int, scorers: dict[str, Scorer], floors: dict[str, float]) -> xr.Dataset:
    """Rows (condition, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth.

    ``floored_level`` is that of the posterior with a floor. ``lost`` (condition, snapshot) says whether the true
    candidate has no path in the wrong twin, and ``p_value`` how well the snapshot fits it. For a transmitter moved from
    its candidate, the truth is the candidate nearest to it.
    """
    exact = exact_case(config, index)
    ties = np.random.default_rng([config.seed, index]).integers(2**63)
    area = exact.layout.free_space.area
    found = []
    for condition in conditions(config):
        case, paths = heard(exact, condition), expected(exact, condition)
        columns = []
        for name, scorer in scorers.items():
            logs = scorer.log_posterior(paths, case.seen_by(scorer))
            raw, mixed = (
                metrics.measure(one, case.truth, area, np.random.default_rng(ties))[["log_posterior", "level"]]
                for one in (logs, floor.with_floor(logs, floors[name]))
            )
            columns.append(raw.assign(floored_level=mixed.level))
        rows = xr.concat(columns, "method")
        path_set = scorers["path_set"]
        assert isinstance(path_set, PathSet)
        fit = p_values(path_set, paths, case, np.random.default_rng(ties))
        attributes = {"units": "1", "long_name": "p-value of the snapshot, if the twin is exact"}
        lost = ~paths.valid.any("path").values[case.truth]
        found.append(rows.assign(lost=("snapshot", lost), p_value=("snapshot", fit, attributes)))
    joined = xr.concat(found, "condition").transpose("condition", "snapshot", ...)
    return joined.assign_coords(method=list(scorers), group=("snapshot", np.full(len(exact.truth), index)))


def p_values(scorer: PathSet, paths: xr.Dataset, case: Case, rng: Generator) -> NDArray[np.float64]:
    """How well the first snapshots of a case fit the paths that the twin expects, (snapshot); NaN for the others."""
    found = np.full(len(case.truth), np.nan)
    found[:NUM_FITTED] = twin_fit(scorer, paths, case.seen_by(scorer).isel(snapshot=slice(NUM_FITTED)), rng)
    return found


class Robustness(Result):
    """``results/robustness.nc`` of a run: rows (condition, snapshot, method), and ``share`` (method) of the floors."""

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

    def scorers(self) -> dict[str, Scorer]:
        """Networks and the path-set likelihood, by name."""
        networks = {name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()}
        return {**networks, "path_set": fitted(self.run)}

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of the compared networks, and the floors of all methods."""
        return (*self.weights.values(), PathSetFit(self.run), Floors(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, SPLIT, "image"),
            "world": ingredients.of_paths(config, SPLIT, "sionna")["twin"],
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "floors": Floors(self.run).hash(),
            "path_set": PathSetFit(self.run).hash(),
            "conditions": [dataclasses.asdict(one) for one in conditions(config)],
            "num_groups": self.num_groups,
            "num_fitted": NUM_FITTED,
            "recipes": {
                "errors": errors.RECIPE,
                "wrong_twin": RECIPE,
                "metrics": metrics.RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return 8.0 * self.num_groups * self.run.config.evaluation.num_candidates / 1000 / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the first groups under every condition."""
        scorers = self.scorers()
        share = Floors(self.run).open().share.sel({"method": list(scorers)})
        floors = {name: float(share.sel({"method": name})) for name in scorers}
        groups, arguments = range(self.num_groups), {"scorers": scorers, "floors": floors}
        with tqdm(total=len(groups), desc="evaluating with wrong twins", unit="group") as bar:
            data = over_groups(evaluate_group, self.run.config, groups, workers(), progress=bar.update, **arguments)
        data = name_conditions(data.assign(share=share), conditions(self.run.config))
        self.save(data, ["share"], num_candidates=self.run.config.evaluation.num_candidates)


def name_conditions(data: xr.Dataset, rows: Sequence[Any]) -> xr.Dataset:
    """Add the coordinates ``kind`` and ``label`` (condition)."""
    return data.assign_coords({name: ("condition", [getattr(one, name) for one in rows]) for name in ("kind", "label")})


def floored(rows: xr.Dataset) -> xr.Dataset:
    """The rows with ``log_posterior`` and ``level`` of the posteriors with floors."""
    logs = rows.log_posterior.transpose(..., "method")
    mixed = [
        floor.floored(logs.sel({"method": name}), rows.attrs["num_candidates"], float(rows.share.sel({"method": name})))
        for name in rows.method.values
    ]
    return rows.assign(log_posterior=logs.copy(data=np.stack(mixed, axis=-1)), level=rows.floored_level)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, gain and ratio under every condition, and ``covered``, the share of truths in 90 % sets.

    Dataset (condition, method), with intervals ``_low`` and ``_high``. All conditions share the bootstrap resamples.
    """

    def of(one: xr.Dataset) -> xr.Dataset:
        share = metrics.covered(one, CREDIBLE_MASS, np.random.default_rng(0))
        found = metrics.summary(one, rows.attrs["num_candidates"], np.random.default_rng(0))
        return found.assign(share.data_vars)

    return by_condition(rows, of)


def compared(rows: xr.Dataset, first: str, second: str) -> xr.Dataset:
    """Paired difference of the losses of two methods, first minus second, with intervals, (condition)."""
    return by_condition(rows, lambda one: metrics.paired(one, first, second, np.random.default_rng(0)))


def behind(rows: xr.Dataset, method: str, others: Sequence[str]) -> xr.Dataset:
    """Paired difference of the losses of a method and the best of some others in each condition, with intervals.

    ``best`` (condition) names it: the one with the smallest mean loss. ``worse`` says whether the whole interval of the
    difference lies above ``SLACK``.
    """

    def of(one: xr.Dataset) -> xr.Dataset:
        best = max(others, key=lambda name: float(one.log_posterior.sel({"method": name}).mean()))
        found = metrics.paired(one, method, best, np.random.default_rng(0))
        return found.assign(best=best, worse=found.difference_low > SLACK)

    return by_condition(rows, of)


def noticed(rows: xr.Dataset) -> xr.Dataset:
    """Share of snapshots that do not fit their twin, among those with a ``p_value``, (condition) with intervals.

    Where none is found, the upper end is that of the exact binomial interval.
    """

    def of(one: xr.Dataset) -> xr.Dataset:
        fitted = one.isel(snapshot=one.p_value.notnull().values)
        index, weights = resample(fitted.group.values, fitted.sizes["snapshot"], np.random.default_rng(0), 2000)
        below = (fitted.p_value.values < UNUSUAL).astype(float)
        share = means(below[:, np.newaxis], index, weights)[:, 0]
        found = xr.Dataset(with_interval("noticed", (), share, "1", "share of snapshots that do not fit their twin"))
        if below.size and not below.any():  # resamples of nothing but zeros do not vary
            found["noticed_high"] = found.noticed_high.copy(data=1 - 0.025 ** (1 / below.size))
        return found

    return by_condition(rows, of)


def by_condition(rows: xr.Dataset, of: Callable[[xr.Dataset], xr.Dataset]) -> xr.Dataset:
    """Results of a function of the rows of one condition, (condition, ...)."""
    parts = [of(rows.isel(condition=index)) for index in range(rows.sizes["condition"])]
    joined = xr.concat([part.drop_vars(["kind", "label"], errors="ignore") for part in parts], "condition")
    return joined.assign_coords({name: rows[name] for name in ("kind", "label")})


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
    truth = int(case.truth[strongest])
    wrong = case.believed(errors.everything(size))
    grid = away_from(case.pose, case.layout.grid(num_points))
    scorers, exact = Robustness(run).scorers(), (case.layout, case.pose)
    shown = {
        "LOCUS-DT, exact twin": ("locus_dt", exact),
        "LOCUS-DT, wrong twin": ("locus_dt", wrong),
        "trained with errors, wrong twin": ("robust", wrong),
        "path set, wrong twin": ("path_set", wrong),
    }
    maps, gains = {}, {}
    for title, (name, scene) in shown.items():
        observed = case.seen_by(scorers[name]).isel(snapshot=strongest)
        fine = scorers[name].log_posterior(case.trace_believed(scene, grid), observed)
        maps[title] = fine - fine.max()
        own = scorers[name].log_posterior(case.trace_believed(scene), observed)
        gains[title] = float(np.exp(own[truth])) * len(case.candidates)
    x, y = case.candidates[truth]
    return Example(case.layout, case.pose, wrong, (x, y), maps, gains)
