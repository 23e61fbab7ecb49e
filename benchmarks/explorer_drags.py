"""The explorer in a real browser: time of a drag, longest frame with each method, and memory after 2000 updates.

Opens chapter 9 of a book that was built before, by default in ``_build/html``. All of it is time on the clock, so the
machine should be idle; the load average is recorded, too.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright
from record import record

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from browser import MEND, find_browser  # noqa: E402
from explorer_page import CHAPTER, SCENE, on_page, settle, where  # noqa: E402
from served import served  # noqa: E402

STEPS, PAUSE = 60, 30  # moves of a drag, and the time between them [ms]
WATCH = """root => {
  Object.assign(root, { frames: [], delays: [], computed: [] });
  const { worker } = root.explorer, sent = new Map(), post = worker.postMessage.bind(worker);
  worker.postMessage = (message) => { sent.set(message.id, performance.now()); post(message); };
  worker.addEventListener("message", ({ data }) => {
    if (!data.result) return;
    root.computed.push(data.result.milliseconds);
    requestAnimationFrame(() => root.delays.push(performance.now() - sent.get(data.id)));
  });
  let last = performance.now();
  const tick = (now) => { root.frames.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""
PRESS = """async (root, count) => {
  const map = root.explorer.page.map;
  map.focus();
  for (let i = 0; i < count; i++) {
    map.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight", bubbles: true }));
    while (root.dataset.settled !== "true") await new Promise((resume) => setTimeout(resume));
  }
}"""


def open_page(browser: Browser, site: str, method: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{site}/{CHAPTER}#{SCENE.replace('method=locus_dt', f'method={method}')}", wait_until="networkidle")
    page.locator("#explorer .map").scroll_into_view_if_needed()
    settle(page)
    return page


def drag(page: Page, thing: str) -> dict[str, float]:
    """Move an item around a circle with the pointer; times in milliseconds."""
    x, y = where(page, thing)
    root = page.locator("#explorer")
    page.mouse.move(*on_page(page, x, y))
    page.mouse.down()
    for step in range(STEPS + 5):
        if step == 5:  # the first ones compile
            root.evaluate("root => Object.assign(root, { frames: [], delays: [], computed: [] })")
        angle = step / 10
        page.mouse.move(*on_page(page, x + 5 * math.sin(angle), y + 5 * (1 - math.cos(angle))))
        page.wait_for_timeout(PAUSE)
    page.mouse.up()
    frames, *times = root.evaluate("root => [root.frames, root.computed, root.delays]")
    settle(page)
    computed, shown = map(statistics.median, times)
    return {"computed_milliseconds": computed, "shown_milliseconds": shown, "longest_frame": max(frames)}


def memory(page: Page, updates: int) -> dict[str, float]:
    """Memory of the page's processes [MB], its worker included, after half of the updates and after all."""
    taken = []
    for _ in range(2):
        page.locator("#explorer").evaluate(PRESS, updates // 2)
        page.request_gc()
        renderers = [one for one in psutil.Process().children(recursive=True) if "--type=renderer" in one.cmdline()]
        taken.append(sum(one.memory_info().rss for one in renderers) / 1e6)
    return {"updates": updates, "megabytes_halfway": taken[0], "megabytes": taken[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html", help="folder of the built book")
    parser.add_argument("--updates", type=int, default=2000, help="updates before memory is compared")
    options = parser.parse_args()
    path = find_browser()
    if path is None:
        sys.exit(MEND)
    if not (options.book / CHAPTER).is_file():
        sys.exit(f"Expected a built book in {options.book}, got no {CHAPTER}: make book, then try again")
    results: dict[str, Any] = {"load_average": os.getloadavg()[0], "drags": {}}
    with served(options.book) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        first = open_page(browser, site, "locus_dt")
        methods = first.locator("#explorer").evaluate(
            "root => [...root.explorer.page.method.options].map(o => o.value)"
        )
        first.close()
        for method in methods:
            page = open_page(browser, site, method)
            page.locator("#explorer").evaluate(WATCH)
            results["drags"][method] = {thing: drag(page, thing) for thing in ("transmitter", "receiver")}
            for thing, one in results["drags"][method].items():
                computed, shown, longest = one.values()
                print(
                    f"{method}, {thing} dragged: computed in {computed:.0f} ms, shown after {shown:.0f} ms (medians); "
                    f"longest frame {longest:.0f} ms",
                    flush=True,
                )
            page.close()
        page = open_page(browser, site, "locus_dt")
        results["memory"] = memory(page, options.updates)
        browser.close()
    updates, halfway, end = results["memory"].values()
    print(f"memory after {updates // 2} updates: {halfway:.0f} MB, after {updates}: {end:.0f} MB")
    print(f"load average {results['load_average']:.1f} on {os.cpu_count()} cores")
    record("explorer_drags", results)


if __name__ == "__main__":
    main()
