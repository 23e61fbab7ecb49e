"""Captions: numbers for the figures and tables of an executed chapter.

A caption is the emphasis that the text after a figure or a table begins with.
"""

from __future__ import annotations

import re

import nbformat

_CAPTION = re.compile(r"\A\*(?!\*)((?:[^*]|\*\*[^*]+\*\*)+)\*(?!\*)[ \n]*")


def number(notebook: nbformat.NotebookNode, chapter: int) -> None:
    """Number the captioned figures and tables of a chapter, in place, for example as "Figures 5.2 to 5.4"."""
    counts = {"Figure": 0, "Table": 0}
    waiting: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            kind = shows(cell)
            if kind:
                waiting.append(kind)
            continue
        found = _CAPTION.match(cell.source)
        if waiting and found:
            rest = cell.source[found.end() :]
            named = _name(waiting, counts, chapter)
            cell.source = f"```{{div}} caption\n**{named}.** {found[1].strip()}\n```\n\n{rest}".rstrip()
        waiting = []


def shows(cell: nbformat.NotebookNode) -> str | None:
    """What a cell shows, ``Figure`` or ``Table``, if it does."""
    tags = cell.metadata.get("tags", [])
    if "remove-cell" in tags or "remove-output" in tags:
        return None
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if any(kind.startswith("image/") for kind in data):
            return "Figure"
        if 'class="dataframe"' in "".join(data.get("text/html", "")):
            return "Table"
    return None


def _name(waiting: list[str], counts: dict[str, int], chapter: int) -> str:
    """Names of what waits for a caption, and counts that go on behind them."""
    names = []
    for kind in dict.fromkeys(waiting):
        first, last = counts[kind] + 1, counts[kind] + waiting.count(kind)
        counts[kind] = last
        if first == last:
            names.append(f"{kind} {chapter}.{first}")
        else:
            names.append(f"{kind}s {chapter}.{first} {'and' if last == first + 1 else 'to'} {chapter}.{last}")
    return " and ".join(names)
