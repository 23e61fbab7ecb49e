"""ROS maps: read as map_server reads them, written as it expects them, and bad files refused in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from locus.room import ros_map
from locus.room.ros_map import MAX_PIXELS, RosMap, read_pgm, read_ros_map, write_ros_map

ABOUT = {
    "image": "map.pgm",
    "resolution": 0.05,
    "origin": [0.0, 0.0, 0.0],
    "negate": 0,
    "occupied_thresh": 0.65,
    "free_thresh": 0.196,
}
PGM = b"P5\n3 2\n255\n" + bytes([0, 205, 254, 100, 50, 255])


def write(folder: Path, pixels: bytes | None = PGM, **changes: Any) -> Path:
    about = {name: value for name, value in {**ABOUT, **changes}.items() if value != "left out"}
    (folder / "map.yaml").write_text(yaml.safe_dump(about))
    if pixels is not None:
        (folder / "map.pgm").write_bytes(pixels)
    return folder / "map.yaml"


def map_server(x: int, about: dict[str, Any]) -> int:
    """Occupancy that ROS's map_server publishes for a pixel: 0 to 100, or -1 if it is unknown."""
    if about.get("mode") == "raw":
        return x if x <= 100 else -1
    p = (x if about["negate"] else 255 - x) / 255
    if p > about["occupied_thresh"]:
        return 100
    if p < about["free_thresh"]:
        return 0
    return -1


@pytest.mark.parametrize("negate", [0, 1, True])
@pytest.mark.parametrize("thresholds", [(0.65, 0.196), (0.8, 0.2), (0.5, 0.5)])
@pytest.mark.parametrize("mode", ["trinary", "scale", "left out"])
def test_cells_are_what_map_server_publishes(
    tmp_path: Path, negate: Any, thresholds: tuple[float, float], mode: str
) -> None:
    every = b"P5\n16 16\n255\n" + bytes(range(256))
    changes = {"negate": negate, "occupied_thresh": thresholds[0], "free_thresh": thresholds[1], "mode": mode}
    grid = read_ros_map(write(tmp_path, every, **changes))
    published = np.array([map_server(x, {**ABOUT, **changes}) for x in range(256)]).reshape(16, 16)[::-1]
    np.testing.assert_array_equal(grid.free, published == 0)
    np.testing.assert_array_equal(grid.occupied, published == 100)


def test_raw_values_are_percent(tmp_path: Path) -> None:
    every = b"P5\n16 16\n255\n" + bytes(range(256))
    grid = read_ros_map(write(tmp_path, every, mode="raw"))
    published = np.array([map_server(x, {"mode": "raw"}) for x in range(256)]).reshape(16, 16)[::-1]
    np.testing.assert_allclose(grid.occupancy, np.where(published < 0, np.nan, published / 100), rtol=1e-6)
    with pytest.raises(ValueError, match="Expected 'negate' 0 with mode raw"):
        read_ros_map(write(tmp_path, every, mode="raw", negate=1))


def test_row_0_is_the_top_and_the_origin_is_the_lower_left_corner(tmp_path: Path) -> None:
    grid = read_ros_map(write(tmp_path, origin=[10.0, 20.0, math.pi / 2]))
    assert grid.occupancy[1, 0] == 1  # black, in the first row of the image
    # Columns go along the yaw, here +y, and rows to the left of it, here -x
    np.testing.assert_allclose(grid.to_world(np.array([[0.0, 0.0], [3.0, 2.0]])), [[10, 20], [9.9, 20.15]])
    points = np.random.default_rng(0).uniform(-100, 100, (20, 2))
    np.testing.assert_allclose(grid.to_cells(grid.to_world(points)), points, atol=1e-9)


def test_ascii_images_and_comments_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.pgm").write_bytes(b"P2 # by hand\n# CREATOR: me\n3 2 # size\n255\n0 205 254\n100 50\n255\n")
    (tmp_path / "b.pgm").write_bytes(PGM.replace(b"P5\n", b"P5\n# CREATOR: map_saver.cpp 0.050 m/pix\n"))
    np.testing.assert_array_equal(read_pgm(tmp_path / "a.pgm"), [[0, 205, 254], [100, 50, 255]])
    np.testing.assert_array_equal(read_pgm(tmp_path / "b.pgm"), [[0, 205, 254], [100, 50, 255]])


def test_written_maps_come_back(tmp_path: Path) -> None:
    occupancy = np.array([[0.0, 0.1, np.nan], [0.5, 0.7, 1.0]], dtype=np.float32)
    grid = RosMap(occupancy, 0.1, (-3.0, 4.5, 0.3))
    for mode in ("trinary", "raw"):
        write_ros_map(tmp_path / f"{mode}.yaml", grid, mode)
        back = read_ros_map(tmp_path / f"{mode}.yaml")
        assert (back.resolution, back.origin) == (grid.resolution, grid.origin)
        np.testing.assert_array_equal(back.free, grid.free)
        np.testing.assert_array_equal(back.occupied, grid.occupied)
        if mode == "raw":
            np.testing.assert_allclose(back.occupancy, occupancy, atol=0.005)
    with pytest.raises(ValueError, match="without unknown cells for mode 'scale'"):
        write_ros_map(tmp_path / "scale.yaml", grid, "scale")
    known = RosMap(np.nan_to_num(occupancy), 0.1)
    write_ros_map(tmp_path / "scale.yaml", known, "scale")
    np.testing.assert_allclose(read_ros_map(tmp_path / "scale.yaml").occupancy, known.occupancy, atol=0.5 / 255 + 1e-6)
    assert (tmp_path / "trinary.pgm").read_bytes()[:11] == b"P5\n3 2\n255\n"
    assert set((tmp_path / "trinary.pgm").read_bytes()[11:]) == {0, 205, 254}  # the pixels of ROS's map_saver


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resolution": math.nan}, r"Expected 'resolution' in \[0.001, 100\], got nan"),
        ({"resolution": 0}, r"Expected 'resolution' in"),
        ({"resolution": "left out"}, r"got none of \['resolution'\]"),
        ({"resolution": [0.05]}, r"Expected 'resolution' as a plain value, got \[0.05\]"),
        ({"resolution": "fine"}, "Expected 'map.resolution' of type float, got 'fine'"),
        ({"origin": [0.0, 0.0]}, "Expected 'map.origin' as a list of 3 values"),
        ({"origin": [0.0, [1.0], 0.0]}, "Expected 'origin' as a plain value"),
        ({"origin": [0.0, math.inf, 0.0]}, "Expected 'origin: y' in"),
        ({"negate": 2}, "Expected 'negate' 0 or 1, got 2"),
        ({"occupied_thresh": "left out"}, r"got none of \['occupied_thresh'\]"),
        ({"occupied_thresh": 65}, r"Expected 'occupied_thresh' in \[0, 1\], got 65"),
        ({"free_thresh": 0.7}, r"Expected 'free_thresh' in \[0, 0.65\], got 0.7"),
        ({"mode": "binary"}, r"Expected 'mode' in \['trinary', 'scale', 'raw'\], got 'binary'"),
        ({"image": 5}, "Expected 'map.image' of type str, got 5"),
        (
            {"image": "../map.pgm"},
            "Expected 'image' in the folder of map.yaml or below, got '../map.pgm'; copy it there",
        ),
        ({"image": "/etc/hostname"}, "Expected 'image' in the folder of map.yaml or below"),
        ({"image": "a\0b"}, "Expected 'image' as the name of a file"),
    ],
)
def test_bad_descriptions(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_ros_map(write(tmp_path, **changes))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "map.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n- 2\n", r"Expected the description of a ROS map, got \[1, 2\]"),
        ("", "Expected the description of a ROS map, got None"),
        ("image: [", "got invalid YAML"),
        ("[" * 8000, "got invalid YAML"),
        ("!!python/object/apply:os.system ['true']", "got invalid YAML"),
        ("resolution: " + "9" * 5000, "got invalid YAML"),
        (" " * (2**13 + 1), "Expected map.yaml of at most 0.00781 MiB, got 0.00781 MiB"),
        ("\0", "got invalid YAML"),
    ],
)
def test_descriptions_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_ros_map(tmp_path / "map.yaml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"", "Expected a PGM image, P5 or P2, in map.pgm, got b''"),
        (b"\x89PNG\r\n\x1a\n...", "Expected a PGM image, P5 or P2, in map.pgm, got b'.x89PNG"),
        (b"P6\n1 1\n255\nabc", "Expected a PGM image"),
        (PGM.replace(b"3 2", b"3 -2"), "Expected a PGM image"),
        (PGM.replace(b"3 2", b"3 2000"), "Expected 6000 pixels, 3 x 2000, in map.pgm, got 6: it is damaged"),
        (PGM.replace(b"3 2", b"3 1"), "Expected 3 pixels, 3 x 1, in map.pgm, got 6"),
        (PGM[:-1], "Expected 6 pixels, 3 x 2, in map.pgm, got 5"),
        (PGM.replace(b"3 2", b"0 2"), f"Expected 1 to {MAX_PIXELS} pixels in map.pgm, got 0 x 2"),
        (PGM.replace(b"3 2", b"999999999 999999999"), "got 999999999 x 999999999"),
        (PGM.replace(b"3 2", b"9999999999 1"), "Expected a PGM image"),
        (PGM.replace(b"255", b"65535"), "values up to 255 in map.pgm, got up to 65535"),
        (b"P2 2 1 255\n0 256", "Expected pixels from 0 to 255 in map.pgm, got others"),
        (b"P2 2 1 255\n0 x", "Expected decimal numbers as the pixels of map.pgm"),
        (b"P2 2 1 255\n0 -1", "Expected decimal numbers as the pixels of map.pgm"),
        (b"P2 2 1 255\n0 " + b"9" * 100, "Expected pixels from 0 to 255|Expected decimal"),
    ],
)
def test_bad_images(tmp_path: Path, image: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_ros_map(write(tmp_path, image))
    assert "\n" not in str(caught.value)


def test_missing_and_huge_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"map.pgm, got none"):
        read_ros_map(write(tmp_path, None))
    (tmp_path / "map.pgm").mkdir()
    with pytest.raises(FileNotFoundError, match=r"map.pgm, got a folder"):
        read_ros_map(tmp_path / "map.yaml")
    (tmp_path / "map.pgm").rmdir()
    with (tmp_path / "map.pgm").open("wb") as file:
        file.truncate(2**40)  # a sparse file, which is refused before it is read
    with pytest.raises(ValueError, match=r"map.pgm of at most 61 MiB, got 1.05e\+06 MiB"):
        read_ros_map(tmp_path / "map.yaml")


def test_images_may_be_named_absolutely_but_not_elsewhere(tmp_path: Path) -> None:
    """ROS 1 writes the absolute path that it was given."""
    write(tmp_path)
    about = {**ABOUT, "image": str(tmp_path / "map.pgm")}
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(about))
    assert read_ros_map(tmp_path / "map.yaml").occupancy.shape == (2, 3)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "map.yaml").write_text(yaml.safe_dump(about))
    with pytest.raises(ValueError, match=r"in the folder of map.yaml or below"):
        read_ros_map(tmp_path / "below" / "map.yaml")
    (tmp_path / "below" / "map.pgm").symlink_to(tmp_path / "map.pgm")
    with pytest.raises(ValueError, match=r"in the folder of map.yaml or below"):
        read_ros_map(write(tmp_path / "below", None))


def test_unknown_cells_of_map_saver_do_not_become_free(tmp_path: Path) -> None:
    """Nav2's map_saver writes 205 for unknown cells, and a threshold of 0.25 that makes them free."""
    saved = PGM[:-3] + bytes([0, 205, 254])
    grid = read_ros_map(write(tmp_path, saved, free_thresh=0.25))
    assert grid.remarks[0].startswith("free_thresh 0.196 is used instead of 0.25: map_saver wrote the image")
    assert not grid.free[grid.occupancy == np.float32(50 / 255)].any()
    assert grid.free[grid.occupancy == np.float32(1 / 255)].all()
    assert read_ros_map(write(tmp_path, PGM, free_thresh=0.25)).free.sum() == 3  # of probabilities, 205 is one


def read_or_refuse(read: Callable[[], np.ndarray]) -> np.ndarray | str:
    """What was read, or the one line of the error."""
    try:
        return read()
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
    assert "\n" not in message
    return message


@settings(deadline=None)
@given(
    head=st.sampled_from([b"P5", b"P2", b"P6", b"", b"P5 # c\n"]),
    size=st.tuples(*[st.one_of(st.integers(0, 5), st.integers(-1, 10**12))] * 2),
    largest=st.sampled_from([255, 0, 254, 65535]),
    body=st.binary(max_size=40),
)
def test_any_image_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, size: tuple[int, int], largest: int, body: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pgm"
    path.write_bytes(head + f" {size[0]} {size[1]} {largest}\n".encode() + body)
    found = read_or_refuse(lambda: read_pgm(path))
    assert isinstance(found, str) or found.shape == size[::-1]


PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([0, 0, 0]))


@settings(deadline=None)
@given(changes=st.dictionaries(st.sampled_from([*ABOUT, "mode"]), PLAIN), text=st.text(max_size=60), use=st.booleans())
def test_any_description_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any], text: str, use: bool
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    write(folder, **changes)
    if use:
        (folder / "map.yaml").write_text(text, encoding="utf-8", errors="replace")
    found = read_or_refuse(lambda: read_ros_map(folder / "map.yaml").occupancy)
    assert isinstance(found, str) or found.shape == (2, 3)


def test_memory_is_bounded_by_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros_map, "MAX_PIXELS", 5)
    with pytest.raises(ValueError, match=r"Expected 1 to 5 pixels in map.pgm, got 3 x 2"):
        read_ros_map(write(tmp_path))
