"""Every page is complete: no errors, no requests to other hosts, all images and mathematics, nothing cut off."""

from __future__ import annotations

import gzip
import re

import pytest
from conftest import Open
from contents import PAGES
from playwright.sync_api import Page, Request

HEAVIEST = 1_000_000
"""Bytes of a page with all that it loads, compressed."""


def body(request: Request) -> bytes:
    response = request.response()
    return response.body() if response and response.ok else b""


WIDTHS = (1280, 390, 768, 1024, 1920)
"""Phone, tablet, half a screen, laptop and large screen; pages are loaded at the first."""


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_at_every_width_and_asks_no_other_host(site: str, new_page: Open, name: str) -> None:
    page = new_page(WIDTHS[0])
    asked: list[str] = []
    failed: list[str] = []
    errors: list[str] = []
    sizes: list[int] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfinished", lambda request: sizes.append(len(gzip.compress(body(request)))))
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    response = page.goto(f"{site}/{name}", wait_until="networkidle")
    assert response is not None
    assert response.ok
    assert sum(sizes) < HEAVIEST
    page.evaluate("[...document.images].forEach(image => { image.loading = 'eager'; })")
    page.wait_for_function("[...document.images].every(image => image.complete)")
    pictures = page.evaluate("[...document.images].map(image => [image.src, image.naturalWidth, image.alt.trim()])")
    assert [source for source, natural_width, text in pictures if natural_width == 0 or len(text) <= 20] == []
    formulas, rendered = (page.locator(kind).count() for kind in (".math", ".math mjx-container"))
    assert formulas <= rendered
    assert page.locator("mjx-merror").count() == 0
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert_nothing_is_cut_off(page, width)
        if width >= WIDTHS[0]:
            assert page.evaluate(SCROLLING) == [], "a table that fits on no screen"
    assert [url for url in asked if not url.startswith((f"{site}/", "data:", "blob:"))] == []
    assert failed == []
    assert errors == []


# Numbers of a smoke run are wider than any that a reader meets: tables of the paper's run fit without scrolling.
SCROLLING = """() => [...document.querySelectorAll("article table")]
    .filter(table => table.checkVisibility() && table.scrollWidth > 1.3 * table.clientWidth)
    .map(table => table.innerText.slice(0, 80))"""


@pytest.mark.parametrize("name", PAGES)
def test_tables_are_set_in_one_style(site: str, new_page: Open, name: str) -> None:
    page = new_page(390)
    page.goto(f"{site}/{name}", wait_until="domcontentloaded")
    tables = page.evaluate(
        """[...document.querySelectorAll("article table")].map(table => ({
            classes: [...table.classList],
            heads: [...table.querySelectorAll("thead tr")].map(row => row.innerText.trim()),
            cells: [...table.querySelectorAll("tbody :is(td, th)")].map(cell => [
                cell.innerText.trim(), getComputedStyle(cell).textAlign, cell.tagName, cell.matches(":has(code)"),
            ]),
            broken: [...table.querySelectorAll("code")].filter(code => {
                const lines = new Set([...code.getClientRects()].map(box => Math.round(box.top))).size;
                return lines > 1 + (code.innerText.match(/[./_ -]/g) ?? []).length;
            }).map(code => code.innerText),
        }))"""
    )
    for table in tables:
        assert "table" in table["classes"]
        assert table["broken"] == [], "names that break elsewhere than between their parts"
        if "dataframe" in table["classes"]:
            assert "" not in table["heads"], "a header row without a word"
        for text, align, tag, code in table["cells"]:
            assert not re.search(r"NaN|(?<![\w.])-\d|−0(\.0+)?(?![\d.])|(?<![\w.,-])\d{4,}\.0\b", text) or code, text
            if re.fullmatch(r"[+−]?\d+\.\d+( \[.*\])?", text) and tag == "TD" and "dataframe" in table["classes"]:
                assert align == "right", text


LINES = """(elements, parts) => elements.flatMap(element => {
    const found = [], texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const part of texts.currentNode.data.matchAll(new RegExp(parts, "gi"))) {
        const range = document.createRange();
        range.setStart(texts.currentNode, part.index);
        range.setEnd(texts.currentNode, part.index + part[0].length);
        if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(part[0]);
    }
    return found;
})"""
"""Parts of texts that do not stand on one line."""


OVER = """values => values.filter(value => {
    const name = value.previousElementSibling.getBoundingClientRect(), range = document.createRange();
    range.selectNodeContents(value);
    const [first] = range.getClientRects();
    return first.left < name.right - 1 && first.top < name.bottom - 4;
}).map(value => value.parentElement.innerText)"""
"""Values of constants that are printed over their names."""


def test_constants_dates_and_results_of_a_search_break_between_their_parts(site: str, new_page: Open) -> None:
    page = new_page(390)
    for name in PAGES:
        if "/api/" in name:
            page.goto(f"{site}/{name}", wait_until="domcontentloaded")
            values = page.locator("dt.sig .sig-name + em.property")
            assert values.evaluate_all(LINES, r"[\d.]+e-\d+|\d+ \*\* \d+") == [], name
            assert values.evaluate_all(OVER) == [], name
    page.goto(f"{site}/book/status.html", wait_until="domcontentloaded")
    assert page.locator("article td").evaluate_all(LINES, r"\d{4}-\d\d-\d\d") == []
    page.goto(f"{site}/search.html?q=calibration", wait_until="networkidle")
    results = page.locator("#search-results li")
    results.first.wait_for()
    assert results.locator("> a").evaluate_all(LINES, r"[a-z]+(?=[._][a-z])") == []
    excerpts = results.locator("p.context").all_inner_texts()
    assert excerpts
    assert not any("Contents" in text for text in excerpts), "a page's list of contents instead of its text"


@pytest.mark.parametrize("width", [390, 1280])
def test_rows_in_groups_keep_the_name_of_their_group(site: str, new_page: Open, width: int) -> None:
    """On a phone, which has room for one column of names, above the first row; elsewhere in a column of its own."""
    page = new_page(width)
    page.goto(f"{site}/book/chapters/05_results.html", wait_until="domcontentloaded")
    table = page.locator("article table.grouped").first
    table.evaluate("table => table.scrollTo(150, 0)")
    assert table.locator("th.group:visible").count() == (0 if width < 576 else table.locator("th.group").count())
    name = table.locator("tbody th.row-name").first
    assert (name.inner_text() == "Eval Grid\nLOCUS-DT") is (width < 576)
    first, box = table.bounding_box(), name.bounding_box()
    assert first is not None
    assert box is not None
    assert box["x"] >= first["x"] - 1


CUT = """() => [...document.querySelectorAll("article *")].filter(element => {
    const box = element.getBoundingClientRect();
    if (!element.checkVisibility() || element.closest("mjx-assistive-mml") || box.width <= 1) return false;
    if (box.left < -1) return true;
    if (box.right <= innerWidth + 1 || getComputedStyle(element).position === "absolute") return false;
    for (let one = element.parentElement; one; one = one.parentElement) {
        const scrolls = ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
        if (scrolls && one.getBoundingClientRect().right <= innerWidth + 1) return false;
    }
    return true;
}).map(element => element.outerHTML.slice(0, 80))"""
"""Elements out of reach: beyond the left edge, or beyond the right edge and not in a scrolling element."""


def test_results_of_a_search_fit_on_a_phone(site: str, new_page: Open) -> None:
    page = new_page(390)
    page.goto(f"{site}/search.html?q=Levenberg", wait_until="networkidle")
    assert_nothing_is_cut_off(page, 390)


def assert_nothing_is_cut_off(page: Page, width: int) -> None:
    """The page does not scroll sideways; content wider than the screen scrolls within its element."""
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.evaluate("document.getAnimations().forEach(one => one instanceof CSSTransition && one.finish())")
    sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert sideways <= 0, width
    assert page.evaluate(CUT) == [], width
