"""Takes the picture that links to the book are shown with, of the live explorer in a headless browser: `make still`."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import locus

ADDRESS = "http://explorer/"  # answered here: blobs need an origin, which a page without an address has not

if __name__ == "__main__":
    browser, run = sys.argv[1:]
    content = locus.explore(run=run).to_html()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 900, "height": 473}, device_scale_factor=4 / 3)
        page.route(ADDRESS, lambda route: route.fulfill(content_type="text/html", body=content))
        page.goto(ADDRESS)
        page.wait_for_function("document.querySelector('#explorer .says')?.textContent.includes('uniform guess')")
        page.screenshot(path=Path(__file__).parent / "_static" / "preview.png")  # about 1200 x 628, as previews are
        chromium.close()
