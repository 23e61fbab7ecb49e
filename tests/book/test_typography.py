"""The book's style of tables and numbers, on small tables made by pandas itself."""

from __future__ import annotations

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from docutils import nodes

from locus.book.typography import frame_html, is_number, joined, numbers, typeset


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-3.64 [-3.70, -3.58]", "−3.64 [−3.70, −3.58]"),
        ("-0.000 [-0.00, 0.01], -0", "0.000 [0.00, 0.01], 0"),
        ("+0.000 [-0.001, +0.00]", "0.000 [−0.001, 0.00]"),
        ("-0.05", "−0.05"),
        ("20000 snapshots of 2000", "20,000 snapshots of 2,000"),
        ("from -30 to -20 dB", "from −30 to −20 dB"),
        *[(text, text) for text in ("2026-11-16 12:40", "LOCUS-DT", "802.11-2016", "2026.9.0", "x-1")],
    ],
)
def test_numbers_are_set(text: str, wanted: str) -> None:
    assert numbers(text) == wanted
    assert numbers(wanted) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("−3.64 [−3.70, −3.58]", "−3.64 [−3.70,~−3.58]"),
        ("1,234 [∞, +1,300.5]", "1,234 [∞,~+1,300.5]"),
        ("54 % of [1, 2, 3]", "54~% of [1, 2,~3]"),
        ("18.3 [16.0, 20.7] % on", "18.3 [16.0,~20.7]~% on"),
        (" % of the way", "~% of the way"),  # after a pasted number
        ("1, 2 and 3, 5 %d", "1, 2 and 3, 5 %d"),
        ("in 6.5 min, 7 dB at 12 GHz and 200 m²", "in 6.5~min, 7~dB at 12~GHz and 200~m²"),
        ("5 snapshots, 3 s", "5 snapshots, 3~s"),
        ("L = −1.26 nats, where R = 5", "L~=~−1.26~nats, where R~=~5"),
        ("trained with errors − LOCUS-DT", "trained with errors~− LOCUS-DT"),
        (" ± ", "~±~"),  # between pasted numbers
        ("= ", "=~"),  # between a formula and a pasted number
        ("points (n, 2) of cell (0, 0), in (a, 2)", "points (n,~2) of cell (0,~0), in (a, 2)"),
    ],
)
def test_lines_do_not_break_inside_intervals_or_before_units(text: str, wanted: str) -> None:
    assert joined(text) == wanted.replace("~", "\N{NO-BREAK SPACE}")
    assert joined(joined(text)) == joined(text)


def test_intervals_in_tables_are_aligned_and_joined() -> None:
    _, soup = table(pd.DataFrame({"L": ["-1.5 [-2, -1]"]}))
    assert [(cell.text, cell["class"]) for cell in soup.tbody.find_all("td")] == [
        ("−1.5 [−2,\N{NO-BREAK SPACE}−1]", ["number"])
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", True),
        ("-3.64 [-3.70, -3.58]", True),
        ("12 kB", True),
        ("+0.160\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.020", True),
        ("56.5 to 57.0", True),
        ("2.4 million", True),
        ("Gauss-Cart", False),
        ("2026-11-16 12:40", False),
        ("1,152 each, 1.2 million", False),
    ],
)
def test_numbers_are_told_from_words(text: str, expected: bool) -> None:
    assert is_number(text) is expected


def table(frame: pd.DataFrame) -> tuple[list[list[str]], BeautifulSoup]:
    soup = BeautifulSoup(frame_html(frame.to_html()), "html.parser")
    return [[cell.text.strip() for cell in row.find_all("th")] for row in soup.thead.find_all("tr")], soup


def test_names_of_the_index_share_the_row_of_the_columns() -> None:
    frame = pd.DataFrame({"L": [-1.5, 2], "what": ["a", "b"]}, index=pd.Index(["x", "y"], name="method"))
    heads, soup = table(frame)
    assert heads == [["method", "L", "what"]]
    rows = [[(cell.text, cell.get("class")) for cell in row.find_all("td")] for row in soup.tbody.find_all("tr")]
    assert rows == [[("−1.5", ["number"]), ("a", None)], [("2.0", ["number"]), ("b", None)]]


def test_two_levels_keep_two_rows_and_a_name_of_the_columns_stands_above_them() -> None:
    index = pd.MultiIndex.from_tuples([("grid", "x"), ("grid", "y")], names=["set", "method"])
    two = pd.DataFrame([[1, 2], [3, 4]], index, pd.MultiIndex.from_tuples([("ours", "L"), ("ours", "R")]))
    assert table(two)[0] == [["", "", "ours"], ["set", "method", "L", "R"]]
    named = pd.DataFrame([[1, 2], [3, 4]], index, pd.Index(["paths", "samples"], name="R [%]"))
    assert table(named)[0] == [["", "", "R [%]"], ["set", "method", "paths", "samples"]]


def test_what_is_unknown_is_left_empty() -> None:
    _, soup = table(pd.DataFrame({"error": [None, 2802.5]}))
    assert [cell.text for cell in soup.tbody.find_all("td")] == ["", "2,802.5"]


def test_code_mathematics_and_references_are_left_alone() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    for kind in (nodes.literal, nodes.math, nodes.reference, nodes.emphasis):
        document += nodes.paragraph("", "", kind("", "-3 of 2000"))
    typeset(document)
    assert [part.astext() for part in document] == ["-3 of 2000"] * 3 + ["−3 of 2,000"]


def test_names_of_methods_and_dates_stay_whole() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += nodes.paragraph("", "Of LOCUS-DT's maps and GMM-Cart's, in `LOCUS-DT`.")
    document += nodes.literal("", "LOCUS-DT")
    document += nodes.paragraph("", "2026-11-17 20:01")
    typeset(document)
    whole = [part.astext() for part in document.findall(nodes.inline)]
    assert whole == ["LOCUS-DT's", "GMM-Cart's", "LOCUS-DT", "2026-11-17"]
    assert document[0].astext() == "Of LOCUS-DT's maps and GMM-Cart's, in `LOCUS-DT`."
    _, soup = table(pd.DataFrame({"cost to LOCUS-DT [nat]": [1.0]}))
    assert [name.text for name in soup.find_all(class_="name")] == ["LOCUS-DT"]


def test_a_line_after_a_formula_does_not_begin_with_a_space() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += nodes.paragraph("", "", nodes.math("", "x"), nodes.Text(" nats of 3 nats"), nodes.strong("", "5"))
    document += nodes.paragraph("", "", nodes.strong("", "5"), nodes.Text(" nats"))
    typeset(document)
    assert [part.astext() for part in document] == ["x nats of 3\N{NO-BREAK SPACE}nats5", "5\N{NO-BREAK SPACE}nats"]


def test_no_line_begins_with_what_ends_a_formula() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += nodes.paragraph(
        "", "", nodes.Text("If "), nodes.math("", "x"), nodes.Text("), then "), nodes.math("", "y")
    )
    typeset(document)
    assert document.astext() == "If x), then y"
    assert [part.astext() for part in document.findall(nodes.inline)] == ["x),"]


def test_a_number_stays_with_its_chapter_in_a_link_too() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += nodes.paragraph("", "", nodes.reference("", "chapter 2000"), nodes.Text(", Sec. III-C"))
    typeset(document)
    assert document.astext() == "chapter\N{NO-BREAK SPACE}2000, Sec. III-C"
    assert [part.astext() for part in document.findall(nodes.inline)] == ["Sec. III-C"]


def test_long_names_break_between_their_parts() -> None:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += nodes.literal("", "locus.judge.calibration.coverage_by_snr")
    document += nodes.literal("", "locus.judge.metrics.summary")  # moves to the next line as a whole
    document += nodes.literal("", "locus locate room.geojson")
    document += nodes.table("", nodes.literal("", "locus.judge.metrics"))
    document += nodes.table("", nodes.literal("", "noise_figure_db"))
    typeset(document)
    assert [len(list(part.findall(nodes.raw))) for part in document] == [5, 0, 0, 2, 0]
