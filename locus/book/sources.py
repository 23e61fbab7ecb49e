"""Sources: Python code in; the modules of locus that it imports, directly or not, and hashes of their code out."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import locus

ROOT = Path(locus.__file__).parent
"""Folder of the modules; ``book.tables`` is the name of ``book/tables.py`` in it."""

SHOWING = ("book", "capture", "draw", "explorer", "experiment.twin_agreement", "settings.listing")
"""Modules and folders of figures, tables, names and studies, whose code a chapter depends on as a whole.

The modules that they call have ``RECIPE`` numbers and are not hashed.
"""


def reached(code: str) -> list[str]:
    """Names of the modules that code imports, directly or indirectly, including imports inside functions.

    Raises:
        SyntaxError: the code is not Python.
    """
    waiting, found = _imports(ast.parse(code)), set[str]()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= _module(name)[0] - found
    return sorted(found)


def hashes(names: list[str]) -> dict[str, str]:
    """Hashes of those modules that belong to ``SHOWING``."""
    return {name: _module(name)[1] for name in names if any(f"{name}.".startswith(f"{one}.") for one in SHOWING)}


def _module(name: str) -> tuple[frozenset[str], str]:
    """Modules that a module imports, and the hash of its syntax tree."""
    file = _file(name)
    return _parse(file, file.stat().st_mtime_ns)


@functools.cache
def _parse(file: Path, _: int) -> tuple[frozenset[str], str]:
    """Parse a module; cached until it is modified."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(_imports(tree)), hashlib.sha256(json.dumps(_form(tree)).encode()).hexdigest()[:16]


def _imports(tree: ast.Module) -> set[str]:
    """Modules of locus that a syntax tree imports, and the folders that they are in."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names |= {one.name for one in node.names}
            case ast.ImportFrom():
                names |= {f"{node.module}.{one.name}" for one in node.names}
            case ast.Attribute(value=ast.Name(id="locus")):
                names.add(f"locus.{node.attr}")
    found: set[str] = set()
    for name in names:
        top, *parts = name.split(".")
        if top == "locus" and parts:
            _, *parts = locus.HOMES.get(parts[0], name).split(".")  # public names are imported lazily
            found |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    return {name for name in found if _file(name).is_file()}


def _file(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _form(node: Any) -> Any:
    """A syntax tree as nested lists, without positions and docstrings.

    It is the same on every supported Python, so that freshness does not depend on the version. :func:`ast.dump` is not,
    as newer versions add fields, and neither are tokens, as 3.12 splits f-strings.
    """
    if isinstance(node, ast.JoinedStr):  # Python 3.12.1 appends an empty string to format specifications
        node = ast.JoinedStr([one for one in node.values if not (isinstance(one, ast.Constant) and one.value == "")])
    if isinstance(node, ast.AST):
        fields = [[name, _form(value)] for name, value in ast.iter_fields(node) if value is not None and value != []]
        return [type(node).__name__, *fields]
    if isinstance(node, list):
        return [_form(one) for one in node if not _is_docstring(one)]
    return repr(node)


def _is_docstring(node: Any) -> bool:
    """Whether a node is a string used as a statement: a docstring of a module, class, function or field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
