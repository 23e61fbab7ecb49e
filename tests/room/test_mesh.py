"""Meshes: every format holds the same triangles, Mitsuba reads what is written, and bad files are refused."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from locus.room import mesh as module
from locus.room.mesh import Mesh, read_mesh, write_ply

VERTICES = np.array([[0.0, 0, 0], [4, 0, 0], [4, 3, 0.5], [0, 3, 0], [2, 5, 1]])
PENTAGON = [0, 1, 2, 4, 3]
TRIANGLES = np.array([[0, 1, 2], [0, 2, 4], [0, 4, 3]])


def ply(form: str, order: str, count: str = "B", index: str = "i", extra: bool = False) -> bytes:
    names = {"B": "uchar", "I": "uint32", "i": "int", "H": "ushort"}
    lines = [
        f"ply\nformat {form} 1.0\ncomment made by hand\nelement vertex 5",
        *(f"property double {a}" for a in "xyz"),
    ]
    lines += ["property float s"] * extra
    lines += [f"element face 1\nproperty list {names[count]} {names[index]} vertex_indices\nend_header\n"]
    header = "\n".join(lines).encode()
    if order == "":
        rows = [" ".join(map(str, [*row, *[0.5] * extra])) for row in VERTICES.tolist()]
        return header + "\n".join([*rows, "5 " + " ".join(map(str, PENTAGON)), ""]).encode()
    body = b"".join(struct.pack(order + "3d" + "f" * extra, *row, *[0.5] * extra) for row in VERTICES.tolist())
    return header + body + struct.pack(order + count + 5 * index, 5, *PENTAGON)


OBJ = b"".join(b"v %f %f %f\n" % tuple(row) for row in VERTICES.tolist()) + b"f -5/1 -4/2 -3/3 -1/4 -2/5\n"
FILES = {
    "text.ply": ply("ascii", "", extra=True),
    "little.ply": ply("binary_little_endian", "<", extra=True),
    "big.ply": ply("binary_big_endian", ">", count="I", index="H"),
    "some.obj": OBJ,
}


@pytest.mark.parametrize("name", FILES)
def test_all_formats_hold_the_same_triangles(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    found = read_mesh(tmp_path / name)
    np.testing.assert_allclose(found.vertices, VERTICES, rtol=1e-6)
    np.testing.assert_array_equal(found.faces, TRIANGLES)


def test_what_is_written_is_read_again_here_and_by_mitsuba(tmp_path: Path) -> None:
    write_ply(tmp_path / "a.ply", Mesh(VERTICES, TRIANGLES))
    again = read_mesh(tmp_path / "a.ply")
    np.testing.assert_allclose(again.vertices, VERTICES, rtol=1e-7)
    np.testing.assert_array_equal(again.faces, TRIANGLES)
    from locus import make_twin

    make_twin("sionna")  # sets Mitsuba up
    import mitsuba as mi

    loaded = mi.load_dict({"type": "ply", "filename": str(tmp_path / "a.ply")})
    parameters = mi.traverse(loaded)
    np.testing.assert_allclose(parameters["vertex_positions"].numpy().reshape(-1, 3), VERTICES, rtol=1e-6)
    np.testing.assert_array_equal(parameters["faces"].numpy().reshape(-1, 3), TRIANGLES)


LITTLE = FILES["little.ply"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.ply", b"", "no header of a PLY file"),
        ("a.ply", b"<scene/>", "no header of a PLY file"),
        ("a.ply", LITTLE[:-3], "too short for 1 faces|buffer"),
        ("a.ply", LITTLE.replace(b"vertex 5", b"vertex 999999999"), "too short for 999999999 elements 'vertex'"),
        ("a.ply", LITTLE.replace(b"face 1", b"face 999999999"), "too short for 999999999 faces"),
        ("a.ply", LITTLE.replace(b"vertex 5", b"vertex 99999999999999999999"), "the line"),
        ("a.ply", LITTLE.replace(b"vertex 5", b"vertex -1"), "the line"),
        ("a.ply", LITTLE.replace(b"double y", b"double x"), "vertices without x, y and z"),
        ("a.ply", LITTLE.replace(b"uchar int", b"uchar float"), "not integers"),
        ("a.ply", LITTLE.replace(b"vertex_indices", b"texcoords"), "faces without one list of vertex_indices"),
        ("a.ply", LITTLE.replace(b"binary_little_endian 1.0", b"zipped 1.0"), "the line 'format zipped 1.0'"),
        ("a.ply", LITTLE.replace(struct.pack("<d", 5.0), struct.pack("<d", np.nan)), "not finite"),
        ("a.ply", LITTLE.replace(struct.pack("<i", 4), struct.pack("<i", 5)), "do not exist"),
        ("a.ply", LITTLE.replace(struct.pack("<i", 4), struct.pack("<i", -1)), "do not exist"),
        ("a.ply", FILES["text.ply"].replace(b"\n5 0", b"\n9 0"), "fewer corners"),
        ("a.ply", FILES["text.ply"].replace(b"\n5 0", b"\n2000000000 0"), "3 to 64 are read"),
        ("a.ply", FILES["text.ply"].replace(b"vertex 5", b"vertex 900000000"), "too short"),
        ("a.obj", b"# empty\n", "no vertices and faces"),
        ("a.obj", OBJ + b"f 1 2 9\n", "do not exist"),
        ("a.obj", OBJ + b"f 1 2 0\n", "vertex 0"),
        ("a.obj", OBJ + b"v 1 2 nan\n", "not finite"),
        ("a.obj", OBJ + b"v 1 2\n", "a vertex without"),
        ("a.obj", OBJ + b"f 1 2\n", "a face with 2 corners"),
        ("a.obj", OBJ + b"\n" * module.MAX_TEXT_BYTES, "more than 8 MiB of text"),
    ],
)
def test_bad_meshes_are_refused_by_name(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"Expected a mesh \(PLY or OBJ\) in .*{name}, got .*({message})"):
        read_mesh(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * module.MAX_TEXT_BYTES
    tracemalloc.stop()


def test_files_that_are_too_large_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.ply").open("wb") as file:
        file.truncate(module.MAX_MESH_BYTES + 1)
    with pytest.raises(ValueError, match="of at most 32 MiB"):
        read_mesh(tmp_path / "a.ply")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    name=st.sampled_from(sorted(FILES)),
    at=st.integers(0, 400),
    inserted=st.binary(max_size=6),
    removed=st.integers(0, 6),
)
def test_damaged_meshes_are_read_or_refused(name: str, at: int, inserted: bytes, removed: int, tmp_path: Path) -> None:
    whole = FILES[name]
    path = tmp_path / name
    path.write_bytes(whole[:at] + inserted + whole[at + removed :])
    try:
        found = read_mesh(path)
    except ValueError as error:
        assert str(error).startswith("Expected a mesh")  # noqa: PT017
        assert len(str(error).splitlines()) == 1  # noqa: PT017
    else:
        assert np.isfinite(found.vertices).all()
        assert found.faces.max(initial=-1) < len(found.vertices)
