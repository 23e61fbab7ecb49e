"""The site around the pages: descriptions, canonical addresses, site map, and the page of dead links."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from locus.book import citation, site

PAGE = (
    "<html><head><title>Two</title>"
    '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>'
    '<script>const THEBE_JS_URL = "https://unpkg.com/x"; const a = 1;</script></head>'
    "<body><article><p>Short.</p><p>A paragraph that is long enough to tell readers of a search engine what it is.</p>"
    "</article></body></html>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("book/intro.html", "book/chapters/02.html", "_static/part.html", "search.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PAGE)
    return tmp_path


def head(path: Path) -> dict[str, str]:
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    found = {str(tag.get("name") or tag.get("property")): str(tag.get("content")) for tag in soup.find_all("meta")}
    return found | {str(tag["rel"][0]): str(tag["href"]) for tag in soup.find_all("link")}


def test_pages_say_what_they_are_about_and_load_no_more_than_they_need(folder: Path) -> None:
    site.finish(folder)
    found = head(folder / "book/chapters/02.html")
    assert found["description"].startswith("A paragraph that is long enough")
    assert found["og:image"] == "../../_static/preview.png"
    assert "canonical" not in found
    text = (folder / "book/chapters/02.html").read_text(encoding="utf-8")
    assert "fontawesome" not in text
    assert "THEBE" not in text
    assert (folder / "_static/part.html").read_text() == PAGE
    assert not (folder / "sitemap.xml").exists()
    assert "url=book/intro.html" in (folder / "index.html").read_text(encoding="utf-8")


def test_phones_are_shown_the_figures_drawn_for_them(folder: Path) -> None:
    (folder / "_static/generated").mkdir()
    (folder / "_static/generated/wide_narrow.svg").touch()
    shown = '<img alt="R > 0" src="../_images/wide.svg" /><img src="../_images/other_wide.svg" />'
    (folder / "book/intro.html").write_text(PAGE.replace("</article>", f"{shown}</article>"))
    site.finish(folder)
    soup = BeautifulSoup((folder / "book/intro.html").read_text(encoding="utf-8"), "html.parser")
    (picture,) = soup.find_all("picture")
    assert picture.source["srcset"] == "../_static/generated/wide_narrow.svg"
    assert picture.img["src"] == "../_images/wide.svg"
    assert len(soup.find_all("img")) == 2
    assert all(image["loading"] == "lazy" for image in soup.find_all("img"))


def test_an_address_makes_canonical_links_and_a_site_map(folder: Path) -> None:
    site.finish(folder, "https://example.org/locus")
    found = head(folder / "book/intro.html")
    assert found["canonical"] == found["og:url"] == "https://example.org/locus/book/intro.html"
    assert found["og:image"] == "https://example.org/locus/_static/preview.png"
    places = [one.text for one in ET.parse(folder / "sitemap.xml").getroot().iter() if one.tag.endswith("loc")]
    assert places == [f"https://example.org/locus/book/{name}.html" for name in ("chapters/02", "intro")]
    assert 'href="https://example.org/locus/book/intro.html"' in (folder / "404.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("address", ["example.org", "ftp://example.org", "https://", "https://example.org/?a=1", "x y"])
def test_what_is_no_address_is_refused(address: str, folder: Path) -> None:
    with pytest.raises(ValueError, match="Expected 'site' like https"):
        site.finish(folder, address)


def test_entries_cite_what_the_file_states_and_no_identifier() -> None:
    for entry in (citation.paper(), citation.companion()):
        assert entry.count("{") == entry.count("}")
        assert not any(name in entry for name in ("doi", "eprint", "year", "arxiv"))
    assert "Lei, Haozhe and Bomfin, Roberto and Chafii, Marwa and Rangan, Sundeep" in citation.paper()
    assert citation.companion().startswith("@software{")
