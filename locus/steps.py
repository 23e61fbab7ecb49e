"""Steps of a run: what can be made, from what, and whether it is fresh; targets in, the steps that are due out.

A step is fresh when the recipe hash stored with its output is the one computed now. A fresh output stands although what
it was made from is absent, so stores are only built for a step that is due.
"""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

from distributed import Client

from locus import cluster, methods
from locus.dataset import Library, Observations
from locus.evaluation import EVALUATIONS, Rows
from locus.journal import StoreError
from locus.run import Run
from locus.store import Store
from locus.weights import Weights

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
            shutil.rmtree(store.path)
        store.build(workers)

    needs = (store_step(store.library),) if isinstance(store, Observations) else ()
    return Step(f"{store.folder}/{store.split}", store.hash, fresh, make, needs)


def weights_step(run: Run, method: str) -> Step:
    """The trained weights of a method."""
    weights = Weights(run, method)
    return Step(
        f"models/{method}",
        weights.hash,
        weights.fresh,
        lambda _: weights.make(),
        (store_step(Library(run, "train")), store_step(Observations(run, "train"))),
    )


def rows_step(run: Run, split: str) -> Step:
    """The rows of an evaluation split."""
    rows = Rows(run, split)
    needs = tuple(weights_step(run, method) for method in methods.METHODS)
    return Step(f"results/{split}", rows.hash, rows.fresh, rows.make, needs)


def rows_steps(run: Run) -> list[Step]:
    """The rows of all evaluations."""
    return [rows_step(run, split) for split in dict.fromkeys(EVALUATIONS.values())]


def due(targets: Iterable[Step]) -> list[Step]:
    """Steps to make, in order, so that all targets are fresh."""
    found: dict[str, Step] = {}

    def visit(step: Step) -> None:
        if step.name not in found and not step.fresh():
            for need in step.needs:
                visit(need)
            found[step.name] = step

    for target in targets:
        visit(target)
    return list(found.values())


def make(targets: Iterable[Step], num_workers: int | None = None, scheduler: str | None = None) -> dict[str, float]:
    """Make what is due, on local processes or a Dask scheduler; returns the seconds that each step took."""
    seconds = {}
    with ExitStack() as stack:
        workers = functools.cache(lambda: stack.enter_context(cluster.connect(num_workers, scheduler)))
        for step in due(targets):
            start = time.perf_counter()
            step.make(workers)
            seconds[step.name] = time.perf_counter() - start
    return seconds
