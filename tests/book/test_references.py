"""The bibliography: only works whose details come from the paper or from a package's own citation."""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from pybtex.database import Entry, parse_file

ROOT = Path(__file__).resolve().parents[2]
ENTRIES: dict[str, Entry] = dict(parse_file(str(ROOT / "book" / "references.bib")).entries)


def plain(text: str) -> str:
    return re.sub(r"\{?\\'\{?(e)\}?\}?", "é", text).replace("{", "").replace("}", "")


def test_the_paper_is_cited_as_the_citation_file_has_it() -> None:
    (work,) = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    entry = ENTRIES["locusdt"]
    assert plain(entry.fields["title"]) == work["title"]
    assert [" ".join(p.last_names) for p in entry.persons["author"]] == [a["family-names"] for a in work["authors"]]


@pytest.mark.parametrize("key", [key for key in ENTRIES if key != "locusdt"])
def test_software_is_cited_as_it_asks_to_be(key: str) -> None:
    entry, description = ENTRIES[key], plain(distribution(key).read_text("METADATA") or "")
    details = [value for name, value in entry.fields.items() if name != "note"]
    details += [plain(" ".join(person.last_names)) for person in entry.persons["author"]]
    assert [detail for detail in details if plain(detail) not in description] == []
