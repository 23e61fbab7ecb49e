"""Sphinx extension: pages with tables and numbers in, the same in one style out.

Numbers have minus signs and thousands separators, and no sign if they are zero. Those in tables are aligned at the
right; long names break between their parts, and the header of a pandas table takes as few rows as it can.
No line breaks inside an interval, between a number and its unit, or at the hyphens of a method's name or a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx import addnodes

_MINUS = re.compile(r"(?<![\w.,)\]\-−/])-(?=(?:\d|\.\d|∞))")
_ZERO = re.compile(r"(?<![\w.,)\]])[-−+](?=0(?:\.0+)?(?!\d|[.,]\d))")
_LONG = re.compile(r"(?<!RFC )(?<![\w.,/#:−-])([+−-]?)(\d{4,})(?![\w-]|\.\d+\.)")
_INFINITE = re.compile(r"(?<![\w.,)\]])(?:(?<=-)|(?<=\+)|(?<= ))inf\b")
_UNIT = r"(?: ?(?:%|°|[kMGT]?i?B|[kMG]iB|ns|µs|ms|s|min|h|days|dBm?|nats?|mm|m²?|million|points|GiB))?"
_VALUE = rf"[+−±]?(?:∞|[\d,.]+){_UNIT}"
_NUMBER = re.compile(
    rf"(?:under |about |≈ ?)?{_VALUE}(?:\s±\s{_VALUE})?"
    rf"(?: \[{_VALUE}, {_VALUE}\])?(?: (?:to|of) {_VALUE})?|{_VALUE}(?:, {_VALUE})+"
)
_UNITS = "%|degrees|ns|µs|ms|s|min|h|days|GHz|MHz|kHz|dBm?|nats?|mm|cm|m²?|[kKMG]i?B|million"
# A pasted number ends its node
_JOINED = re.compile(
    rf"(?<=[\d∞],) (?=[+−]?(?:∞|[\d,.]+)\])|(?:(?<=[\d\]])|^) (?=(?:{_UNITS})(?!\w))"
    r"|(?<=\([n…\d],) (?=[n…\d]\))|(?<=[Cc]hapter) (?=\d)|(?<=eq\.) (?=\()| (?=− )"
    r"| (?=±)|(?<=±) |(?<=^=) $|(?<=\b[LGR]) (?== )|(?<=\b[LGR][ \N{NO-BREAK SPACE}]=) (?=[+−\d]|$)"
)
_NAMES = re.compile(
    r"((?:LOCUS-DT|Gauss-Cart|Gauss-Polar|GMM-Cart)(?:['’]s)?|3GPP TR 38\.901|ITU-R(?: P\.2040)?|L-BFGS"
    r"|Cortex-M|\bp-values?|\bSec\. [IVX]+-[A-Z]|\b\d{4}-\d\d-\d\d\b)"
)
_BREAKS = re.compile(r"(?<=[./_])(?<!^[._])(?=[^./_])")
_SHORT, _SHORT_IN_TABLE = 28, 16  # length of names that move to the next line as a whole
_CODE = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.image,
    addnodes.desc_signature,
)
_KEPT = (*_CODE, nodes.reference, nodes.citation)  # a year, or the number of an issue, is no count


def setup(app: Any) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("doctree-resolved", lambda _, doctree, __: typeset(doctree))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def typeset(doctree: nodes.document) -> None:
    """Set numbers and tables of a page, in place."""
    for text in list(doctree.findall(nodes.Text)):
        if numbers(text) != text and not _inside(text, _KEPT):
            text.parent.replace(text, nodes.Text(numbers(text)))
    for table in doctree.findall(nodes.table):
        _align(table)
    for name in list(doctree.findall(nodes.literal)):
        text, in_table = name.astext(), _inside(name, (nodes.table,))
        if len(text) > (_SHORT_IN_TABLE if in_table else _SHORT) and (in_table or " " not in text):
            _let_break(name)
    for raw in list(doctree.findall(nodes.raw)):
        if raw.get("format") == "html" and 'class="dataframe"' in raw.astext():
            raw.parent.replace(raw, nodes.raw("", frame_html(raw.astext()), format="html"))
    for text in list(doctree.findall(nodes.Text)):
        if joined(text) != text and not _inside(text, (*_CODE, nodes.citation)):
            # A line may break after a formula whatever follows, and would begin with a space that does not.
            start = " " if text.startswith(" ") and _after_formula(text) else ""
            text.parent.replace(text, nodes.Text(start + joined(text.removeprefix(start) if start else text)))
    for formula in list(doctree.findall(nodes.math)):
        _keep_together(formula)
    for text in list(doctree.findall(nodes.Text)):
        if _NAMES.search(text) and not _inside(text, _CODE):
            parts = [one for one in _NAMES.split(text) if one]
            text.parent.replace(
                text,
                [nodes.inline("", one, classes=["name"]) if _NAMES.match(one) else nodes.Text(one) for one in parts],
            )


def numbers(text: str) -> str:
    """Text with its numbers as the book sets them: ``-0.00`` as ``0.00``, ``-3`` as ``−3``, ``20000`` as ``20,000``."""
    unsigned = _ZERO.sub("", text)
    unsigned = _INFINITE.sub("∞", unsigned)
    grouped = _LONG.sub(lambda found: f"{found[1]}{int(found[2]):,}", unsigned)
    return _MINUS.sub("−", grouped)


def joined(text: str) -> str:
    """Text whose lines break neither inside an interval nor before a unit."""
    return _JOINED.sub("\N{NO-BREAK SPACE}", text)


def is_number(text: str) -> bool:
    """Whether a cell holds a number, perhaps with a unit and an interval."""
    return bool(_NUMBER.fullmatch(numbers(text.strip())))


def frame_html(html: str) -> str:
    """HTML of a pandas table in the book's style."""
    soup = BeautifulSoup(html, "html.parser")
    for style in soup.find_all("style"):
        style.decompose()
    for table in soup.find_all("table"):
        table.attrs = {"class": "table dataframe"}
        if table.thead and table.tbody:
            _merge_header(soup, table.thead, _num_index_columns(table))
        for text in table.find_all(string=True):
            if text.strip():
                text.replace_with("" if text.strip() == "NaN" else numbers(text))
        _align_frame(table)
        for text in table.find_all(string=True):
            text.replace_with(joined(text))
        for text in table.find_all(string=_NAMES):
            text.replace_with(BeautifulSoup(_NAMES.sub(r'<span class="name">\1</span>', text), "html.parser"))
    return str(soup)


def _num_index_columns(table: Tag) -> int:
    """Number of columns of the index: those of the body's first row that are headers."""
    return len(table.tbody.tr.find_all("th")) if table.tbody and table.tbody.tr else 0


def _merge_header(soup: BeautifulSoup, head: Tag, num_index: int) -> None:
    """Move names of the index, for which pandas has a row of its own, into the row above."""
    rows = head.find_all("tr")
    for row in rows:
        row.attrs = {}
    if len(rows) < 2 or any(cell.text.strip() for cell in rows[-1].find_all("th")[num_index:]):
        return
    names, above = rows[-1].find_all("th")[:num_index], rows[-2].find_all("th")
    columns_name = above[num_index - 1].text.strip()
    if columns_name and len(rows) == 2:  # what all columns hold, above them
        top = soup.new_tag("tr")
        for _ in range(num_index):
            top.append(soup.new_tag("th"))
        top.append(soup.new_tag("th", colspan=str(len(above) - num_index), string=columns_name))
        head.insert(0, top)
    for name, cell in zip(names, above, strict=False):
        cell.string = name.text
    rows[-1].decompose()


def _align_frame(table: Tag) -> None:
    """Mark the columns of numbers, and their headers."""
    rows = table.tbody.find_all("tr") if table.tbody else []
    if not rows:
        return
    # Index cells may span rows, so columns are counted from the right.
    count = len(rows[0].find_all("td"))
    for number in range(count):
        cells = [row.find_all("td")[number] for row in rows]
        if _is_column([cell.text for cell in cells]):
            heads = [row.find_all("th") for row in table.thead.find_all("tr")] if table.thead else []
            for head in heads:
                if len(head) >= count - number and not head[-1].get("colspan"):
                    head[number - count]["class"] = "number"
            for cell in cells:
                cell["class"] = "number"


def _align(table: nodes.table) -> None:
    rows = [list(row.findall(nodes.entry)) for body in table.findall(nodes.tbody) for row in body.findall(nodes.row)]
    heads = [list(row.findall(nodes.entry)) for head in table.findall(nodes.thead) for row in head.findall(nodes.row)]
    if not rows or any(len(row) != len(rows[0]) for row in [*rows, *heads]):
        return
    for number in range(1, len(rows[0])):
        if _is_column([row[number].astext() for row in rows]):
            for row in [*rows, *heads]:
                row[number]["classes"] = [*row[number]["classes"], "number"]


def _is_column(cells: Iterable[str]) -> bool:
    filled = [text for text in cells if text.strip() not in ("", "-", "–", "the same", "not recorded")]
    return bool(filled) and all(map(is_number, filled))


def _let_break(name: nodes.literal) -> None:
    """Let a name break after dots, slashes and underscores."""
    for text in list(name.findall(nodes.Text)):
        parts = _BREAKS.split(text)
        pieces: list[nodes.Node] = [nodes.Text(parts[0])]
        for part in parts[1:]:
            pieces += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]
        text.parent.replace(text, pieces)


def _keep_together(formula: nodes.math) -> None:
    """Let no line begin with the comma or full stop that follows a formula."""
    parent: nodes.Element = formula.parent
    after = next(iter(parent[parent.index(formula) + 1 :]), None)
    if isinstance(after, nodes.Text) and (found := re.match(r"[.,;:!?)]+", after)):
        parent.replace(after, nodes.Text(after[found.end() :]))
        parent.replace(formula, nodes.inline("", "", formula.deepcopy(), nodes.Text(found[0]), classes=["name"]))


def _after_formula(text: nodes.Text) -> bool:
    place: int = text.parent.index(text)
    return place > 0 and isinstance(text.parent[place - 1], nodes.math)


def _inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kinds):
            return True
        parent = parent.parent
    return False
