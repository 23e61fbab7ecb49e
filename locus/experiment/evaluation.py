"""Evaluation: trained methods and held-out groups in, one row a snapshot and method out.

Group by group: trace, observe, estimate, score with every method, measure. Blocks of groups are finished units that are
never computed twice; no store of candidates is needed.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
import xarray as xr
from distributed import Client
from tqdm import tqdm

from locus.experiment import case, cluster, netcdf
from locus.experiment.case import make_snapshots, trace_group, trace_offlist
from locus.experiment.libraries import Observations
from locus.experiment.run import Run, fingerprint, versions
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.receiver import estimator
from locus.score import limits, weight_files
from locus.score.method import Method
from locus.settings.config import Config
from locus.settings.recording import unrecorded

EVALUATIONS = {"test": "test", "random": "eval_random", "grid": "eval_grid", "grid_offlist": "eval_grid"}
"""Evaluations and the split that each one uses. Off the list, the transmitter is anywhere in free space."""

LIMITS = ("phase_blind", "bayes")
"""What an ideal receiver that knows the exact twin would reach, without and with the phases of the paths."""

_TASK = 5  # groups that a worker evaluates at a time


def evaluate_group(config: Config, split: str, index: int, scorers: Mapping[str, Method]) -> xr.Dataset:
    """Rows (evaluation, snapshot, method) of one group, with coordinates group, stratum and snr_db.

    On the test split without the limits; on ``eval_grid`` for a transmitter on the list of candidates, and off it.
    """
    layout = case.draw(config, split, index).layout
    paths = trace_group(config, split, index)
    on_list = make_snapshots(config, split, index, paths)
    true_paths = paths[["snr_db", "order", "valid"]].isel(candidate=on_list.truth).reset_coords(drop=True)
    rows = [_rows(config, split, paths, on_list, true_paths, scorers, layout.free_space.area, (index, 0))]
    if split == "eval_grid":
        off_list, true_paths = trace_offlist(config, index, paths)
        rows.append(_rows(config, split, paths, off_list, true_paths, scorers, layout.free_space.area, (index, 1)))
    names = [name for name, used in EVALUATIONS.items() if used == split]
    return xr.concat(rows, xr.DataArray(names, dims="evaluation", name="evaluation"))


def _rows(
    config: Config,
    split: str,
    paths: xr.Dataset,
    snapshots: xr.Dataset,
    true_paths: xr.Dataset,
    scorers: Mapping[str, Method],
    area: float,
    stream: tuple[int, int],
) -> xr.Dataset:
    """Rows (snapshot, method) of the snapshots of one group."""
    observed = estimator.estimate(snapshots, config.estimator)
    log_posteriors = {name: scorer.log_posterior(paths, observed) for name, scorer in scorers.items()}
    if split != "test" and set(weight_files.METHODS) <= scorers.keys():
        log_posteriors["phase_blind"] = limits.phase_blind(paths, snapshots)
        log_posteriors["bayes"] = limits.bayes(paths, snapshots)
    truth = snapshots.truth.values
    position = snapshots.position.values if "position" in snapshots else None
    rng = np.random.default_rng([config.seed, list(case.SPLITS).index(split), *stream])
    ties = rng.integers(2**63)  # one draw for all methods, so that equal posteriors get equal levels
    columns = [
        metrics.measure(values, truth, area, np.random.default_rng(ties), position)
        for values in log_posteriors.values()
    ]
    rows = xr.concat(columns, xr.DataArray(list(log_posteriors), dims="method", name="method"))
    threshold_db = 10 * math.log10(estimator.threshold(config.estimator, config.radio))
    return rows.transpose("snapshot", "method").assign_coords(
        group=("snapshot", np.full(len(truth), stream[0])),
        stratum=metrics.stratum(true_paths, threshold_db),
        snr_db=metrics.strongest_snr(true_paths),
    )


def evaluate_groups(
    span: tuple[int, int], config: dict[str, Any], split: str, scorers: dict[str, Method]
) -> xr.Dataset:
    """Rows of some groups: what a worker does."""
    torch.set_num_threads(1)  # as many workers as cores, one thread each
    numba.set_num_threads(1)
    settings = Config.from_dict(config)
    return xr.concat([evaluate_group(settings, split, index, scorers) for index in range(*span)], "snapshot")


@dataclass(frozen=True)
class Rows:
    """Rows of all groups of a split of a run: ``results/snapshots_<evaluation>.nc``, made block by block."""

    run: Run
    split: str
    methods: tuple[str, ...] = weight_files.METHODS
    """Trained methods to evaluate; the limits are only computed beside all of them."""

    def __post_init__(self) -> None:
        if self.split not in EVALUATIONS.values():
            raise ValueError(f"Expected 'split' in {sorted(set(EVALUATIONS.values()))}, got {self.split!r}")

    @property
    def evaluations(self) -> list[str]:
        """Evaluations that this split serves."""
        return [name for name, split in EVALUATIONS.items() if split == self.split]

    @property
    def num_blocks(self) -> int:
        """Finished units."""
        return math.ceil(case.num_groups(self.run.config, self.split) / self.run.config.evaluation.block)

    @property
    def name(self) -> str:
        """The split, after the methods unless they are all."""
        return self.split if self._complete else f"{self._prefix}_{self.split}"

    def path(self, evaluation: str) -> Path:
        """File of one evaluation."""
        return self.run.results / f"{self._prefix}_{evaluation}.nc"

    def block_path(self, block: int) -> Path:
        """File of one finished block, until all are there."""
        return self.run.results / "blocks" / f"{self._prefix}_{self.split}_{block:03d}.nc"

    @property
    def _complete(self) -> bool:
        return self.methods == weight_files.METHODS

    @property
    def _has_limits(self) -> bool:
        return self._complete and self.split != "test"

    @property
    def _prefix(self) -> str:
        return "snapshots" if self._complete else "-".join(self.methods)

    def recipe(self) -> dict[str, Any]:
        """All that the rows depend on, but for how many there are."""
        numbers = Observations(self.run, self.split).numbers()
        del numbers["library"]["num_groups"]
        return {
            "observations": numbers,
            "weights": {name: Weights(self.run, name).hash() for name in self.methods},
            "recipes": {"metrics": metrics.RECIPE, **({"limit": limits.RECIPE} if self._has_limits else {})},
        }

    @unrecorded()
    def hash(self) -> str:
        """Short name of the recipe and of the number of groups."""
        return fingerprint({**self.recipe(), "num_groups": case.num_groups(self.run.config, self.split)})

    def fresh(self) -> bool:
        """Whether all rows are there and are what the settings ask for now."""
        return all(netcdf.hash_of(self.path(name)) == self.hash() for name in self.evaluations)

    def open(self, evaluation: str) -> xr.Dataset:
        """Rows (snapshot, method) of one evaluation."""
        return netcdf.load(self.path(evaluation))

    def _cut(self) -> None:
        """Take blocks from files that were joined before, with fewer groups or with one of them lost since."""
        if self.fresh() or any(not self.path(name).is_file() for name in self.evaluations):
            return
        before = [self.open(name) for name in self.evaluations]
        if any(rows.attrs.get("recipe") != fingerprint(self.recipe()) for rows in before):
            return
        joined = xr.concat(before, xr.DataArray(self.evaluations, dims="evaluation", name="evaluation"))
        for block in self.todo():
            inside = joined.isel(snapshot=np.isin(joined.group, range(*self._span(block))))
            if len(np.unique(inside.group)) == len(range(*self._span(block))):
                netcdf.save(self.block_path(block), inside, {"hash": self._block_hash(block)})

    def todo(self) -> list[int]:
        """Blocks that are not finished."""
        return [
            block
            for block in range(self.num_blocks)
            if netcdf.hash_of(self.block_path(block)) != self._block_hash(block)
        ]

    def make(self, workers: Callable[[], Client] | None) -> None:
        """Evaluate what is missing, here if there are no workers, and join the blocks when all are there."""
        self._cut()
        todo, config = self.todo(), self.run.config
        scorers = self.scorers()
        sizes = {block: len(range(*self._span(block))) for block in range(self.num_blocks)}
        done = sum(sizes[block] for block in range(self.num_blocks) if block not in todo)
        with tqdm(total=sum(sizes.values()), initial=done, desc=f"evaluating {self.name}", unit="group") as bar:
            for block in todo:
                start, stop = self._span(block)
                spans = [(first, min(first + _TASK, stop)) for first in range(start, stop, _TASK)]
                work = functools.partial(task, config=config.to_dict(), split=self.split, scorers=scorers)
                parts = {}
                for span, rows in cluster.each(workers() if workers else None, work, spans):
                    parts[span] = rows
                    bar.update(span[1] - span[0])
                joined = xr.concat([parts[span] for span in spans], "snapshot")
                netcdf.save(self.block_path(block), joined, {"hash": self._block_hash(block)})
        self._join()

    def scorers(self) -> dict[str, Method]:
        """Trained methods; on the test split the baselines in each encoding, too."""
        found: dict[str, Method] = {}
        for name in self.methods:
            weights = Weights(self.run, name)
            files = {name: weights.path}
            if self.split == "test" and self._complete and len(weights.encodings) > 1:
                files |= {f"{name}.{encoding}": weights.path_of(encoding) for encoding in weights.encodings}
            found |= {key: weight_files.load_method(file)[0] for key, file in files.items()}
        return found

    def _join(self) -> None:
        blocks = [netcdf.load(self.block_path(block)) for block in range(self.num_blocks)]
        rows = xr.concat(blocks, "snapshot")
        attributes = {
            "hash": self.hash(),
            "recipe": fingerprint(self.recipe()),
            "num_candidates": case.num_candidates(self.run.config, self.split),
            "twin": case.backend(self.run.config, self.split),
            "versions": json.dumps(versions()),
        }
        for name in self.evaluations:
            one = rows.sel(evaluation=name).reset_coords("evaluation", drop=True)
            netcdf.save(self.path(name), one, attributes)
        for block in range(self.num_blocks):
            self.block_path(block).unlink(missing_ok=True)

    def _span(self, block: int) -> tuple[int, int]:
        size = self.run.config.evaluation.block
        return block * size, min((block + 1) * size, case.num_groups(self.run.config, self.split))

    def _block_hash(self, block: int) -> str:
        return fingerprint({**self.recipe(), "span": list(self._span(block))})


def print_table(title: str, rows: xr.Dataset) -> None:
    """Print loss, gain and ratio of every method with their intervals."""
    table = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(0))
    print(f"{title}: {int(table.num_snapshots)} snapshots, {int(table.num_groups)} layouts")
    for name in table.method.values:
        one = table.sel({"method": name})
        print(
            f"  {name:20} L {one.loss:7.3f} [{one.loss_low:7.3f}, {one.loss_high:7.3f}]   G {one.gain:7.2f}   "
            f"R {100 * one.ratio:6.2f} % [{100 * one.ratio_low:6.2f}, {100 * one.ratio_high:6.2f}]"
        )


def task(span: tuple[int, int], **arguments: Any) -> tuple[Callable[..., xr.Dataset], tuple[Any, ...]]:
    """What :func:`locus.experiment.cluster.each` is to do for some groups."""
    return functools.partial(evaluate_groups, **arguments), (span,)
