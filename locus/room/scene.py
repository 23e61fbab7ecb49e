"""Scenes of Sionna RT and Mitsuba: an XML file and its meshes in, surfaces with ITU materials out; and back.

The file is untrusted: it may not declare entities, include other files, or name meshes outside its own folder.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from locus.room.mesh import Mesh, read_mesh, write_ply
from locus.settings.atomic import write_text
from locus.settings.checks import check_range
from locus.settings.untrusted import reason

if TYPE_CHECKING:
    from locus.room.layout import Layout

MAX_XML_BYTES = 2**20
"""Maximum size of a scene's XML file."""
MAX_TRIANGLES = 500_000
"""Maximum number of triangles of a scene."""

_FARTHEST = 4096.0  # [m] from the origin: Mitsuba's single precision is 0.5 mm there
_SQUARE = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])  # Mitsuba's `rectangle`
_CUBE = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
_CUBE_FACES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


class Surface(NamedTuple):
    """A shape of a scene."""

    name: str
    material: str | None
    """ITU-R P.2040 name, or None if the scene's material is not one of ITU's."""
    mesh: Mesh


def read_scene(path: Path) -> list[Surface]:
    """Read the shapes of a scene, in its coordinates [m].

    Raises:
        ValueError: the file is not a scene, or asks for something that is not read; the message says what.
        FileNotFoundError: there is no such file, or a mesh is missing.
    """
    root = _parse(path)
    materials = {bsdf.get("id", ""): _material(bsdf) for bsdf in root.findall("bsdf")}
    surfaces, left = [], MAX_TRIANGLES
    for shape in root.findall("shape") + root.findall("shape[@type='merge']/shape"):
        if shape.get("type") == "merge":
            continue
        surface = _surface(shape, materials, path)
        left -= len(surface.mesh.faces)
        if left < 0:
            raise ValueError(f"Expected a scene of at most {MAX_TRIANGLES:,} triangles, got more in {path}")
        surfaces.append(surface)
    if not surfaces:
        raise ValueError(f"Expected a Mitsuba scene with shapes in {path}, got none")
    return surfaces


def write_scene(layout: Layout, folder: Path, wall_height: float = 3.0, thickness: float = 0.2) -> Path:
    """Write a room as ``scene.xml`` and a PLY mesh per polygon: walls from z = 0 up, without floor and ceiling.

    Args:
        layout: the room.
        folder: where to write; created if needed, existing files are overwritten.
        wall_height: height of all walls [m].
        thickness: thickness of the slabs that Sionna computes reflections with [m]; the twins' by default.

    Returns:
        Path of the XML file, for ``sionna.rt.load_scene``.
    """
    check_range("wall_height", wall_height, 0.0, open_low=True)
    check_range("thickness", thickness, 0.0, open_low=True)
    if (far := float(np.abs(layout.walls).max())) > _FARTHEST:
        raise ValueError(
            f"Expected a room within {_FARTHEST:g} m of the origin, as scenes are in single precision, got walls at "
            f"{far:.0f} m; move it first, with `layout.moved(x, y)`"
        )
    lines = ['<scene version="2.1.0">']
    for name in sorted(set(layout.materials)):
        lines += [
            f'  <bsdf type="itu-radio-material" id="mat-itu_{name}">',
            f'    <string name="type" value="{name}"/>',
            f'    <float name="thickness" value="{float(thickness)!r}"/>',
            "  </bsdf>",
        ]
    for i, material in enumerate(layout.materials):
        name = "room" if i == 0 else f"obstacle_{i}"
        write_ply(folder / "meshes" / f"{name}.ply", _walls(layout.walls[layout.wall_polygons == i], wall_height))
        lines += [
            f'  <shape type="ply" id="{name}">',
            f'    <string name="filename" value="meshes/{name}.ply"/>',
            '    <boolean name="face_normals" value="true"/>',
            f'    <ref id="mat-itu_{material}" name="bsdf"/>',
            "  </shape>",
        ]
    path = folder / "scene.xml"
    write_text(path, "\n".join([*lines, "</scene>", ""]))
    return path


def _walls(walls: NDArray[np.float64], height: float) -> Mesh:
    """Vertical rectangles on walls (n, 4) that follow each other, two triangles each."""
    count = len(walls)
    low = np.column_stack([walls[:, :2], np.zeros(count)])
    here = np.arange(count)
    after = (here + 1) % count
    faces = np.concatenate(
        [np.stack([here, after, after + count], 1), np.stack([here, after + count, here + count], 1)]
    )
    return Mesh(np.concatenate([low, low + np.array([0.0, 0.0, height])]), faces)


def _parse(path: Path) -> ElementTree.Element:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file {path}, got {'a folder' if path.is_dir() else 'none'}")
    if path.stat().st_size > MAX_XML_BYTES:
        raise ValueError(
            f"Expected {path} of at most {MAX_XML_BYTES // 2**20} MiB, got {path.stat().st_size / 2**20:.1f} MiB"
        )
    try:
        text = path.read_bytes().decode("utf-8")
        # Before parsing: entities can name other files, and grow without bound
        if re.search("<!(?:DOCTYPE|ENTITY)", text, re.IGNORECASE):
            raise ValueError(f"Expected a scene without DOCTYPE and entities in {path}, got one; remove them")
        root = ElementTree.fromstring(text)
    except (UnicodeDecodeError, ElementTree.ParseError) as error:
        raise ValueError(f"Expected a Mitsuba scene in {path}, got invalid XML: {reason(error)}") from error
    if root.tag != "scene":
        raise ValueError(f"Expected a Mitsuba scene in {path}, got XML that starts with <{root.tag[:40]}>")
    if root.find(".//include") is not None:
        raise ValueError(f"Expected a scene in one file, got <include> in {path}; write what it includes into it")
    return root


def _material(bsdf: ElementTree.Element) -> str | None:
    """ITU name of a material, by the rules of ``sionna.rt.load_scene``; None if it is another one."""
    name = bsdf.get("id", "").removeprefix("mat-")
    kind = bsdf.find("string[@name='type']")
    if bsdf.get("type") == "itu-radio-material" or name.startswith(("itu_", "itu-")):
        return name[4:] if kind is None else kind.get("value")
    return None


def _surface(shape: ElementTree.Element, materials: dict[str, str | None], path: Path) -> Surface:
    kind, name = shape.get("type", ""), shape.get("id") or shape.get("name") or "without a name"
    where = f"the shape {name[:60]!r} of {path}"
    references = [materials[ref.get("id", "")] for ref in shape.findall("ref") if ref.get("id", "") in materials]
    own = [_material(bsdf) for bsdf in shape.findall("bsdf")]
    material = next(iter([*own, *references]), None)
    if kind in ("ply", "obj"):
        mesh = read_mesh(_inside(shape, path, where))
    elif kind == "rectangle":
        mesh = Mesh(_SQUARE, np.array([[0, 1, 2], [0, 2, 3]]))
    elif kind == "cube":
        mesh = Mesh(_CUBE, np.concatenate([_CUBE_FACES[:, [0, 1, 2]], _CUBE_FACES[:, [0, 2, 3]]]))
    else:
        raise ValueError(f"Expected {where} of type ply, obj, rectangle or cube, got {kind[:40]!r}")
    matrix = _transform(shape, where)
    with np.errstate(over="ignore", invalid="ignore"):
        vertices = mesh.vertices @ matrix[:3, :3].T + matrix[:3, 3]
    if not np.isfinite(vertices).all():
        raise ValueError(f"Expected finite coordinates in {where}, got some that are not")
    return Surface(name, material, Mesh(vertices, mesh.faces))


def _inside(shape: ElementTree.Element, path: Path, where: str) -> Path:
    """File of a mesh, which must lie in the scene's own folder."""
    found = shape.find("string[@name='filename']")
    name = "" if found is None else found.get("value", "")
    folder = path.resolve().parent
    if not 0 < len(name) < 256 or "\0" in name or not (file := (folder / name).resolve()).is_relative_to(folder):
        raise ValueError(f"Expected {where} in a file within the scene's folder, got {name[:80]!r}")
    return file


def _transform(shape: ElementTree.Element, where: str) -> NDArray[np.float64]:
    """Matrix (4, 4) of ``to_world``, whose steps are applied in the order in which they are listed."""
    matrix = np.eye(4)
    for step in shape.iterfind("transform[@name='to_world']/*"):
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
                matrix = _step(step) @ matrix
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"Expected the step <{step.tag[:40]}> of {where} to be readable, got {reason(error)}"
            ) from error
    return matrix


def _step(step: ElementTree.Element) -> NDArray[np.float64]:
    result = np.eye(4)
    if step.tag == "matrix":
        values = [float(word) for word in step.get("value", "").replace(",", " ").split()]
        if len(values) == 16 and values[12:] == [0, 0, 0, 1]:
            return np.array(values).reshape(4, 4)
        raise ValueError("a matrix that is not 4 x 4 with 0 0 0 1 in its last row")
    if step.tag == "translate":
        result[:3, 3] = _vector(step, 0.0)
    elif step.tag == "scale":
        result[:3, :3] = np.diag(_vector(step, 1.0))
    elif step.tag == "rotate":
        axis, angle = _vector(step, 0.0), math.radians(float(step.get("angle", "nan")))
        if not math.isfinite(angle) or abs(np.linalg.norm(axis) - 1) > 1e-3:  # Mitsuba would distort the shape
            raise ValueError("a rotation without an axis of length 1 and an angle")
        x, y, z = axis / np.linalg.norm(axis)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        result[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross  # Rodrigues' formula
    else:
        raise ValueError("another step than matrix, translate, scale or rotate")
    return result


def _vector(step: ElementTree.Element, default: float) -> NDArray[np.float64]:
    words = step.get("value", "").replace(",", " ").split()
    if words and len(words) not in (1, 3):
        raise ValueError("a value of neither one nor three numbers")
    if words:
        return np.array([float(word) for word in words * (3 // len(words))])
    return np.array([float(step.get(axis, default)) for axis in "xyz"])
