"""A browser is found, or a one-line message says how to get one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("browser.py")


def find(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_chosen_browser_is_taken(tmp_path: Path) -> None:
    mine = tmp_path / "my-chrome"
    mine.touch(mode=0o755)
    assert find(LOCUS_CHROMIUM=str(mine)).stdout == f"{mine}\n"


def test_without_a_browser_one_line_says_how_to_get_one(tmp_path: Path) -> None:
    for environment in (
        {"LOCUS_CHROMIUM": "no-such-browser"},
        {"LOCUS_CHROMIUM": "", "PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)},
    ):
        done = find(**environment)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "apt-get install chromium" in line
        assert "LOCUS_CHROMIUM" in line
