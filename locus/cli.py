"""The `locus` command: parses the command line and calls the package."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import locus
from locus.settings.config import BACKENDS
from locus.settings.profiles import parse_changes, parse_over, profiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from locus.experiment.artifact import Artifact

_CLONE = "Expected locus inside its repository, got an installed copy; clone it and `make setup`"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="locus", description=locus.__doc__)
    parser.add_argument("--version", action="version", version=f"locus {locus.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    commands.add_parser(
        "doctor", help="check this machine, one line per requirement, and say how to fix what is missing"
    )

    reproduce = commands.add_parser(
        "reproduce", help="compute everything that is not up to date: data, weights, results, chapters"
    )
    _add_settings(reproduce)
    _add_run(reproduce)
    reproduce.add_argument("--only", metavar="NN", help="only the chapter whose name starts with NN, and its inputs")
    reproduce.add_argument("--force", action="store_true", help="recompute even if up to date")
    reproduce.add_argument(
        "--dry-run", action="store_true", help="list what would be computed, with estimated time and disk space"
    )
    _add_workers(reproduce)

    sweep = commands.add_parser("sweep", help="train and evaluate for every combination of some settings")
    sweep.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="SECTION.FIELD=A,B,...",
        help="setting to vary and its values; may be repeated",
    )
    sweep.add_argument("--method", default="locus_dt", help="method to train (default: %(default)s)")
    sweep.add_argument("--evaluation", default="test", help="evaluation that R is measured on (default: %(default)s)")
    _add_settings(sweep)
    _add_workers(sweep)

    sensitivity = commands.add_parser(
        "sensitivity", help="measure how much each reading of the paper matters: many small runs, about an hour"
    )
    _add_workers(sensitivity)

    runs = commands.add_parser("runs", help="list all runs: profile, size, changed settings, steps that are up to date")
    runs.add_argument("--remove", metavar="NAME", help="delete this run and all of its files")

    _add_settings(commands.add_parser("settings", help="list all settings: value, default and meaning"))

    build = commands.add_parser("build", help="trace the candidate libraries; finished blocks are kept")
    _add_splits(build)
    build.add_argument("--dry-run", action="store_true", help="estimate time and disk space only")

    observe = commands.add_parser(
        "observe", help="simulate the snapshots of finished libraries and estimate their paths"
    )
    _add_splits(observe)

    train = commands.add_parser("train", help="train methods, computing their training data if needed")
    train.add_argument(
        "methods", nargs="*", metavar="METHOD", help="locus_dt, gauss_cart, gauss_polar or gmm_cart (default: all)"
    )
    _add_settings(train)
    _add_run(train)
    _add_workers(train)

    evaluate = commands.add_parser("evaluate", help="evaluate methods on held-out rooms, training them if needed")
    evaluate.add_argument(
        "evaluations", nargs="*", metavar="EVALUATION", help="test, random, grid or grid_offlist (default: test)"
    )
    evaluate.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="METHOD",
        help="method to evaluate, without the limits; may be repeated (default: all methods, and the limits)",
    )
    _add_settings(evaluate)
    _add_run(evaluate)
    _add_workers(evaluate)

    _add_locate(commands.add_parser("locate", help="locate a transmitter in your own room from your own capture"))

    book = commands.add_parser("book", help="build the book from a run's executed chapters")
    book.add_argument("--run", default="quick", help="run whose results the book shows (default: %(default)s)")
    book.add_argument("--out", metavar="FOLDER", help="folder in which to create _build (default: the repository)")
    book.add_argument(
        "--repository",
        metavar="URL",
        default=os.environ.get("LOCUS_REPOSITORY"),
        help="GitHub URL for the links to Binder and Colab (default: $LOCUS_REPOSITORY; without it, no links)",
    )
    book.add_argument("--branch", default="main", help="branch or tag that these links open (default: %(default)s)")
    book.add_argument("--force", action="store_true", help="rebuild even if nothing has changed")

    options = parser.parse_args(arguments)
    try:
        return _call(options)
    except (ValueError, OSError, RuntimeError) as error:
        message = str(error)
    except ModuleNotFoundError as error:
        if error.name is None or (error.name.startswith("locus") and error.name != "locus.book"):  # a bug of ours
            raise
        message = (
            _CLONE
            if error.name == "locus.book"
            else (
                f"Expected the module {error.name!r} to be installed, got none; in a clone of the repository, "
                "`make setup` or `pip install -e '.[book]'` installs it"
            )
        )
    print(f"locus {options.command}: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _add_settings(parser: argparse.ArgumentParser) -> None:
    meanings = profiles()
    names = "{" + ",".join(meanings) + "}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "profiles:\n" + "\n".join(f"  {name:12}  {meaning}" for name, meaning in meanings.items())
    parser.add_argument(
        "--profile", default="quick", metavar=names, help="settings to start from (default: %(default)s)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.FIELD=VALUE",
        help="change a setting; `locus settings` lists them",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run", metavar="NAME", help="name of the run (default: the profile's, or generated from the changes)"
    )


def _add_splits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("splits", nargs="+", metavar="SPLIT", help="train, test, eval_random or eval_grid")
    _add_settings(parser)
    parser.add_argument("--twin", choices=BACKENDS, help="twin to trace with (default: from the settings)")
    _add_workers(parser)


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help="number of local processes (default: one per core)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler to use instead, e.g. tcp://10.0.0.1:8786"
    )


def _add_locate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compute the posterior of the transmitter's position from a room, a receiver pose and an IQ capture. Lengths "
        "in metres, angles in radians. The supplied weights were trained on rooms of 100 m x 100 m with three "
        "obstacles. Limits: 250 walls, 10,000 candidates, 1000 snapshots, 64 MiB of IQ, 1 MiB of GeoJSON or YAML. "
        "Existing output files are overwritten."
    )
    parser.add_argument("room", type=Path, help="GeoJSON FeatureCollection of polygons [m] with role room or obstacle")
    parser.add_argument(
        "--pose",
        required=True,
        metavar="X,Y,HEADING",
        help="position of antenna 0 and broadside direction; write --pose=-2,... if x is negative",
    )
    parser.add_argument(
        "--iq",
        required=True,
        type=Path,
        metavar="NPY",
        help="complex samples, ([snapshot,] sample, antenna); 128 x 8 for the paper's radio",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="NC", help="netCDF file for the posterior")
    parser.add_argument("--figure", type=Path, metavar="PNG", help="map of the first snapshot (png, svg or pdf)")
    parser.add_argument(
        "--run", default="paper", help="run or .safetensors file with the weights (default: %(default)s)"
    )
    parser.add_argument("--method", default="locus_dt", help="trained method of that run (default: %(default)s)")
    parser.add_argument(
        "--twin", choices=BACKENDS, help="twin to trace with (default: the one the weights were evaluated with)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--grid", type=int, default=31, metavar="N", help="candidates: the free points of an N x N grid (default: 31)"
    )
    where.add_argument("--candidates", type=int, metavar="N", help="candidates: N random points from a fixed seed")
    parser.add_argument("--radio", type=Path, metavar="YML", help="fields of Radio that differ from the paper's")
    parser.add_argument(
        "--noise-power",
        type=float,
        metavar="P",
        help="mean |noise|^2 per sample, in the capture's units (default: the capture is in W^0.5)",
    )


def _call(options: argparse.Namespace) -> int:
    if options.command == "doctor":
        from locus.experiment import doctor

        return doctor.main()
    if options.command == "reproduce":
        return _reproduce(options)
    if options.command == "sweep":
        return _sweep(options)
    if options.command == "sensitivity":
        return _sensitivity(options)
    if options.command == "runs":
        from locus.book import runs

        print(runs.remove_run(options.remove) if options.remove else "\n".join(runs.list_runs()))
        return 0
    if options.command == "settings":
        from locus.settings import listing

        print("\n".join(listing.lines(locus.open_run(options.profile, parse_changes(options.set)).config)))
        return 0
    if options.command in ("build", "observe"):
        return _build(options)
    if options.command == "locate":
        return _locate(options)
    if options.command in ("train", "evaluate"):
        return _train(options) if options.command == "train" else _evaluate(options)
    from locus.book import build

    run, address = locus.open_run(options.run), options.repository or None
    index = build.build_book(run, options.out, address, options.branch, force=options.force)
    print(f"Open {index}")
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from locus.book import reproduce

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    if options.dry_run:
        for line in reproduce.dry_run(run, options.only, force=options.force, num_workers=options.workers):
            print(line)
        return 0
    reproduce.reproduce(
        run, options.only, force=options.force, num_workers=options.workers, scheduler=options.scheduler
    )
    print("\n".join(reproduce.closing(run)))
    return 0


def _sweep(options: argparse.Namespace) -> int:
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


def _sensitivity(options: argparse.Namespace) -> int:
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


def _train(options: argparse.Namespace) -> int:
    from locus.experiment.weights import Weights
    from locus.score.weight_files import METHODS

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    targets = [Weights(run, name) for name in options.methods or METHODS]
    made = _make(run, targets, options)
    for target in targets:
        print(f"{target.name} of run {run.name}: " + (f"{made[target.name]:.0f} s" if target.name in made else "fresh"))
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from locus.experiment.rows import EVALUATIONS, Rows, print_table
    from locus.score.weight_files import METHODS, check_method

    run = locus.open_run(options.profile, parse_changes(options.set), options.run)
    for name in options.method:
        check_method(name)
    methods = tuple(name for name in METHODS if name in options.method)
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
    from locus.experiment import artifact, report

    run.save()
    seconds = {}

    def done(step: Artifact, taken: float) -> None:
        seconds[step.name] = taken
        report.note(run, step, taken)

    due = artifact.due(targets)
    lines, total = report.plan(run, due, options.workers)
    if due:
        print(*lines.values(), f"{run.name}: {len(due)} steps to make, {total}", sep="\n", flush=True)
    artifact.make_all(due, options.workers, options.scheduler, done)
    return seconds


def _build(options: argparse.Namespace) -> int:
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


def _locate(options: argparse.Namespace) -> int:
    import numpy as np

    from locus.capture import files, locate

    pose = files.parse_pose(options.pose)
    files.check_output(options.out, (".nc",))
    if options.figure:
        files.check_output(options.figure, files.FIGURE_SUFFIXES)
    layout, iq = files.read_layout(options.room), files.read_iq(options.iq)
    radio = files.read_radio(options.radio) if options.radio else None
    if options.candidates is None:
        candidates = locate.grid_candidates(layout, pose, options.grid)
    else:
        candidates = locate.random_candidates(layout, pose, options.candidates, np.random.default_rng(0))
    choice = {"weights": options.run, "method": options.method, "twin": options.twin}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = locus.locate(layout, pose, iq, candidates, radio=radio, noise_power=options.noise_power, **choice)
    for warning in caught:
        print(f"locus locate: warning: {warning.message}", file=sys.stderr)
    files.save(data, options.out, options.figure)
    print("\n".join(locate.words(data)))
    print("Written to", *(path for path in (options.out, options.figure) if path))
    return 0
