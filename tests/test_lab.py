"""`make lab`: leaves the tracked chapters unchanged, and JupyterLab listens on localhost only, also as root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from locus.experiment.run import repository

BIN = Path(sys.executable).parent


@pytest.fixture
def chapters(tmp_path: Path) -> Path:
    """A copy of the tracked files of ``notebooks``."""
    tracked = subprocess.run(
        ["git", "ls-files", "notebooks"], cwd=repository(), capture_output=True, text=True, check=True
    )
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in tracked.stdout.split():
        shutil.copy(repository() / name, folder)
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".ipynb"}


def test_sync_makes_pairs_that_git_ignores_and_changes_no_source(chapters: Path) -> None:
    before, sources = _content(chapters), sorted(chapters.glob("*.py"))
    pairs = [path.with_suffix(".ipynb") for path in sources]
    assert len(sources) == 9
    for _ in range(2):
        subprocess.run([BIN / "jupytext", "--sync", *sources], check=True, capture_output=True)
        assert _content(chapters) == before
        for pair in pairs:  # as if saved in JupyterLab
            os.utime(pair)
    names = [f"notebooks/{pair.name}" for pair in pairs]
    ignored = subprocess.run(
        ["git", "check-ignore", *names], cwd=repository(), capture_output=True, text=True, check=True
    )
    assert ignored.stdout.split() == names


def test_make_lab_starts_a_server_for_this_machine_alone(chapters: Path, tmp_path: Path) -> None:
    before = _content(chapters)
    (tmp_path / "ready").touch()
    private = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    command = ["make", "-f", repository() / "Makefile", "lab", f"BIN={BIN}", f"READY={tmp_path / 'ready'}"]
    for name in ("pyproject.toml", "requirements.lock"):  # older than .venv/.ready
        os.utime(shutil.copy(repository() / name, tmp_path), (0, 0))
    server = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, **private, "PYTHONPATH": str(repository()), "BROWSER": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert server.stdout is not None
        said = []
        for line in server.stdout:
            said.append(line)
            if "is running at" in line:
                break
        else:
            pytest.fail("".join(said))
        assert "http://localhost:" in server.stdout.readline()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()
    assert _content(chapters) == before
