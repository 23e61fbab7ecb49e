"""The pipeline: a run in; its data, weights, results and executed chapters out. Fresh ones are not made again."""

from __future__ import annotations

from collections.abc import Iterator

from locus.book.chapters import Chapter, chapters
from locus.book.paper import printed
from locus.book.tables import intervals_hold, results_frame
from locus.experiment import artifact, case, report
from locus.experiment.artifact import Artifact, Workers, here
from locus.experiment.inventory import kept
from locus.experiment.run import Run
from locus.experiment.table import Table


def all_steps(run: Run, only: str | None = None) -> list[Artifact]:
    """All steps of ``locus reproduce``, inputs first; with ``only``, one chapter and its inputs."""
    found: list[Artifact] = [Chapter(run, source) for source in chapters(only)]
    if only is None:
        found = [*kept(run), *found]
    ordered: dict[str, Artifact] = {}

    def visit(step: Artifact) -> None:
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
    workers: Workers = here,
    num_workers: int | None = None,
) -> None:
    """Make all steps that are not fresh, print the state of each, and write ``report.json``.

    Args:
        run: run to reproduce.
        only: start of the name of a chapter; make only it and its inputs.
        force: make chapters, weights and results even if they are fresh; stores are kept.
        workers: returns a Dask client; by default everything is computed in this process.
        num_workers: number of workers, for the estimate of the time; by default one per core.
    """
    everything = all_steps(run, only)
    due = _due(everything, force)
    if due:
        _, total = report.plan(run, (step for step in everything if step.name in due), num_workers)
        print(f"{run.name}: {len(due)} of {len(everything)} steps to make, {total}", flush=True)
        case.check_room(run.config.room)
        run.save()
    labels = {step.name: f"[{number}/{len(everything)}] {step.name}" for number, step in enumerate(everything, 1)}
    others = [step for step in everything if step.name not in due]
    for step in others:
        print(f"{labels[step.name]}: {_state(step, everything, due)}", flush=True)

    def done(step: Artifact, seconds: float) -> None:
        print(f"{labels[step.name]}: computed in {seconds:.0f} s", flush=True)
        report.note(run, step, seconds, others)

    artifact.make_all((step for step in everything if step.name in due), workers, done)


def dry_run(run: Run, only: str | None = None, *, force: bool = False, num_workers: int | None = None) -> Iterator[str]:
    """Lines that describe what ``reproduce`` would do, with estimated time and disk space."""
    everything = all_steps(run, only)
    due = _due(everything, force)
    lines, total = report.plan(run, (step for step in everything if step.name in due), num_workers)
    for step in everything:
        yield lines.get(step.name) or f"{step.name}: {_state(step, everything, due)}"
    yield f"{run.name}: {len(due)} of {len(everything)} steps to make, {total}"


def closing(run: Run) -> Iterator[str]:
    """Lines with the main results of a run, and where its chapters are."""
    table, known = Table(run), printed()
    if table.fresh():
        found = table.open()
        shown = results_frame(found.sel(evaluation=known.evaluation), known)["this run"]["R [%]"]
        yield f"R [%] of run {run.name}, with 95 % intervals over {intervals_hold(found)}:"
        yield shown.unstack("evaluation", sort=False).to_string(index_names=False)
    yield f"Executed chapters are in {run.notebooks}; `locus book --run {run.name}` makes a book of them."


def _due(everything: list[Artifact], force: bool) -> set[str]:
    wanted = [step for step in everything if not step.is_store]
    return {step.name for step in artifact.due(wanted, {step.name for step in wanted} if force else set())}


def _state(step: Artifact, everything: list[Artifact], due: set[str]) -> str:
    """State of a step that is not due. Stores are checked only where they are needed, as checksums take time."""
    needed = any(step.name in (need.name for need in other.needs) for other in everything if other.name in due)
    return "fresh" if needed or not step.is_store else "not needed, as everything made from it is fresh"
