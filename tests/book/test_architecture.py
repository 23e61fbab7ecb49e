"""The figure of the folders shows the actual imports."""

from __future__ import annotations

from pathlib import Path

import locus
from locus.book import architecture


def test_every_part_of_the_package_is_in_the_flow() -> None:
    root = Path(locus.__file__).parent
    parts = {path.stem for path in root.iterdir() if (path / "__init__.py").is_file() or path.suffix == ".py"}
    assert parts - {"__init__"} == set(architecture.FLOW)


def test_imports_go_down_and_are_counted() -> None:
    counts = architecture.imports()
    place = {name: index for index, name in enumerate(architecture.FLOW)}
    assert all(place[row] > place[column] for row, column in counts)
    assert counts["receiver", "twin"] >= 2  # antennas and path sets
    assert counts["cli", "book"] == 1  # lazily
    assert counts["capture", "explorer"] == counts["explorer", "capture"] == 0


def test_each_folder_says_what_it_is() -> None:
    for folder in architecture.values()["folders"]:
        assert len(folder.purpose) > 20
        assert folder.num_lines > 20
