"""Files are written atomically."""

from __future__ import annotations

from pathlib import Path

import pytest

from locus.settings.atomic import replacing, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "one.txt"
    write_text(path, "old")
    with pytest.raises(KeyError), replacing(path) as scratch:
        raise KeyError(scratch.write_text("half"))
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_what_is_written_beside_keeps_the_suffix(tmp_path: Path) -> None:
    with replacing(tmp_path / "map.png") as scratch:
        assert (scratch.parent, scratch.suffix) == (tmp_path, ".png")
        scratch.write_text("picture")
    assert (tmp_path / "map.png").read_text() == "picture"
