"""The explorer in a real browser: after dragging, the map must be updated correctly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import shapely
from conftest import Open
from patience import patience
from playwright.sync_api import Browser, Page

import locus
from locus.explorer import CONSTANTS

HARMLESS = ("THEBE_JS_URL",)  # the theme's own
CHAPTER = "book/chapters/09_explorer.html"
ABOVE_UNIFORM = {"LOCUS-DT": 1.5, "Path set": 15.0, "Bayes limit": 30.0}
"""Minimum posterior mass near the truth, relative to a uniform guess: LOCUS-DT, trained at smoke size, is weak; the
path set and the Bayes limit need no training, and the latter is nearly certain."""
# Positions in the first room [m]: the transmitter in front of the receiver, and the receiver farther away
IN_SIGHT, FARTHER = (50.0, 12.0), (75.0, 40.0)


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def explorer(request: pytest.FixtureRequest, site: str, new_page: Open) -> Iterator[Page]:
    """The chapter, once its first map is drawn; fails on any error while it is open."""
    page = new_page(request.param)
    wrong: list[str] = []
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("response", lambda response: wrong.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(f"{site}/{CHAPTER}", wait_until="networkidle")
    page.locator("#explorer .map").scroll_into_view_if_needed()
    settle(page)
    yield page
    assert [text for text in wrong if not any(word in text for word in HARMLESS)] == []


def settle(page: Page) -> None:
    page.wait_for_selector("#explorer[data-settled=true]", timeout=1000 * patience(60))


def read(page: Page, name: str) -> float:
    settle(page)
    return float(page.locator("#explorer").evaluate("(root, name) => root.dataset[name]", name))


def gain(page: Page, place: tuple[float, float]) -> float:
    """Posterior mass within 5 m of a position relative to a uniform guess, from the data of the map."""
    settle(page)
    script = "root => [[...root.explorer.result.points], [...root.explorer.result.logPosterior]]"
    points, logs = page.locator("#explorer").evaluate(script)
    near = np.hypot(*(np.reshape(points, (-1, 2)) - place).T) <= CONSTANTS["near"]
    return float(np.exp(np.array(logs, dtype=float))[near].sum() / near.mean())


def where(page: Page, thing: str) -> tuple[float, float]:
    """Position of an item on the map [m]."""
    found = page.locator("#explorer").evaluate("(root, thing) => root.explorer.world.positionOf(thing)", thing)
    return found["x"], found["y"]


def on_page(page: Page, x: float, y: float) -> tuple[float, float]:
    """Pixel coordinates of a position [m]."""
    script = """(root, [x, y]) => {
      const box = root.explorer.page.map.getBoundingClientRect();
      const [u, v] = root.explorer.view.toPixel(x, y);
      return [box.left + u, box.top + v];
    }"""
    u, v = page.locator("#explorer").evaluate(script, [x, y])
    return u, v


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag the item at one position to another [m] with a real pointer."""
    page.mouse.move(*on_page(page, *start))
    page.mouse.down()
    page.mouse.move(*on_page(page, *end), steps=8)
    page.mouse.up()
    settle(page)


@pytest.mark.parametrize("method", ABOVE_UNIFORM)
def test_map_follows_what_is_dragged(explorer: Page, method: str) -> None:
    explorer.get_by_label("Method").select_option(label=method)
    drag(explorer, where(explorer, "transmitter"), IN_SIGHT)
    assert where(explorer, "transmitter") == pytest.approx(IN_SIGHT, abs=0.5)
    assert gain(explorer, IN_SIGHT) > ABOVE_UNIFORM[method]

    drag(explorer, where(explorer, "receiver"), FARTHER)
    assert where(explorer, "receiver") == pytest.approx(FARTHER, abs=0.5)
    assert gain(explorer, IN_SIGHT) > ABOVE_UNIFORM[method]

    assert read(explorer, "mass") / read(explorer, "uniformMass") == pytest.approx(gain(explorer, IN_SIGHT), rel=0.5)
    before = explorer.locator("#explorer").evaluate("root => [...root.explorer.result.logPosterior]")
    x, y = where(explorer, "obstacle 1")
    inside = obstacle_middle(explorer, 0)
    drag(explorer, inside, (inside[0] + 2.0, inside[1] + 2.0))
    assert where(explorer, "obstacle 1") == pytest.approx((x + 2, y + 2), abs=0.5)
    after = explorer.locator("#explorer").evaluate("root => [...root.explorer.result.logPosterior]")
    assert gain(explorer, IN_SIGHT) > ABOVE_UNIFORM[method]
    assert before != after, "an obstacle that moved changes what the twin predicts"
    if method == "Bayes limit":
        assert read(explorer, "mapError") < CONSTANTS["near"]


def obstacle_middle(page: Page, index: int) -> tuple[float, float]:
    """A point inside an obstacle [m]."""
    script = "(root, index) => root.explorer.world.room.obstacles[index].corners"
    point = shapely.Polygon(page.locator("#explorer").evaluate(script, index)).representative_point()
    return point.x, point.y


def test_heading_turns_when_its_arrow_is_dragged(explorer: Page) -> None:
    x, y = where(explorer, "receiver")
    drag(explorer, where(explorer, "heading"), (x - 10, y))
    heading = explorer.locator("#explorer").evaluate("root => root.explorer.world.receiver.heading")
    assert math.cos(heading) < -0.99


def test_keys_move_what_is_selected(explorer: Page) -> None:
    explorer.locator("#explorer .map").focus()
    for key, thing, (dx, dy) in (("t", "transmitter", (2, 0)), ("r", "receiver", (0, 2)), ("o", "obstacle 1", (2, 0))):
        x, y = where(explorer, thing)
        explorer.keyboard.press(key)
        for _ in range(2):
            explorer.keyboard.press("ArrowRight" if dx else "ArrowUp")
        settle(explorer)
        assert where(explorer, thing) == pytest.approx((x + dx, y + dy))
        assert explorer.get_by_label("Selected").input_value() == thing
    explorer.keyboard.press("Delete")
    settle(explorer)
    assert explorer.locator("#explorer").evaluate("root => root.explorer.world.room.obstacles.length") == 2


def test_every_control_changes_what_is_shown(explorer: Page) -> None:
    def numbers() -> list[str]:
        settle(explorer)
        shown = explorer.locator("#explorer").evaluate("root => root.explorer.result")
        return [str(shown[name]) for name in ("logPosterior", "observed", "rays")]

    def changes(act: object) -> bool:
        before = numbers()
        act()  # type: ignore[operator]
        return numbers() != before

    for label, key in (("SNR", "ArrowRight"), ("Number of paths", "ArrowLeft"), ("Reflection depth", "ArrowLeft")):
        assert changes(lambda label=label, key=key: press(explorer, label, key, 4)), label
    for method in ("Gauss-Cart", "Gauss-Polar", "GMM-Cart", "Path set", "Bayes limit", "LOCUS-DT"):
        assert changes(lambda method=method: explorer.get_by_label("Method").select_option(label=method)), method
    assert changes(lambda: explorer.get_by_label("Noise seed").fill("7"))
    assert changes(lambda: explorer.get_by_label("Rays of the transmitter").check())
    for button in ("New noise", "Add obstacle", "Remove obstacle", "New room"):
        assert changes(lambda button=button: explorer.get_by_role("button", name=button).click()), button


def press(page: Page, label: str, key: str, times: int) -> None:
    page.get_by_label(label).focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_it_says_what_it_shows(explorer: Page) -> None:
    says = explorer.locator("#explorer [aria-live=polite]")
    explorer.wait_for_function("document.querySelector('#explorer .says').textContent.includes('LOCUS-DT gives')")
    assert "times a uniform guess" in says.inner_text()
    assert "arrow keys move the transmitter" in (explorer.locator("#explorer .map").get_attribute("aria-label") or "")


def test_a_finger_drags_things_and_scrolls_elsewhere(site: str, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTER}", wait_until="networkidle")
    page.locator("#explorer .map").scroll_into_view_if_needed()
    settle(page)
    touch(page, on_page(page, *where(page, "transmitter")), on_page(page, *IN_SIGHT))
    assert where(page, "transmitter") == pytest.approx(IN_SIGHT, abs=1)
    scrolled = page.evaluate("scrollY")
    u, v = on_page(page, 50, 90)
    touch(page, (u, v), (u, v - 150))
    page.wait_for_function("before => scrollY > before + 50", arg=scrolled)
    context.close()


def touch(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    session = page.context.new_cdp_session(page)
    for share in np.linspace(0, 1, 9):
        x, y = (1 - share) * np.array(start) + share * np.array(end)
        kind = "touchMove" if share else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": float(x), "y": float(y)}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settle(page)


def test_own_room_opens_without_any_other_file(site: str, new_page: Open) -> None:
    """As in a notebook: a single iframe, with its content inline."""
    page = new_page()
    outline = shapely.Polygon([(0, 0), (30, 0), (30, 12), (18, 12), (18, 20), (0, 20)])
    layout = locus.Layout(outline, (shapely.box(6, 6, 9, 12),), ("brick", "metal"))
    page.goto(f"{site}/_static/explorer/settings.json")  # blobs need an origin
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_content(f"<!doctype html><p>A cell's output</p>{locus.explore(layout)._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator("#explorer[data-settled=true]").wait_for(timeout=1000 * patience(60))
    found = frame.locator("#explorer").evaluate("root => root.explorer.world.room")
    assert shapely.Polygon(found["outline"]["corners"]).equals(outline)
    assert [shape["material"] for shape in found["obstacles"]] == ["metal"]
    assert frame.locator("#explorer").evaluate("root => root.explorer.result.numCandidates") >= 690
    assert [url for url in asked if not url.startswith(("about:", "blob:", "data:"))] == []
