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
from typing import Any

import numba
import numpy as np
import torch
import xarray as xr
from distributed import Client
from tqdm import tqdm

from locus import cluster, estimator, groups, methods, metrics, mismatch
from locus.bootstrap import Floats, means, resample, with_interval
from locus.config import Config
from locus.dataset import Observations, make_snapshots
from locus.layout import Layout
from locus.observation import observe
from locus.result import Result
from locus.score import Method
from locus.twin import make_twin
from locus.weights import Weights

RECIPE = 1

NUM_LAYOUTS = 200
"""Groups of Eval Random, the first ones; a quarter of them, if that is fewer."""

_SPLIT = "eval_random"
_METRES = (0.1, 0.3, 1.0, 3.0)
_TASK = 5  # groups that a worker evaluates at a time


@dataclass(frozen=True)
class Condition:
    """One kind and size of error."""

    kind: str
    label: str
    errors: dict[str, Any] = field(default_factory=dict)
    """What the twin gets wrong, as :func:`locus.mismatch.believed` takes it."""
    moved: float = 0.0
    """How far the transmitter stands off its candidate [m]."""


def _conditions() -> list[Condition]:
    lengths = [
        Condition(kind, f"{size:g} m", {kind: size}) for kind in ("obstacles", "walls", "position") for size in _METRES
    ]
    together = [
        Condition(
            "all",
            f"{size:g} m",
            {**dict.fromkeys(("obstacles", "walls", "position"), size), "heading": size * math.radians(5)},
        )
        for size in _METRES
    ]
    return [
        Condition("none", "exact"),
        *lengths,
        *(Condition("heading", f"{angle:g}°", {"heading": math.radians(angle)}) for angle in (0.3, 1, 3, 10)),
        *(Condition("missing", f"{count}", {"missing": count}) for count in (1, 2, 3)),
        *(Condition("material", name, {"material": name}) for name in ("brick", "wood", "glass", "metal")),
        *(Condition("transmitter", f"{size:g} m", moved=size) for size in _METRES),
        *together,
    ]


CONDITIONS = _conditions()
"""What is measured; ``all`` is obstacles, walls and position off by so much, and the heading by 5 degrees a metre."""


def evaluate_group(config: Config, index: int, scorers: dict[str, Method]) -> xr.Dataset:
    """Rows (condition, snapshot, method) of one group: ``log_posterior`` and ``level`` of the truth."""
    layout, pose, candidates = groups.draw(config, _SPLIT, index)
    twin = make_twin("image", config.radio, config.twin)
    exact = twin.trace(layout, pose, candidates)
    snapshots = make_snapshots(config, _SPLIT, index, exact)
    truth = snapshots.truth.values
    observed = estimator.estimate(snapshots, config.estimator)
    way = _free_directions(layout, candidates[truth], groups.error_rng(config, _SPLIT, index))
    found = []
    for condition in CONDITIONS:
        paths, seen = exact, observed
        if condition.errors:
            rng = groups.error_rng(config, _SPLIT, index)  # the same directions for every size
            paths = mismatch.trace(twin, *mismatch.believed(layout, pose, condition.errors, rng), candidates)
        if condition.moved:
            there = twin.trace(layout, pose, candidates[truth] + condition.moved * way)
            true_paths = there[["aoa", "delay", "gain", "valid"]].reset_coords(drop=True).rename(candidate="snapshot")
            rngs = [groups.snapshot_rng(config, _SPLIT, index, s) for s in range(len(truth))]
            seen = estimator.estimate(observe(true_paths, rngs, config.radio), config.estimator)
        ties = np.random.default_rng([config.seed, index]).integers(2**63)
        columns = [
            metrics.measure(
                scorer.log_posterior(paths, seen), truth, layout.free_space.area, np.random.default_rng(ties)
            )
            for scorer in scorers.values()
        ]
        found.append(xr.concat(columns, "method")[["log_posterior", "level"]])
    rows = xr.concat(found, "condition").transpose("condition", "snapshot", "method")
    return rows.assign_coords(method=list(scorers), group=("snapshot", np.full(len(truth), index)))


def _free_directions(layout: Layout, points: Floats, rng: np.random.Generator) -> Floats:
    """A direction for each point (point, 2) in which the farthest move of a transmitter ends in free space."""
    found = np.full(points.shape, np.nan)
    while (left := np.flatnonzero(np.isnan(found[:, 0]))).size:
        angle = rng.uniform(0, 2 * np.pi, left.size)
        drawn = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        ends = np.stack([points[left] + size * drawn for size in _METRES])
        free = layout.is_free(ends.reshape(-1, 2)).reshape(len(_METRES), -1).all(axis=0)
        found[left[free]] = drawn[free]
    return found


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
            "conditions": [dataclasses.asdict(one) for one in CONDITIONS],
            "num_groups": self.num_groups,
            "recipes": {"mismatch": mismatch.RECIPE, "robustness": RECIPE, "metrics": metrics.RECIPE},
        }

    def make(self, workers: Callable[[], Client] | None = None) -> None:
        """Evaluate the first groups under every condition."""
        scorers = {name: methods.load_method(weights.path)[0] for name, weights in self.weights.items()}
        count = self.num_groups
        spans = [(first, min(first + _TASK, count)) for first in range(0, count, _TASK)]
        work = functools.partial(_task, config=self.run.config.to_dict(), scorers=scorers)
        parts = {}
        with tqdm(total=count, desc="robustness", unit="group") as bar:
            for span, rows in cluster.each(workers() if workers else None, work, spans):
                parts[span] = rows
                bar.update(span[1] - span[0])
        data = xr.concat([parts[span] for span in spans], "snapshot").astype("float32")
        data = data.assign_coords(
            kind=("condition", [one.kind for one in CONDITIONS]), label=("condition", [one.label for one in CONDITIONS])
        )
        self.save(data, num_candidates=self.run.config.evaluation.num_candidates)


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss, ratio and coverage of every condition and method, with intervals over layouts.

    Returns:
        Dataset (condition, method): ``loss`` [nat], ``ratio``, and ``covered``, the share of truths in 90 % sets; each
        with ``_low`` and ``_high``. All conditions share the resamples.
    """
    count = rows.attrs["num_candidates"]
    index, weights = resample(rows.group.values, rows.sizes["snapshot"], np.random.default_rng(0), 2000)
    stacked = rows.transpose("snapshot", "condition", "method")
    shape, dims = stacked.log_posterior.shape, ("condition", "method")
    loss = means((-stacked.log_posterior.values - np.log(count)).reshape(shape[0], -1), index, weights)
    inside = means((stacked.level.values <= metrics.CREDIBLE_MASS).astype(float).reshape(shape[0], -1), index, weights)
    loss, inside = (values.reshape(-1, *shape[1:]) for values in (loss, inside))
    return xr.Dataset(
        {
            **with_interval("loss", dims, loss, "nat", "adjusted loss"),
            **with_interval("ratio", dims, -loss / np.log(count), "1", "share of the largest possible log gain"),
            **with_interval("covered", dims, inside, "1", "share of truths inside the 90 % sets"),
        },
        coords={name: rows[name] for name in ("kind", "label", "method")},
    )


def _task(span: tuple[int, int], **arguments: Any) -> tuple[Callable[..., xr.Dataset], tuple[Any, ...]]:
    return functools.partial(evaluate_groups, **arguments), (span,)
