"""Options of the ``locus`` command: one sub-parser per command."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import locus
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

    _add_locate(commands.add_parser("locate", help="locate a transmitter in your own room from your own capture"))

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


def _add_locate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compute the posterior of the transmitter's position from a room, a receiver pose and an IQ capture. Lengths "
        "in metres, angles in radians. The default method, path_set, needs no weights and works with any narrowband "
        "radio. The supplied weights of the networks were trained on rooms of 100 m x 100 m with three obstacles. "
        "Limits: 250 walls, 10,000 candidates, 1000 snapshots, 64 MiB of IQ, 1 MiB of GeoJSON or YAML. Existing output "
        "files are overwritten."
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
        "--method",
        help="path_set, or a trained network: locus_dt, gauss_cart, gauss_polar, gmm_cart (default: path_set)",
    )
    parser.add_argument(
        "--tolerance",
        metavar="NAME=SIZE,...",
        help="how far plan, position, heading and material may be off, for path_set, e.g. heading=1deg,plan=0.1,"
        "position=20cm,material=1dB (default: 1 m, 1 m, 5deg, 2dB; smaller errors are considered, too)",
    )
    parser.add_argument(
        "--run",
        help="run, .safetensors or .tflite file with the weights of a network (default: paper; with it, locus_dt)",
    )
    parser.add_argument(
        "--twin",
        choices=BACKENDS,
        help="twin to trace with (default: sionna, or the one the weights were evaluated with)",
    )
    parser.add_argument(
        "--truth", metavar="X,Y", help="true position: also print the error and the smallest set that contains it"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--grid",
        type=int,
        metavar="N",
        help="candidates: the free points of an N x N grid (default: cells as small as the radio can tell apart; for "
        "networks, N = 31)",
    )
    where.add_argument("--candidates", type=int, metavar="N", help="candidates: N random points from a fixed seed")
    parser.add_argument("--radio", type=Path, metavar="YML", help="fields of Radio that differ from the paper's")
    parser.add_argument(
        "--noise-power",
        type=float,
        metavar="P",
        help="mean |noise|^2 per sample, in the capture's units (default: the capture is in W^0.5)",
    )
