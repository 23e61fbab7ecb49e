"""The fit of the path set: training rooms in, the constants that theory leaves open, out.

The loss is the paper's, eq. (17): cross-entropy of the true candidate among others of its room. Every second room has
a twin with errors. The gradient is a finite difference of a fixed sample, so that the fit is reproducible.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import optimize
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.case import Case
from locus.experiment.cluster import one_thread
from locus.experiment.run import Run, versions
from locus.receiver.estimator import estimate
from locus.room import errors
from locus.score import path_set
from locus.score.path_set import PathSet
from locus.score.path_set_file import NAME, load_constants, save_constants
from locus.score.tolerance import Constants, Tolerance
from locus.score.weight_files import read_tensors
from locus.settings.checksums import intact
from locus.settings.config import Config, EstimatorOptions

RECIPE = 3

NUM_LAYOUTS = 1000
"""Number of training rooms, the first ones; at most an eighth of the run's, but at least two."""
NUM_VALIDATION = 100
"""Number of rooms that compare false-alarm rates, of those held out for validation."""
NUM_SNAPSHOTS = 2
"""Number of snapshots per room."""
NUM_CANDIDATES = 80
"""Number of candidates per room, the true ones of its snapshots among them."""
RATES = (0.3, 0.9, 0.99, 0.999)
"""False-alarm rates to choose from."""

_POSITIVE = (
    "sine_excess",
    "delay_excess",
    "strength_excess_db",
    "tail_cells",
    "tail_db",
    "merge_cells",
    "miss_per_metre",
    "unknown",
    "unknown_per_metre",
)
_SHARES = ("tail_share", "miss")  # at most 0.5
CHOSEN = ("plan_scale", "num_headings", "changed", "changed_miss", "changed_unknown", "doubt", "false_alarm", "floor")
"""Constants that are not fitted: they are for errors that these rooms do not have, or were chosen on held-out ones."""

_STEP = 0.05  # of the finite differences, in logarithms
_RIDGE = 1e-2  # nats per squared logarithm: what the rooms do not tell stays where it is
_NUM_ITERATIONS = 12
_SECONDS = 4e-3  # to evaluate one room


class Example(NamedTuple):
    """A room to fit to."""

    paths: xr.Dataset
    """Paths (candidate, path) that the twin believes in."""
    observed: xr.Dataset
    """Estimated paths (snapshot, path)."""
    truth: NDArray[np.int64]
    """True candidate (snapshot)."""


def make_example(config: Config, index: int, options: EstimatorOptions) -> Example:
    """Draw a training room; the twin of odd ones errs in plan and pose, in half of them by as much as is tolerated."""
    case = Case(config, "train", index)
    snapshots = case.snapshots.isel(snapshot=slice(NUM_SNAPSHOTS))
    truth, where = np.unique(snapshots.truth.values, return_inverse=True)
    others = np.setdiff1d(np.arange(len(case.candidates)), truth)
    rng = np.random.default_rng([config.seed, index, len(others)])
    chosen = np.concatenate([truth, rng.permutation(others)])[:NUM_CANDIDATES]
    if index % 2:
        rng = splits.error_rng(config, "train", index)
        size = 1.0 if index % 4 == 1 else rng.uniform()
        sizes = {kind: size * most for kind, most in dataclasses.asdict(config.mismatch).items()}
        paths = case.trace_believed(case.believed(sizes, rng), case.candidates[chosen])
    else:
        paths = case.paths.isel(candidate=chosen)
    return Example(paths, estimate(snapshots, options, residual=True), where)


def loss(examples: list[Example], constants: Constants, config: Config) -> NDArray[np.float64]:
    """Mean adjusted loss [nat] of each room."""
    scorer = PathSet(config.radio, tolerance=_tolerance(config), constants=constants)
    found = []
    for one in examples:
        logs = scorer.log_posterior(one.paths, one.observed).values
        found.append(-logs[np.arange(len(logs)), one.truth].mean() - math.log(logs.shape[1]))
    return np.array(found)


def _tolerance(config: Config) -> Tolerance:
    """Tolerance that spans the errors of the training rooms."""
    most = config.mismatch
    return Tolerance(plan=max(most.obstacles, most.walls), position=most.position, heading=most.heading)


def to_vector(constants: Constants) -> NDArray[np.float64]:
    """Fitted constants as unbounded numbers."""
    logs = [math.log(getattr(constants, name)) for name in _POSITIVE]
    logits = [_logit(2 * getattr(constants, name)) for name in _SHARES]
    weights = np.log(constants.weights[1:]) - math.log(constants.weights[0])
    return np.array([*logs, *logits, _logit(constants.levels[2]), *weights])


def from_vector(vector: NDArray[np.float64]) -> Constants:
    """Inverse of :func:`to_vector`; all other constants keep their defaults."""
    values = iter(vector.tolist())
    fitted: dict[str, Any] = {name: math.exp(next(values)) for name in _POSITIVE}
    fitted.update({name: 0.5 / (1 + math.exp(-next(values))) for name in _SHARES})
    middle = 1 / (1 + math.exp(-next(values)))
    weights = np.exp([0.0, *values])
    start = Constants()
    levels = (*start.levels[:2], middle, *start.levels[3:])
    compass = (*start.compass[:2], middle, *start.compass[3:])
    return Constants(**fitted, levels=levels, compass=compass, weights=tuple((weights / weights.sum()).tolist()))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def fit(examples: list[Example], config: Config, num_iterations: int = _NUM_ITERATIONS) -> Constants:
    """Constants with the lowest mean loss, by L-BFGS from the defaults."""
    start = to_vector(Constants())

    def value(vector: NDArray[np.float64]) -> float:
        away = vector - start
        return float(loss(examples, from_vector(vector), config).mean() + _RIDGE * away @ away)

    with tqdm(total=num_iterations, desc="fitting the path set", unit="step") as bar:

        def slope(vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            here = value(vector)
            steps = _STEP * np.eye(len(vector))
            return here, np.array([value(vector + step) - here for step in steps]) / _STEP

        def show(intermediate_result: optimize.OptimizeResult) -> None:
            bar.set_postfix(loss=f"{intermediate_result.fun:.4f}")
            bar.update()

        options = {"maxiter": num_iterations, "maxfun": 2 * num_iterations, "ftol": 1e-4}
        found = optimize.minimize(slope, start, jac=True, method="L-BFGS-B", callback=show, options=options)
    return from_vector(np.asarray(found.x))


@dataclass(frozen=True)
class PathSetFit(Artifact):
    """``models/path_set.safetensors`` of a run: the constants of :class:`locus.score.tolerance.Constants`."""

    run: Run

    @property
    def name(self) -> str:
        """Path relative to the run's folder, without suffix."""
        return "models/path_set"

    @property
    def path(self) -> Path:
        """File of the constants."""
        return self.run.models / NAME

    @property
    def files(self) -> list[Path]:
        """The one file."""
        return [self.path]

    @property
    def groups(self) -> range:
        """Training rooms to fit to."""
        return range(max(2, min(NUM_LAYOUTS, self.run.config.training.num_layouts // 8)))

    @property
    def validation(self) -> range:
        """Rooms that compare the false-alarm rates, held out from every training."""
        return splits.validation_groups(self.run.config)[:NUM_VALIDATION]

    def recipe(self) -> dict[str, Any]:
        """Everything that the constants depend on."""
        config = self.run.config
        return {
            "snapshots": ingredients.of_snapshots(config, "train"),
            "mismatch": dataclasses.asdict(config.mismatch),
            "groups": [len(self.groups), len(self.validation)],
            "recipes": {"errors": errors.RECIPE, "path_set": path_set.RECIPE, "fit": RECIPE},
        }

    def fresh(self) -> bool:
        """Whether the file exists, is undamaged, and matches the current recipe."""
        return intact(self.path) and read_tensors(self.path)[1].get("hash") == self.hash()

    def seconds(self, num_workers: int) -> float:  # noqa: ARG002 - it fits in this process
        """Estimated time [s]."""
        return _SECONDS * len(self.groups) * _NUM_ITERATIONS * (len(to_vector(Constants())) + 1)

    @one_thread()  # a room is too small to share between threads, which would mostly wait for each other
    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - it fits in this process
        """Fit the constants, and choose the false-alarm rate."""
        config = self.run.config
        lowest = EstimatorOptions(false_alarm=max(RATES))
        rooms = tqdm(self.groups, desc="drawing rooms for the path set", unit="room")
        found = fit([make_example(config, index, lowest) for index in rooms], config)
        losses = {}
        for rate in RATES:
            options = EstimatorOptions(false_alarm=rate)
            examples = [make_example(config, index, options) for index in self.validation]
            losses[rate] = loss(examples, found, config)
            if rate == lowest.false_alarm:
                before = loss(examples, Constants(), config)
        best = min(RATES, key=lambda rate: losses[rate].mean())
        notes = {
            "hash": self.hash(),
            "recipe": self.recipe(),
            "versions": versions(),
            "validation": {f"{rate:g}": _halves(values, self.validation) for rate, values in losses.items()},
            "unfitted": _halves(before, self.validation),
        }
        save_constants(self.path, dataclasses.replace(found, false_alarm=best), notes)
        load_constants.cache_clear()


def fitted(run: Run) -> PathSet:
    """The path set with the constants of a run."""
    return PathSet(constants=load_constants(PathSetFit(run).path))


def _halves(losses: NDArray[np.float64], rooms: range) -> dict[str, float | None]:
    """Mean loss of the rooms with exact twins, and of the others; None if there are none."""
    odd = np.array(rooms) % 2 == 1
    halves = {"exact": losses[~odd], "wrong": losses[odd]}
    return {name: float(values.mean()) if values.size else None for name, values in halves.items()}
