"""Sensitivity: readings of the paper in; how much L and R change under alternative readings, with intervals, out.

Each alternative is trained and evaluated in small runs of the profile ``sensitivity``, with three seeds. A file that is
up to date except for alternatives that it lacks is extended: only these, and the chosen reading that they are compared
with, are computed.
"""

from __future__ import annotations

import functools
import warnings
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
from locus.experiment.run import Run, data_root, fingerprint, open_run
from locus.experiment.weights import Weights
from locus.judge.bootstrap import described, means, resample, with_interval
from locus.settings.checksums import intact

PROFILE = "sensitivity"
SEEDS = (0, 1, 2)
SHOWN = "random"
"""Evaluation on which settings are compared. Readings without a setting compare evaluations of the chosen ones."""
_SAME_LOSS = 1e-3  # [nat]: rounding on another machine changes the weights a little, and the losses less than this


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
    """Setting that takes the values, or section whose fields they map; None if they are names of evaluations."""
    stated: bool = False
    """Whether the paper states its choice, so that the other values contradict it."""

    def changes(self, label: str) -> dict[str, Any]:
        """Settings of a value, by name; empty if the value is the name of an evaluation."""
        if self.setting is None:
            return {}
        value = self.values[label]
        if isinstance(value, dict):
            return {f"{self.setting}.{field}": one for field, one in value.items()}
        return {self.setting: value}

    @property
    def settings(self) -> list[str]:
        """Names of the settings that the values change."""
        return list(self.changes(next(iter(self.values))))


@dataclass(frozen=True)
class Variant:
    """One alternative: the chosen settings, with those of at most one reading changed."""

    reading: str
    label: str
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """Name in the file."""
        return f"{self.reading}: {self.label}"

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
        Variant(reading.name, label, tuple(reading.changes(label).items()))
        for reading in readings()
        if reading.setting
        for label in list(reading.values)[1:]
    ]
    return [Variant("chosen", "chosen"), *others]


class Sensitivity(Result):
    """``results/sensitivity.nc`` of a run: the result of :func:`compare_readings`."""

    stem = "sensitivity"

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            one.name: [_rows(run, split).hash() for run in one.runs() for split in one.splits()] for one in variants()
        }

    def kept(self) -> xr.Dataset | None:
        """The stored file, if it is up to date in all that it holds, although alternatives may have been added since.

        Its hash must be that of the current recipe without the alternatives that it lacks.
        """
        if not intact(self.path):
            return None
        data = self.open()
        held = {name: hashes for name, hashes in self.recipe().items() if name in data.variant}
        return data if data.attrs["hash"] == fingerprint(held) else None

    def make(self, workers: Workers = here) -> None:
        """Train and evaluate every alternative that the file lacks and that is not fresh, one worker per run."""
        kept = self.kept()
        chosen, *others = variants()
        compared = [chosen, *(one for one in others if kept is None or one.name not in kept.variant)]
        runs = [(run, one.splits()) for one in compared for run in one.runs()]
        due = [(run, splits) for run, splits in runs if not all(_rows(run, split).fresh() for split in splits)]
        work = functools.partial(_task, root=data_root())
        with tqdm(total=len(runs), initial=len(runs) - len(due), desc="sensitivity", unit="run") as bar:
            for run, _ in due:
                run.save()
            for _ in cluster.each(workers(), work, [(run.name, splits) for run, splits in due]):
                bar.update()
        self.save(compare_readings(kept))


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


def compare_readings(kept: xr.Dataset | None = None) -> xr.Dataset:
    """Loss of every reading, and its difference from the chosen one, over all seeds.

    Args:
        kept: what this function returned for some of the readings; they are copied instead of compared again.

    Returns:
        Dataset (variant) with ``loss`` and ``difference`` [nat], ``ratio`` and ``ratio_difference``, each with ``_low``
        and ``_high``; ``difference_of_seed`` (variant, seed). The first variant is the chosen reading itself. Bootstrap
        resamples are paired: groups of equal seed and index are drawn together.
    """
    chosen = variants()[0]
    pairs = {one.name: ((one, SHOWN), (chosen, SHOWN)) for one in variants()}
    for reading in readings():
        if reading.setting is None:
            own, *rest = reading.values.items()
            pairs |= {f"{reading.name}: {label}": ((chosen, value), (chosen, own[1])) for label, value in rest}
    found = {}
    if kept is not None:
        _warn_unless_equal(float(_losses(chosen, SHOWN)[0].mean()), float(kept.loss.sel(variant=chosen.name)))
        rows = kept.drop_attrs(deep=False).drop_vars("seed")
        found = {str(name): rows.sel(variant=name, drop=True) for name in kept.variant.values}
    for name, (one, base) in pairs.items():
        if name not in found:
            found[name] = _row(_losses(*one), _losses(*base))
    return xr.concat([found[name] for name in pairs], "variant").assign_coords(variant=list(pairs), seed=list(SEEDS))


def _warn_unless_equal(again: float, stored: float) -> None:
    """Warn if the chosen reading has another loss [nat] than when the stored differences were computed."""
    if abs(again - stored) > _SAME_LOSS:
        warnings.warn(
            f"Expected a loss of {stored:.4f} nat of the chosen reading, as stored, got {again:.4f}; new readings are "
            "compared with the latter. Remove sensitivity.nc to compute all of them here",
            stacklevel=3,
        )


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
