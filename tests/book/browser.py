"""Finds a Chromium or Chrome: LOCUS_CHROMIUM, or one on PATH. As a script it says which, or how to get one."""

from __future__ import annotations

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEND = "No Chromium or Chrome found. As root: apt-get install chromium; or set LOCUS_CHROMIUM to the path of one."


def find_browser() -> str | None:
    """Path of a browser, None if there is none."""
    chosen = os.environ.get("LOCUS_CHROMIUM")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__":
    found = find_browser()
    print(found or MEND, file=sys.stdout if found else sys.stderr)
    sys.exit(0 if found else 1)
