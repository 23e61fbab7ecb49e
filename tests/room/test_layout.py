import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import shapely

from locus import Layout, Pose, Room
from locus.room.obstacles import draw_shape


@pytest.fixture(scope="module")
def thousand_rooms() -> list[Layout]:
    return [Layout.random(np.random.default_rng(seed)) for seed in range(1000)]


def test_random_rooms_have_the_papers_number_of_feasible_grid_points(thousand_rooms: list[Layout]) -> None:
    counts = [len(layout.grid(31)) for layout in thousand_rooms]
    print(f"feasible grid points: median {np.median(counts)}, minimum {min(counts)}")
    assert 710 <= np.median(counts) <= 760
    assert min(counts) == 696


def test_random_rooms_follow_the_drawing_rule(thousand_rooms: list[Layout]) -> None:
    room = Room()
    kinds = {4: 0, 6: 0, 8: 0}  # rectangles, Ls and Ts, by number of walls
    for layout in thousand_rooms:
        assert layout.room.equals(shapely.box(0, 0, 100, 100))
        for i, obstacle in enumerate(layout.obstacles):
            kinds[len(obstacle.exterior.coords) - 1] += 1
            assert obstacle.distance(layout.room.exterior) >= room.wall_gap - 1e-9
            assert all(obstacle.distance(other) >= room.obstacle_gap - 1e-9 for other in layout.obstacles[:i])
            x0, y0, x1, y1 = obstacle.bounds
            low, high = room.rectangle_side if len(obstacle.exterior.coords) == 5 else room.bent_side
            assert low <= min(x1 - x0, y1 - y0) <= max(x1 - x0, y1 - y0) <= high
    assert sum(kinds.values()) == 3000
    # Larger shapes are harder to place, so the three kinds are not equally frequent, but none is rare.
    assert min(kinds.values()) > 600


def test_the_same_seed_draws_the_same_room() -> None:
    first, second = (Layout.random(np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first.walls, second.walls)
    assert not np.array_equal(first.walls, Layout.random(np.random.default_rng(6)).walls)


@pytest.mark.parametrize(
    ("num_obstacles", "seed", "expected"),
    [(3, 0, "4429395cd1ada04f"), (3, 7, "0f8a23def3fcadaa"), (4, 1, "845629c99a766b6d"), (5, 2, "6741e38f2288b932")],
)
def test_rooms_are_those_that_were_drawn_when_the_papers_run_was_made(
    num_obstacles: int, seed: int, expected: str
) -> None:
    """Walls, and the next number from the same generator, are bit-identical."""
    rng = np.random.default_rng(seed)
    walls = Layout.random(rng, Room(num_obstacles=num_obstacles)).walls
    assert hashlib.sha256(walls.tobytes() + str(rng.integers(2**62)).encode()).hexdigest()[:16] == expected


@pytest.mark.parametrize("size", [10, 20, 50, 200])
def test_rooms_of_other_sizes_are_the_papers_rooms_scaled(size: int) -> None:
    for seed in range(10):
        paper, other = (
            Layout.random(np.random.default_rng(seed), room) for room in (Room(clearance=0.5), Room(size=size))
        )
        np.testing.assert_allclose(other.walls, paper.walls * size / 100, rtol=1e-9, atol=1e-9)
        assert len(other.grid(31)) >= 696
        assert other.is_free(other.sample(50, np.random.default_rng(seed))).all()


def test_walls_close_around_the_free_space_and_have_it_on_their_left() -> None:
    layout = Layout.random(np.random.default_rng(1))
    walls = layout.walls
    along = walls[:, 2:] - walls[:, :2]
    assert np.hypot(*along.T).sum() == pytest.approx(layout.free_space.length)
    left = (walls[:, :2] + walls[:, 2:]) / 2 + 1e-3 * np.column_stack([-along[:, 1], along[:, 0]]) / np.hypot(*along.T)[
        :, None
    ]
    assert layout.is_free(left, clearance=0).all()


def test_samples_are_uniform_in_the_free_space(rng: np.random.Generator) -> None:
    layout = Layout(shapely.box(0, 0, 10, 10), (shapely.box(4, 4, 6, 6),), clearance=0.0)
    points = layout.sample(20_000, rng)
    assert layout.is_free(points).all()
    # 96 m2 are free; the fraction in each quadrant is binomial with mean 1/4
    left, low = points[:, 0] < 5, points[:, 1] < 5
    for share in ((left & low).mean(), (left & ~low).mean(), (~left & low).mean()):
        assert share == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / len(points)))
    assert ((points > 4).all(axis=1) & (points < 6).all(axis=1)).sum() == 0


def test_clearance_is_the_true_distance_to_walls() -> None:
    layout = Layout(shapely.box(0, 0, 10, 10), (shapely.box(4, 4, 6, 6),), clearance=0.5)
    diagonal = 0.5 / np.sqrt(2)
    points = np.array(
        [[0.5, 5], [0.499, 5], [6 + 1.001 * diagonal, 6 + 1.001 * diagonal], [6 + 0.99 * diagonal] * 2, [5, 5]]
    )
    assert layout.is_free(points).tolist() == [True, False, True, False, False]


def test_grid_is_the_regular_grid_less_what_is_blocked() -> None:
    layout = Layout(shapely.box(0, 0, 10, 10), (shapely.box(4, 4, 6, 6),), clearance=0.5)
    grid = layout.grid(11)
    # 9 x 9 inner points minus the 3 x 3 in the obstacle, including its boundary
    assert len(grid) == 81 - 9
    assert (grid == np.round(grid)).all()


def test_geojson_round_trip_keeps_walls_and_materials(tmp_path: Path) -> None:
    layout = Layout(
        shapely.Polygon([(0, 0), (20, 0), (20, 8), (8, 8), (8, 20), (0, 20)]),
        (shapely.box(2, 2, 4, 5), shapely.Polygon([(12, 2), (15, 2), (13, 6)])),
        ("brick", "metal", "wood"),
    )
    path = tmp_path / "room.geojson"
    layout.to_geojson(path)
    back = Layout.from_geojson(path)
    assert np.array_equal(back.walls, layout.walls)
    assert back.wall_materials == layout.wall_materials
    assert Layout.from_geojson(json.loads(path.read_text())) == layout


def test_vertices_in_the_middle_of_a_wall_are_dropped() -> None:
    layout = Layout(shapely.Polygon([(0, 0), (5, 0), (10, 0), (10, 10), (0, 10), (0, 5)]))
    assert len(layout.walls) == 4


BOWTIE = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
SQUARE = shapely.box(0, 0, 10, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((BOWTIE,), r"Expected 'room' as a simple polygon, got Self-intersection"),
        (
            (SQUARE, (shapely.Polygon([(1, 1), (3, 3), (3, 1), (1, 3)]),)),
            r"Expected 'obstacles\[0\]' as a simple polygon",
        ),
        ((SQUARE, (shapely.box(8, 8, 12, 12),)), r"Expected 'obstacles\[0\]' inside the room"),
        (
            (SQUARE, (shapely.box(1, 1, 4, 4), shapely.box(3, 3, 6, 6))),
            r"do not overlap, got obstacles\[0\] and obstacles\[1\]",
        ),
        ((SQUARE, (), ("granite",)), r"Expected 'material' in \['asphalt_concrete', .*\], got 'granite'"),
        ((SQUARE, (), ("concrete", "wood")), r"Expected 'materials' with 1 names"),
        ((SQUARE.difference(shapely.box(4, 4, 5, 5)),), r"Expected 'room' without holes, got 1"),
        ((shapely.Polygon(),), r"Expected 'room' as a polygon"),
        ((SQUARE, (), (), -1.0), r"Expected 'clearance' in \[0, inf\), got -1\.0"),
    ],
)
def test_bad_layouts_are_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        ((1.0, 1.0, 7.1), r"Expected 'heading' in \[-pi, pi\), got 7\.1"),
        ((1.0, 1.0, np.pi), r"Expected 'heading' in \[-pi, pi\)"),
        ((1.0, 1.0, float("inf")), r"Expected a finite 'heading', got inf"),
        ((float("nan"), 1.0, 0.0), r"Expected a finite 'x', got nan"),
    ],
)
def test_bad_poses_are_named(pose: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pose(*pose)


def feature(role: str | None, geometry: object) -> dict[str, object]:
    return {"type": "Feature", "properties": {"role": role}, "geometry": geometry}


POLYGON = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
NOT_A_NUMBER = {"type": "Polygon", "coordinates": [[[0, 0], [float("nan"), 0], [1, 1], [0, 0]]]}


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, r"Expected a GeoJSON FeatureCollection"),
        ([], r"Expected exactly one feature with role 'room', got 0"),
        ([feature("room", POLYGON), feature("room", POLYGON)], r"Expected exactly one feature with role 'room', got 2"),
        ([feature(None, POLYGON)], r"Expected 'role' of feature 0 in \['room', 'obstacle'\], got None"),
        ([feature("room", {"type": "Point", "coordinates": [0, 0]})], r"Expected a Polygon in feature 0"),
        (
            [feature("room", {"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]})],
            r"Expected rings of at least three",
        ),
        ([feature("room", NOT_A_NUMBER)], r"Expected finite coordinates in 'room'"),
    ],
)
def test_bad_geojson_is_named(features: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.from_geojson({"type": "FeatureCollection", "features": features})


def test_a_room_that_cannot_be_drawn_says_so(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locus.room.layout._MAX_DRAWS", 3)
    monkeypatch.setattr("locus.room.layout._MAX_ROOMS", 3)
    with pytest.raises(
        ValueError, match=r"got at most \d\d\d feasible grid points in many draws .* lower 'min_feasible'"
    ):
        Layout.random(rng, Room(num_obstacles=4, min_feasible=800))
    with pytest.raises(ValueError, match=r"Expected a room with free space at clearance 6"):
        Layout(SQUARE, clearance=6.0).sample(1, rng)
    with pytest.raises(ValueError, match=r"Expected 'num_points' in \[1, 1000000\], got 0"):
        Layout(SQUARE).sample(0, rng)


def test_a_room_that_cannot_be_drawn_is_given_up_soon(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempts are limited by the number of shapes: a single draw of this many obstacles takes 1400."""
    drawn = []
    draw = draw_shape
    monkeypatch.setattr("locus.room.obstacles.draw_shape", lambda *arguments: drawn.append(1) or draw(*arguments))
    monkeypatch.setattr("locus.room.layout._MAX_SHAPES", 4000)
    with pytest.raises(ValueError, match=r"got no space for all obstacles in many draws .* use fewer or smaller"):
        Layout.random(rng, Room(num_obstacles=14, obstacle_gap=8.0))
    assert 4000 < len(drawn) <= 5400
