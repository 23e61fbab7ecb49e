"""Readers of scenes, meshes and rooms in degrees."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.random import Generator

import locus
from fuzz import Mutation, Reader, file_reader
from fuzz.mutations import damaged, json_changed, number_replaced
from fuzz.readers_room import is_room
from locus.room.mesh import Mesh, read_mesh, write_ply

_FILES = Path(__file__).parents[1] / "files"
_SCENE = _FILES / "scene"
_XML = (_SCENE / "scene.xml").read_bytes()
_TAGS = (
    *(b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>', b"<!ENTITY", b"&#0;", b"&a;"),
    *(
        b"<![CDATA[",
        b"<!--",
        b"]]>",
        b'<include filename="/etc/passwd"/>',
        b"<a>" * 50_000,
        b'<?xml encoding="utf-7"?>',
    ),
    *(
        b'<shape type="cube" id="c"/>' * 2000,
        b'<shape type="merge">',
        b'<shape type="sphere"/>',
        b"</shape>",
        b"</scene>",
    ),
    *(b'<transform name="to_world"><scale value="1e300"/></transform>', b'<rotate angle="nan"/>', b"\xff\xfe"),
)
_NAMES = (b"../scene.xml", b"/dev/zero", b"/etc/passwd", b"", b"meshes", b".", b"\0", b"a" * 5000, b"meshes/desk.obj")


def tag_inserted(content: bytes, rng: Generator) -> bytes:
    """XML with something that a scene must not have."""
    at = int(rng.integers(len(content)))
    at = content.find(b"<", at) if rng.random() < 0.8 else at
    return content[:at] + _TAGS[int(rng.integers(len(_TAGS)))] + content[at:]


def name_replaced(content: bytes, rng: Generator) -> bytes:
    """A scene whose mesh is another file."""
    return content.replace(b"meshes/room.ply", _NAMES[int(rng.integers(len(_NAMES)))])


def count_lying(content: bytes, rng: Generator) -> bytes:
    """A PLY header that promises more or less than there is."""
    kind = (b"vertex", b"face")[int(rng.integers(2))]
    start = content.find(b"element " + kind)
    end = content.find(b"\n", start)
    wrong = str(rng.choice([0, 1, 3, 9, 10**6, 999_999_999, 10**12, -1])).encode()
    return content[:start] + b"element " + kind + b" " + wrong + content[end:]


def _scene(content: bytes, folder: Path) -> Path:
    shutil.copytree(_SCENE, folder, dirs_exist_ok=True)
    (folder / "scene.xml").write_bytes(content)
    return folder / "scene.xml"


def _hostile_scene(rng: Generator, folder: Path) -> Path:
    mutations: tuple[Mutation, ...] = (tag_inserted, name_replaced, number_replaced, damaged)
    return _scene(mutations[int(rng.integers(len(mutations)))](_XML, rng), folder)


def _hostile_mesh(rng: Generator, folder: Path) -> Path:
    path = _scene(_XML, folder)
    mesh = folder / "meshes" / ("room.ply", "desk.obj")[int(rng.integers(2))]
    mutations: tuple[Mutation, ...] = (count_lying, number_replaced, damaged)
    mesh.write_bytes(mutations[int(rng.integers(len(mutations)))](mesh.read_bytes(), rng))
    return path


def _binary() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_ply(Path(folder) / "a.ply", read_mesh(_SCENE / "meshes" / "room.ply"))
        return (Path(folder) / "a.ply").read_bytes()


def _is_mesh(mesh: Mesh) -> None:
    assert np.isfinite(mesh.vertices).all(), "vertices that are not finite"
    assert mesh.faces.shape[1:] == (3,), mesh.faces.shape
    assert mesh.faces.max(initial=-1) < len(mesh.vertices), "faces of no vertices"
    assert mesh.faces.min(initial=0) >= 0, "negative indices"


READERS = [
    Reader("scene", lambda folder: _scene(_XML, folder), _hostile_scene, locus.Layout.from_sionna_scene, is_room),
    Reader(
        "scene with a bad mesh",
        lambda folder: _scene(_XML, folder),
        _hostile_mesh,
        locus.Layout.from_sionna_scene,
        is_room,
    ),
    file_reader("binary mesh", "a.ply", [_binary()], [count_lying, damaged], read_mesh, _is_mesh),
    file_reader(
        "mesh as text",
        "a.ply",
        [(_SCENE / "meshes" / "room.ply").read_bytes()],
        [count_lying, damaged, number_replaced],
        read_mesh,
        _is_mesh,
    ),
    file_reader(
        "room in degrees",
        "room.geojson",
        [(_FILES / "room_degrees.geojson").read_bytes()],
        [json_changed, damaged, number_replaced],
        locus.Layout.from_geojson,
        is_room,
    ),
]
