"""The ``locus`` command: parses the command line and calls the package."""

from __future__ import annotations

import os
import re
import sys

from locus.cli.commands import COMMANDS, leave_out
from locus.cli.interruption import InterruptionError, end_everything, interruptible
from locus.cli.parser import make_parser
from locus.experiment.run import NO_REPOSITORY, data_root
from locus.settings.untrusted import whole_number


def _joined(arguments: list[str]) -> list[str]:
    """Join options with positions that begin with a minus, which argparse would take for options: ``--pose -2,3,0``."""
    found = list(arguments)
    for name in ("--pose", "--truth"):
        for i in range(len(found) - 1, 0, -1):
            if found[i - 1] == name and re.match(r"-[\d.]", found[i]):
                found[i - 1 : i + 1] = [f"{name}={found[i]}"]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = make_parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if arguments is None:
        leave_out(options)
    try:
        if getattr(options, "workers", None) is not None:
            whole_number("workers", options.workers, 1, 1024)
        if "LOCUS_DATA" in os.environ:  # chapters and workers may have another working folder
            os.environ["LOCUS_DATA"] = str(data_root())
        with interruptible(options.command):
            return COMMANDS[options.command](options)
    except InterruptionError as interruption:
        end_everything(interruption.code)
    except (ValueError, OSError, RuntimeError) as error:
        message = str(error)
    except MemoryError:
        message = "Expected enough memory, got too little; use smaller settings or fewer --workers"
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
