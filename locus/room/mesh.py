"""Triangle meshes: a PLY or OBJ file in, vertices and triangles out; and PLY back.

Nothing is allocated on the word of a header: counts are compared with the size of the file first.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.settings.atomic import replacing
from locus.settings.untrusted import reason

MAX_MESH_BYTES = 32 * 2**20
"""Maximum size of a mesh file."""
MAX_TEXT_BYTES = 8 * 2**20
"""Maximum size of a mesh file in text, OBJ or ASCII PLY."""

_MAX_HEADER = 2**14
_MAX_CORNERS = 64  # of one face
_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}  # of PLY
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


class Mesh(NamedTuple):
    """Triangles in space."""

    vertices: NDArray[np.float64]
    """Positions (vertex, 3) [m]."""
    faces: NDArray[np.int64]
    """Indices of vertices (face, 3)."""


class _Element(NamedTuple):
    name: str
    num: int
    scalars: list[tuple[str, str]]
    lists: list[tuple[str, str, str]]


def read_mesh(path: Path) -> Mesh:
    """Read a mesh; faces with more than three corners are cut into triangles.

    Raises:
        ValueError: the file is not a mesh, too large, truncated, or has indices or coordinates that make no sense.
        FileNotFoundError: there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"Expected a mesh in {path}, got no such file")
    if path.stat().st_size > MAX_MESH_BYTES:
        raise ValueError(f"Expected a mesh of at most {MAX_MESH_BYTES // 2**20} MiB in {path}, got a larger file")
    data = path.read_bytes()
    try:
        mesh = _from_obj(data) if path.suffix.lower() == ".obj" else _from_ply(data)
        if not np.isfinite(mesh.vertices).all():
            raise ValueError("coordinates that are not finite")
        if mesh.faces.size and not 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.vertices):
            raise ValueError(f"faces of vertices that do not exist (there are {len(mesh.vertices)})")
    except (ValueError, OverflowError, IndexError) as error:
        raise ValueError(f"Expected a mesh (PLY or OBJ) in {path.name}, got {reason(error)}") from error
    return mesh


def write_ply(path: Path, mesh: Mesh) -> None:
    """Write a binary PLY file of triangles atomically, in single precision, as Mitsuba keeps them."""
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(mesh.vertices)}\n"
        "property float x\nproperty float y\nproperty float z\n"
        f"element face {len(mesh.faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(len(mesh.faces), dtype=[("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, mesh.faces
    with replacing(path) as scratch:
        scratch.write_bytes(header.encode() + mesh.vertices.astype("<f4").tobytes() + faces.tobytes())


def _from_ply(data: bytes) -> Mesh:
    found = re.match(rb"ply\r?\n.{0,%d}?\nend_header\r?\n" % _MAX_HEADER, data, re.DOTALL)
    if found is None:
        raise ValueError("no header of a PLY file")
    order, elements = _header(found[0].decode("ascii", errors="replace"))
    body: Any = data[found.end() :]
    vertices, corners, lengths = np.empty((0, 3)), np.empty(0, np.int64), np.empty(0, np.int64)
    reader = _Text(body) if order == "" else _Binary(body, order)
    for element in elements:
        if element.name == "vertex":
            vertices = reader.scalars(element)
        elif element.name == "face":
            corners, lengths = reader.lists(element)
            break  # whatever follows is not needed
        elif element.lists:
            raise ValueError(f"lists in the element {element.name!r} before the faces")
        else:
            reader.scalars(element)
    return Mesh(vertices, _fan(corners, lengths))


def _header(text: str) -> tuple[str, list[_Element]]:
    """Byte order of numpy, empty for text, and the elements."""
    order, elements = None, list[_Element]()
    for line in text.splitlines()[1:-1]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) == 3 and words[1] in _ORDERS:
            order = _ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and re.fullmatch("[0-9]{1,9}", words[2]):
            elements.append(_Element(words[1], int(words[2]), [], []))
        elif words[0] == "property" and elements and len(words) == 3 and words[1] in _TYPES:
            elements[-1].scalars.append((words[2], _TYPES[words[1]]))
        elif words[:2] == ["property", "list"] and elements and len(words) == 5 and {*words[2:4]} <= _TYPES.keys():
            elements[-1].lists.append((words[4], _TYPES[words[2]], _TYPES[words[3]]))
        else:
            raise ValueError(f"the line {line[:60]!r} in the header")
    if order is None:
        raise ValueError("a header without a format")
    for name in ("vertex", "face"):
        if sum(element.name == name for element in elements) != 1:
            raise ValueError(f"a header without exactly one element {name!r}")
    return order, elements


def _columns(element: _Element, rows: Any) -> NDArray[np.float64]:
    """x, y and z of the vertices; nothing of other elements."""
    names = [name for name, _ in element.scalars]
    if element.name != "vertex":
        return np.empty((0, 3))
    if element.lists or any(names.count(axis) != 1 for axis in "xyz"):
        raise ValueError("vertices without x, y and z")
    with np.errstate(invalid="ignore"):
        return np.stack([np.asarray(rows(names.index(axis)), dtype=float) for axis in "xyz"], axis=1)


def _check_faces(element: _Element) -> None:
    if [name for name, *_ in element.lists] not in (["vertex_indices"], ["vertex_index"]):
        raise ValueError("faces without one list of vertex_indices")
    if any(kind[0] == "f" for kind in element.lists[0][1:]):
        raise ValueError("indices that are not integers")
    if element.scalars:
        raise ValueError("faces with other properties than their vertices")


class _Binary:
    def __init__(self, body: bytes, order: str) -> None:
        self.body, self.order, self.at = body, order, 0

    def scalars(self, element: _Element) -> NDArray[np.float64]:
        kind = np.dtype([(f"c{i}", self.order + one) for i, (_, one) in enumerate(element.scalars)])
        size = kind.itemsize * element.num
        if size > len(self.body) - self.at:
            raise ValueError(f"a file too short for {element.num} elements {element.name!r}")
        rows = np.frombuffer(self.body, kind, element.num, self.at) if size else np.empty(0, kind)
        self.at += size
        return _columns(element, lambda column: rows[f"c{column}"])

    def lists(self, element: _Element) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        _check_faces(element)
        _, length, index = element.lists[0]
        count, corner = np.dtype(self.order + length), np.dtype(self.order + index)
        left = len(self.body) - self.at
        if element.num * (count.itemsize + 3 * corner.itemsize) > left:
            raise ValueError(f"a file too short for {element.num} faces")
        triangle = np.dtype([("count", count), ("corners", corner, 3)])
        rows = np.frombuffer(self.body, triangle, element.num, self.at)
        if (rows["count"] == 3).all():
            return rows["corners"].astype(np.int64).ravel(), np.full(element.num, 3)
        corners, lengths, at = [], [], self.at
        for _ in range(element.num):
            number = int(np.frombuffer(self.body, count, 1, at)[0])
            _check_corners(number)
            corners.append(np.frombuffer(self.body, corner, number, at + count.itemsize).astype(np.int64))
            lengths.append(number)
            at += count.itemsize + number * corner.itemsize
        return np.concatenate(corners), np.array(lengths)


class _Text:
    def __init__(self, body: bytes) -> None:
        _check_text(body)
        self.rows = io.BytesIO(body)

    def scalars(self, element: _Element) -> NDArray[np.float64]:
        width = len(element.scalars)
        rows = np.array([self._row(element)[:width] for _ in range(element.num)], dtype=float)
        return _columns(element, lambda column: rows.reshape(element.num, width)[:, column])

    def lists(self, element: _Element) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        _check_faces(element)
        corners, lengths = [], []
        for _ in range(element.num):
            number, *found = (int(word) for word in self._row(element))
            _check_corners(number)
            corners += found[:number]
            lengths.append(number)
            if len(found) < number:
                raise ValueError("a face with fewer corners than it says")
        return np.array(corners, dtype=np.int64), np.array(lengths, dtype=np.int64)

    def _row(self, element: _Element) -> list[bytes]:
        for line in self.rows:
            words = line.split()
            if words:
                if len(words) < max(len(element.scalars), len(element.lists)):
                    break
                return words
        raise ValueError(f"a file too short for {element.num} elements {element.name!r}")


def _check_text(data: bytes) -> None:
    if len(data) > MAX_TEXT_BYTES:
        raise ValueError(f"more than {MAX_TEXT_BYTES // 2**20} MiB of text; a binary PLY file may be larger")


def _check_corners(number: int) -> None:
    if not 3 <= number <= _MAX_CORNERS:
        raise ValueError(f"a face with {number} corners, where 3 to {_MAX_CORNERS} are read")


def _from_obj(data: bytes) -> Mesh:
    _check_text(data)
    vertices, corners, lengths = [], [], []
    for line in io.BytesIO(data):
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            if len(words) < 4:
                raise ValueError("a vertex without x, y and z")
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == b"f":
            numbers = [int(word.split(b"/")[0]) for word in words[1:]]
            _check_corners(len(numbers))
            if 0 in numbers:
                raise ValueError("a face with vertex 0, where counting starts at 1")
            corners += [number - 1 if number > 0 else len(vertices) + number for number in numbers]
            lengths.append(len(numbers))
    if not vertices or not lengths:
        raise ValueError("no vertices and faces")
    return Mesh(np.array(vertices), _fan(np.array(corners, np.int64), np.array(lengths, np.int64)))


def _fan(corners: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Triangles (face, 3) of polygons, given all of their corners in a row."""
    first = np.repeat(np.cumsum(lengths) - lengths, lengths - 2)
    order = np.arange(len(first)) - np.repeat(np.cumsum(lengths - 2) - (lengths - 2), lengths - 2)
    return np.asarray(corners[np.stack([first, first + order + 1, first + order + 2], axis=1).reshape(-1, 3)])
