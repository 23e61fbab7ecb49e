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


def test_room_is_kept_for_pictures_before_they_load(folder: Path) -> None:
    (folder / "_images").mkdir()
    (folder / "_static/generated").mkdir()
    (folder / "_images/a b.svg").write_text(
        '<?xml version="1.0"?>\n<svg height="72pt" viewBox="0 0 9 9" width="360.5pt"/>'
    )
    (folder / "_images/box.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 200.4"></svg>')
    (folder / "_images/odd.svg").write_text("<svg></svg>")
    start = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    (folder / "_images/wide.png").write_bytes(start + (1200).to_bytes(4, "big") + (630).to_bytes(4, "big"))
    (folder / "_static/generated/box_narrow.svg").write_text('<svg width="300px" height="400"/>')
    names = ["a%20b.svg?digest=1", "box.svg", "odd.svg", "wide.png", "none.svg"]
    shown = "".join(f'<img alt="R > 0" src="../_images/{name}" style="width: 100%" />' for name in names)
    shown += '<img src="https://example.org/a.png" /><img src="../_images/box.svg" width="5" />'
    (folder / "book/intro.html").write_text(PAGE.replace("</article>", f"{shown}</article>"))
    site.finish(folder)
    soup = BeautifulSoup((folder / "book/intro.html").read_text(encoding="utf-8"), "html.parser")
    sizes = [(image.get("width"), image.get("height")) for image in soup.find_all("img")]
    none = (None, None)
    assert sizes == [("481", "96"), ("640", "200"), none, ("1200", "630"), none, none, ("5", None)]
    assert {(one["width"], one["height"]) for one in soup.find_all("source")} == {("300", "400")}


def test_short_words_of_code_stay_whole(folder: Path) -> None:
    code = f'<code><span class="pre">--pilot</span> <span class="pre">{"long_" * 9}</span></code>'
    (folder / "book/intro.html").write_text(PAGE.replace("</article>", f"{code}</article>"))
    site.finish(folder)
    soup = BeautifulSoup((folder / "book/intro.html").read_text(encoding="utf-8"), "html.parser")
    assert [word.get_text() for word in soup.select(".pre.short")] == ["--pilot"]
    assert len(soup.select(".pre")) == 2


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
    assert "Lei, Haozhe and Bomfin, Roberto and Chafii, Marwa and Rangan, Sundeep" in " ".join(citation.paper().split())
    assert citation.companion().startswith("@software{")
