"""The equations page: it lists all 25 equations of the paper, each with existing functions."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "equations.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| \[\((\d+)\)\]\(#eq-\1\) \|.*?\| (.*) \|$", PAGE, re.MULTILINE))
NAMES = sorted(set(re.findall(r"\{py:\w+\}`([\w.]+)`", PAGE)))


def test_page_has_each_of_the_25_equations_in_order_with_what_computes_it() -> None:
    assert list(ROWS) == [str(number) for number in range(1, 26)]
    assert all("{py:" in functions for functions in ROWS.values())


def test_each_equation_stands_in_one_place_of_the_book_below_its_target() -> None:
    sources = [PAGE, *(re.sub(r"^# ?", "", p.read_text(), flags=re.M) for p in (ROOT / "notebooks").glob("*.py"))]
    blocks = [
        block for text in sources for block in re.findall(r"^\(eq-(\d+)\)=\n\$\$\n(.*?)\n\$\$$", text, re.M | re.S)
    ]
    assert sorted(int(number) for number, _ in blocks) == list(range(1, 26))
    assert all(rf"\tag{{{number}}}" in equation for number, equation in blocks)
    # Sphinx splits equations of several lines, and MathJax refuses a number inside
    assert [number for number, equation in blocks if "\\\\" in equation] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_computes_an_equation_exists_and_can_be_called(name: str) -> None:
    parts = name.split(".")
    first_capital = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    module = importlib.import_module(".".join(parts[:first_capital]))
    assert callable(reduce(getattr, parts[first_capital:], module))
