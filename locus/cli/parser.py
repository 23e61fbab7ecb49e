"""Options of the ``locus`` command: one sub-parser per command."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import locus
from locus.cli import locate
from locus.settings.config import BACKENDS
from locus.settings.profiles import profiles


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
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
    reproduce.add_argument(
        "--force",
        action="store_true",
        help="recompute everything, or with --only the chapter and all its inputs, even if up to date",
    )
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

    commands.add_parser(
        "solver", help="count the paths that Sionna's own solver misses, and time it: about half an hour, 8 GiB"
    )

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
    train.add_argument(
        "--radio", type=Path, metavar="YML", help="radio to train for: fields that differ from the paper's"
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
        help="method to evaluate; may be repeated (default: all methods, and the two ideal receivers)",
    )
    _add_settings(evaluate)
    _add_run(evaluate)
    _add_workers(evaluate)

    locate.add_arguments(
        commands.add_parser("locate", help="locate a transmitter in your own room from your own capture")
    )

    _add_export(commands.add_parser("export", help="write a network as a LiteRT file for a small device"))

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
    book.add_argument(
        "--site",
        metavar="URL",
        default=os.environ.get("LOCUS_SITE"),
        help="address of the book on the web, for canonical addresses and a site map (default: $LOCUS_SITE)",
    )
    book.add_argument("--force", action="store_true", help="rebuild even if nothing has changed")
    return parser


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


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Convert a trained pairwise network to LiteRT (TensorFlow Lite). `locus locate --run FILE` runs the result "
        "without TensorFlow. Needs the extra `device`: `make device` installs it into .venv-device. An existing file "
        "is overwritten."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="file to write, .tflite")
    parser.add_argument(
        "--run", default="paper", help="run or .safetensors file with the weights (default: %(default)s)"
    )
    parser.add_argument("--method", default="locus_dt", help="trained method of that run (default: %(default)s)")
    parser.add_argument(
        "--quantise",
        default="float32",
        metavar="TYPE",
        help="float32, float16, int8, or int16: int8 weights with 16 bits between the layers (default: %(default)s)",
    )
