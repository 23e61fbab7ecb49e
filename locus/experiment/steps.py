"""Steps of a run: what can be made, from what, and whether it is fresh; targets in, the steps that are due out.

A step is fresh when the recipe hash stored with its output is the one computed now. A fresh output stands although what
it was made from is absent, so stores are only built for a step that is due.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Container, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client

from locus.experiment import case, cluster
from locus.experiment.artifact import Result
from locus.experiment.evaluation import EVALUATIONS, Rows
from locus.experiment.journal import StoreError
from locus.experiment.libraries import Observations
from locus.experiment.other_twin import OtherTwin
from locus.experiment.run import Run
from locus.experiment.store import Store
from locus.experiment.table import Table
from locus.experiment.weights import Weights
from locus.experiment.witness import Witness
from locus.experiment.wrong_twin import Robustness
from locus.score import weight_files
from locus.settings.config import Config

Workers = Callable[[], Client]


@dataclass(frozen=True)
class Step:
    """One thing that a run makes."""

    name: str
    """Path below the run's folder."""
    hash: Callable[[], str]
    """Recipe hash of what would be made now."""
    fresh: Callable[[], bool]
    make: Callable[[Workers], None]
    needs: tuple[Step, ...] = field(default=(), repr=False)
    outputs: Callable[[], list[Path]] = list
    """Files that it makes; of a store its journal, which has the checksums of all its files."""
    seconds: Callable[[int], float] = lambda _: 0.0
    """About how long it takes on so many workers, for `--dry-run`."""
    max_bytes: Callable[[], int] = lambda: 0
    is_store: bool = False


def store_step(store: Store) -> Step:
    """A store; one that was made with other settings is removed and made anew."""

    def fresh() -> bool:
        try:
            return not store.todo()
        except StoreError:
            return False

    def make(workers: Workers) -> None:
        try:
            store.todo()
        except StoreError as error:
            print(f"{store.path.name} is made anew: {error}", flush=True)
            store.remove()
        if store.path.exists() or not store.adopt():
            store.build(workers)

    needs = (store_step(store.library),) if isinstance(store, Observations) else ()
    config, split = store.run.config, store.split
    cost = _trace_seconds(config, split)
    if isinstance(store, Observations):
        cost = case.num_snapshots(config, split) * _ESTIMATE
    return Step(
        f"{store.folder}/{store.split}",
        store.hash,
        fresh,
        make,
        needs,
        outputs=lambda: [store.path.with_suffix(".journal")],
        seconds=lambda workers: case.num_groups(config, split) * cost / workers,
        max_bytes=lambda: store.max_bytes,
        is_store=True,
    )


def weights_step(run: Run, method: str, *, robust: bool = False) -> Step:
    """The trained weights of a method, or those trained with a wrong twin."""
    weights = Weights(run, method, robust)
    return Step(
        f"models/{method}{'.robust' if robust else ''}",
        weights.hash,
        weights.fresh,
        lambda _: weights.make(),
        (store_step(weights.library), store_step(Observations(run, "train"))),
        outputs=lambda: weights.files,
        seconds=lambda _: _train_seconds(run.config, len(weights.encodings)),
    )


def rows_step(run: Run, split: str, chosen: tuple[str, ...] = weight_files.METHODS) -> Step:
    """The rows of an evaluation split, of all methods or of those chosen."""
    rows = Rows(run, split, chosen)
    needs = tuple(weights_step(run, method) for method in chosen)
    return Step(
        f"results/{rows.name}",
        rows.hash,
        rows.fresh,
        rows.make,
        needs,
        outputs=lambda: [rows.path(name) for name in rows.evaluations],
        seconds=lambda workers: case.num_groups(run.config, split) * _evaluate_seconds(run.config, split) / workers,
    )


def result_step(result: Result, needs: Iterable[Step], seconds: Callable[[int], float]) -> Step:
    """One file of results."""
    return Step(
        f"results/{result.name}",
        result.hash,
        result.fresh,
        result.make,
        tuple(needs),
        outputs=lambda: [result.path],
        seconds=seconds,
    )


def witness_step(run: Run) -> Step:
    """A few groups as this run computed them."""
    return result_step(Witness(run), (weights_step(run, method) for method in weight_files.METHODS), lambda _: 20.0)


def other_twin_step(run: Run) -> Step:
    """The first evaluation groups, traced with the other twin."""
    needs = weights_step(run, "locus_dt"), rows_step(run, "eval_random"), rows_step(run, "eval_grid")
    return result_step(OtherTwin(run), needs, lambda workers: 30.0 / workers)


def robustness_step(run: Run) -> Step:
    """The first evaluation groups, compared with twins that are wrong."""
    robustness = Robustness(run)
    needs = (weights_step(run, one.method, robust=one.robust) for one in robustness.weights.values())
    return result_step(robustness, needs, lambda workers: 2.0 * robustness.num_groups / workers)


def table_step(run: Run) -> Step:
    """The table of results."""
    table = Table(run)
    return result_step(table, (rows_step(run, split) for split in table.splits), lambda _: 2.0)


def rows_steps(run: Run) -> list[Step]:
    """The rows of all evaluations."""
    return [rows_step(run, split) for split in dict.fromkeys(EVALUATIONS.values())]


# Seconds on one core of the machine that benchmarks/results.json was made on: enough to tell a coffee from a night.
_TRACE = {"image": 3e-5, "sionna": 9e-4}  # a candidate
_ESTIMATE = 1e-3  # a snapshot
_TRAIN = 3e-4  # a layout and epoch
_LIMITS = 8e-5  # a snapshot and candidate


def _trace_seconds(config: Config, split: str) -> float:
    return case.num_candidates(config, split) * _TRACE[case.backend(config, split)]


def _train_seconds(config: Config, num_encodings: int) -> float:
    return config.training.num_layouts * config.training.num_epochs * _TRAIN * num_encodings


def _evaluate_seconds(config: Config, split: str) -> float:
    snapshots, candidates = case.num_snapshots(config, split), case.num_candidates(config, split)
    per_snapshot = _ESTIMATE + (0 if split == "test" else _LIMITS * candidates)
    return _trace_seconds(config, split) + (2 if split == "eval_grid" else 1) * snapshots * per_snapshot


def due(targets: Iterable[Step], again: Container[str] = ()) -> list[Step]:
    """Steps to make, in order, so that all targets are fresh; those named in ``again`` although they are."""
    found: dict[str, Step] = {}
    fresh: set[str] = set()  # what was looked at: many steps need the same

    def visit(step: Step) -> None:
        if step.name in fresh or step.name in found:
            return
        if step.name not in again and step.fresh():
            fresh.add(step.name)
        else:
            for need in step.needs:
                visit(need)
            found[step.name] = step

    for target in targets:
        visit(target)
    return list(found.values())


def make(
    targets: Iterable[Step],
    num_workers: int | None = None,
    scheduler: str | None = None,
    done: Callable[[Step, float], None] = lambda *_: None,
    start: Callable[[list[Step]], None] = lambda _: None,
) -> dict[str, float]:
    """Make what is due, on local processes or a Dask scheduler; returns the seconds that each step took.

    ``start`` hears what is due before any of it is made; ``done`` hears of every step when it is made, so that an
    interruption leaves a note of those before it.
    """
    seconds = {}
    todo = due(targets)
    start(todo)
    with ExitStack() as stack:
        workers = functools.cache(lambda: stack.enter_context(cluster.connect(num_workers, scheduler)))
        for step in todo:
            before = time.perf_counter()
            step.make(workers)
            seconds[step.name] = time.perf_counter() - before
            done(step, seconds[step.name])
    return seconds
