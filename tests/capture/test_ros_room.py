"""`locus locate` in a room that a robot mapped, through the shell; bad maps are refused in one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import shapely
from hall_map import LAYOUT, PATH, START, scanned

import locus
from locus.capture import files
from locus.cli import main
from locus.experiment import netcdf
from locus.room.ros_map import read_ros_map

POSE = locus.Pose(17.0, 11.0, -2.6)
TRUTH = (4.0, 9.0)


@pytest.fixture
def folder(tmp_path: Path, image: locus.Twin, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small map, and a capture from the true hall."""
    monkeypatch.chdir(tmp_path)
    for suffix in (".yaml", ".pgm"):
        shutil.copy(PATH.with_suffix(suffix), tmp_path)
    paths = image.trace(LAYOUT, POSE, [TRUTH]).isel(candidate=0)
    np.save(tmp_path / "capture.npy", locus.observe(paths, np.random.default_rng(0)).iq)
    return tmp_path


def locate(*changes: str) -> int:
    pose = f"--pose={POSE.x},{POSE.y},{POSE.heading}"
    usual = [pose, "--iq=capture.npy", "--out=posterior.nc", "--twin=image", f"--truth={TRUTH[0]},{TRUTH[1]}"]
    return main(["locate", "hall.yaml", *usual, *changes])


def test_the_map_is_what_its_script_makes() -> None:
    """Except for a few cells, in which rounding on another processor may decide."""
    stored, made = read_ros_map(PATH), scanned()
    assert (stored.resolution, stored.origin) == (made.resolution, made.origin)
    for name in ("free", "occupied"):
        assert (getattr(stored, name) != getattr(made, name)).mean() < 1e-3
    assert sum(PATH.with_suffix(suffix).stat().st_size for suffix in (".yaml", ".pgm")) < 12_000


def test_the_room_of_the_map_is_the_true_one() -> None:
    layout = locus.Layout.from_ros_map(PATH, inside=(START.x, START.y))
    apart = shapely.hausdorff_distance(layout.free_space.boundary, LAYOUT.free_space.boundary, densify=0.005)
    assert apart < 2 * 0.2
    assert len(layout.walls) == len(LAYOUT.walls)


def test_a_transmitter_is_located_in_a_map(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert locate("--figure=map.png") == 0
    out, err = capfd.readouterr()
    assert err.startswith("locus locate: hall.yaml: walls were straightened, which moved them by ")
    assert "most probable at" in out
    found = netcdf.load(folder / "posterior.nc")
    assert np.hypot(found.map_x - TRUTH[0], found.map_y - TRUTH[1]) < 1
    assert (folder / "map.png").stat().st_size > 0
    # In Python, the same
    layout = files.read_layout(PATH)
    again = locus.locate(layout, POSE, np.load("capture.npy"), twin="image")
    np.testing.assert_allclose(again.posterior, found.posterior, rtol=1e-3, atol=1e-7)


def cut(path: Path) -> None:
    path.with_suffix(".pgm").write_bytes(path.with_suffix(".pgm").read_bytes()[:-100])


def lie(path: Path) -> None:
    image = path.with_suffix(".pgm")
    magic, _, rest = image.read_bytes().split(b"\n", 2)
    image.write_bytes(b"\n".join([magic, b"30000 30000", rest]))


def fill(path: Path) -> None:
    image = path.with_suffix(".pgm")
    head, size, largest, pixels = image.read_bytes().split(b"\n", 3)
    image.write_bytes(b"\n".join([head, size, largest, bytes(len(pixels))]))


def rewrite(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "in hall.pgm, got 9790: it is damaged"),
        (lie, "Expected 1 to 16000000 pixels in hall.pgm, got 30000 x 30000"),
        (fill, "hall.yaml: Expected a map with free space, got none"),
        (lambda path: path.with_suffix(".pgm").unlink(), "hall.pgm, got none"),
        (lambda path: path.write_text("[1, 2]"), "hall.yaml: Expected the description of a ROS map, got [1, 2]"),
        (rewrite("resolution: 0.2", "resolution: .nan"), "hall.yaml: Expected 'resolution' in [0.001, 100], got nan"),
        (rewrite("free_thresh: 0.196", "free: 0.196"), "got none of ['free_thresh']"),
        (rewrite("image: hall.pgm", "image: /etc/passwd"), "Expected 'image' in the folder of hall.yaml or below"),
    ],
)
def test_bad_maps(
    damage: Callable[[Path], object], message: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(folder / "hall.yaml")
    assert locate() == 2
    out, err = capfd.readouterr()
    assert out == ""
    *_, last = err.splitlines()  # a map that can be read, but does not fit the pose, has a remark before
    assert last.startswith("locus locate: ")
    assert len(last) < 600
    assert message in last
    assert not (folder / "posterior.nc").exists()


def test_a_map_without_free_space(folder: Path) -> None:
    fill(folder / "hall.yaml")
    with pytest.raises(ValueError, match=r"hall.yaml: Expected a map with free space, got none"):
        locus.Layout.from_ros_map(folder / "hall.yaml")


def test_a_receiver_in_a_wall_of_the_map(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert locate("--pose=8,4.75,0") == 2
    assert "Expected 'pose' in free space, at least 0.01 m from every wall, got [8. 4.75]" in capfd.readouterr().err
