"""Public names of ``locus``: all exist, and shells and type checkers know them before they are imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import locus


def test_the_public_names_are_there() -> None:
    assert all(getattr(locus, name) is not None for name in locus.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = locus.nothing  # type: ignore[attr-defined]


def test_dir_lists_them_and_imports_none() -> None:
    program = "import sys, locus; print(*dir(locus)); print([name for name in sys.modules if name.startswith('locus')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    listed, imported = done.stdout.splitlines()
    assert {*locus.__all__, "__version__"} <= set(listed.split())
    assert imported == "['locus']"


def test_type_checkers_are_told_where_each_comes_from() -> None:
    parsed = ast.parse(Path(locus.__file__).read_text(encoding="utf-8"))
    (checked,) = (node for node in parsed.body if isinstance(node, ast.If))
    told = {
        name.asname: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert told == locus.HOMES
