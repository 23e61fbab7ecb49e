"""Checksums beside files: compatible with sha256sum, and safe with concurrent writers."""

from __future__ import annotations

import subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from locus.settings.checksums import LEDGER, DamagedError, check_intact, intact, sealing


def write(path: Path, content: bytes = b"content") -> None:
    with sealing(path) as scratch:
        scratch.write_bytes(content)


def write_many(folder: Path, first: int) -> None:
    for number in range(first, first + 20):
        write(folder / f"{number}.txt")


def test_a_written_file_is_intact_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a b.txt"
    assert not intact(path)
    write(path)
    assert intact(path)
    check_intact(path)
    path.write_bytes(b"Content")
    assert not intact(path)
    with pytest.raises(DamagedError, match=r"Expected .*a b\.txt to match SHA256SUMS beside it, got another"):
        check_intact(path)
    write(path, b"again")
    assert intact(path)


def test_sha256sum_reads_the_ledger(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name)
    subprocess.run(["sha256sum", "--check", "--strict", LEDGER], cwd=tmp_path, check=True, capture_output=True)


def test_a_file_without_a_checksum_passes_but_is_not_intact(tmp_path: Path) -> None:
    """For example, weights copied to another folder."""
    (tmp_path / "mine").write_bytes(b"content")
    check_intact(tmp_path / "mine")
    assert not intact(tmp_path / "mine")


def test_removed_files_leave_the_ledger(tmp_path: Path) -> None:
    write(tmp_path / "one")
    (tmp_path / "one").unlink()
    write(tmp_path / "two")
    assert [line.split()[1] for line in (tmp_path / LEDGER).read_text().splitlines()] == ["two"]


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one"
    write(path)
    with pytest.raises(TypeError), sealing(path) as scratch:
        scratch.write_bytes("text")  # type: ignore[arg-type]
    assert intact(path)


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"no checksum\n", b"\n\n"])
def test_a_damaged_ledger_vouches_for_nothing(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path / "one")
    (tmp_path / LEDGER).write_bytes(damage)
    assert not intact(tmp_path / "one")


def test_two_writers_keep_each_others_checksums(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(write_many, [tmp_path, tmp_path], [0, 100]))
    assert all(intact(tmp_path / f"{number}.txt") for number in (*range(20), *range(100, 120)))
