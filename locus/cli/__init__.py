"""The `locus` command: parses the command line and calls the package."""

from __future__ import annotations

import sys

from locus.cli.commands import COMMANDS
from locus.cli.parser import make_parser
from locus.experiment.run import NO_REPOSITORY


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = make_parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](options)
    except (ValueError, OSError, RuntimeError) as error:
        message = str(error)
    except ModuleNotFoundError as error:
        if error.name is None or (error.name.startswith("locus") and error.name != "locus.book"):  # a bug of ours
            raise
        message = (
            NO_REPOSITORY
            if error.name == "locus.book"
            else (
                f"Expected the module {error.name!r} to be installed, got none; in a clone of the repository, "
                "`make setup` or `pip install -e '.[book]'` installs it"
            )
        )
    print(f"locus {options.command}: {' '.join(message.split())}", file=sys.stderr)
    return 2
