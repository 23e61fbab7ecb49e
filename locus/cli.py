"""The `locus` command: words in, calls of the package out."""

from __future__ import annotations

import argparse
import sys

import locus


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="locus", description=locus.__doc__)
    parser.add_argument("--version", action="version", version=f"locus {locus.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    commands.add_parser("doctor", help="say what this machine lacks, and how to mend it")

    reproduce = commands.add_parser("reproduce", help="execute the chapters with papermill")
    reproduce.add_argument("--profile", default="quick", help="settings to start from (default: %(default)s)")
    reproduce.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="change a setting")
    reproduce.add_argument("--only", metavar="NN", help="just the chapter whose name begins so")

    book = commands.add_parser("book", help="build the book from a run's executed chapters")
    book.add_argument("--run", default="quick", help="run to show (default: %(default)s)")
    book.add_argument("--out", metavar="FOLDER", help="where _build is made (default: the repository)")

    options = parser.parse_args(arguments)
    try:
        return _call(options)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"locus {options.command}: {error}", file=sys.stderr)
        return 2


def _call(options: argparse.Namespace) -> int:
    if options.command == "doctor":
        from locus import doctor

        return doctor.main()
    if options.command == "reproduce":
        from locus import pipeline
        from locus.config import parse_changes

        pipeline.reproduce(locus.open_run(options.profile, parse_changes(options.set)), options.only)
        return 0
    from locus import book

    print(f"Open {book.build(locus.open_run(options.run), options.out)}")
    return 0
