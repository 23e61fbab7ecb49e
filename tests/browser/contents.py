"""Pages of the book, read from its table of contents."""

from __future__ import annotations

from pathlib import Path

import yaml

_TOC = yaml.safe_load((Path(__file__).parents[2] / "_toc.yml").read_text(encoding="utf-8"))

_FILES = [page["file"] for chapter in _TOC["chapters"] for page in (chapter, *chapter.get("sections", []))]

PAGES = [f"{name}.html" for name in (_TOC["root"], *_FILES)]
CHAPTERS = [page for page in PAGES if page.startswith("book/chapters/")]
