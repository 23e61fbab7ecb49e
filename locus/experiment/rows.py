"""Rows: methods, ideal receivers and held-out groups in; one row per snapshot, one file per method and evaluation, out.

Each group is traced, observed, estimated, scored with every method that is due, and measured. Finished blocks of groups
are kept and never recomputed; no candidate library is needed.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, netcdf, scorers, splits
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.case import Case, OffList
from locus.experiment.libraries import estimate_seconds, trace_seconds
from locus.experiment.over_groups import over_groups
from locus.experiment.run import Run, fingerprint, versions
from locus.experiment.scorers import UNTRAINED_TITLES
from locus.experiment.weights import further_weights
from locus.judge import metrics
from locus.receiver import estimator
from locus.score import weight_files
from locus.score.limits import RECEIVERS
from locus.score.method import Scorer
from locus.settings.checksums import intact
from locus.settings.config import Config

EVALUATIONS = {"test": "test", "random": "eval_random", "grid": "eval_grid", "grid_offlist": "eval_grid"}
"""Split of each evaluation. In ``grid_offlist``, transmitters are anywhere in free space, not on candidates."""

_SECONDS = {"path_set": 3e-5, **dict.fromkeys(RECEIVERS, 4e-5)}  # per snapshot and candidate; others are quicker


def methods_of(split: str) -> tuple[str, ...]:
    """Names evaluated on a split: methods and ideal receivers.

    On ``test``, only networks, the baselines in each encoding.
    """
    if split != "test":
        return (*weight_files.METHODS, *UNTRAINED_TITLES, *RECEIVERS)
    apart = [name for name in weight_files.METHODS if len(weight_files.encodings(name)) > 1]
    encoded = (f"{name}.{encoding}" for name in apart for encoding in weight_files.encodings(name))
    return (*weight_files.METHODS, *encoded)


def evaluate_group(config: Config, index: int, split: str, scorers: Mapping[str, Scorer]) -> xr.Dataset:
    """Rows (evaluation, snapshot, method) of one group, with coordinates ``group``, ``stratum``, ``snr_db``.

    ``eval_grid`` has two evaluations: transmitters on candidates, and anywhere in free space.
    """
    on_list = Case(config, split, index)
    rows = [_measure(on_list, scorers)]
    if split == "eval_grid":
        rows.append(_measure(on_list.off_list(), scorers))
    names = [name for name, used in EVALUATIONS.items() if used == split]
    return xr.concat(rows, xr.DataArray(names, dims="evaluation", name="evaluation"))


def _measure(case: Case, scorers: Mapping[str, Scorer]) -> xr.Dataset:
    """Rows (snapshot, method) of the snapshots of one group."""
    config, position = case.config, case.transmitters.position
    rng = splits.tie_rng(config, case.split, case.index, off_list=isinstance(case, OffList))
    ties = rng.integers(2**63)  # one seed for all methods, so that equal posteriors get equal levels
    area = case.layout.free_space.area
    columns = [
        metrics.measure(case.log_posterior(scorer), case.truth, area, np.random.default_rng(ties), position)
        for scorer in scorers.values()
    ]
    rows = xr.concat(columns, xr.DataArray(list(scorers), dims="method", name="method"))
    threshold_db = 10 * math.log10(estimator.threshold(config.estimator, config.radio))
    return rows.transpose("snapshot", "method").assign_coords(
        group=("snapshot", np.full(len(case.truth), case.index)),
        stratum=metrics.stratum(case.transmitters.paths, threshold_db),
        snr_db=metrics.strongest_snr(case.transmitters.paths),
    )


@dataclass(frozen=True)
class Rows(Artifact):
    """Rows of all groups of a split: ``results/<evaluation>/<method>.nc`` of a run, computed block by block."""

    run: Run
    split: str
    chosen: tuple[str, ...] = ()
    """Names from :func:`methods_of`, or of further trainings, like ``locus_dt.seed1``; all of the former if empty."""

    def __post_init__(self) -> None:
        if self.split not in EVALUATIONS.values():
            raise ValueError(f"Expected 'split' in {sorted(set(EVALUATIONS.values()))}, got {self.split!r}")
        known = [*methods_of(self.split), *further_weights(self.run)]
        unknown = [name for name in self.chosen if name not in known]
        if unknown:
            raise ValueError(f"Expected methods in {known}, got {unknown}")

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the evaluated methods and ideal receivers."""
        return self.chosen or methods_of(self.split)

    @property
    def evaluations(self) -> list[str]:
        """Evaluations that use this split."""
        return [name for name, split in EVALUATIONS.items() if split == self.split]

    @property
    def name(self) -> str:
        """Path relative to the run's folder: the split, followed by what was chosen if not all methods."""
        seeds = self.chosen and self.chosen == tuple(further_weights(self.run))
        return f"results/{'.'.join([self.split, *(['seeds'] if seeds else self.chosen)])}"

    @property
    def is_store(self) -> bool:
        """Whether they are of further trainings: these are removed once they are averaged."""
        return any(name in further_weights(self.run) for name in self.chosen)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """What the methods are made from."""
        found = [need for name in self.methods for need in scorers.needs(self.run, name)]
        return tuple({one.name: one for one in found}.values())

    @property
    def files(self) -> list[Path]:
        """One file per evaluation and method."""
        return [self.path(evaluation, method) for evaluation in self.evaluations for method in self.methods]

    def path(self, evaluation: str, method: str) -> Path:
        """File with the rows of one method."""
        return self.run.results / evaluation / f"{method}.nc"

    def recipe(self) -> dict[str, Any]:
        """Everything that the rows depend on."""
        return {
            "methods": {name: self._recipe_of(name) for name in self.methods},
            "num_groups": splits.num_groups(self.run.config, self.split),
        }

    def _recipe_of(self, method: str) -> dict[str, Any]:
        """Everything that a single row of one method depends on."""
        estimates = ingredients.of_estimates(self.run.config, self.split)
        scorer = scorers.recipe(self.run, method)
        return {"estimates": estimates, **scorer, "recipes": {"metrics": metrics.RECIPE}}

    def hash_of(self, method: str) -> str:
        """Hash stored in the files of one method."""
        count = splits.num_groups(self.run.config, self.split)
        return fingerprint({**self._recipe_of(method), "num_groups": count})

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        config, split = self.run.config, self.split
        snapshots, candidates = splits.num_snapshots(config, split), splits.num_candidates(config, split)
        scores = snapshots * candidates * sum(_SECONDS.get(method, 0.0) for method in self._due())
        group = trace_seconds(config, split) + len(self.evaluations) * (estimate_seconds(config, split) + scores)
        return splits.num_groups(config, split) * group / num_workers

    def fresh(self) -> bool:
        """Whether all files exist, are undamaged, and match the current recipe."""
        return not self._due()

    def _due(self) -> list[str]:
        """Methods with a file that is missing, damaged or stale."""
        return [method for method in self.methods if not self._finished(method)]

    def _finished(self, method: str) -> bool:
        wanted = self.hash_of(method)
        return all(netcdf.attributes_of(self.path(name, method)).get("hash") == wanted for name in self.evaluations)

    def open(self, evaluation: str) -> xr.Dataset:
        """Rows (snapshot, method) of one evaluation."""
        parts = [netcdf.load(self.path(evaluation, method)) for method in self.methods]
        dim = xr.DataArray(list(self.methods), dims="method", name="method")
        joined = xr.concat(parts, dim, combine_attrs="drop_conflicts", coords="minimal", compat="override")
        return joined.transpose("snapshot", "method")

    def make(self, workers: Workers = here) -> None:
        """Evaluate the methods that are due, block by block, and join their blocks."""
        methods = self._due()
        for method in methods:
            self._cut(method)
        todo = {
            block: [method for method in methods if not self._has_block(method, block)]
            for block in range(self._num_blocks)
        }
        loaded = {name: scorers.load(self.run, name) for name in methods}
        num_groups = splits.num_groups(self.run.config, self.split)
        done = sum(len(self._span(block)) for block, missing in todo.items() if not missing)
        title = f"evaluating {self.name.removeprefix('results/')}"
        with tqdm(total=num_groups, initial=done, desc=title, unit="group") as bar:
            for block, missing in todo.items():
                if missing:
                    self._evaluate(block, {name: loaded[name] for name in missing}, workers, bar)
        for method in methods:
            self._join(method)
        if not any(self._blocks.glob("*.nc")):
            shutil.rmtree(self._blocks, ignore_errors=True)

    def _evaluate(self, block: int, loaded: dict[str, Scorer], workers: Workers, bar: tqdm[Any]) -> None:
        arguments = {"split": self.split, "scorers": loaded}
        rows = over_groups(
            evaluate_group, self.run.config, self._span(block), workers(), progress=bar.update, **arguments
        )
        for name in loaded:
            one = rows.sel({"method": name}).reset_coords("method", drop=True)
            netcdf.save(self._block_path(name, block), one, {"hash": self._block_hash(name, block)})

    def _cut(self, method: str) -> None:
        """Split intact files of a different number of groups back into blocks, to reuse their rows."""
        paths = [self.path(name, method) for name in self.evaluations]
        if not all(intact(path) for path in paths):
            return
        before = [netcdf.load(path) for path in paths]
        if any(rows.attrs.get("recipe") != fingerprint(self._recipe_of(method)) for rows in before):
            return
        joined = xr.concat(before, xr.DataArray(self.evaluations, dims="evaluation", name="evaluation"))
        for block in range(self._num_blocks):
            inside = joined.isel(snapshot=np.isin(joined.group, self._span(block)))
            if len(np.unique(inside.group)) == len(self._span(block)):
                netcdf.save(self._block_path(method, block), inside, {"hash": self._block_hash(method, block)})

    def _join(self, method: str) -> None:
        blocks = [netcdf.load(self._block_path(method, block)) for block in range(self._num_blocks)]
        rows = xr.concat(blocks, "snapshot")
        attributes = {
            "hash": self.hash_of(method),
            "recipe": fingerprint(self._recipe_of(method)),
            "method": method,
            "num_candidates": splits.num_candidates(self.run.config, self.split),
            "twin": splits.backend(self.run.config, self.split),
            "versions": json.dumps(versions()),
        }
        for name in self.evaluations:
            one = rows.sel(evaluation=name).reset_coords("evaluation", drop=True)
            netcdf.save(self.path(name, method), one, attributes)
        for block in range(self._num_blocks):
            self._block_path(method, block).unlink(missing_ok=True)

    @property
    def _num_blocks(self) -> int:
        return math.ceil(splits.num_groups(self.run.config, self.split) / self.run.config.evaluation.block)

    def _span(self, block: int) -> range:
        size = self.run.config.evaluation.block
        return range(block * size, min((block + 1) * size, splits.num_groups(self.run.config, self.split)))

    @property
    def _blocks(self) -> Path:
        return self.run.results / "blocks" / self.split

    def _block_path(self, method: str, block: int) -> Path:
        """Temporary file of one finished block, removed when all are joined."""
        return self._blocks / f"{method}_{block:03d}.nc"

    def _block_hash(self, method: str, block: int) -> str:
        span = self._span(block)
        return fingerprint({**self._recipe_of(method), "span": [span.start, span.stop]})

    def _has_block(self, method: str, block: int) -> bool:
        attributes = netcdf.attributes_of(self._block_path(method, block))
        return attributes.get("hash") == self._block_hash(method, block)


def print_table(title: str, rows: xr.Dataset) -> None:
    """Print loss, gain and ratio of every method, loss and ratio with their intervals."""
    table = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(0))
    print(f"{title}: {int(table.num_snapshots)} snapshots, {int(table.num_groups)} layouts")
    for name in table.method.values:
        one = table.sel({"method": name})
        print(
            f"  {name:20} L {one.loss:7.3f} [{one.loss_low:7.3f}, {one.loss_high:7.3f}]   G {one.gain:7.2f}   "
            f"R {100 * one.ratio:6.2f} % [{100 * one.ratio_low:6.2f}, {100 * one.ratio_high:6.2f}]"
        )
