"""What each command of ``locus`` does: parsed options in, an exit code out. Heavy modules are imported when needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import locus
from locus.cli.locate import locate
from locus.settings.profiles import parse_changes, parse_over

if TYPE_CHECKING:
    from collections.abc import Iterable

    from locus.experiment.artifact import Artifact


def doctor(_: argparse.Namespace) -> int:
    """Check what this machine lacks."""
    from locus.experiment import doctor

    return doctor.main()


def runs(options: argparse.Namespace) -> int:
    """List the runs, or remove one."""
    from locus.book import runs

    print(runs.remove_run(options.remove) if options.remove else "\n".join(runs.list_runs()))
    return 0


def settings(options: argparse.Namespace) -> int:
    """List all settings."""
    from locus.settings import listing

    print("\n".join(listing.lines(locus.open_run(options.profile, parse_changes(options.set)).config)))
    return 0


def book(options: argparse.Namespace) -> int:
    """Build the book."""
    from locus.book import build
    from locus.experiment.journal import exclusive
    from locus.experiment.run import repository

    run, address = locus.open_run(options.run), options.repository or None
    with exclusive(repository() / "book" / ".building", "the book"):
        index = build.build_book(
            run, options.out, address, options.branch, site=options.site or None, force=options.force
        )
    print(f"Open {index}")
    return 0


def reproduce(options: argparse.Namespace) -> int:
    """Make every result and chapter of a run that is missing or out of date."""
    from locus.book import reproduce
    from locus.experiment import cluster

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    if options.dry_run:
        for line in reproduce.dry_run(run, options.only, force=options.force, num_workers=options.workers):
            print(line)
        return 0
    reproduce.all_steps(run, options.only)  # an unknown chapter is refused before a folder is made
    with _alone(run), cluster.connect_lazily(options.workers, options.scheduler) as workers:
        reproduce.reproduce(run, options.only, force=options.force, workers=workers, num_workers=options.workers)
    print("\n".join(reproduce.closing(run)))
    return 0


def sweep(options: argparse.Namespace) -> int:
    """Train and evaluate a method for every combination of some settings."""
    from locus.experiment import sweep

    over = parse_over(options.over)
    table = sweep.sweep(
        options.profile,
        parse_changes(options.set),
        over,
        options.method,
        options.evaluation,
        options.workers,
        options.scheduler,
    )
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4f}"))
    print("Written to", *sweep.write(table, over))
    return 0


def sensitivity(options: argparse.Namespace) -> int:
    """Measure how much each reading of the paper matters."""
    from locus.experiment import cluster
    from locus.experiment.sensitivity import Sensitivity

    sensitivity = Sensitivity(locus.open_run("paper"))
    if sensitivity.fresh():
        print(f"{sensitivity.path.name} of run paper: fresh")
        return 0
    with cluster.connect(options.workers, options.scheduler) as client:
        sensitivity.make(lambda: client)
    print("Written to", sensitivity.path)
    return 0


def solver(_: argparse.Namespace) -> int:
    """Count the paths that Sionna's own solver misses."""
    from locus.experiment.solver import SolverCheck

    check = SolverCheck(locus.open_run("paper"))
    if check.fresh():
        print(f"{check.path.name} of run paper: fresh")
        return 0
    check.make()
    print("Written to", check.path)
    return 0


def train(options: argparse.Namespace) -> int:
    """Train methods of a run."""
    from locus.experiment.weights import Weights
    from locus.score.weight_files import METHODS

    changes = parse_changes(options.set)
    if options.radio:
        from locus.capture.files import read_radio_fields

        stated = {f"radio.{name}": value for name, value in read_radio_fields(options.radio).items()}
        if twice := sorted(stated.keys() & changes.keys()):
            raise ValueError(f"Expected '{twice[0]}' in {options.radio} or with --set, got it in both")
        changes |= stated
    run = locus.open_run(options.profile, changes, options.run)
    targets = [Weights(run, name) for name in options.methods or METHODS]
    made = _make(run, targets, options)
    for target in targets:
        print(f"{target.name} of run {run.name}: " + (f"{made[target.name]:.0f} s" if target.name in made else "fresh"))
    return 0


def evaluate(options: argparse.Namespace) -> int:
    """Evaluate methods of a run on held-out rooms."""
    from locus.experiment.rows import EVALUATIONS, Rows, print_table
    from locus.experiment.scorers import UNTRAINED_TITLES
    from locus.score.weight_files import METHODS

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    known = (*METHODS, *UNTRAINED_TITLES)
    for name in options.method:
        if name not in known:
            raise ValueError(f"Expected 'method' in {list(known)}, got {name!r}")
    methods = tuple(name for name in known if name in options.method)
    for name in options.evaluations:
        if name not in EVALUATIONS:
            raise ValueError(f"Expected 'evaluations' in {list(EVALUATIONS)}, got {name!r}")
    names = options.evaluations or ["test"]
    rows = {name: Rows(run, EVALUATIONS[name], methods) for name in names}
    _make(run, rows.values(), options)
    for name, one in rows.items():
        print_table(f"{name} of run {run.name}", one.open(name))
    return 0


def _make(run: locus.Run, targets: Iterable[Artifact], options: argparse.Namespace) -> dict[str, float]:
    """Make what is due of a run, after saying what that is; returns the seconds that each step took."""
    with _alone(run):
        return _make_alone(run, targets, options)


@contextmanager
def _alone(run: locus.Run) -> Iterator[None]:
    """Let no other command write to a run meanwhile."""
    from locus.experiment.journal import exclusive

    if run.path.is_dir() and not os.access(run.path, os.W_OK):
        yield  # whatever is fresh can be used; writing anything else fails
        return
    with exclusive(run.path / "run.yml", f"run {run.name}"):
        yield


def _make_alone(run: locus.Run, targets: Iterable[Artifact], options: argparse.Namespace) -> dict[str, float]:
    from locus.experiment import artifact, case, cluster, report

    seconds = {}

    def done(step: Artifact, taken: float) -> None:
        seconds[step.name] = taken
        report.note(run, step, taken)

    due = artifact.due(targets)
    lines, total = report.plan(run, due, options.workers)
    if due:
        case.check_room(run.config.room)
        run.save()
        print(*lines.values(), f"{run.name}: {len(due)} steps to make, {total}", sep="\n", flush=True)
    with cluster.connect_lazily(options.workers, options.scheduler) as workers:
        artifact.make_all(due, workers, done)
    return seconds


def build(options: argparse.Namespace) -> int:
    """Build candidate libraries, or the observations of libraries that are built."""
    from locus.experiment import case, cluster, libraries

    changes = parse_changes(options.set)
    if options.twin:
        changes |= {"twin.train": options.twin, "twin.evaluation": options.twin}
    run = locus.open_run(options.profile, changes)
    wanted = [libraries.Library(run, split) for split in options.splits]
    if options.command == "build" and options.dry_run:
        workers = options.workers or os.cpu_count() or 1
        for library in wanted:
            minutes = library.measure_seconds(workers) / 60
            print(
                f"{library.split} of run {run.name}: {len(library.todo())} of {library.num_blocks} blocks to do, "
                f"about {minutes:.1f} minutes on {workers} workers, at most {library.max_bytes / 2**30:.2f} GiB"
            )
        return 0
    case.check_room(run.config.room)
    run.save()
    stores = wanted if options.command == "build" else [libraries.Observations(run, name) for name in options.splits]
    with cluster.connect_lazily(options.workers, options.scheduler) as workers:
        for store in stores:
            store.build(workers)
    return 0


def leave_out(options: argparse.Namespace) -> None:
    """Have ``locus locate`` start without modules that others would import only to see whether they are there.

    xarray imports Dask to see whether an array is one of Dask's, numba imports SciPy for matrix products, and the path
    set needs neither. This holds for the whole process, so it is done only for calls from the shell.
    """
    if options.command != "locate" or options.run is not None or options.method not in (None, "path_set"):
        return
    # Sionna, walks, figures, ROS maps and long recordings need SciPy
    plain = options.twin == "image" and options.pose and options.figure is None
    plain = plain and options.room.suffix != ".yaml" and options.iq.suffix == ".npy"
    for name in ("dask", "scipy") if plain else ("dask",):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # as if it were not installed


def export(options: argparse.Namespace) -> int:
    """Write a network as a LiteRT file."""
    from locus.experiment import export

    print(export.export(options.file, options.run, options.method, options.quantise))
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "doctor": doctor,
    "reproduce": reproduce,
    "sweep": sweep,
    "sensitivity": sensitivity,
    "solver": solver,
    "runs": runs,
    "settings": settings,
    "build": build,
    "observe": build,
    "train": train,
    "evaluate": evaluate,
    "locate": locate,
    "export": export,
    "book": book,
}
"""Function of each command, by the command's name."""
