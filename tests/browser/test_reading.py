"""Typical use of the book: from the front page to a chapter, the search, and the source."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Open
from contents import CHAPTERS, PAGES
from playwright.sync_api import expect

from locus.book import diagram

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("chapter", "num_figures", "sentence"),
    [
        ("01_digital_twin", 3, "the noise in 200 MHz, at a noise figure of 7 dB, is −84.0 dBm"),
        ("02_estimator", 4, "The threshold, −20.0 dB, lets 30 % of pure-noise snapshots through"),
        ("03_score_and_loss", 4, "3,425 parameters fit into 14 kB"),
        ("04_baselines", 4, "On the same snapshots of 10 rooms, LOCUS-DT is ahead of Gauss-Cart by"),
        ("05_results", 9, "one of 50 places drawn at random, on Eval Grid one of 50 points of a regular grid"),
    ],
)
def test_chapter_shows_its_figures_mathematics_and_numbers(
    site: str, new_page: Open, chapter: str, num_figures: int, sentence: str
) -> None:
    page = new_page()
    page.goto(f"{site}/book/chapters/{chapter}.html", wait_until="networkidle")
    assert page.locator("article img").count() == num_figures
    assert page.locator("mjx-container").count() >= 6
    assert sentence in " ".join(page.locator("article").inner_text().split())


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter_names_its_run_and_gives_its_source_away(site: str, new_page: Open, name: str) -> None:
    page = new_page()
    page.goto(f"{site}/{name}", wait_until="networkidle")
    expect(page.get_by_text("This page shows the run ")).to_be_visible()
    source = page.locator("article a.download").get_attribute("href")
    chapter = Path(name).stem
    script = page.request.get(f"{site}/book/chapters/{source}")
    assert script.text() == (ROOT / "notebooks" / f"{chapter}.py").read_text(encoding="utf-8")
    button = page.locator("a.btn-download-source-button").get_attribute("href")
    notebook = json.loads(page.request.get(f"{site}/book/chapters/{button}").text())
    assert any(cell.get("outputs") for cell in notebook["cells"])


def test_without_an_address_nothing_leads_to_binder_or_colab(built: Path) -> None:
    for name in PAGES:
        assert not re.search(r"href=[^>]*(mybinder\.org|colab\.research)", (built / name).read_text(encoding="utf-8"))


def test_front_page_leads_to_the_chapter(site: str, new_page: Open) -> None:
    page = new_page()
    page.goto(site, wait_until="networkidle")
    page.locator("article").get_by_role("link", name="The digital twin").click()
    expect(page).to_have_title(re.compile("The digital twin"))


@pytest.mark.parametrize(
    ("word", "title"), [("Levenberg", "2. What the receiver hears"), ("calibration", "5. Results")]
)
def test_search_finds_the_chapter(site: str, new_page: Open, word: str, title: str) -> None:
    page = new_page()
    page.goto(f"{site}/search.html?q={word}", wait_until="networkidle")
    page.get_by_role("link", name=title).first.wait_for()
    assert page.locator("#search-results li").count() >= 2


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter_lights_its_stage_and_numbers_its_captions(site: str, new_page: Open, name: str) -> None:
    page = new_page()
    page.goto(f"{site}/{name}", wait_until="domcontentloaded")
    number = Path(name).name[:2]
    lit = page.locator("svg.method .lit").evaluate_all("stages => stages.map(stage => stage.dataset.stage)")
    assert sorted(lit) == sorted(diagram.CHAPTERS[number])
    captions = page.locator(".caption").all_inner_texts()
    for kind in ("Figure", "Table"):
        found = [re.match(rf"{kind}s? {int(number)}\.(\d+)", text) for text in captions]
        counts = [int(one[1]) for one in found if one]
        assert counts == sorted(set(counts))


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_a_figure_opens_in_place(site: str, new_page: Open, width: int) -> None:
    page = new_page(width)
    page.goto(f"{site}/book/chapters/02_estimator.html", wait_until="networkidle")
    figure = page.locator("article a.enlarges").first
    figure.click()
    dialog = page.locator("dialog.enlarged")
    expect(dialog).to_be_visible()
    box = dialog.locator("img").bounding_box()
    assert box is not None
    assert box["width"] >= 690, "its labels can be read, on a phone by scrolling over it"
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    assert page.url.endswith("02_estimator.html")


def test_every_page_is_described(built: Path) -> None:
    for name in (*PAGES, "index.html"):
        text = (built / name).read_text(encoding="utf-8")
        described = re.search(r'<meta name="description" content="([^"]{40,300})" />', text)
        assert described, name
        assert '<meta property="og:image"' in text
        assert "THEBE_JS_URL" not in text
    assert "book/intro.html" in (built / "404.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter_has_its_number_and_its_run(site: str, new_page: Open, name: str) -> None:
    page = new_page()
    page.goto(f"{site}/{name}", wait_until="domcontentloaded")
    number = int(Path(name).name[:2])
    assert page.locator("article h1").first.inner_text().startswith(f"{number}. ")
    shown = page.locator(".made-from code").first.inner_text()
    source = page.locator(".tag_parameters").first.text_content() or ""
    assert f'run = "{shown}"' in source


def test_equations_lead_to_chapters_and_functions(site: str, new_page: Open) -> None:
    page = new_page()
    page.goto(f"{site}/book/equations.html", wait_until="networkidle")
    page.get_by_role("link", name="(17)").click()
    expect(page).to_have_url(f"{site}/book/chapters/03_score_and_loss.html#eq-17")
    page.go_back()
    page.get_by_role("link", name="locus.judge.metrics.summary()").first.click()
    expect(page).to_have_url(f"{site}/book/api/judge.html#locus.judge.metrics.summary")
    expect(page.locator("[id='locus.judge.metrics.summary']")).to_be_visible()
