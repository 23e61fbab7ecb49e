"""Every page is complete: no errors, no requests to other hosts, all images and mathematics, nothing cut off."""

from __future__ import annotations

import pytest
from conftest import Open
from contents import PAGES
from playwright.sync_api import Page

HARMLESS = ("THEBE_JS_URL",)  # the theme's own


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_and_asks_no_other_host(site: str, new_page: Open, name: str, width: int) -> None:
    page = new_page(width)
    asked: list[str] = []
    failed: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    response = page.goto(f"{site}/{name}", wait_until="networkidle")
    assert response is not None
    assert response.ok
    assert [url for url in asked if not url.startswith((f"{site}/", "data:", "blob:"))] == []
    assert failed == []
    assert [error for error in errors if not any(word in error for word in HARMLESS)] == []
    pictures = page.evaluate("[...document.images].map(image => [image.src, image.naturalWidth, image.alt.trim()])")
    assert [source for source, natural_width, text in pictures if natural_width == 0 or len(text) <= 20] == []
    alone = (
        "[...document.querySelectorAll('article img')].filter(image => !image.closest('a[href]')).map(one => one.src)"
    )
    assert page.evaluate(alone) == []  # each image links to its full size
    formulas, rendered = (page.locator(kind).count() for kind in (".math", ".math mjx-container"))
    assert formulas <= rendered
    assert page.locator("mjx-merror").count() == 0
    if width < 1280:
        assert_nothing_is_cut_off(page)


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
    assert_nothing_is_cut_off(page)


def assert_nothing_is_cut_off(page: Page) -> None:
    """The page does not scroll sideways; content wider than the screen scrolls within its element."""
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert sideways <= 0
    assert page.evaluate(CUT) == []
