"""Readers of ROS maps: ``map.yaml``, its PGM image, and the room that becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from fuzz import Mutation, Reader
from fuzz.mutations import damaged, nested, number_replaced, yaml_bomb, yaml_odd
from fuzz.readers_room import is_room
from locus.capture import files
from locus.room.ros_map import RosMap, read_ros_map

_NAMES = (
    b"../a.pgm",
    b"/dev/zero",
    b"/etc/passwd",
    b"''",
    b".",
    b'"\\0"',
    b"a" * 5000,
    b"a.yaml",
    b"[a.pgm]",
    b"b.pgm",
)
_YAML = (
    b"image: a.pgm\nmode: trinary\nresolution: 0.25\norigin: [-3.5, 2.0, 0.1]\nnegate: 0\n"
    b"occupied_thresh: 0.65\nfree_thresh: 0.196\n"
)


def _pixels() -> np.ndarray[Any, Any]:
    """A room of 8 m by 6 m with a pillar, in cells of 25 cm."""
    pixels = np.full((28, 36), 205, dtype=np.uint8)
    pixels[1:-1, 1:-1] = 0
    pixels[2:-2, 2:-2] = 254
    pixels[10:14, 12:16] = 0
    return pixels


_PGM = b"P5\n# a comment\n36 28\n255\n" + _pixels().tobytes()
_TEXT = b"P2\n36 28\n255\n" + b" ".join(str(value).encode() for value in _pixels().ravel()) + b"\n"


def image_replaced(content: bytes, rng: Generator) -> bytes:
    """A map whose image is another file."""
    return content.replace(b"a.pgm", _NAMES[int(rng.integers(len(_NAMES)))])


def specks(_: bytes, rng: Generator) -> bytes:
    """A valid image of noise."""
    rows, columns = (int(size) for size in rng.integers(1, 200, 2))
    share = rng.choice([0.001, 0.05, 0.5, 1.0])
    noise = rng.choice([0, 205, 254], size=(rows, columns))
    pixels = np.where(rng.random((rows, columns)) < share, noise, 254).astype(np.uint8)
    return f"P5\n{columns} {rows}\n255\n".encode() + pixels.tobytes()


def header_lying(content: bytes, rng: Generator) -> bytes:
    """An image that says it has another size, depth or kind."""
    size = int(rng.choice([0, 1, 7, 36, 4000, 99_999, 999_999_999, 10**12, -1]))
    kind, largest = str(rng.choice(["P5", "P2", "P1", "P6"])), int(rng.choice([255, 255, 0, 1, 65535, 70000]))
    return f"{kind}\n{size} {size}\n{largest}\n".encode() + content[24:]


def _write(folder: Path, about: bytes, image: bytes) -> Path:
    (folder / "a.yaml").write_bytes(about)
    (folder / "a.pgm").write_bytes(image)
    return folder / "a.yaml"


def _pick(choices: tuple[Any, ...], rng: Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _hostile_yaml(rng: Generator, folder: Path) -> Path:
    mutations: tuple[Mutation, ...] = (image_replaced, yaml_bomb, yaml_odd, damaged, nested, number_replaced)
    return _write(folder, _pick(mutations, rng)(_YAML, rng), _PGM)


def _hostile_image(rng: Generator, folder: Path) -> Path:
    mutations: tuple[Mutation, ...] = (header_lying, specks, damaged)
    if rng.random() < 0.3:
        return _write(folder, _YAML, number_replaced(_TEXT, rng) if rng.random() < 0.5 else damaged(_TEXT, rng))
    return _write(folder, _YAML, _pick(mutations, rng)(_PGM, rng))


def _is_map(grid: RosMap) -> None:
    known = grid.occupancy[~np.isnan(grid.occupancy)]
    assert ((known >= 0) & (known <= 1)).all(), "probabilities beyond 0 and 1"
    assert np.isfinite([grid.resolution, *grid.origin]).all(), "a frame that is not finite"


def _valid(folder: Path) -> Path:
    return _write(folder, _YAML, _PGM)


READERS = [
    Reader("ROS map, description", _valid, _hostile_yaml, read_ros_map, _is_map),
    Reader("ROS map, image", _valid, _hostile_image, read_ros_map, _is_map),
    Reader("room from a ROS map, description", _valid, _hostile_yaml, files.read_layout, is_room),
    Reader("room from a ROS map, image", _valid, _hostile_image, files.read_layout, is_room),
]
