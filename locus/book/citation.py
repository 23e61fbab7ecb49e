"""BibTeX of the companion and of its paper: ``CITATION.cff`` in, entries with what it states, and no more, out."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import yaml

from locus.experiment.run import repository


def paper() -> str:
    """The paper's entry."""
    (reference,) = _citation()["references"]
    return _entry("misc", "locusdt", reference)


def companion() -> str:
    """The companion's own entry."""
    return _entry("software", "locusdt_companion", _citation())


def _citation() -> dict[str, Any]:
    return dict(yaml.safe_load((repository() / "CITATION.cff").read_text(encoding="utf-8")))


def _entry(kind: str, key: str, source: dict[str, Any]) -> str:
    people = [
        f"{person['family-names']}, {person['given-names']}" if "family-names" in person else f"{{{person['name']}}}"
        for person in source["authors"]
    ]
    fields = {"title": source["title"].replace("LOCUS-DT", "{LOCUS-DT}"), "author": " and ".join(people)}
    fields |= {name: str(source[name]) for name in ("version", "license", "url", "doi") if name in source}
    width = max(map(len, fields))
    indent = " " * (width + 6)
    wrapped = {
        name: fill(value, 76, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False).strip()
        for name, value in fields.items()
    }
    lines = "".join(f"  {name:<{width}} = {{{value}}},\n" for name, value in wrapped.items())
    return f"@{kind}{{{key},\n{lines}}}"
