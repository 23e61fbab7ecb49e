"""Results in files of other tools: each holds what the Dataset holds, in the room's own coordinates."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
import xarray as xr
import yaml

import locus
from locus.capture import files, outputs
from locus.capture.candidates import random_candidates
from locus.capture.words import words
from locus.cli import main
from locus.experiment import netcdf

FILES = Path(__file__).parents[1] / "files"
DEGREES, SCENE = FILES / "room_degrees.geojson", FILES / "scene" / "scene.xml"
POSE = locus.Pose(-17.0, 10.0, -0.6)
TRUTH = np.array([[13.0, -9.0], [-2.5, 12.0]])
SHELL = [sys.executable, "-c", "import sys; from locus.cli import main; sys.exit(main())", "locate"]


def capture(layout: locus.Layout) -> np.ndarray:
    """Two snapshots of transmitters that are on no grid."""
    paths = locus.make_twin("image").trace(layout, POSE, TRUTH).rename(candidate="snapshot").reset_coords(drop=True)
    return np.asarray(locus.observe(paths, np.random.default_rng(3).spawn(2), locus.Radio()).iq.values)


@pytest.fixture(scope="module")
def layout() -> locus.Layout:
    return locus.Layout.from_geojson(DEGREES)


@pytest.fixture(scope="module")
def several(layout: locus.Layout) -> xr.Dataset:
    return locus.locate(layout, POSE, capture(layout), twin="image", spacing=0.8)


@pytest.fixture(scope="module")
def one(several: xr.Dataset) -> xr.Dataset:
    return several.isel(snapshot=0)


@pytest.fixture(scope="module")
def scattered(layout: locus.Layout) -> xr.Dataset:
    places = random_candidates(layout, POSE, 300, np.random.default_rng(1))
    return locus.locate(layout, POSE, capture(layout)[0], places, twin="image")


def read_map(path: Path) -> tuple[np.ndarray, float, tuple[float, float]]:
    """Percent (row from below, column) with NaN where unknown, resolution and origin, as in map_server."""
    about = yaml.safe_load(path.read_text())
    kind, size, largest, pixels = (path.parent / about["image"]).read_bytes().split(b"\n", 3)
    assert (kind, largest, about["mode"], about["negate"]) == (b"P5", b"255", "raw", 0)
    columns, rows = (int(number) for number in size.split())
    values = np.frombuffer(pixels, np.uint8).reshape(rows, columns)[::-1].astype(float)
    assert ((values <= 100) | (values == 255)).all()
    x, y, yaw = about["origin"]
    assert yaw == 0.0
    return np.where(values == 255, np.nan, values), about["resolution"], (x, y)


def shape_of(feature: dict[str, Any]) -> Any:
    return shapely.geometry.shape(feature["geometry"])


def test_csv_holds_every_candidate_of_every_snapshot(several: xr.Dataset, layout: locus.Layout, tmp_path: Path) -> None:
    assert outputs.save_result(several, tmp_path / "a.csv") == [tmp_path / "a.csv"]
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["snapshot", "x", "y", "longitude", "latitude", "posterior", "credible"]
    shape = (2, several.sizes["candidate"])
    columns = {name: np.array([float(row[name]) for row in rows]).reshape(shape) for name in rows[0]}
    np.testing.assert_allclose(columns["posterior"], several.posterior, rtol=1e-5)
    np.testing.assert_array_equal(columns["credible"], several.credible)
    np.testing.assert_array_equal(columns["snapshot"], [[0] * shape[1], [1] * shape[1]])
    for x, y, longitude, latitude in ((columns[n][1] for n in ("x", "y", "longitude", "latitude")),):
        np.testing.assert_allclose(x, several.x, rtol=1e-11)
        assert layout.frame is not None
        back = layout.frame.metres(np.stack([longitude, latitude], axis=1))
        np.testing.assert_allclose(back, np.stack([x, y], axis=1), atol=1e-4)


def test_geojson_holds_the_set_and_the_place_in_degrees(one: xr.Dataset, layout: locus.Layout, tmp_path: Path) -> None:
    outputs.save_result(one, tmp_path / "a.geojson")
    credible, best = json.loads((tmp_path / "a.geojson").read_text())["features"]
    area, place = shape_of(credible), shape_of(best)
    assert credible["properties"]["role"] == "credible_set"
    assert credible["properties"]["probability"] == pytest.approx(float(one.posterior.where(one.credible).sum()))
    assert credible["properties"]["probability"] >= 0.9
    assert credible["properties"]["area_m2"] == pytest.approx(float(one.credible_area))
    assert best["properties"] == {"role": "most_probable", "probability": pytest.approx(float(one.posterior.max()))}
    assert layout.frame is not None
    np.testing.assert_allclose(layout.frame.metres((place.x, place.y)), (float(one.map_x), float(one.map_y)), atol=1e-4)
    metres = shapely.transform(area, layout.frame.metres)
    assert layout.free_space.buffer(1e-4).covers(metres)
    assert area.is_valid
    inside = shapely.contains_xy(metres, one.x.values, one.y.values)
    np.testing.assert_array_equal(inside, one.credible)
    # Cells at walls are cut, so the area is at most that of whole cells
    cell = float(np.diff(np.unique(one.x)).min() * np.diff(np.unique(one.y)).min())
    assert 0.5 < metres.area / (cell * int(one.credible.sum())) <= 1 + 1e-6


def test_geojson_of_several_snapshots_and_of_rooms_in_metres(several: xr.Dataset) -> None:
    features = outputs.to_geojson(several)["features"]
    assert [feature["properties"]["snapshot"] for feature in features] == [0, 0, 1, 1]
    plain = several.isel(snapshot=1).copy()
    del plain.attrs["frame"]
    place = shape_of(outputs.to_geojson(plain)["features"][1])
    assert (place.x, place.y) == (float(plain.map_x), float(plain.map_y))


def test_random_candidates_stand_for_what_is_nearest_to_them(scattered: xr.Dataset, layout: locus.Layout) -> None:
    credible = shape_of(outputs.to_geojson(scattered)["features"][0])
    assert layout.frame is not None
    metres = shapely.transform(credible, layout.frame.metres)
    points = layout.sample(500, np.random.default_rng(0))
    nearest = np.hypot(*(points[:, np.newaxis] - np.stack([scattered.x, scattered.y], 1)).transpose(2, 0, 1)).argmin(1)
    inside = shapely.contains_xy(metres, *points.T)
    assert (inside == scattered.credible.values[nearest]).mean() > 0.995  # but at edges, which are rounded


@pytest.mark.parametrize("name", ["one", "scattered"])
def test_ros_map_holds_the_posterior_relative_to_its_largest(
    name: str, layout: locus.Layout, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(name)
    path = tmp_path / "map.yaml"
    assert outputs.save_result(data, path) == [path, tmp_path / "map.pgm"]
    text = path.read_text()
    assert f"with {float(data.posterior.max()):.6g} in" in text
    assert "longitude 11.568" in text
    percent, resolution, origin = read_map(path)
    np.testing.assert_allclose(origin, layout.room.bounds[:2], atol=1e-9)
    column = ((data.x.values - origin[0]) // resolution).astype(int)
    row = ((data.y.values - origin[1]) // resolution).astype(int)
    found = percent[row, column]
    wanted = 100 * data.posterior.values / float(data.posterior.max())
    if name == "one":
        np.testing.assert_allclose(found, wanted, atol=0.51)  # whole percent
        assert np.isnan(percent).any()
    assert found[int(wanted.argmax())] == 100
    assert np.nanmax(percent) == 100


def test_a_ros_map_holds_one_snapshot(several: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Expected one snapshot for the ROS map .*, got 2; write \.nc"):
        outputs.save_result(several, tmp_path / "a.yaml")
    with pytest.raises(ValueError, match="Expected a file that ends in"):
        outputs.save_result(several, tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_steps_of_a_walk_have_numbers_and_the_map_is_that_of_the_last(several: xr.Dataset, tmp_path: Path) -> None:
    walk = several.rename(snapshot="step")
    assert [f["properties"]["step"] for f in outputs.to_geojson(walk)["features"]] == [0, 0, 1, 1]
    outputs.save_result(walk, tmp_path / "a.yaml")
    assert f"with {float(walk.posterior[1].max()):.6g} in" in (tmp_path / "a.yaml").read_text()
    assert "This is step 1, the last one." in (tmp_path / "a.yaml").read_text()


def test_words_give_the_place_in_degrees(one: xr.Dataset) -> None:
    (line,) = words(one)
    assert ", longitude 11.568" in line
    assert ", latitude 48.149" in line


def located(
    room: Path, pose: str, iq: np.ndarray, out: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    np.save(folder / "capture.npy", iq)
    command = [*SHELL, str(room), f"--pose={pose}", "--iq=capture.npy", f"--out={out}", "--twin=image", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_room_in_degrees_through_the_shell(layout: locus.Layout, tmp_path: Path) -> None:
    assert layout.frame is not None
    (pose_x, pose_y), truth = layout.frame.degrees((POSE.x, POSE.y)), layout.frame.degrees(TRUTH[0])
    pose = f"{pose_x:.9f},{pose_y:.9f},{POSE.heading}"
    done = located(
        DEGREES, pose, capture(layout)[0], "a.geojson", tmp_path, f"--truth={truth[0]:.9f},{truth[1]:.9f}", "--grid=25"
    )
    assert done.stderr.count("\n") == 1
    assert "room_degrees.geojson: the room is in degrees: projected to metres" in done.stderr
    credible, best = json.loads((tmp_path / "a.geojson").read_text())["features"]
    place = layout.frame.metres(best["geometry"]["coordinates"])
    error = float(np.hypot(*(place - TRUTH[0])))
    assert f"truth: most probable place is {error:.1f} m away" in done.stdout
    assert error < 3
    assert shape_of(credible).distance(shapely.Point(truth)) * 1e5 < 2  # about a metre per 1e-5 degrees


def test_a_scene_through_the_shell(tmp_path: Path) -> None:
    layout = locus.Layout.from_sionna_scene(SCENE)
    pose = f"{POSE.x},{POSE.y},{POSE.heading}"
    done = located(SCENE, pose, capture(layout)[0], "a.yaml", tmp_path, "--height=1.2", "--grid=25")
    assert done.stderr == (
        "locus locate: scene.xml: floor and ceiling left out: the twins are plans\n"
        "locus locate: scene.xml: an open cut became a wall 2 cm thick\n"
    )
    assert done.stdout.endswith("Written to a.yaml, a.pgm\n")
    percent, resolution, origin = read_map(tmp_path / "a.yaml")
    row, column = np.unravel_index(np.nanargmax(percent), percent.shape)
    x, y = origin[0] + (column + 0.5) * resolution, origin[1] + (row + 0.5) * resolution
    assert np.hypot(x - TRUTH[0, 0], y - TRUTH[0, 1]) < 3


@pytest.mark.parametrize(
    ("room", "options", "message"),
    [
        (DEGREES, ["--pose=-17,10,0"], "Expected 'pose' as longitude,latitude,heading, since the room is in degrees"),
        (DEGREES, ["--height=2"], "Expected 'height' with a Sionna scene (.xml) only, got it with"),
        (SCENE, ["--height=9"], "Expected walls at a height of 9 m, got a scene from 0 to 4 m"),
        (SCENE, ["--height=nan"], "Expected a finite 'height', got nan"),
        (SCENE, ["--out=a.yaml"], "Expected one snapshot for the ROS map a.yaml, got 2"),
        (FILES / "make_rooms.py", [], "got invalid JSON"),
        (FILES / "room.pgm", [], "Expected the YAML file of a ROS map, which names its image, got the image"),
    ],
)
def test_what_does_not_fit_is_refused_before_work(
    room: Path,
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("capture.npy", np.zeros((2, 128, 8), dtype=complex))
    usual = ["--pose=-17,10,-0.6", "--iq=capture.npy", "--out=a.csv", "--twin=image"]
    assert main(["locate", str(room), *usual, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.splitlines()[-1].startswith("locus locate: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture.npy"]


@pytest.mark.parametrize(
    "options",
    [
        ["room.geojson", "--iq=capture.npy", "--out=room.geojson"],
        ["room.geojson", "--iq=capture.npy", "--out=./a/../room.geojson"],
        ["map.yaml", "--iq=capture.npy", "--out=map.yaml"],
        ["map.yaml", "--iq=capture.npy", "--out=a.nc", "--figure=map.pgm.png"],
        ["map.yml", "--iq=capture.npy", "--noise=noise.csv", "--out=noise.csv"],
    ],
)
def test_what_is_read_is_not_overwritten(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    assert main(["locate", *options, "--pose=1,2,0"]) == 2
    refused = "to write to, got that of a file that is read" in capsys.readouterr().err
    assert refused != ("--figure=map.pgm.png" in options)


def test_a_position_may_begin_with_a_minus_and_a_heading_be_in_degrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["locate", "none.geojson", "--pose", "-2,.5,-90deg", "--truth", "-.5,3", "--iq=a", "--out=a.nc"]) == 2
    assert "Expected a file none.geojson, got none" in capsys.readouterr().err
    assert files.parse_pose("-2,.5,-90deg") == locus.Pose(-2.0, 0.5, -np.pi / 2)
    assert files.parse_pose("-2,.5,270deg").heading == pytest.approx(-np.pi / 2)


def test_netcdf_remembers_where_the_room_is(one: xr.Dataset, tmp_path: Path) -> None:
    outputs.save_result(one, tmp_path / "a.nc")
    again = netcdf.load(tmp_path / "a.nc")
    assert outputs.frame_of(again) == outputs.frame_of(one)
    assert "in degrees" in again.attrs["remarks"]
