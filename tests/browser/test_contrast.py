"""Text has sufficient contrast with its background, on every page and in both themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Open
from contents import PAGES

LEAST = 4.5
SCRIPT = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "search.html?q=calibration"])
def test_every_text_can_be_read(site: str, new_page: Open, name: str, theme: str) -> None:
    page = new_page(theme=theme)
    page.goto(f"{site}/{name}", wait_until="networkidle")
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme)
    result = page.evaluate(SCRIPT, LEAST)
    assert result["texts"] > 20
    assert result["faint"] == []


@pytest.mark.parametrize(
    ("style", "faint"),
    [
        ("color: #777; background: #fff", True),  # 4.48
        ("color: #767676; background: #fff", False),  # 4.54
        ("color: #000; opacity: 0.4; background: #fff", True),
        ("color: rgba(0, 0, 0, 0.4); background: #fff", True),
        ("color: #fff; background: rgba(0, 0, 0, 0.5)", True),  # over white: grey
        ("color: #fff; background: #000", False),
        ("display: none; color: #fff; background: #fff", False),
    ],
)
def test_the_measure_itself(new_page: Open, style: str, faint: bool) -> None:
    page = new_page()
    page.set_content(f"<body style='background: white'><p style='{style}'>text</p></body>")
    assert bool(page.evaluate(SCRIPT, LEAST)["faint"]) is faint
