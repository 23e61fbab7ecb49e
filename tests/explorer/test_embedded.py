"""What a page of the explorer embeds cannot end its script: every ``<`` in it is escaped."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser

import pytest
import shapely

import locus
from locus.explorer import Explorer

HOSTILE = ("</script><script>alert(1)</script>", "<!--<script>", "</SCRIPT >", "<img src=x onerror=alert(1)>")


class Elements(HTMLParser):
    """Collects elements that start, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[str] = []
        self.script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.started.append(tag)

    def handle_data(self, data: str) -> None:
        if self.started[-1:] == ["script"]:
            self.script += data


@pytest.mark.parametrize("text", HOSTILE)
def test_settings_and_materials_cannot_leave_the_script(text: str) -> None:
    room = locus.Layout(shapely.box(0, 0, 10, 10))
    object.__setattr__(room, "materials", (text,))  # no check stands between a room and the page here
    page = Explorer({"name": text, text: 1}, room).to_html()
    found = Elements()
    found.feed(page)
    assert found.started.count("script") == 1
    assert "img" not in found.started
    assert text not in page
    rest, embedded = found.script.partition("})(")[2], []
    for _ in ("page", "worker", "options"):
        value, end = json.JSONDecoder().raw_decode(rest)
        embedded.append(value)
        rest = rest[end:].removeprefix(", ")
    assert embedded[2]["settings"] == {"name": text, text: 1}
    assert embedded[2]["room"]["outline"]["material"] == text


def test_a_notebook_shows_it_in_an_attribute_that_it_cannot_leave() -> None:
    explorer = Explorer({"name": '"><script>alert(1)</script>'}, None)
    shown = explorer._repr_html_()
    found = Elements()
    found.feed(shown)
    assert found.started == ["iframe"]
    assert html.unescape(shown.partition('srcdoc="')[2].rpartition('"')[0]) == explorer.to_html()
