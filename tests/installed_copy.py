"""Run `locus` as if pip had installed it with only some extras: packages of the other extras cannot be imported.

The first argument lists the extras, e.g. `book,dev`; each further argument is a command line. Prints exit code, stdout
and stderr of each as a line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions, requires
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def requirements(name: str, extras: Sequence[str] = (), above: frozenset[str] = frozenset()) -> Iterator[str]:
    """A distribution and all of its dependencies, recursively."""
    yield canonicalize_name(name)
    for one in map(Requirement, requires(name) or ()):
        wanted = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if wanted and canonicalize_name(one.name) not in above:
            yield from requirements(one.name, sorted(one.extras), above | {canonicalize_name(name)})


NEEDED = set(requirements("locus-dt", sys.argv[1].split(",")))
MISSING = {
    name for name, owners in packages_distributions().items() if not NEEDED & set(map(canonicalize_name, owners))
}


class Finder(importlib.machinery.PathFinder):
    """Python's own finder, except that missing packages are not found."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return None if fullname.partition(".")[0] in MISSING else super().find_spec(fullname, path, target)


# Also in worker processes, which import this file again. An editable install would lend modules that the copy lacks.
sys.meta_path[:] = [
    Finder if finder is importlib.machinery.PathFinder else finder
    for finder in sys.meta_path
    if not getattr(finder, "__module__", "").startswith("__editable__")
]

if __name__ == "__main__":
    from locus.cli import main

    for line in sys.argv[2:]:
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = main(shlex.split(line))
        print(json.dumps([code, stdout.getvalue(), stderr.getvalue()]))
