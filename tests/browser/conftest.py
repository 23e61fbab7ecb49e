"""A book built from a smoke run, a web server for it, and a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from browser import MEND, find_browser
from explorer_page import CHAPTER, SCENE, settle
from patience import patience
from playwright.sync_api import Browser, Page, expect, sync_playwright
from served import served
from smoke import locked, smoke_run

from locus.book import build, reproduce
from locus.book.chapters import chapters

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest, smoke_folder: Path, shared_folder: Path) -> Path:
    """Folder of the built book, which the first process that needs it builds."""
    given = request.config.getoption("--book")
    if given:
        return Path(given)
    folder = shared_folder / "book"
    index = folder / "_build" / "html" / "index.html"
    with locked(folder):
        if not index.is_file():
            for source in chapters():  # one at a time, as other tests may wait for a part of the run
                with smoke_run(smoke_folder, partial(reproduce.reproduce, only=source.stem)):
                    pass
            with smoke_run(smoke_folder, reproduce.reproduce) as run:
                build.build_book(run, folder)
    return index.parent


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """Address of the built book."""
    with served(built) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_browser()
    assert path, MEND
    expect.set_options(timeout=1000 * patience(30))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[Open]:
    """Factory of empty pages with a given width and theme."""
    contexts = []

    def make(width: int = 1280, theme: str = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
        context.set_default_timeout(1000 * patience(30))
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def explorer(request: pytest.FixtureRequest, site: str, new_page: Open) -> Iterator[Page]:
    """The chapter, once its first map is drawn; fails on any error while it is open."""
    page = new_page(request.param)
    wrong: list[str] = []
    page.on(
        "requestfailed", lambda request: wrong.append(request.url) if request.failure != "net::ERR_ABORTED" else None
    )
    page.on("response", lambda response: wrong.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(f"{site}/{CHAPTER}#{SCENE}", wait_until="networkidle")
    page.locator("#explorer .map").scroll_into_view_if_needed()
    settle(page)
    yield page
    assert wrong == []
