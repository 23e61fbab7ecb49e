"""The method as a diagram: the number of a chapter in, inline SVG with the chapter's stage lit, out."""

from __future__ import annotations

from html import escape

CHAPTERS = {
    "01": ("room", "twin", "predicted"),
    "02": ("snapshot", "estimator", "observed"),
    "03": ("score", "map"),
    "04": ("observed", "score"),
    "05": ("map",),
    "06": ("predicted", "observed", "score"),
    "07": ("room", "twin"),
    "08": ("snapshot", "map"),
    "09": ("room", "twin", "predicted", "snapshot", "estimator", "observed", "score", "map"),
}
"""Stages that each chapter is about, by its number."""

# Column, row and words of every box; the two rows meet in the middle.
_BOXES = {
    "room": (0, 0.0, ("room and", "pose")),
    "twin": (1, 0.0, ("digital", "twin")),
    "predicted": (2, 0.0, ("predicted", "paths")),
    "snapshot": (0, 1.0, ("radio", "snapshot")),
    "estimator": (1, 1.0, ("path", "estimator")),
    "observed": (2, 1.0, ("observed", "paths")),
    "score": (3, 0.5, ("score",)),
    "map": (4, 0.5, ("map",)),
}
_ARROWS = (
    *(("room", "twin"), ("twin", "predicted"), ("snapshot", "estimator"), ("estimator", "observed")),
    *(("predicted", "score"), ("observed", "score"), ("score", "map")),
)
_WIDTH, _HEIGHT, _GAP, _ROW = 102, 50, 26, 66


def diagram(chapter: str | None = None) -> str:
    """HTML of the diagram; without a chapter no stage is lit. One line, so that Markdown leaves it alone."""
    lit = CHAPTERS.get(chapter or "", ())
    arrows = "".join(_arrow(*_BOXES[start][:2], *_BOXES[end][:2]) for start, end in _ARROWS)
    boxes = "".join(_box(name, *where, lit=name in lit) for name, where in _BOXES.items())
    width, height = 5 * _WIDTH + 4 * _GAP + 4, _ROW + _HEIGHT + 4
    about = "".join(f" {' '.join(_BOXES[name][2])}," for name in lit).rstrip(",")
    title = (
        "The method: room and pose give the digital twin, which predicts paths; a radio snapshot gives the estimator, "
        "which observes paths; a score compares both and makes the map."
        + (f" This chapter is about:{about}." if lit else "")
    )
    return (
        f'<svg class="method" role="img" viewBox="-2 -2 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f'<title>{escape(title)}</title><defs><marker id="method-tip" viewBox="0 0 8 8" refX="7" refY="4" '
        f'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>{arrows}{boxes}</svg>'
    )


def _corner(column: int, row: float) -> tuple[float, float]:
    return column * (_WIDTH + _GAP), row * _ROW


def _box(name: str, column: int, row: float, words: tuple[str, ...], *, lit: bool) -> str:
    x, y = _corner(column, row)
    middle = y + _HEIGHT / 2 - 9 * (len(words) - 1)
    lines = "".join(
        f'<text x="{x + _WIDTH / 2:g}" y="{middle + 18 * line:g}">{word}</text>' for line, word in enumerate(words)
    )
    kind = "stage lit" if lit else "stage"
    frame = f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
    return f'<g class="{kind}" data-stage="{name}">{frame}{lines}</g>'


def _arrow(column: int, row: float, to_column: int, to_row: float) -> str:
    (x, y), (u, v) = _corner(column, row), _corner(to_column, to_row)
    shift = 12 * (row - to_row)  # arrows that meet at a box end a little apart
    ends = f'x1="{x + _WIDTH:g}" y1="{y + _HEIGHT / 2:g}" x2="{u - 2:g}" y2="{v + _HEIGHT / 2 + shift:g}"'
    return f'<line {ends} marker-end="url(#method-tip)"/>'
