"""The book as people meet it: built from a smoke run, behind a plain web server, in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browser import MEND, find_browser
from playwright.sync_api import Browser, Page, sync_playwright

import locus
from locus import book, pipeline

CHAPTERS = ["01_digital_twin", "02_estimator", "03_score_and_loss", "04_baselines", "05_results"]
PAGES = ["book/intro.html", *(f"book/chapters/{name}.html" for name in CHAPTERS)]
HARMLESS = ("THEBE_JS_URL", "Got invalid theme mode")  # the theme's own


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the built book."""
    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(folder / "data"))
        run = locus.open_run("smoke")
        pipeline.reproduce(run)
        index = book.build(run, folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=index.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_browser()
    assert path, MEND
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": request.param, "height": 900})
    yield page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_whole_and_asks_no_other_host(site: str, page: Page, name: str) -> None:
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
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
    assert failed == []
    assert [error for error in errors if not any(word in error for word in HARMLESS)] == []
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert sideways <= 0


@pytest.mark.parametrize(
    ("name", "num_figures", "sentence"),
    [
        (PAGES[1], 3, "the noise in 200 MHz, at a noise figure of 7 dB, is -84.0 dBm"),
        (PAGES[2], 4, "The threshold, -20.0 dB, lies where 30 % of all snapshots of pure noise would yield a path"),
        (PAGES[3], 4, "3425 parameters fit into 14 kB"),
        (PAGES[4], 3, "On the same snapshots of 10 rooms LOCUS-DT is ahead of Gauss-Cart by"),
        (PAGES[5], 9, "one of 50 places drawn at random, on Eval Grid one of 50 points of a regular grid"),
    ],
)
def test_chapter_shows_its_figures_mathematics_and_run(
    site: str, page: Page, name: str, num_figures: int, sentence: str
) -> None:
    page.goto(f"{site}/{name}", wait_until="networkidle")
    images = page.locator("article img")
    assert images.count() == num_figures
    assert all(len(images.nth(i).get_attribute("alt") or "") > 20 for i in range(num_figures))
    assert page.locator("mjx-container").count() >= 6
    assert page.locator("mjx-merror").count() == 0
    assert page.get_by_text("This page shows the run smoke").is_visible()
    assert sentence in " ".join(page.locator("article").inner_text().split())


def test_front_page_leads_to_the_chapter(site: str, page: Page) -> None:
    page.goto(site, wait_until="networkidle")
    page.locator("article").get_by_role("link", name="The digital twin").click()
    assert "The digital twin" in page.title()
