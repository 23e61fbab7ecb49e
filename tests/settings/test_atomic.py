"""Files are written atomically."""

from __future__ import annotations

from pathlib import Path

import pytest

from locus.settings import atomic
from locus.settings.atomic import replacing, scratch_folder, write_text

DEAD = 2**22 + 1  # above the largest number that Linux gives to a process


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


def test_files_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    ours = atomic._own()
    machine = ours.partition("-")[2]
    dead = tmp_path / f".map.{DEAD}-{machine}.nc"
    others = [
        tmp_path / name
        for name in (f".map.{ours}.nc", f".map.{DEAD}-ffffff.nc", f".map.{DEAD}-{machine}.png", f".other.{DEAD}.nc")
    ]  # alive; of another machine, which may share the folder; of other files
    for path in (dead, *others):
        path.write_text("half")
    with replacing(tmp_path / "map.nc") as scratch:
        assert scratch == others[0]  # the name that this process uses
        scratch.write_text("whole")
    assert not dead.exists()
    assert all(path.exists() for path in others[1:])


def test_folders_of_dead_processes_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic.tempfile, "tempdir", str(tmp_path))
    machine = atomic._own().partition("-")[2]
    dead, other = tmp_path / f"locus-chapter-{DEAD}-{machine}-x1", tmp_path / f"locus-workers-{DEAD}-{machine}-x1"
    for folder in (dead, other):
        folder.mkdir()
        (folder / "file").write_text("left")
    with scratch_folder("chapter") as scratch:
        assert scratch.is_dir()
        with scratch_folder("chapter"):
            assert scratch.is_dir()  # of a process that is alive
        assert not dead.exists()
        assert other.exists()
    assert not scratch.exists()
