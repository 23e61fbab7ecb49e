"""Robustness: a run's networks and twins that are wrong in; what each error costs out.

The receiver hears transmitters of the true room; candidates are traced in a room, or for a pose, that is a little off.
Both sides use the exact image twin, so that the error is all that is wrong.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
import xarray as xr
from distributed import Client
from tqdm import tqdm

from locus.experiment import case, cluster
from locus.experiment.artifact import Result
from locus.experiment.case import make_snapshots, trace
from locus.experiment.libraries import Observations
from locus.experiment.run import Run
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.bootstrap import Floats, means, resample, with_interval
from locus.judge.credible import CREDIBLE_MASS
from locus.receiver import estimator
from locus.room import errors
from locus.room.layout import MIN_DISTANCE, Layout, Pose, away_from
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
_TASK = 5  # groups that a worker evaluates at a time
_MAX_DRAWS = 1000


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


def evaluate_group(config: Config, index: int, scorers: dict[str, Method]) -> xr.Dataset:
    """Rows (condition, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth.

    Also ``lost`` (condition, snapshot): whether the twin believes the truth where nothing could be traced. A
    transmitter off its candidate counts as found at the candidate that is nearest to it.
    """
    layout, pose, candidates = case.draw(config, _SPLIT, index)
    twin = make_twin("image", config.radio, config.twin)
    exact = twin.trace(layout, pose, candidates)
    snapshots = make_snapshots(config, _SPLIT, index, exact)
    true = candidates[snapshots.truth.values]
    observed = estimator.estimate(snapshots, config.estimator)
    way = _free_directions(layout, pose, true, case.error_rng(config, _SPLIT, index))
    ties = np.random.default_rng([config.seed, index]).integers(2**63)
    found = []
    for condition in conditions(config):
        paths, seen, truth = exact, observed, snapshots.truth.values
        if condition.errors:
            rng = case.error_rng(config, _SPLIT, index)  # the same directions for every size, unless they do not fit
            paths = trace(twin, *errors.believed(layout, pose, condition.errors, rng), candidates)
        if condition.moved:
            there = true + condition.moved * way
            heard = twin.trace(layout, pose, there).reset_coords(drop=True).rename(candidate="snapshot")
            seen = estimator.estimate(make_snapshots(config, _SPLIT, index, exact, heard), config.estimator)
            truth = np.linalg.norm(there[:, np.newaxis] - candidates, axis=-1).argmin(axis=1)
        area = layout.free_space.area
        columns = [
            metrics.measure(scorer.log_posterior(paths, seen), truth, area, np.random.default_rng(ties))
            for scorer in scorers.values()
        ]
        rows = xr.concat(columns, "method")[["log_posterior", "level"]]
        found.append(rows.assign(lost=("snapshot", ~paths.valid.any("path").values[truth])))
    joined = xr.concat(found, "condition").transpose("condition", "snapshot", ...)
    return joined.assign_coords(method=list(scorers), group=("snapshot", np.full(len(true), index)))


def _free_directions(layout: Layout, pose: Pose, points: Floats, rng: np.random.Generator) -> Floats:
    """A direction for each point (point, 2) in which every move of a transmitter ends in free space."""
    found = np.full(points.shape, np.nan)
    for _ in range(_MAX_DRAWS):
        left = np.flatnonzero(np.isnan(found[:, 0]))
        if not left.size:
            return found
        angle = rng.uniform(0, 2 * np.pi, left.size)
        drawn = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        ends = np.stack([points[left] + size * drawn for size in _METRES])
        far = np.hypot(ends[..., 0] - pose.x, ends[..., 1] - pose.y) >= MIN_DISTANCE
        free = (layout.is_free(ends.reshape(-1, 2)).reshape(far.shape) & far).all(axis=0)
        found[left[free]] = drawn[free]
    raise ValueError(
        f"Expected a room with free space {max(_METRES):g} m from every transmitter, got {layout.room.wkt}"
    )


def evaluate_groups(span: tuple[int, int], config: dict[str, Any], scorers: dict[str, Method]) -> xr.Dataset:
    """Rows of some groups: what a worker does."""
    torch.set_num_threads(1)  # as many workers as cores, one thread each
    numba.set_num_threads(1)
    settings = Config.from_dict(config)
    return xr.concat([evaluate_group(settings, index, scorers) for index in range(*span)], "snapshot")


class Robustness(Result):
    """``results/robustness.nc`` of a run: rows (condition, snapshot, method)."""

    name = "robustness"

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

    def recipe(self) -> dict[str, Any]:
        """All that the file depends on."""
        numbers = Observations(self.run, _SPLIT).numbers()
        for key in ("num_groups", "backend"):
            del numbers["library"][key]
        numbers["library"]["twin"] = {
            key: value for key, value in numbers["library"]["twin"].items() if key not in ("num_rays", "table_size")
        }
        return {
            "observations": numbers,
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "conditions": [dataclasses.asdict(one) for one in conditions(self.run.config)],
            "num_groups": self.num_groups,
            "recipes": {"mismatch": errors.RECIPE, "robustness": RECIPE, "metrics": metrics.RECIPE},
        }

    def make(self, workers: Callable[[], Client] | None = None) -> None:
        """Evaluate the first groups under every condition."""
        scorers = {name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()}
        count = self.num_groups
        spans = [(first, min(first + _TASK, count)) for first in range(0, count, _TASK)]
        work = functools.partial(_task, config=self.run.config.to_dict(), scorers=scorers)
        parts = {}
        with tqdm(total=count, desc="evaluating with wrong twins", unit="group") as bar:
            for span, rows in cluster.each(workers() if workers else None, work, spans):
                parts[span] = rows
                bar.update(span[1] - span[0])
        data = xr.concat([parts[span] for span in spans], "snapshot")
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
    config = run.config
    layout, pose, candidates = case.draw(config, _SPLIT, index)
    twin = make_twin("image", config.radio, config.twin)
    paths = twin.trace(layout, pose, candidates)
    snapshots = make_snapshots(config, _SPLIT, index, paths)
    strongest = int(paths.snr_db.isel(path=0, candidate=snapshots.truth).values.argmax())
    observed = estimator.estimate(snapshots, config.estimator).isel(snapshot=strongest)
    truth = int(snapshots.truth[strongest])
    wrong = errors.believed(layout, pose, errors.everything(size), case.error_rng(config, _SPLIT, index))
    grid = away_from(pose, layout.grid(num_points))
    networks = {name: weight_files.load_method(weights.path)[0] for name, weights in Robustness(run).weights.items()}
    shown = {"exact twin": ("locus_dt", (layout, pose)), "wrong twin": ("locus_dt", wrong)}
    shown["wrong twin, trained with errors"] = ("robust", wrong)
    maps, gains = {}, {}
    for title, (name, scene) in shown.items():
        fine = networks[name].log_posterior(trace(twin, *scene, grid), observed)
        maps[title] = fine - fine.max()
        own = networks[name].log_posterior(trace(twin, *scene, candidates), observed)
        gains[title] = float(np.exp(own[truth])) * len(candidates)
    return Example(layout, pose, wrong, (candidates[truth, 0], candidates[truth, 1]), maps, gains)


def _task(span: tuple[int, int], **arguments: Any) -> tuple[Callable[..., xr.Dataset], tuple[Any, ...]]:
    return functools.partial(evaluate_groups, **arguments), (span,)
