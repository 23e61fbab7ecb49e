"""The explorer in a real browser: after dragging, the map must be updated correctly."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from conftest import Open
from explorer_page import (
    CHAPTER,
    FARTHER,
    IN_SIGHT,
    SCENE,
    drag,
    gain,
    obstacle_middle,
    on_page,
    press,
    read,
    settle,
    where,
)
from patience import patience
from playwright.sync_api import Browser, Page, expect

import locus
from locus.explorer import CONSTANTS

ABOVE_UNIFORM = {"LOCUS-DT": 1.0, "Path set": 15.0, "Bayes limit": 30.0}
"""Minimum posterior mass near the truth, relative to a uniform guess: LOCUS-DT, trained at smoke size, is weak; how
weak depends on the processor. The path set and the Bayes limit need no training, and the latter is nearly certain."""


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
        return [str(shown[name]) for name in ("logPosterior", "observed", "rays", "beside")]

    def changes(act: object) -> bool:
        before = numbers()
        act()  # type: ignore[operator]
        return numbers() != before

    for label, key in (
        ("Transmit power", "ArrowRight"),
        ("Number of paths", "ArrowLeft"),
        ("Reflection depth", "ArrowLeft"),
    ):
        assert changes(lambda label=label, key=key: press(explorer, label, key, 4)), label
    for method in ("Gauss-Cart", "Gauss-Polar", "GMM-Cart", "Path set", "Bayes limit", "LOCUS-DT"):
        assert changes(lambda method=method: explorer.get_by_label("Method").select_option(label=method)), method
    assert changes(lambda: explorer.get_by_label("Noise seed").fill("7"))
    assert changes(lambda: explorer.get_by_label("Rays of the transmitter").check())
    explorer.locator("#explorer").get_by_text("Compare methods").click()
    assert changes(lambda: explorer.get_by_role("checkbox", name="GMM-Cart").check())
    for button in ("New noise", "Add obstacle", "Remove obstacle", "New room"):
        assert changes(lambda button=button: explorer.get_by_role("button", name=button).click()), button


def test_it_says_what_it_shows(explorer: Page) -> None:
    says = explorer.locator("#explorer [aria-live=polite]")
    explorer.wait_for_function("document.querySelector('#explorer .announces').textContent.includes('LOCUS-DT gives')")
    expect(says).to_contain_text("times a uniform guess")  # announced after a pause
    assert "arrow keys move the transmitter" in (explorer.locator("#explorer .map").get_attribute("aria-label") or "")


def test_a_new_room_at_once_shows_and_describes_only_itself(explorer: Page) -> None:
    for _ in range(3):  # each within half a second of a result
        explorer.get_by_role("button", name="New room").click()
        settle(explorer)
    explorer.wait_for_timeout(700)  # longer than the pause before a description is announced
    sentence = explorer.locator("#explorer .says").inner_text()
    assert explorer.locator("#explorer .announces").text_content() == sentence
    assert agrees(explorer)


def agrees(page: Page) -> bool:
    """Whether the sentence below the map tells the numbers of the readouts, in one and the same moment."""
    return bool(
        page.locator("#explorer").evaluate(
            """root => {
              const { mass, uniformMass, mapError } = root.dataset;
              const text = (name) => root.querySelector(name).textContent.replaceAll("\\u00a0", " ");
              const [said, shown] = [text(".says"), text("output[name=mass]").split(" (")[0]];
              const error = mapError < 0.05 ? "is the true one" : `is ${Number(mapError).toFixed(1)} m off`;
              const times = mass / uniformMass;
              return said.includes(`${shown} to the places`) && said.includes(error)
                && Math.abs(parseFloat(shown) - 100 * mass) <= 0.51
                && said.includes(`about ${times.toFixed(times < 10 ? 1 : 0)} times`);
            }"""
        )
    )


def test_the_sentence_agrees_with_the_numbers_while_dragging(explorer: Page) -> None:
    (x0, y0), (x1, y1) = where(explorer, "transmitter"), IN_SIGHT
    explorer.mouse.move(*on_page(explorer, x0, y0))
    explorer.mouse.down()
    for share in np.linspace(0.1, 1, 10):
        explorer.mouse.move(*on_page(explorer, x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
        assert agrees(explorer)
        explorer.wait_for_timeout(60)
        assert agrees(explorer)
    explorer.mouse.up()
    settle(explorer)
    assert agrees(explorer)


def test_back_returns_to_the_scene(explorer: Page, site: str) -> None:
    drag(explorer, where(explorer, "transmitter"), IN_SIGHT)
    explorer.get_by_label("Method").select_option(label="Path set")
    settle(explorer)
    scene = "({ explorer: { world, page } }) => [world.room, world.positionOf('transmitter'), page.method.value]"

    def shown() -> list[object]:
        settle(explorer)
        room, place, method = explorer.locator("#explorer").evaluate(scene)
        return [len(room["obstacles"]), round(place["x"], 2), round(place["y"], 2), method]

    before = shown()
    explorer.get_by_role("button", name="New room").click()
    assert shown() != before
    explorer.go_back()
    explorer.wait_for_function(
        "x => Math.abs(document.getElementById('explorer').explorer.world.transmitter.x - x) < 0.01", arg=before[1]
    )
    assert shown() == before
    explorer.goto(f"{site}/book/status.html", wait_until="networkidle")
    explorer.go_back(wait_until="networkidle")
    assert shown() == before
    address = explorer.url
    explorer.goto(f"{site}/book/status.html", wait_until="networkidle")
    explorer.goto(address, wait_until="networkidle")  # as somebody opens it who was sent the address
    assert shown() == before


def test_a_link_shows_the_same_map_to_somebody_else(explorer: Page, new_page: Open) -> None:
    for _ in range(3):
        explorer.get_by_role("button", name="New room").click()
        settle(explorer)
    other = new_page()
    other.goto(explorer.url, wait_until="networkidle")
    settle(other)
    logs = "root => [...root.explorer.result.logPosterior]"
    given, shown = (np.array(page.locator("#explorer").evaluate(logs)) for page in (explorer, other))
    np.testing.assert_allclose(np.exp(shown), np.exp(given), atol=1e-6)


def test_an_address_without_a_scene_is_explained(explorer: Page) -> None:
    explorer.evaluate("location.hash = 'room=concrete_0_0_1e9_0_5_5&clearance=0.5&receiver=1_1_0&transmitter=2_2'")
    said = "document.querySelector('#explorer .says').textContent"
    explorer.wait_for_function(f"{said}.startsWith('The address holds no scene that can be shown')")
    settle(explorer)


def test_printed_drawings_keep_their_proportions(explorer: Page) -> None:
    explorer.emulate_media(media="print")
    explorer.set_viewport_size({"width": 700, "height": 900})
    script = """[...document.querySelectorAll('#explorer canvas')].map(canvas => {
      const box = canvas.getBoundingClientRect();
      const fits = getComputedStyle(canvas).objectFit === "contain";
      return [fits, box.width / box.height / (canvas.width / canvas.height)];
    })"""
    for fits, stretch in explorer.evaluate(script):
        assert fits or stretch == pytest.approx(1, rel=0.02)


def test_pointing_at_a_place_shows_its_paths_and_rays(explorer: Page) -> None:
    place = (80.0, 10.0)
    explorer.mouse.move(*on_page(explorer, *place))
    explorer.wait_for_function("document.getElementById('explorer').explorer.place !== null")
    found = explorer.locator("#explorer").evaluate("root => root.explorer.place")
    assert math.dist((found["x"], found["y"]), place) < 100 / 30
    assert found["predicted"]
    for ray in found["rays"]:  # from the place to the receiver
        ends = {(round(x, 6), round(y, 6)) for x, y in (ray["points"][:2], ray["points"][-2:])}
        assert (round(found["x"], 6), round(found["y"], 6)) in ends
    assert "place pointed at" in explorer.locator("#explorer .paths").inner_text()
    explorer.mouse.move(2, 2)
    explorer.wait_for_function("document.getElementById('explorer').explorer.place === null")


def test_at_most_four_methods_are_side_by_side(explorer: Page) -> None:
    explorer.locator("#explorer").get_by_text("Compare methods").click()
    for name in ("Gauss-Cart", "GMM-Cart", "Path set", "Bayes limit"):
        explorer.get_by_role("checkbox", name=name).check()
        settle(explorer)
    beside = explorer.locator("#explorer").evaluate("root => root.explorer.result.beside.map(one => one.method)")
    assert len(beside) == 3
    assert beside[-1] == "bayes"
    assert explorer.locator("#explorer .beside figure:visible").count() == 3
    explorer.get_by_label("Method").select_option(label="Bayes limit")
    own = "root => root.explorer.result.logPosterior"
    settle(explorer)
    alone = explorer.locator("#explorer").evaluate(own)
    explorer.get_by_label("Method").select_option(label="LOCUS-DT")
    settle(explorer)
    other = explorer.locator("#explorer").evaluate("root => root.explorer.result.beside.at(-1).logPosterior")
    assert other == alone, "beside another, a method says the same"


def test_a_room_is_dropped_saved_and_opened(explorer: Page) -> None:
    layout = locus.Layout(shapely.Polygon([(0, 0), (30, 0), (30, 12), (18, 12), (18, 20), (0, 20)]))
    drop = """text => {
      const data = new DataTransfer();
      data.items.add(new File([text], "room.geojson"));
      document.querySelector("#explorer .map").dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
    }"""
    explorer.evaluate(drop, json.dumps(layout.to_geojson()))
    explorer.wait_for_function("document.getElementById('explorer').explorer.world.room.outline.corners.length === 6")
    settle(explorer)
    explorer.get_by_text("Share, save, open", exact=True).click()
    with explorer.expect_download() as saved:
        explorer.get_by_role("button", name="Save JSON").click()
    content = json.loads(saved.value.path().read_text(encoding="utf-8"))
    assert locus.Layout.from_geojson(content["room"]).room.equals(layout.room)
    assert sum(content["shown"]["posterior"]) == pytest.approx(1)
    with explorer.expect_download() as picture:
        explorer.get_by_role("button", name="Save PNG").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    explorer.evaluate(drop, "not a room")
    said = "document.querySelector('#explorer .says').textContent"
    explorer.wait_for_function(f"{said}.startsWith('The file holds no room that can be shown')")


def test_the_map_and_its_targets_are_in_reach_at_once(site: str, new_page: Open) -> None:
    """On a laptop and on a phone the whole map is above the fold, on the first page and in the chapter."""
    for name in ("book/intro.html", CHAPTER):
        for width, height in ((1280, 720), (390, 844)):
            page = new_page(width)
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{site}/{name}", wait_until="networkidle")
            settle(page)
            box = page.locator("#explorer .map").bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= height, (name, width, box)
            assert page.locator("#explorer").evaluate("root => root.explorer.view.invites")
            drag(page, where(page, "transmitter"), (50.0, 50.0))
            assert not page.locator("#explorer").evaluate("root => root.explorer.view.invites")
            small = page.evaluate(
                """[...document.querySelectorAll("#explorer :is(button, select, input, summary)")].filter(one => {
                  const box = one.getBoundingClientRect();
                  return one.checkVisibility() && box.height > 0 && box.height < 24;
                }).map(one => one.outerHTML.slice(0, 80))"""
            )
            assert small == []


def test_the_paths_stand_next_to_the_map(site: str, new_page: Open) -> None:
    """Below it on phones and tablets, where the controls then leave no blank; beside it on larger screens."""
    for width, below in ((390, True), (768, True), (1024, True), (1280, False)):
        page = new_page(width)
        page.goto(f"{site}/{CHAPTER}", wait_until="networkidle")
        settle(page)
        left, paths, controls = (
            page.locator(f"#explorer .{name}").bounding_box() for name in ("left", "paths", "controls")
        )
        assert left is not None
        assert paths is not None
        assert controls is not None
        gap = paths["y"] - left["y"] - left["height"]
        assert (-1 <= gap < 40) if below else gap < 0, (width, gap)
        if width < 600:
            assert controls["y"] > paths["y"]
        elif below:
            ends = [box["y"] + box["height"] for box in (paths, controls)]
            assert abs(ends[0] - ends[1]) < 200, (width, ends)


def test_a_finger_drags_things_taps_places_and_scrolls_elsewhere(site: str, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTER}#{SCENE}", wait_until="networkidle")
    page.locator("#explorer .map").scroll_into_view_if_needed()
    settle(page)
    touch(page, on_page(page, *where(page, "transmitter")), on_page(page, *IN_SIGHT))
    assert where(page, "transmitter") == pytest.approx(IN_SIGHT, abs=1)
    place = (80.0, 10.0)
    page.touchscreen.tap(*on_page(page, *place))
    page.wait_for_function("document.getElementById('explorer').explorer.place !== null")
    found = page.locator("#explorer").evaluate("root => root.explorer.place")
    assert math.dist((found["x"], found["y"]), place) < 100 / 30, "a tap shows the paths of a place"
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


@pytest.mark.parametrize("name", ["intro", "chapters/09_explorer"])
def test_it_computes_on_a_page_that_was_opened_from_disk(built: Path, new_page: Open, name: str) -> None:
    page = new_page()
    page.goto((built / "book" / f"{name}.html").as_uri())
    settle(page)
    assert page.locator("#explorer").evaluate("root => root.explorer.result.numCandidates") > 0


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
