"""Scenes: read like Mitsuba, written for Sionna's solver, cut to rooms, and refused if they are dangerous or wrong."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import locus
from locus.room import scene as module
from locus.room.mesh import Mesh
from locus.room.scene import Surface, read_scene, write_scene
from locus.room.section import cut

FILES = Path(__file__).parents[1] / "files"
SCENE = FILES / "scene" / "scene.xml"
TURNED = """<transform name="to_world">
  <scale x="2" y="0.5"/><rotate x="0.48" y="-0.8" z="0.36" angle="35"/><translate y="4"/><rotate z="1" angle="-70"/>
  <matrix value="1 0.2 0 3  0 1 0 -2  0 0.1 2 1  0 0 0 1"/><scale value="1.5"/><translate value="1, 2, 3"/>
</transform>"""


def assert_same(one: locus.Layout, other: locus.Layout, within: float = 1e-3) -> None:
    """Both rooms have the same walls, to ``within`` metres, and the same materials."""
    assert one.materials == other.materials
    for a, b in zip((one.room, *one.obstacles), (other.room, *other.obstacles), strict=True):
        assert len(a.exterior.coords) == len(b.exterior.coords)
        assert shapely.hausdorff_distance(a, b) <= within


def test_the_files_are_those_that_the_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, FILES / "make_rooms.py", tmp_path], check=True)
    for path in (FILES / "room_degrees.geojson", *sorted((FILES / "scene").rglob("*.*"))):
        assert (tmp_path / path.relative_to(FILES)).read_text() == path.read_text()


def test_ply_obj_cube_and_rectangle_become_the_room_of_the_script() -> None:
    layout = locus.Layout.from_sionna_scene(SCENE)
    screen = shapely.box(-15.01, -12, -14.99, -4)
    obstacles = (shapely.box(3, -2, 9, 4), shapely.box(-12, 5, -6, 8), screen)
    expected = locus.Layout(shapely.box(-20, -15, 20, 15), obstacles, ("concrete", "metal", "concrete", "glass"))
    assert_same(layout, expected, 1e-6)
    assert layout.remarks == ("floor and ceiling left out: the twins are plans", "an open cut became a wall 2 cm thick")


@pytest.fixture
def mitsuba() -> Any:
    locus.make_twin("sionna")
    import mitsuba as mi

    return mi


@pytest.mark.parametrize("kind", ["rectangle", "cube", "ply"])
def test_transformations_are_mitsubas(kind: str, mitsuba: Any, tmp_path: Path) -> None:
    write_scene(locus.Layout(shapely.box(0, 0, 3, 2)), tmp_path)
    file = '<string name="filename" value="meshes/room.ply"/>' if kind == "ply" else ""
    (tmp_path / "a.xml").write_text(
        f'<scene version="3.0.0"><shape type="{kind}" id="a">{file}{TURNED}</shape></scene>'
    )
    (ours,) = read_scene(tmp_path / "a.xml")
    (theirs,) = mitsuba.load_file(str(tmp_path / "a.xml")).shapes()
    box = theirs.bbox()
    np.testing.assert_allclose(ours.mesh.vertices.min(axis=0), np.ravel(box.min), atol=1e-5)
    np.testing.assert_allclose(ours.mesh.vertices.max(axis=0), np.ravel(box.max), atol=1e-5)
    if kind == "ply":
        vertices = mitsuba.traverse(theirs)["vertex_positions"].numpy().reshape(-1, 3)
        np.testing.assert_allclose(ours.mesh.vertices, vertices, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "obstacles", "materials"),
    [
        ("box", [], ("metal",)),
        ("box_one_screen", [(-0.01, -3, 0.01, 3)], ("metal", "glass")),
        ("box_two_screens", [(-2.01, -3, -1.99, 3), (1.99, -3, 2.01, 3)], ("metal", "glass", "glass")),
    ],
)
def test_sionnas_own_boxes_come_through(
    name: str, obstacles: list[tuple[float, ...]], materials: tuple[str, ...], mitsuba: Any
) -> None:
    import sionna.rt as rt

    layout = locus.Layout.from_sionna_scene(getattr(rt.scene, name))
    expected = locus.Layout(shapely.box(-5, -5, 5, 5), tuple(shapely.box(*one) for one in obstacles), materials)
    assert_same(layout, expected, 1e-5)
    assert layout.remarks[0] == "floor and ceiling left out: the twins are plans"
    assert any("2 cm thick" in remark for remark in layout.remarks) == bool(obstacles)


@pytest.mark.parametrize("seed", range(3))
def test_rooms_survive_the_way_to_a_scene_and_back(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    layout = locus.Layout.random(rng)
    names = ("brick", "glass", "metal", "wood")
    layout = locus.Layout(layout.room, layout.obstacles, names[: 1 + len(layout.obstacles)])
    again = locus.Layout.from_sionna_scene(layout.to_sionna_scene(tmp_path))
    assert_same(again, layout)
    assert again.remarks == ()
    pose = locus.Pose.random(layout, rng)
    places = layout.sample(40, rng)
    for twin in ("image", "sionna"):
        one, other = (locus.make_twin(twin).trace(room, pose, places) for room in (layout, again))
        # Walls at shadow boundaries may move by single precision: a path or two may come or go
        assert (one.valid != other.valid).sum() <= 2
        both = one.valid & other.valid & (one.order == other.order)
        assert both.sum() >= one.valid.sum() - 4
        np.testing.assert_allclose(one.delay.where(both), other.delay.where(both), atol=1e-3 / 3e8)


def test_sionnas_own_solver_finds_the_twins_paths_in_what_is_written(tmp_path: Path, mitsuba: Any) -> None:
    import sionna.rt as rt

    layout = locus.Layout.from_sionna_scene(SCENE)
    pose, places = locus.Pose(-17.0, 10.0, -0.6), np.array([[15.0, 10.0], [0.0, -9.0], [-2.5, 12.0]])
    radio = locus.Radio()
    paths = locus.make_twin("image", radio, locus.TwinOptions(max_paths=64)).trace(layout, pose, places)
    scene = rt.load_scene(str(layout.to_sionna_scene(tmp_path)))
    scene.frequency = radio.carrier
    scene.tx_array = rt.PlanarArray(num_rows=1, num_cols=1, pattern="tr38901", polarization="V")
    scene.rx_array = rt.PlanarArray(num_rows=1, num_cols=1, pattern="iso", polarization="V")
    scene.add(rt.Transmitter("receiver", position=[pose.x, pose.y, 1.5], orientation=[pose.heading, 0.0, 0.0]))
    for i, (x, y) in enumerate(places):
        scene.add(rt.Receiver(f"place {i}", position=[float(x), float(y), 1.5]))
    found = rt.PathSolver()(scene, max_depth=3, refraction=False, samples_per_src=200_000)
    valid = found.valid.numpy().reshape(len(places), -1)
    delay = found.tau.numpy().reshape(len(places), -1)
    real, imaginary = (part.numpy().reshape(len(places), -1) for part in found.a)
    for i in range(len(places)):
        kept = paths.valid.values[i]
        assert valid[i].sum() == kept.sum()
        order = np.argsort(paths.delay.values[i][kept])
        theirs = np.argsort(delay[i][valid[i]])
        np.testing.assert_allclose(delay[i][valid[i]][theirs], paths.delay.values[i][kept][order], rtol=1e-5)
        strength = np.hypot(real, imaginary)[i][valid[i]][theirs]
        np.testing.assert_allclose(strength, np.abs(paths.gain.values[i][kept][order]), rtol=0.01, atol=1e-9)


def prism(
    box: tuple[float, float, float, float], name: str, material: str | None = "concrete", top: float = 3.0
) -> Surface:
    """Four walls."""
    mesh = module._walls(locus.Layout(shapely.box(*box)).walls, top)
    return Surface(name, material, mesh)


def sheet(a: tuple[float, float], b: tuple[float, float], material: str = "brick") -> Surface:
    vertices = np.array([[*a, 0.0], [*b, 0.0], [*b, 3.0], [*a, 3.0]])
    return Surface("sheet", material, Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]])))


ROOM = (0.0, 0.0, 20.0, 10.0)


def areas(surfaces: list[Surface], height: float = 1.5) -> tuple[list[float], list[str]]:
    section = cut(surfaces, height)
    return [round(polygon.area, 3) for polygon in section.polygons], section.materials


def test_four_sheets_make_a_room_and_a_fifth_a_partition() -> None:
    ring = [(0.0, 0.0), (20.0, 0.0), (20.0, 10.0), (0.0, 10.0)]
    walls = [sheet(a, b) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    assert areas(walls) == ([200.0], ["brick"])
    partition = sheet((8.0, 0.0), (8.0, 10.0), "glass")
    assert areas([*walls, partition]) == ([200.0, 0.2], ["brick", "glass"])
    assert areas([*walls, sheet((8.0, 2.0), (8.0, 10.0), "glass")]) == ([200.0, 0.16], ["brick", "glass"])


def test_solid_walls_leave_the_space_between_them() -> None:
    outer, inner = prism((-0.3, -0.3, 20.3, 10.3), "wall"), prism(ROOM, "wall")
    both = Mesh(
        np.concatenate([outer.mesh.vertices, inner.mesh.vertices]),
        np.concatenate([outer.mesh.faces, inner.mesh.faces + len(outer.mesh.vertices)]),
    )
    assert areas([Surface("wall", "brick", both), prism((4, 4, 6, 6), "pillar")]) == (
        [200.0, 4.0],
        ["brick", "concrete"],
    )
    boxes = [(-1.0, -1.0, 21.0, 0.0), (-1.0, 10.0, 21.0, 11.0), (-1.0, -1.0, 0.0, 11.0), (20.0, -1.0, 21.0, 11.0)]
    assert areas([*(prism(box, "wall") for box in boxes), prism((4, 4, 6, 6), "pillar", "wood")]) == (
        [200.0, 4.0],
        ["concrete", "wood"],
    )


def test_obstacles_at_the_wall_stay_solid_and_overlapping_ones_become_one() -> None:
    surfaces = [
        prism(ROOM, "room"),
        prism((0, 0, 3, 2), "corner"),
        prism((8, 4, 10, 6), "a"),
        prism((9, 5, 13, 8), "b", "wood"),
    ]
    assert areas(surfaces) == ([200.0, 6.0, 15.0], ["concrete", "concrete", "wood"])


def test_what_does_not_reach_the_height_is_left_out() -> None:
    surfaces = [prism(ROOM, "room"), prism((4, 4, 6, 6), "table", "jelly", top=0.8)]
    assert areas(surfaces) == ([200.0], ["concrete"])
    assert "1 of 2 shapes do not reach 1.5 m and are left out" in cut(surfaces, 1.5).remarks
    with pytest.raises(ValueError, match="Expected 'material' in"):
        cut(surfaces, 0.5)
    with pytest.raises(ValueError, match="Expected an ITU material of the shape 'room', which is cut"):
        cut([prism(ROOM, "room", None)], 1.5)
    with pytest.raises(ValueError, match=r"Expected walls at a height of 9 m, got a scene from 0 to 3 m"):
        cut(surfaces, 9.0)
    with pytest.raises(ValueError, match=r"Expected walls that enclose a room at a height of 1\.5 m, got none"):
        cut([sheet((0.0, 0.0), (5.0, 0.0))], 1.5)


def test_leaning_walls_are_reported() -> None:
    straight = prism(ROOM, "room")
    vertices = straight.mesh.vertices.copy()
    vertices[vertices[:, 2] > 0, :2] *= 1.1
    section = cut([Surface("room", "wood", Mesh(vertices, straight.mesh.faces))], 1.5)
    assert section.polygons[0].area == pytest.approx(200 * 1.05**2)
    assert section.remarks == ("4 of 8 cut faces lean; they are taken to be vertical",)


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{i} "{f"&a{i - 1 if i else str()};" * 10}">' for i in range(9)
)
SHAPE = '<scene version="3.0.0"><shape type="{}" id="a">{}</shape></scene>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got invalid XML: no element found"),
        ("<scene>", "got invalid XML: no element found"),
        ("<svg/>", "got XML that starts with <svg>"),
        ("<scene/>", "Expected a Mitsuba scene with shapes"),
        (BOMB + "]><scene>&a8;</scene>", "Expected a scene without DOCTYPE and entities"),
        ('<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><scene>&x;</scene>', "without DOCTYPE and entities"),
        ('<!doctype scene SYSTEM "http://example.org/a.dtd"><scene/>', "without DOCTYPE and entities"),
        ('<scene><include filename="/etc/passwd"/></scene>', "Expected a scene in one file, got <include>"),
        (SHAPE.format("ply", '<string name="filename" value="/etc/passwd"/>'), "a file within the scene's folder"),
        (SHAPE.format("ply", '<string name="filename" value="../other/a.ply"/>'), "a file within the scene's folder"),
        (SHAPE.format("ply", ""), "a file within the scene's folder, got ''"),
        (SHAPE.format("ply", '<string name="filename" value="none.ply"/>'), "got no such file"),
        (SHAPE.format("sphere", ""), "of type ply, obj, rectangle or cube, got 'sphere'"),
        (SHAPE.format("cube", '<transform name="to_world"><lookat/></transform>'), "another step than matrix"),
        (SHAPE.format("cube", '<transform name="to_world"><scale value="big"/></transform>'), "'big'"),
        (SHAPE.format("cube", '<transform name="to_world"><scale value="1e400"/></transform>'), "finite coordinates"),
        (
            SHAPE.format("cube", '<transform name="to_world"><rotate angle="3"/></transform>'),
            "without an axis of length 1",
        ),
        (SHAPE.format("cube", '<transform name="to_world"><rotate x="2" angle="3"/></transform>'), "axis of length 1"),
        (SHAPE.format("cube", '<transform name="to_world"><matrix value="1 2"/></transform>'), "not 4 x 4"),
        (SHAPE.format("cube", ""), "Expected walls at a height of 1.5 m, got a scene from -1 to 1 m"),
        ("<scene>" + 1000 * '<shape type="cube" id="c"/>' + "</scene>", "Expected walls at a height of 1.5 m"),
        ("<a>" * 200_000, "got invalid XML"),
        ("<a>" * 100_000 + "</a>" * 100_000, "got XML that starts with <a>"),
        (" " * (2**20 + 1), "of at most 1 MiB, got 1.0 MiB"),
    ],
)
def test_bad_scenes_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(text)
    tracemalloc.start()
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        locus.Layout.from_sionna_scene(path)
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


def test_text_in_other_encodings_hides_no_entities(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_bytes((BOMB + "]><scene>&a8;</scene>").encode("utf-16"))
    with pytest.raises(ValueError, match="got invalid XML: 'utf-8'"):
        read_scene(path)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.ply").write_bytes(b"ply\n")
    (tmp_path / "inside" / "a.ply").symlink_to(tmp_path / "secret.ply")
    path = tmp_path / "inside" / "scene.xml"
    path.write_text(SHAPE.format("ply", '<string name="filename" value="a.ply"/>'))
    with pytest.raises(ValueError, match="a file within the scene's folder"):
        read_scene(path)


def test_scenes_have_a_limit_of_triangles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TRIANGLES", 20)
    path = tmp_path / "scene.xml"
    path.write_text("<scene>" + 2 * '<shape type="cube" id="c"/>' + "</scene>")
    with pytest.raises(ValueError, match="Expected a scene of at most 20 triangles"):
        read_scene(path)


def test_rooms_far_from_the_origin_are_not_written_in_single_precision(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"got walls at 5000040 m; move it first"):
        locus.Layout(shapely.box(0, 5e6, 50, 5e6 + 40)).to_sionna_scene(tmp_path)
    for height in (0.0, np.nan):
        with pytest.raises(ValueError, match="Expected 'wall_height' in"):
            locus.Layout(shapely.box(0, 0, 50, 40)).to_sionna_scene(tmp_path, height)
    with pytest.raises(ValueError, match="Expected a finite 'height', got nan"):
        locus.Layout.from_sionna_scene(SCENE, np.nan)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, 1200), inserted=st.text(max_size=8), removed=st.integers(0, 12))
def test_damaged_scenes_are_read_or_refused(at: int, inserted: str, removed: int, tmp_path: Path) -> None:
    text = SCENE.read_text()
    for name in ("room.ply", "desk.obj"):
        (tmp_path / "meshes").mkdir(exist_ok=True)
        (tmp_path / "meshes" / name).write_bytes((SCENE.parent / "meshes" / name).read_bytes())
    (tmp_path / "scene.xml").write_text(text[:at] + inserted + text[at + removed :], encoding="utf-8", errors="replace")
    try:
        layout = locus.Layout.from_sionna_scene(tmp_path / "scene.xml")
    except (ValueError, FileNotFoundError) as error:
        assert "Expected" in str(error)  # noqa: PT017
    else:
        assert layout.free_space.area > 0
        assert np.isfinite(layout.walls).all()


@settings(deadline=None)
@given(
    vertices=st.lists(st.tuples(*[st.floats(-50, 50, width=16)] * 3), min_size=3, max_size=12),
    faces=st.lists(st.tuples(*[st.integers(0, 11)] * 3), min_size=1, max_size=20),
)
def test_any_soup_of_triangles_is_a_room_or_refused(
    vertices: list[tuple[float, ...]], faces: list[tuple[int, ...]]
) -> None:
    soup = Surface("soup", "wood", Mesh(np.array(vertices), np.array(faces) % len(vertices)))
    try:
        section = cut([prism((-60, -60, 60, 60), "room"), soup], 1.5)
        layout = locus.Layout(section.polygons[0], tuple(section.polygons[1:]), tuple(section.materials))
    except ValueError as error:
        assert "Expected" in str(error)  # noqa: PT017
    else:
        assert layout.room.area == pytest.approx(14400, rel=0.5)
