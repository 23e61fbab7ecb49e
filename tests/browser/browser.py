"""Find Chromium or Chrome: LOCUS_CHROMIUM, one on PATH, or Playwright's. As a script, print it or how to get one."""

from __future__ import annotations

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEND = (
    "No Chromium or Chrome found. Debian, as root: apt-get install chromium; elsewhere: playwright install chromium; "
    "or set LOCUS_CHROMIUM to the path of one."
)


def find_browser() -> str | None:
    """Path of a browser, None if there is none; if LOCUS_CHROMIUM is set, no other is considered."""
    chosen = os.environ.get("LOCUS_CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    return next(filter(None, map(shutil.which, NAMES)), None) or _playwrights_own()


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return shutil.which(playwright.chromium.executable_path)


if __name__ == "__main__":
    found = find_browser()
    print(found or MEND, file=sys.stdout if found else sys.stderr)
    sys.exit(0 if found else 1)
