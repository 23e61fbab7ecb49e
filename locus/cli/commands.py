"""What each command of ``locus`` does: parsed options in, an exit code out. Heavy modules are imported when needed."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import locus
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

    run, address = locus.open_run(options.run), options.repository or None
    index = build.build_book(run, options.out, address, options.branch, force=options.force)
    print(f"Open {index}")
    return 0


def reproduce(options: argparse.Namespace) -> int:
    """Make every result and chapter of a run that is not fresh."""
    from locus.book import reproduce
    from locus.experiment import cluster

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    if options.dry_run:
        for line in reproduce.dry_run(run, options.only, force=options.force, num_workers=options.workers):
            print(line)
        return 0
    with cluster.connect_lazily(options.workers, options.scheduler) as workers:
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

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
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
    from locus.experiment import artifact, cluster, report

    run.save()
    seconds = {}

    def done(step: Artifact, taken: float) -> None:
        seconds[step.name] = taken
        report.note(run, step, taken)

    due = artifact.due(targets)
    lines, total = report.plan(run, due, options.workers)
    if due:
        print(*lines.values(), f"{run.name}: {len(due)} steps to make, {total}", sep="\n", flush=True)
    with cluster.connect_lazily(options.workers, options.scheduler) as workers:
        artifact.make_all(due, workers, done)
    return seconds


def build(options: argparse.Namespace) -> int:
    """Build candidate libraries, or the observations of libraries that are built."""
    from locus.experiment import cluster, libraries

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
    run.save()
    stores = wanted if options.command == "build" else [libraries.Observations(run, name) for name in options.splits]
    with cluster.connect_lazily(options.workers, options.scheduler) as workers:
        for store in stores:
            store.build(workers)
    return 0


def locate(options: argparse.Namespace) -> int:
    """Locate a transmitter in the user's own room."""
    import numpy as np

    from locus.capture import candidates, files, words

    pose = files.parse_pose(options.pose)
    truth = files.parse_position(options.truth) if options.truth else None
    choice: dict[str, Any] = {"weights": options.run, "method": options.method, "twin": options.twin}
    choice["tolerance"] = files.parse_tolerance(options.tolerance) if options.tolerance else None
    files.check_output(options.out, (".nc",))
    if options.figure:
        files.check_output(options.figure, files.FIGURE_SUFFIXES)
    layout, iq = files.read_layout(options.room), files.read_iq(options.iq)
    choice["radio"] = files.read_radio(options.radio) if options.radio else None
    xy = None
    if options.grid is not None:
        xy = candidates.grid_candidates(layout, pose, options.grid)
    elif options.candidates is not None:
        xy = candidates.random_candidates(layout, pose, options.candidates, np.random.default_rng(0))
    if xy is not None:
        choice["spacing"] = (layout.free_space.area / len(xy)) ** 0.5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = locus.locate(layout, pose, iq, xy, noise_power=options.noise_power, **choice)
    for warning in caught:
        print(f"locus locate: warning: {warning.message}", file=sys.stderr)
    files.save(data, options.out, options.figure)
    print("\n".join(words.words(data)))
    if truth:
        print("\n".join(words.words_of_truth(data, truth)))
    print("Written to", *(path for path in (options.out, options.figure) if path))
    return 0


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
"""By name on the command line."""
