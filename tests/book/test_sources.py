"""Modules that code reaches, compared with what Python itself imports; and hashes that only code changes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

from locus.book import sources
from locus.book.chapters import chapters

MODULE = '''"""Figures."""
import matplotlib

SIZE = 3.0
"""Inches."""


def figure(width: float = SIZE, *, colour: str = "black") -> str:
    """A figure."""
    return f"{colour!r} {width:>{8}.1f}" "" f"{SIZE=}"  # of some width
'''


def hash_of(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "book" / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "book" / "figures" / "some.py").write_text(text)
    monkeypatch.setattr(sources, "ROOT", folder)
    sources._parse.cache_clear()  # two writes may fall into one tick of the file system's clock
    return sources.hashes(["book.figures.some"])["book.figures.some"]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("A figure.", "A better figure.", True),
        ('    """A figure."""\n', "", True),
        ("Inches.", "In inches.", True),
        ("Figures.", "Figures of all kinds.", True),
        ("# of some width", "# of a width", True),
        ("\n\n\ndef", "\n\ndef", True),
        ("3.0", "3.1", False),
        ('"black"', '"red"', False),
        ("{8}", "{9}", False),
        ("!r", "", False),
        ("width", "breadth", False),
    ],
)
def test_a_hash_follows_the_code_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, same: bool
) -> None:
    before = hash_of(tmp_path, MODULE, monkeypatch)
    assert old in MODULE
    assert (hash_of(tmp_path, MODULE.replace(old, new), monkeypatch) == before) is same


def test_a_hash_is_the_same_on_every_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with 3.11.2, 3.11.7, 3.12.1 and 3.13.0, which do not agree on how to dump the tree."""
    assert hash_of(tmp_path, MODULE, monkeypatch) == "f16f38c76e3766d9"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import locus\nlocus.open_run('smoke')", "experiment.run"),
        ("from locus import estimate", "receiver.estimator"),
        ("from locus import draw", "draw"),
        ("import locus.book.tables as tables", "book.tables"),
        ("from locus.book.figures.stage_figures import path_table", "draw"),
        ("def later():\n    from locus.judge import metrics", "judge.metrics"),
    ],
)
def test_an_import_is_followed_however_it_is_written(code: str, expected: str) -> None:
    assert expected in sources.reached(code)


def test_nothing_of_locus_is_reached_without_an_import() -> None:
    assert sources.reached("import locus\nimport numpy\nfrom math import pi") == []


@pytest.mark.parametrize("number", ["02", "05"])
def test_whatever_python_imports_is_reached(number: str) -> None:
    """A chapter's import statements in a process of their own."""
    (source,) = chapters(number)
    code = "\n".join(cell.source for cell in jupytext.read(source).cells if cell.cell_type == "code")
    statements = [one for one in ast.parse(code).body if isinstance(one, ast.Import | ast.ImportFrom)]
    lines = [*map(ast.unparse, statements), "import sys", "print(*(n for n in sys.modules if n.startswith('locus.')))"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    imported = {name.removeprefix("locus.") for name in done.stdout.split()}
    assert len(imported) > 20
    assert imported <= set(sources.reached(code))
