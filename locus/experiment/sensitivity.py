"""Sensitivity: readings of the paper in; how much L and R change under alternative readings, with intervals, out.

Each alternative is trained and evaluated in small runs of the profile ``sensitivity``, with three seeds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml
from tqdm import tqdm

from locus.experiment import cluster
from locus.experiment.artifact import Result, Workers, here
from locus.experiment.libraries import Library, Observations
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.run import Run, data_root, open_run
from locus.experiment.weights import Weights
from locus.judge.bootstrap import described, means, resample, with_interval

PROFILE = "sensitivity"
SEEDS = (0, 1, 2)
SHOWN = "random"
"""Evaluation on which settings are compared. Readings without a setting compare evaluations of the chosen ones."""


@dataclass(frozen=True)
class Reading:
    """A choice that the paper leaves open or makes. The first of its values is the one used here."""

    name: str
    title: str
    paper: str
    """The paper's statement, in words."""
    here: str
    """The choice made here, in words."""
    values: dict[str, Any]
    setting: str | None = None
    """Setting that takes the values; None if the values are names of evaluations."""
    stated: bool = False
    """Whether the paper states its choice, so that the other values contradict it."""


@dataclass(frozen=True)
class Variant:
    """One reading of the paper: the chosen settings with at most one changed."""

    reading: str
    label: str
    changes: tuple[tuple[str, Any], ...] = ()

    def runs(self) -> list[Run]:
        """Runs of the variant, one per seed."""
        return [open_run(PROFILE, {**dict(self.changes), "seed": seed}) for seed in SEEDS]

    def splits(self) -> tuple[str, ...]:
        """Splits to evaluate on."""
        return ("eval_random", "eval_grid") if self.reading == "chosen" else ("eval_random",)


def readings() -> list[Reading]:
    """Load all readings from ``readings.yml``."""
    text = (resources.files(__package__) / "readings.yml").read_text(encoding="utf-8")
    return [Reading(**one) for one in yaml.safe_load(text)]


def variants() -> list[Variant]:
    """The chosen reading, followed by one variant for each other value of each setting."""
    others = [
        Variant(reading.name, label, ((reading.setting, value),))
        for reading in readings()
        if reading.setting
        for label, value in list(reading.values.items())[1:]
    ]
    return [Variant("chosen", "chosen"), *others]


class Sensitivity(Result):
    """``results/sensitivity.nc`` of a run: the result of :func:`compare_readings`."""

    stem = "sensitivity"

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            f"{one.reading}: {one.label}": [_rows(run, split).hash() for run in one.runs() for split in one.splits()]
            for one in variants()
        }

    def make(self, workers: Workers = here) -> None:
        """Train and evaluate every variant that is not fresh, one worker per run."""
        runs = [(run, one.splits()) for one in variants() for run in one.runs()]
        due = [(run, splits) for run, splits in runs if not all(_rows(run, split).fresh() for split in splits)]
        work = functools.partial(_task, root=data_root())
        with tqdm(total=len(runs), initial=len(runs) - len(due), desc="sensitivity", unit="run") as bar:
            for run, _ in due:
                run.save()
            for _ in cluster.each(workers(), work, [(run.name, splits) for run, splits in due]):
                bar.update()
        self.save(compare_readings())


def make_run(name: str, splits: tuple[str, ...], root: Path) -> None:
    """Train and evaluate one small run, then remove its stores; runs on a worker."""
    run = open_run(name, root=root)
    weights = Weights(run, "locus_dt")
    stores = (Library(run, "train"), Observations(run, "train"))
    if not weights.fresh():
        for store in stores:
            if store.path.exists():  # left by an interrupted call
                store.remove()
            store.build()
        weights.make()
    for split in splits:
        _rows(run, split).make()
    for store in stores:
        if store.path.exists():
            store.remove()


def compare_readings() -> xr.Dataset:
    """Loss of every reading, and its difference from the chosen one, over all seeds.

    Returns:
        Dataset (variant): ``loss`` and ``difference`` [nat], ``ratio`` and ``ratio_difference``, each with ``_low`` and
        ``_high``; ``difference_of_seed`` (variant, seed). The first variant is the chosen reading itself. Bootstrap
        resamples are paired: groups of equal seed and index are drawn together.
    """
    chosen, *others = variants()
    base = _losses(chosen, SHOWN)
    found = {"chosen: chosen": _row(base, base)}
    for one in others:
        found[f"{one.reading}: {one.label}"] = _row(_losses(one, SHOWN), base)
    for reading in readings():
        if reading.setting is None:
            own, *rest = reading.values.items()
            for label, evaluation in rest:
                found[f"{reading.name}: {label}"] = _row(_losses(chosen, evaluation), _losses(chosen, own[1]))
    return xr.concat(list(found.values()), "variant").assign_coords(variant=list(found), seed=list(SEEDS))


def _losses(variant: Variant, evaluation: str) -> tuple[np.ndarray[Any, Any], int]:
    """Mean adjusted loss (seed, group) [nat] of every group, and the number of candidates."""
    tables = [_rows(run, EVALUATIONS[evaluation]).open(evaluation) for run in variant.runs()]
    count = int(tables[0].attrs["num_candidates"])
    means_of = [(-one.log_posterior - np.log(count)).isel(method=0).groupby("group").mean().values for one in tables]
    return np.stack(means_of), count


def _row(own: tuple[np.ndarray[Any, Any], int], base: tuple[np.ndarray[Any, Any], int]) -> xr.Dataset:
    (losses, count), (chosen, _) = own, base
    both = np.stack([losses.ravel(), losses.ravel() - chosen.ravel()], axis=1)
    index, weights = resample(np.arange(len(both)), len(both), np.random.default_rng(0), 2000)
    draws = means(both, index, weights)
    scale = -1 / np.log(count)
    return xr.Dataset(
        {
            **with_interval("loss", (), draws[:, 0], "nat", "adjusted loss"),
            **with_interval("ratio", (), scale * draws[:, 0], "1", "share of the largest possible log gain"),
            **with_interval("difference", (), draws[:, 1], "nat", "loss less that of the chosen reading"),
            **with_interval("ratio_difference", (), scale * draws[:, 1], "1", "ratio less that of the chosen reading"),
            "difference_of_seed": ("seed", *described((losses - chosen).mean(axis=1), "nat", "difference of a seed")),
        }
    )


def _rows(run: Run, split: str) -> Rows:
    return Rows(run, split, ("locus_dt",))


def _task(item: tuple[str, tuple[str, ...]], root: Path) -> tuple[Callable[..., None], tuple[Any, ...]]:
    return make_run, (*item, root)
