"""The explorer's page in a real browser: objects to drag on it in, what it then shows out."""

from __future__ import annotations

import numpy as np
import shapely
from patience import patience
from playwright.sync_api import Page

from locus.explorer import CONSTANTS

CHAPTER = "book/chapters/09_explorer.html"
SCENE = (
    "room=concrete_0_0_100_0_100_100_0_100&obstacle=concrete_18.44_25.91_36.55_25.91_36.55_41_18.44_41"
    "&obstacle=concrete_29.03_84.93_29.03_62.8_35.24_62.8_35.24_70.86_55.28_70.86_55.28_76.87_35.24_76.87_35.24_84.93"
    "&obstacle=concrete_94.54_53.5_94.54_81.28_64.91_81.28_64.91_53.5&clearance=0.5&receiver=67.29_21.28_-140.38"
    "&transmitter=24.31_51.08&method=locus_dt&power=0&depth=3&paths=6&seed=0&rays=0"
)
"""Address of the room that the tests look at, whatever the page opens with."""
# Positions in it [m]: the transmitter in front of the receiver, and the receiver farther away
IN_SIGHT, FARTHER = (50.0, 12.0), (75.0, 40.0)


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
    page.locator("#explorer .map").scroll_into_view_if_needed()
    page.mouse.move(*on_page(page, *start))
    page.mouse.down()
    page.mouse.move(*on_page(page, *end), steps=8)
    page.mouse.up()
    settle(page)


def obstacle_middle(page: Page, index: int) -> tuple[float, float]:
    """A point inside an obstacle [m]."""
    script = "(root, index) => root.explorer.world.room.obstacles[index].corners"
    point = shapely.Polygon(page.locator("#explorer").evaluate(script, index)).representative_point()
    return point.x, point.y


def press(page: Page, label: str, key: str, times: int) -> None:
    page.get_by_label(label).focus()
    for _ in range(times):
        page.keyboard.press(key)
