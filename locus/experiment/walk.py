"""Walks: rooms of the evaluation in; loss and credible levels of several ways to fuse snapshots, step by step, out.

A robot listens from eight poses that are 6 m apart. Its plan and its compass are exact or wrong, by the same errors
during the whole walk. Methods that simply add scores get a temperature and a floor, fitted on walks through
validation rooms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment import ingredients, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.over_groups import over_groups
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.walk_scene import STEP, Scene, wrapped
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.judge.bootstrap import described, means, resample, with_interval
from locus.judge.credible import CREDIBLE_MASS, credible_level
from locus.judge.floor import fit_share, floored
from locus.room import errors
from locus.room.layout import Layout, Pose
from locus.score import walk, weight_files
from locus.score.path_set import PathSet
from locus.score.posterior import normalise
from locus.score.walk import Walk
from locus.settings.config import Config

RECIPE = 1

NUM_LAYOUTS = 200
"""Number of rooms, the first of the evaluation; at most a quarter of them."""
NUM_FITTED = 40
"""Number of validation rooms that temperatures and floors are fitted on, the last ones; at most twice as many as are
evaluated, or all if there are fewer."""
NUM_STEPS = 8
"""Number of snapshots of a walk."""

CONDITIONS: dict[str, dict[str, float]] = {
    "exact": {},
    "0.3 m": {"walls": 0.3, "obstacles": 0.3, "heading": math.radians(1.5)},
    "1 m": {"walls": 1.0, "obstacles": 1.0, "heading": math.radians(5.0)},
}
"""What the twin gets wrong in each condition; see :func:`locus.room.errors.believed`."""

METHODS = ("locus_dt", "robust", "path_set", "bearings", "walk")
"""LOCUS-DT, LOCUS-DT trained with errors, and the path set, each with its scores added up; bearings without a twin; and
the walk, with shared errors."""

TEMPERATURES = np.geomspace(0.5, 32.0, 25)
"""Temperatures that summed scores are divided by, to choose from."""
BEARINGS = tuple(itertools.product(np.geomspace(0.01, 0.64, 13), (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)))
"""Standard deviation of a sine and share of outliers, to choose from."""

_SPLIT = "eval_grid"
_SECONDS = 4.0  # per room, on a busy machine

Floats = NDArray[np.float64]


class Chosen(NamedTuple):
    """What was fitted for a method: the index of its option, and the share of uniform guessing."""

    option: int
    share: float


def evaluate_fit(config: Config, index: int, scorers: dict[str, Any]) -> xr.Dataset:
    """Adjusted log posteriors (condition, step, snapshot, option) of a validation room's truth, for each method."""
    scene = Scene(config, "train", index, NUM_STEPS)
    parts = {}
    for condition, sizes in CONDITIONS.items():
        believed = scene.believed(sizes)
        paths = scene.trace(believed)
        for name in METHODS[:-1]:
            logs = normalise(_sums(name, scene, believed, paths, scorers))[..., scene.truth]
            parts[name, condition] = logs.T + math.log(len(scene.candidates))
    stacked = {name: np.stack([parts[name, condition] for condition in CONDITIONS]) for name in METHODS[:-1]}
    return xr.Dataset(
        {
            name: (("condition", "step", "snapshot", f"option_{name}"), values[:, :, np.newaxis])
            for name, values in stacked.items()
        }
    )


def evaluate_group(
    config: Config, index: int, scorers: dict[str, Any], chosen: dict[str, Chosen], split: str = _SPLIT
) -> xr.Dataset:
    """Log posterior and credible level (condition, step, snapshot, method) of the truth of one walk.

    Also the compass error (condition, snapshot), and its posterior (condition, step, snapshot).
    """
    scene = Scene(config, split, index, NUM_STEPS)
    count = len(scene.candidates)
    logs, levels, turns, compass = [], [], [], []
    for sizes in CONDITIONS.values():
        believed = scene.believed(sizes)
        paths = scene.trace(believed)
        turns.append(wrapped(scene.poses[0].heading - believed[1][0].heading))
        posteriors = []
        for name in METHODS[:-1]:
            sums = _sums(name, scene, believed, paths, scorers, chosen[name].option)[0]
            posteriors.append(floored(normalise(sums), count, chosen[name].share))
        fused, heading = _walk(scene, believed[0], paths, scorers["path_set"])
        posteriors.append(fused)
        compass.append(heading)
        truth = np.full(NUM_STEPS, scene.truth)
        logs.append(np.stack([one[:, scene.truth] for one in posteriors], axis=-1))
        levels.append(np.stack([credible_level(one, truth, scene.tie_shares) for one in posteriors], axis=-1))
    dims = ("condition", "step", "method")
    found = xr.Dataset(
        {
            "log_posterior": (dims, *described(np.array(logs), "nat", "log posterior of the true candidate")),
            "level": (dims, *described(np.array(levels), "1", "credible level of the truth")),
            "compass": ("condition", *described(turns, "rad", "true less believed heading")),
            **{
                f"compass_{name}": (dims[:2], *described(np.array(compass)[..., column], "rad", f"posterior {text}"))
                for column, (name, text) in enumerate(
                    (
                        ("mean", "mean"),
                        ("deviation", "standard deviation"),
                        ("low", "5 % point"),
                        ("high", "95 % point"),
                    )
                )
            },
            "num_candidates": ((), *described(count, "1", "number of candidates")),
        },
        coords={"condition": list(CONDITIONS), "step": np.arange(1, NUM_STEPS + 1), "method": list(METHODS)},
    )
    ordered = found.expand_dims("snapshot").transpose("condition", "step", "snapshot", "method")
    return ordered.assign_coords(group=("snapshot", [index]))


def _walk(scene: Scene, layout: Layout, paths: list[xr.Dataset], scorer: PathSet) -> tuple[Floats, list[Any]]:
    """Log posteriors (step, candidate) with shared errors, and the posterior of the compass error after each step."""
    observed, fused, logs, heading = scene.observed_with(scorer.estimator), Walk(layout, scorer), [], []
    for step, traced in enumerate(paths):
        fused.add(traced, observed.isel(snapshot=step))
        logs.append(fused.log_posterior().values)
        heading.append(fused.heading_error())
    return np.array(logs), heading


def _sums(
    name: str,
    scene: Scene,
    believed: tuple[Layout, list[Pose]],
    paths: list[xr.Dataset],
    scorers: dict[str, Any],
    option: int | None = None,
) -> Floats:
    """Scores (option, step, candidate), added over the steps so far; only those of one option, if it is given."""
    if name == "bearings":
        options = BEARINGS if option is None else BEARINGS[option : option + 1]
        parts = _bearings(scene, believed[1], np.array(options))
    else:
        scorer = scorers[name]
        score: Callable[..., xr.DataArray] = scorer.log_likelihood if name == "path_set" else scorer.log_posterior
        observed = scene.observed_with(getattr(scorer, "estimator", scene.config.estimator))
        rows = np.array([score(traced, observed.isel(snapshot=step)).values for step, traced in enumerate(paths)])
        chosen = TEMPERATURES if option is None else TEMPERATURES[option : option + 1]
        parts = rows / chosen[:, np.newaxis, np.newaxis]
    return np.asarray(np.cumsum(parts, axis=1))


def _bearings(scene: Scene, poses: list[Pose], options: Floats) -> Floats:
    """Log likelihoods (option, step, candidate) of the strongest path's sine, if it came straight from a candidate.

    A linear array sees the sine only, so that front and back look alike. Without a path, all candidates are alike.
    """
    observed = scene.observed_with(scene.config.estimator)
    deviation, outliers = options.T[:, :, np.newaxis, np.newaxis]
    strongest = np.where(observed.valid, observed.snr_db, -np.inf).argmax(axis=1)
    seen = np.sin(observed.aoa.values[np.arange(len(strongest)), strongest])
    x, y = scene.candidates.T
    bearing = np.array([np.sin(np.arctan2(y - pose.y, x - pose.x) - pose.heading) for pose in poses])
    normal = np.exp(-0.5 * ((seen[:, np.newaxis] - bearing) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    heard = observed.valid.any("path").values[:, np.newaxis]
    return np.where(heard, np.log((1 - outliers) * normal + outliers / 2), 0.0)


def choose(rows: xr.Dataset) -> dict[str, Chosen]:
    """Option and share of uniform guessing with the smallest mean loss over all conditions and steps."""
    chosen = {}
    for name in METHODS[:-1]:
        logs = rows[name].values.reshape(-1, rows.sizes[f"option_{name}"])
        # Lists differ in length, and the floor of an adjusted log posterior is that of a list of two, less log 2
        shares = [fit_share(column - math.log(2), 2) for column in logs.T]
        losses = [-float(np.mean(floored(column, 1, share))) for column, share in zip(logs.T, shares, strict=True)]
        best = int(np.argmin(losses))
        chosen[name] = Chosen(best, shares[best])
    return chosen


class Walks(Result):
    """``results/walk.nc`` of a run: ``log_posterior`` and ``level`` (condition, step, snapshot, method).

    A snapshot stands for a walk, one per room. ``compass`` (condition, snapshot) is the error of the compass,
    ``compass_mean``, ``_deviation``, ``_low`` and ``_high`` (condition, step, snapshot) its posterior. ``share``
    (method) is the fitted share of uniform guessing, ``option`` (method) the fitted temperature (LOCUS-DT, path set) or
    standard deviation of a sine (bearings).
    """

    stem = "walk"

    @property
    def num_groups(self) -> int:
        """Number of rooms to evaluate."""
        return min(NUM_LAYOUTS, math.ceil(self.run.config.evaluation.num_layouts / 4))

    @property
    def fit_groups(self) -> range:
        """Validation rooms that temperatures and floors are fitted on."""
        groups = splits.validation_groups(self.run.config)
        return range(max(groups.stop - min(NUM_FITTED, 2 * self.num_groups), groups.start), groups.stop)

    @property
    def weights(self) -> dict[str, Weights]:
        """LOCUS-DT, trained without and with errors."""
        return {name: Weights(self.run, "locus_dt", robust=name == "robust") for name in METHODS[:2]}

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """Weights of both networks, and the constants of the path set."""
        return (*self.weights.values(), PathSetFit(self.run))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        config = self.run.config
        return {
            "estimates": ingredients.of_estimates(config, _SPLIT, "image"),
            "weights": {name: weights.hash() for name, weights in self.weights.items()},
            "path_set": PathSetFit(self.run).hash(),
            "conditions": CONDITIONS,
            "steps": [NUM_STEPS, STEP],
            "groups": [self.num_groups, self.fit_groups.start, self.fit_groups.stop],
            "recipes": {
                "errors": errors.RECIPE,
                "metrics": metrics.RECIPE,
                "score": walk.RECIPE,
                "walk": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        return _SECONDS * (self.num_groups + len(self.fit_groups)) / num_workers

    def make(self, workers: Workers = here) -> None:
        """Fit temperatures and floors on validation rooms, then walk through the rooms of the evaluation."""
        config = self.run.config
        scorers: dict[str, Any] = {
            **{name: weight_files.load_method(weights.path)[0] for name, weights in self.weights.items()},
            "path_set": fitted(self.run),
        }
        with tqdm(total=len(self.fit_groups), desc="fitting walks", unit="room") as bar:
            fit = over_groups(evaluate_fit, config, self.fit_groups, workers(), bar.update, scorers=scorers)
        chosen, groups = choose(fit), range(self.num_groups)
        with tqdm(total=len(groups), desc="walking", unit="room") as bar:
            rows = over_groups(evaluate_group, config, groups, workers(), bar.update, scorers=scorers, chosen=chosen)
        share = [*(chosen[name].share for name in METHODS[:-1]), scorers["path_set"].constants.floor]
        option = [
            *(TEMPERATURES[chosen[name].option] for name in METHODS[:3]), BEARINGS[chosen["bearings"].option][0], 1.0
        ]  # fmt: skip
        self.save(
            rows.assign(
                share=("method", *described(share, "1", "share of uniform guessing")),
                option=("method", *described(option, "1", "temperature, or standard deviation of a sine")),
            )
        )


def summary(rows: xr.Dataset, num_resamples: int = 2000) -> xr.Dataset:
    """Adjusted ``loss`` and ``covered``, the share of truths in 90 % sets, (condition, step, method), with intervals.

    ``rise`` is the change of the loss from the snapshot before, paired over rooms, NaN for the first. All share the
    bootstrap resamples of the rooms.
    """
    dims = ("condition", "step", "method")
    logs = (rows.log_posterior + np.log(rows.num_candidates)).transpose("snapshot", *dims)
    inside = (rows.level <= CREDIBLE_MASS).transpose("snapshot", *dims).values.astype(float)
    shape = logs.shape[1:]
    index, weights = resample(rows.group.values, len(logs), np.random.default_rng(0), num_resamples)
    loss, covered = (
        means(values.reshape(len(values), -1), index, weights).reshape(-1, *shape) for values in (-logs.values, inside)
    )
    rise = np.diff(loss, axis=2, prepend=np.nan)
    return xr.Dataset(
        {
            **with_interval("loss", dims, loss, "nat", "adjusted loss"),
            **with_interval("covered", dims, covered, "1", "share inside the 90 % sets"),
            **with_interval("rise", dims, rise, "nat", "change of the loss with this snapshot"),
        },
        coords={name: rows[name] for name in dims},
    )
