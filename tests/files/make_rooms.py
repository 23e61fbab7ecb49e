"""Makes the rooms of this folder: `room_degrees.geojson` and `scene/`. Run it as `python tests/files/make_rooms.py`.

Both are the same hall of 40 m x 30 m with a pillar and a desk; in the scene the outline is an ASCII PLY mesh with floor
and ceiling, the pillar a Mitsuba cube, the desk an OBJ mesh, and a screen, not in the other file, a rectangle.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

LONGITUDE, LATITUDE = 11.568, 48.1495
_ANGLE = math.radians(LATITUDE)
# The usual series of the length of a degree on the ellipsoid, in cosines of multiples of the latitude
METRES_PER_DEGREE = (
    111412.84 * math.cos(_ANGLE) - 93.5 * math.cos(3 * _ANGLE) + 0.118 * math.cos(5 * _ANGLE),
    111132.92 - 559.82 * math.cos(2 * _ANGLE) + 1.175 * math.cos(4 * _ANGLE) - 0.0023 * math.cos(6 * _ANGLE),
)
ROOM = [(-20, -15), (20, -15), (20, 15), (-20, 15)]
PILLAR = [(3, -2), (9, -2), (9, 4), (3, 4)]
DESK = [(-12, 5), (-6, 5), (-6, 8), (-12, 8)]
HEIGHT = 4.0
"""Of all walls [m]."""

SCENE = """<scene version="2.1.0">
  <bsdf type="itu-radio-material" id="outline">
    <string name="type" value="concrete"/>
    <float name="thickness" value="0.2"/>
  </bsdf>
  <bsdf type="twosided" id="mat-itu_metal">
    <bsdf type="diffuse"/>
  </bsdf>
  <bsdf type="itu-radio-material" id="mat-itu_glass">
    <string name="type" value="glass"/>
    <float name="thickness" value="0.2"/>
  </bsdf>
  <shape type="ply" id="room">
    <string name="filename" value="meshes/room.ply"/>
    <ref id="outline" name="bsdf"/>
  </shape>
  <shape type="cube" id="pillar">
    <transform name="to_world">
      <scale x="3" y="3" z="2"/>
      <translate x="6" y="1" z="2"/>
    </transform>
    <ref id="mat-itu_metal" name="bsdf"/>
  </shape>
  <shape type="obj" id="desk">
    <string name="filename" value="meshes/desk.obj"/>
    <ref id="outline" name="bsdf"/>
  </shape>
  <shape type="rectangle" id="screen">
    <transform name="to_world">
      <scale x="4" y="2"/>
      <rotate x="1" angle="90"/>
      <rotate z="1" angle="90"/>
      <translate value="-15 -8 2"/>
    </transform>
    <ref id="mat-itu_glass" name="bsdf"/>
  </shape>
</scene>
"""


def main(folder: Path) -> None:
    """Write all files into a folder."""
    features = [_feature(ROOM, "room", "concrete"), _feature(PILLAR, "obstacle", "metal")]
    features.append(_feature(DESK, "obstacle", "concrete"))
    _write(folder / "room_degrees.geojson", json.dumps({"type": "FeatureCollection", "features": features}, indent=1))
    _write(folder / "scene" / "scene.xml", SCENE)
    _write(folder / "scene" / "meshes" / "room.ply", _ply(ROOM))
    _write(folder / "scene" / "meshes" / "desk.obj", _obj(DESK))


def _feature(ring: list[tuple[int, int]], role: str, material: str) -> dict[str, object]:
    degrees = [
        [round(LONGITUDE + x / METRES_PER_DEGREE[0], 9), round(LATITUDE + y / METRES_PER_DEGREE[1], 9)]
        for x, y in [*ring, ring[0]]
    ]
    geometry = {"type": "Polygon", "coordinates": [degrees]}
    return {"type": "Feature", "geometry": geometry, "properties": {"role": role, "material": material}}


def _ply(ring: list[tuple[int, int]]) -> str:
    """A closed prism: walls as quadrilaterals, floor and ceiling as polygons."""
    n = len(ring)
    vertices = [f"{x} {y} {z:g}" for z in (0.0, HEIGHT) for x, y in ring]
    walls = [f"4 {i} {(i + 1) % n} {(i + 1) % n + n} {i + n}" for i in range(n)]
    flat = [" ".join(map(str, [n, *range(start, start + n)])) for start in (0, n)]
    header = ["ply", "format ascii 1.0", f"element vertex {2 * n}", *(f"property float {axis}" for axis in "xyz")]
    header += [f"element face {n + 2}", "property list uchar int vertex_indices", "end_header"]
    return "\n".join([*header, *vertices, *walls, *flat, ""])


def _obj(ring: list[tuple[int, int]]) -> str:
    """The walls of a prism, with normals that are not read."""
    n = len(ring)
    vertices = [f"v {x} {y} {z:g}" for z in (0.0, HEIGHT) for x, y in ring]
    faces = [f"f {i + 1}//1 {(i + 1) % n + 1}//1 {(i + 1) % n + n + 1}//1 {i + n + 1}//1" for i in range(n)]
    return "\n".join(["# desk", *vertices, "vn 0 0 1", *faces, ""])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
