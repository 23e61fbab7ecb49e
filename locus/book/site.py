"""The built pages as a web site: HTML from Sphinx in, described pages, a site map and a page for dead links out."""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from locus.settings.atomic import write_text

TITLE = "LOCUS-DT companion"
DESCRIPTION = (
    "LOCUS-DT turns one radio snapshot into a map of where in a room the transmitter may be. This book reproduces the "
    "paper, computes every number that it shows, and lets you drag the transmitter in your browser."
)
NARROW = "_narrow"
"""Suffix of figures for phones, shown there instead of the figure that has the rest of the name."""
PREVIEW = "_static/preview.png"
"""Preview picture of links to a page."""

_SHORT = 24
"""Letters of a word of code that stays on one line, however narrow the screen."""
_LEFT_OUT = (
    r'[ \t]*<script defer src="[^"]*/scripts/fontawesome\.js[^"]*"></script>\n?',  # icons come from its font as well
    r"[ \t]*<script>const THEBE_JS_URL = .*?</script>\n?",  # runs code on a server: the book has none
    r'[ \t]*<script async="async" src="[^"]*sphinx-thebe\.js[^"]*"></script>\n?',
    r'[ \t]*<link rel="stylesheet" type="text/css" href="[^"]*sphinx-thebe\.css[^"]*" />\n?',
    r'[ \t]*<script type="text/x-thebe-config">.*?</script>\n?',
    r"[ \t]*<script>kernelName = .*?</script>\n?",
)


def check_site(address: str | None) -> str | None:
    """The address of the site, ending in a slash.

    Raises:
        ValueError: it is not an address that a browser opens.
    """
    if address is None:
        return None
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"Expected 'site' like https://example.org/locus, got {address!r}")
    return address.rstrip("/") + "/"


def finish(folder: Path, site: str | None = None) -> None:
    """Finish the pages in ``folder``, in place.

    Given the site's address, each page also states its own, and a site map lists them.
    """
    site = check_site(site)
    pages = sorted(path for path in folder.rglob("*.html") if "_static" not in path.relative_to(folder).parts)
    narrow = sorted(path.relative_to(folder) for path in folder.glob(f"_static/**/*{NARROW}.*"))
    for path in pages:
        name = path.relative_to(folder).as_posix()
        if name not in ("index.html", "404.html"):
            page = _with_narrow(path.read_text(encoding="utf-8"), name, narrow)
            write_text(path, _with_head(_with_sizes(page, path.parent), name, site))
    write_text(folder / "index.html", _first_page(site))
    write_text(folder / "404.html", _not_found(site))
    if site:
        found = [path.relative_to(folder).as_posix() for path in pages]
        kept = [name for name in found if name.startswith("book/")]
        lines = "".join(f"<url><loc>{escape(site + name)}</loc></url>\n" for name in kept)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        write_text(
            folder / "sitemap.xml",
            f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{lines}</urlset>\n',
        )


def _with_narrow(page: str, name: str, narrow: list[Path]) -> str:
    """A page that shows phones the figures drawn for them."""
    for figure in narrow:
        wide, up = re.escape(figure.stem.removesuffix(NARROW) + figure.suffix), "../" * name.count("/")
        image = rf'<img (?:[^>"]|"[^"]*")*?src="[^"]*/{wide}"(?:[^>"]|"[^"]*")*>'
        source = f'<source media="(max-width: 575.98px)" srcset="{up}{figure.as_posix()}" />'
        page = re.sub(image, rf"<picture>{source}\g<0></picture>", page)
    return page


def _with_sizes(page: str, folder: Path) -> str:
    """A page whose pictures say how large they are: room is kept for them before they load, so that nothing jumps."""

    def sized(found: re.Match[str]) -> str:
        tag = found[0]
        source = re.search(r' (?:src|srcset)="([^"]+)"', tag)
        if source is None or re.search(r' (?:width|height)="', tag) or urlsplit(unescape(source[1])).scheme:
            return tag
        size = picture_size(folder / unquote(urlsplit(unescape(source[1])).path))
        return tag if size is None else f'{found[1]} width="{size[0]}" height="{size[1]}"{tag[len(found[1]) :]}'

    return re.sub(r'(<(?:img|source))\b(?:[^>"]|"[^"]*")*>', sized, page)


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height [CSS px] of a PNG or SVG file; None if the file does not say."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith(b"\x89PNG"):
        return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")
    root = re.search(r"<svg\b[^>]*>", start.decode("utf-8", "ignore"))
    if root is None:
        return None
    lengths = [re.search(rf'\s{name}="([\d.]+)(px|pt)?"', root[0]) for name in ("width", "height")]
    box = re.search(r'\sviewBox="\S+ \S+ ([\d.]+) ([\d.]+)"', root[0])
    sides = [float(one[1]) * (4 / 3 if one[2] == "pt" else 1) for one in lengths if one]
    if len(sides) < 2 and box:
        sides = [float(side) for side in box.groups()]
    if len(sides) < 2 or min(sides) <= 0:
        return None
    return round(sides[0]), round(sides[1])


def _with_head(page: str, name: str, site: str | None) -> str:
    for pattern in _LEFT_OUT:
        page = re.sub(pattern, "", page, flags=re.DOTALL)
    page = re.sub(rf'<span class="pre">(?=[^<]{{1,{_SHORT}}}</span>)', '<span class="pre short">', page)
    # Pictures load when the reader comes near them
    page = re.sub(r"<img (?![^>]*loading=)", '<img loading="lazy" ', page)
    soup = BeautifulSoup(page, "html.parser")
    title = soup.title.get_text() if soup.title else TITLE
    up = "../" * name.count("/")
    head = _head(title, describe(soup), name, up, site)
    return page.replace("</head>", f"{head}</head>", 1)


def describe(page: BeautifulSoup) -> str:
    """First paragraph of a page that says something, cut to the length that search engines show."""
    for paragraph in page.select("article p"):
        text = " ".join(paragraph.get_text().split())
        if len(text) > 60 and not paragraph.find_parent(class_="made-from") and "This page shows the run" not in text:
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return DESCRIPTION


def _head(title: str, description: str, name: str, up: str, site: str | None) -> str:
    picture = site + PREVIEW if site else up + PREVIEW
    tags = [
        f'<meta name="description" content="{escape(description)}" />',
        f'<meta property="og:title" content="{escape(title)}" />',
        f'<meta property="og:description" content="{escape(description)}" />',
        '<meta property="og:type" content="article" />',
        f'<meta property="og:image" content="{escape(picture)}" />',
        '<meta name="twitter:card" content="summary_large_image" />',
    ]
    if site:
        tags += [
            f'<link rel="canonical" href="{escape(site + name)}" />',
            f'<meta property="og:url" content="{escape(site + name)}" />',
        ]
    return "".join(f"    {tag}\n" for tag in tags)


def _first_page(site: str | None) -> str:
    first = "book/intro.html"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8" /><title>{TITLE}</title>\n'
        f'<meta http-equiv="refresh" content="0; url={first}" />\n'
        f"{_head(TITLE, DESCRIPTION, first, '', site)}</head>\n"
        f'<body><p><a href="{first}">{TITLE}</a></p></body></html>\n'
    )


def _not_found(site: str | None) -> str:
    """A page that stands alone, as it is shown at addresses of any depth."""
    style = (
        ":root { color-scheme: light dark; } body { font: 1.1rem/1.6 system-ui, sans-serif; margin: 15vh auto; "
        "max-width: 32rem; padding: 0 1rem; }"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8" />\n'
        f'<meta name="viewport" content="width=device-width" /><title>Not found: {TITLE}</title>\n'
        f'<meta name="robots" content="noindex" /><style>{style}</style></head>\n'
        "<body><h1>There is no such page</h1><p>It may have moved as the book grew. The "
        f'<a href="{site or ""}book/intro.html">first page</a> lists all chapters, or you can '
        f'<a href="{site or ""}search.html">search the book</a>.</p></body></html>\n'
    )
