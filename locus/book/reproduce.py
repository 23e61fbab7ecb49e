"""The pipeline: a run in; its data, weights, results and executed chapters, made where they are not fresh, out."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from locus.book.chapters import Chapter, chapters
from locus.book.paper import printed
from locus.book.tables import results_frame
from locus.experiment import cluster, report, steps
from locus.experiment.run import Run
from locus.experiment.steps import Step
from locus.experiment.table import Table
from locus.score import weight_files


def chapter_step(run: Run, source: Path) -> Step:
    """A chapter, after what its header says that it needs."""
    chapter = Chapter(run, source)
    known = {step.name: step for step in kept_steps(run)}
    unknown = [name for name in chapter.needs if name not in known]
    if unknown:
        raise ValueError(f"Expected {source.name} to need steps of {list(known)}, got {unknown}")
    needs = tuple(known[name] for name in chapter.needs)

    def needed() -> dict[str, str]:
        return {step.name: step.hash() for step in needs}

    return Step(
        f"notebooks/{source.stem}",
        lambda: chapter.hash(needed()),
        lambda: chapter.fresh(needed()),
        lambda _: chapter.execute(needed()),
        needs,
        outputs=lambda: [chapter.path],
        seconds=lambda _: 30.0,
    )


def kept_steps(run: Run) -> list[Step]:
    """What a run keeps and chapters open: weights and results."""
    weights = [steps.weights_step(run, method) for method in weight_files.METHODS]
    weights.append(steps.weights_step(run, "locus_dt", robust=True))
    results = [steps.table_step(run), steps.other_twin_step(run), steps.robustness_step(run), steps.witness_step(run)]
    return [*weights, *steps.rows_steps(run), *results]


def all_steps(run: Run, only: str | None = None) -> list[Step]:
    """All that ``locus reproduce`` makes, or just one chapter and what it needs; stores come with the weights."""
    found = [chapter_step(run, source) for source in chapters(only)]
    if only is None:
        found = [*kept_steps(run), *found]
    ordered: dict[str, Step] = {}

    def visit(step: Step) -> None:
        for need in step.needs:
            visit(need)
        ordered.setdefault(step.name, step)

    for step in found:
        visit(step)
    return list(ordered.values())


def reproduce(
    run: Run,
    only: str | None = None,
    *,
    force: bool = False,
    num_workers: int | None = None,
    scheduler: str | None = None,
) -> None:
    """Make all that is not fresh, say what is, and write report.json.

    Args:
        run: what to reproduce.
        only: just the chapter whose name begins so, and what it needs.
        force: make the chapters, weights and results again although they are fresh; stores are kept.
        num_workers: local processes; one a core if missing.
        scheduler: address of a Dask scheduler to use instead.
    """
    everything = all_steps(run, only)
    due = _due(everything, force)
    if due:
        _, total = report.plan(run, (step for step in everything if step.name in due), num_workers)
        print(f"{run.name}: {len(due)} of {len(everything)} steps to make, {total}", flush=True)
        run.save()
    with ExitStack() as stack:
        workers = functools.cache(lambda: stack.enter_context(cluster.connect(num_workers, scheduler)))
        for number, step in enumerate(everything, 1):
            label = f"[{number}/{len(everything)}] {step.name}"
            if step.name not in due:
                print(f"{label}: {_state(step, everything, due)}", flush=True)
                continue
            start = time.perf_counter()
            step.make(workers)
            seconds = time.perf_counter() - start
            print(f"{label}: computed in {seconds:.0f} s", flush=True)
            report.note(run, step, seconds, [other for other in everything if other.name not in due])


def dry_run(run: Run, only: str | None = None, *, force: bool = False, num_workers: int | None = None) -> Iterator[str]:
    """Lines that say what ``reproduce`` would do, how long it may take and how much disk."""
    everything = all_steps(run, only)
    due = _due(everything, force)
    lines, total = report.plan(run, (step for step in everything if step.name in due), num_workers)
    for step in everything:
        yield lines.get(step.name) or f"{step.name}: {_state(step, everything, due)}"
    yield f"{run.name}: {len(due)} of {len(everything)} steps to make, {total}"


def closing(run: Run) -> Iterator[str]:
    """Lines that say what came out of a run, and where to look next."""
    table, known = Table(run), printed()
    if table.fresh():
        shown = results_frame(table.open().sel(evaluation=known.evaluation), known)["this run"]["R [%]"]
        yield f"R [%] of run {run.name}, with 95 % intervals over rooms:"
        yield shown.unstack("evaluation", sort=False).to_string(index_names=False)
    yield f"Executed chapters are in {run.notebooks}; `locus book --run {run.name}` makes a book of them."


def _due(everything: list[Step], force: bool) -> set[str]:
    kept = [step for step in everything if not step.is_store]
    return {step.name for step in steps.due(kept, {step.name for step in kept} if force else set())}


def _state(step: Step, everything: list[Step], due: set[str]) -> str:
    """Of a step that is not due. Stores are only looked into where they are needed: checksums take their time."""
    needed = any(step.name in (need.name for need in other.needs) for other in everything if other.name in due)
    return "fresh" if needed or not step.is_store else "not needed, as all that is made from it is fresh"
