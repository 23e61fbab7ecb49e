"""Trajectory files of walks: SciPy's rotations read back, and one clear line for everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from locus.capture.trajectory import MAX_BYTES, read_trajectory
from locus.capture.walk import MAX_POSES

FLAT = "0 0 0 1"  # a quaternion of heading 0


def write(folder: Path, text: str, name: str = "walk.tum") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_tum_files_of_slam_systems_are_read(tmp_path: Path) -> None:
    """Times since 1970, a tilt of up to 4 degrees, comments, blank lines; the heading is that of the turned x axis."""
    rng = np.random.default_rng(0)
    heading = rng.uniform(-np.pi, np.pi, 50)
    heading[0] = -np.pi
    tilt = np.radians(rng.uniform(-2.8, 2.8, (50, 2)))
    turns = Rotation.from_euler("ZYX", np.column_stack([heading, tilt]))
    times = 1_700_000_000.123456 + np.cumsum(rng.uniform(0.05, 2, 50))
    xy = rng.uniform(-50, 50, (50, 2))
    lines = ["# time x y z qx qy qz qw", ""]
    for time, (x, y), quaternion in zip(times, xy, turns.as_quat(), strict=True):
        lines.append(f"{time:.6f} {x:.9f} {y:.9f}\t0.3 " + " ".join(f"{part:.9f}" for part in quaternion) + "  # ok")
    found = read_trajectory(write(tmp_path, "\n".join(lines) + "\n"))
    np.testing.assert_allclose(found.times, times, atol=1e-6)
    np.testing.assert_allclose([[one.x, one.y] for one in found.poses], xy, atol=1e-8)
    axis = turns.apply([1.0, 0.0, 0.0])
    turned = [one.heading for one in found.poses] - np.arctan2(axis[:, 1], axis[:, 0])
    np.testing.assert_allclose((turned + np.pi) % (2 * np.pi), np.pi, atol=1e-7)
    assert all(-np.pi <= one.heading < np.pi for one in found.poses)


def test_csv_files_are_read(tmp_path: Path) -> None:
    text = "\ufefftime, x, y, heading\n0,1.5,2,0.25\n\n0.5,1.6,2,3.5\n"
    found = read_trajectory(write(tmp_path, text, "walk.csv"))
    assert found.times.tolist() == [0, 0.5]
    assert [(one.x, one.y) for one in found.poses] == [(1.5, 2.0), (1.6, 2.0)]
    assert [one.heading for one in found.poses] == pytest.approx([0.25, 3.5 - 2 * np.pi])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "Expected 1 to 1000 poses, got none"),
        (["# nothing"], "Expected 1 to 1000 poses, got none"),
        (["0 1 2 0 0 0 0"], "Expected 8 numbers, time x y z qx qy qz qw, got 7 on line 1"),
        ([f"0 1 2 0 {FLAT}", f"1 1 2 0 {FLAT} 5"], "got 9 on line 2"),
        ([f"0 1 two 0 {FLAT}"], "Expected a finite number as 'y', got 'two' on line 1"),
        (["#", f"0 nan 2 0 {FLAT}"], "Expected a finite number as 'x', got 'nan' on line 2"),
        ([f"0 1 2 0 {FLAT}", f"inf 1 2 0 {FLAT}"], "Expected a finite number as 'time', got 'inf' on line 2"),
        ([f"3.5 1 2 0 {FLAT}", f"3.5 1 2 0 {FLAT}"], "Expected increasing times, got 3.5 s after 3.5 s on line 2"),
        ([f"3 1 2 0 {FLAT}", "#", f"1 1 2 0 {FLAT}"], "Expected increasing times, got 1 s after 3 s on line 3"),
        (["0 1 2 0 0 0 0 2"], "Expected a quaternion of length 1, got 2 on line 1"),
        (["0 1 2 0 0 0 0 0"], "Expected a quaternion of length 1, got 0 on line 1"),
        (["0 1 2 0 0.7071 0 0 0.7071"], "Expected a rotation about z, tilted by at most 5 degrees, got 90 degrees on"),
        (["0 1 2 0 1 0 0 0"], "got 180 degrees on line 1; is z up in this trajectory?"),
        ([f"0 1 2 0 {FLAT}", f"1 1 2 7.5 {FLAT}"], "Expected a walk on one floor, z within 1 m, got 0 to 7.5 m"),
        ([f"{i} 1 2 0 {FLAT}" for i in range(MAX_POSES + 1)], "Expected at most 1000 poses, got more on line 1001"),
        (["#" * MAX_BYTES], "Expected at most 1 MiB, got 1.0 MiB"),
    ],
)
def test_bad_tum_lines_are_named(lines: list[str], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "\n".join([*lines, ""]))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_trajectory(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,2,0.5\n", "Expected the header time,x,y,heading, got '0,1,2,0.5' on line 1"),
        ("x,y,time,heading\n0,1,2,0\n", "Expected the header time,x,y,heading, got 'x,y,time,heading' on line 1"),
        ("time,x,y,heading\n", "Expected 1 to 1000 poses, got none"),
        ("time,x,y,heading\n0,1,2\n", "Expected 4 numbers, time x y heading, got 3 on line 2"),
        ("time,x,y,heading\n0,1,2,\n", "Expected a finite number as 'heading', got '' on line 2"),
        ("time,x,y,heading\n0,1,2,90\n", "Expected 'heading' in radians, within [-2 pi, 2 pi], got 90 on line 2"),
        ("time,x,y,heading\n1,1,2,0\n0,1,2,0\n", "Expected increasing times, got 0 s after 1 s on line 3"),
    ],
)
def test_bad_csv_lines_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text, "walk.csv")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_trajectory(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_files_that_are_no_trajectories(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"Expected a file none.tum, got none"):
        read_trajectory(Path("none.tum"))
    with pytest.raises(ValueError, match=r"file that ends in .csv or .tum or .txt, got walk.bag"):
        read_trajectory(Path("walk.bag"))
    path = tmp_path / "walk.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"walk.txt: Expected text, got bytes that are not UTF-8"):
        read_trajectory(path)
