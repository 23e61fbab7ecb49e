"""The Sionna twin: Sionna RT's path solver, set up to be fast, complete and repeatable on a CPU.

The solver shoots rays from a source, records the sequences ("chains") of walls that they hit, and solves each chain
exactly. Since paths are reciprocal, the receiver is the source here and all candidates are targets. This set-up differs
from standard use in six ways:

- Positions are data. As Python numbers they would be constants of the kernel, which would be compiled again for every
  pose.
- All rays are launched in the horizontal plane. The problem is two-dimensional, so rays leaving the plane would only
  find the same chains again.
- The solver keeps one table of the chains already found, which all targets of a call share. Sionna indexes it by a
  hash, and a collision silently drops a path
  (`sionna issue 1172 <https://github.com/NVlabs/sionna/issues/1172>`_). Here each chain to a target has a unique index.
- Sionna writes to its buffer of chains for every ray and target, with a mask that is nearly always empty. Here it skips
  that unless there is a new chain, which is faster and leaves the result the same to the last bit.
- When a chain is solved, rays are traced one by one instead of in packets. Where walls are nearly parallel to an axis,
  rounding tilts rays out of the plane by as little as :math:`10^{-19}` rad, and packets of such rays miss walls: in
  maps made by robots, 2 % of all paths were lost. All other results are the same to the last bit, at the same speed.
- Dr.Jit runs on one thread: with several, the order of atomic operations changes the result. Use one process per core.

Import this module through :func:`locus.make_twin`, which first finds a libLLVM that Dr.Jit can use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from locus.room.layout import Layout, Pose
from locus.settings.config import Radio, TwinOptions
from locus.twin.base import PathArrays, Twin

_VARIANT = "llvm_ad_mono_polarized"
if mi.variant() is None:
    mi.set_variant(_VARIANT)
if mi.variant() != _VARIANT:
    raise RuntimeError(f"Expected Mitsuba variant {_VARIANT!r}, got {mi.variant()!r}; call make_twin before setting it")
dr.set_thread_count(1)

import sionna.rt as rt  # noqa: E402
from sionna.rt.path_solvers import image_method, paths_buffer, sb_candidate_generator  # noqa: E402

_WALL_HEIGHT = 10.0  # [m], half above and half below the plane of the paths; does not affect them
_FIRST_WALL = 16  # lower digits stand for Sionna's other interactions, whose codes are 1, 2, 4 and 8
_CHAINS_PER_CANDIDATE = 200  # initial size of the solver's buffer, doubled whenever it is full


class SionnaTwin(Twin):
    """Line of sight and up to ``max_depth`` specular reflections, optionally with refraction and diffraction."""

    name = "sionna"

    def __init__(self, radio: Radio, options: TwinOptions) -> None:
        super().__init__(radio, options)
        self._solver = rt.PathSolver()
        self._generator = _ExactGenerator()
        self._solver._candidate_generator = self._generator
        self._solver._image_method = _RayByRay()

    def _solve(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        scene = make_scene(_Scene(), layout, self.radio, self.options, _WALL_HEIGHT)
        position, orientation = mi.Point3f(pose.x, pose.y, 0.0), mi.Point3f(pose.heading, 0.0, 0.0)
        dr.make_opaque(position, orientation)  # as literals they would trigger a recompilation for every pose
        scene.add(rt.Transmitter("receiver", position=position, orientation=orientation))

        batch = self._generator.prepare(layout.walls, self.options)
        parts = [
            self._solve_batch(scene, pose, candidates[start : start + batch])
            for start in range(0, len(candidates), batch)
        ]
        return PathArrays(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _solve_batch(self, scene: _Scene, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        scene.set_candidates(candidates)
        room = _CHAINS_PER_CANDIDATE * len(candidates)
        while True:
            try:
                paths = self._solver(
                    scene,
                    max_depth=self.options.max_depth,
                    samples_per_src=self.options.num_rays,
                    max_num_paths_per_src=room,
                    refraction=self.options.refraction,
                    diffraction=self.options.diffraction,
                )
                break
            except _BufferFullError:
                room *= 2
        return self._collect(paths, pose, len(candidates))

    def _collect(self, paths: Any, pose: Pose, num_candidates: int) -> PathArrays:
        """Strongest paths as NumPy arrays, with transmitter and receiver swapped back."""
        valid = paths.valid.numpy()
        valid = valid.reshape(num_candidates, valid.shape[-1])  # not -1: there may be no path at all
        delay = paths.tau.numpy().reshape(valid.shape).astype(float)
        departure = paths.phi_t.numpy().reshape(valid.shape).astype(float)
        real, imaginary = (part.numpy().reshape(valid.shape).astype(float) for part in paths.a)
        order = (paths.interactions.numpy() != rt.InteractionType.NONE).sum(axis=0).reshape(valid.shape)

        gain = (real + 1j * imaginary) * np.exp(-2j * np.pi * self.radio.carrier * delay)
        strength = np.where(valid, np.abs(gain), -1.0)
        shape = (num_candidates, self.options.max_paths)
        kept = np.lexsort((delay, -strength), axis=-1)[:, : shape[1]]

        def strongest(values: NDArray[Any], padding: Any) -> NDArray[Any]:
            out = np.full(shape, padding, dtype=values.dtype)
            out[:, : kept.shape[1]] = np.take_along_axis(np.where(valid, values, padding), kept, axis=1)
            return out

        aoa = (departure - pose.heading + np.pi) % (2 * np.pi) - np.pi
        return PathArrays(strongest(aoa, 0.0), strongest(delay, 0.0), strongest(gain, 0.0), strongest(order, -1))


class _Scene(rt.Scene):  # type: ignore[misc]
    """Scene whose targets are one array of positions instead of one Receiver object per candidate."""

    def set_candidates(self, candidates: NDArray[np.float64]) -> None:
        x, y = candidates.T.astype(np.float32)
        self._candidates = mi.Point3f(mi.Float(x), mi.Float(y), dr.zeros(mi.Float, len(x)))
        # Sionna only counts the receivers, so they can all be the same object.
        self._receivers = dict.fromkeys(range(len(x)), rt.Receiver("candidate", position=mi.Point3f(0.0)))

    def targets(self, *_: bool) -> tuple[Any, Any, Any, Any]:
        """Positions, orientations, antenna offsets and velocities, in the form Sionna's solver expects."""
        zeros = dr.zeros(mi.Point3f, len(self._receivers))
        return self._candidates, zeros, mi.Point3f(zeros), mi.Vector3f(zeros)


def make_scene(scene: Any, layout: Layout, radio: Radio, options: TwinOptions, wall_height: float) -> Any:
    """Fill an empty Sionna scene with walls, carrier, the receiver's antenna element and an isotropic transmitter."""
    scene.frequency = radio.carrier
    scene.tx_array = rt.PlanarArray(num_rows=1, num_cols=1, pattern="tr38901", polarization="V")
    scene.rx_array = rt.PlanarArray(num_rows=1, num_cols=1, pattern="iso", polarization="V")
    scene.edit(add=_wall_objects(layout, options, wall_height))
    return scene


def _wall_objects(layout: Layout, options: TwinOptions, height: float) -> list[Any]:
    """One mesh of vertical rectangles per material."""
    materials = np.array(layout.wall_materials)
    objects = []
    for name in np.unique(materials):
        walls = layout.walls[materials == name]
        vertices = np.empty((len(walls), 4, 3), dtype=np.float32)
        vertices[:, :2, :2] = walls.reshape(-1, 2, 2)
        vertices[:, 2:, :2] = walls.reshape(-1, 2, 2)[:, ::-1]
        vertices[:, :2, 2], vertices[:, 2:, 2] = -height / 2, height / 2
        faces = 4 * np.arange(len(walls), dtype=np.uint32)[:, np.newaxis] + np.array(
            [0, 1, 2, 0, 2, 3], dtype=np.uint32
        )
        mesh = mi.Mesh(f"{name}-walls", 4 * len(walls), 2 * len(walls))
        parameters = mi.traverse(mesh)
        parameters["vertex_positions"] = mi.Float(vertices.ravel())
        parameters["faces"] = mi.UInt(faces.ravel())
        parameters.update()
        material = rt.ITURadioMaterial(f"{name}-material", str(name), thickness=options.wall_thickness)
        # Sionna only finds diffracting wedges where two walls share vertices.
        wedges = options.diffraction
        objects.append(
            rt.SceneObject(
                mi_mesh=mesh, name=f"{name}-walls", radio_material=material, remove_duplicate_vertices=wedges
            )
        )
    return objects


class _RayByRay(image_method.ImageMethod):  # type: ignore[misc]
    """Sionna's image method, which does not tell the ray tracer that neighbouring rays are alike."""

    def _backtrack(self, mi_scene: Any, *arguments: Any, **options: Any) -> Any:
        return super()._backtrack(_Incoherent(mi_scene), *arguments, **options)


class _Incoherent:
    """A Mitsuba scene that traces each ray by itself."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene

    def ray_intersect(self, ray: Any, **options: Any) -> Any:
        return self._scene.ray_intersect(ray, **options | {"coherent": False})


class _BufferFullError(Exception):
    """The solver found more chains than fit into its buffer, and would drop the rest."""


class _ExactGenerator(sb_candidate_generator.SBCandidateGenerator):  # type: ignore[misc]
    """Sionna's chain search with a planar fan of rays and a unique table index for every chain."""

    _digits: int
    _chains: int

    def prepare(self, walls: NDArray[np.float64], options: TwinOptions) -> int:
        """Number the walls; returns how many targets the table can hold, one counter per chain and target."""
        first = _FIRST_WALL if options.refraction or options.diffraction else 1
        number = _WallNumber(walls, first)
        self.plane_hash_functions = [number]
        self._digits = first + number.num_planes
        self._chains = self._digits**options.max_depth
        if self._chains > options.table_size:
            raise ValueError(
                f"Expected 'twin.table_size' of at least {self._chains} for {len(walls)} walls "
                f"at depth {options.max_depth}, got {options.table_size}; raise it, or lower 'twin.max_depth'"
            )
        return options.table_size // self._chains

    def __call__(self, **arguments: Any) -> Any:
        with self._patched_sionna(dr.width(arguments["tgt_positions"])):
            paths = super().__call__(**arguments)
        paths.schedule()
        dr.eval()
        if int(dr.max(paths.paths_counter)[0]) >= arguments["max_num_paths_per_src"]:
            raise _BufferFullError
        return paths

    @contextmanager
    def _patched_sionna(self, num_targets: int) -> Iterator[None]:
        """Temporarily replace Sionna's ray directions, hash function, table size and writes to the buffer: globals."""
        digits, targets = mi.UInt64(self._digits), mi.UInt64(num_targets)
        dr.make_opaque(digits, targets)
        # As small as possible, since all of it is cleared; a power of two, since the size is compiled into the kernel
        table_size = 1 << (self._chains * num_targets - 1).bit_length()

        def number(item: Any, h: Any) -> Any:
            # Sionna hashes the walls of a chain as 64-bit integers, and then the target as a 32-bit index.
            return h * digits + item if isinstance(item, mi.UInt64) else h * targets + mi.UInt64(item)

        module, generator = sb_candidate_generator, sb_candidate_generator.SBCandidateGenerator
        changes: dict[tuple[Any, str], Any] = {
            (module, "fibonacci_lattice"): _fan,
            (module, "hash_fnv1a"): number,
            (generator, "MIN_SPEC_COUNT_SIZE"): table_size,
            (paths_buffer.PathsBuffer, "add_paths"): _add_new_paths,
        }
        before = {place: getattr(*place) for place in changes}
        try:
            for place, value in changes.items():
                setattr(*place, value)
            yield
        finally:
            for place, value in before.items():
                setattr(*place, value)


_add_paths = paths_buffer.PathsBuffer.add_paths


def _add_new_paths(buffer: Any, depth: Any, index: Any, samples: Any, *values: Any) -> None:
    """Sionna's ``add_paths``, whose last argument says which rays have a path to add; skipped if none has."""
    dr.if_stmt(
        (depth, index, *values),
        values[-1],
        lambda depth, index, *values: _add_paths(buffer, depth, index, samples, *values),
        lambda *_: None,
    )


def _fan(num_rays: int) -> Any:
    """Points in the unit square that Sionna maps to evenly spaced horizontal directions."""
    azimuth = (dr.arange(mi.Float64, num_rays) + 0.5) / num_rays
    return mi.Point2f(mi.Float(azimuth), dr.full(mi.Float, 0.5, num_rays))


class _WallNumber:
    """Maps the normal and position of a hit to the number of the wall's plane; coplanar walls share a number."""

    def __init__(self, walls: NDArray[np.float64], first: int) -> None:
        along = walls[:, 2:] - walls[:, :2]
        normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.hypot(*along.T)[:, np.newaxis]
        flipped = (normal[:, 1] < -1e-9) | ((np.abs(normal[:, 1]) <= 1e-9) & (normal[:, 0] < 0))
        normal[flipped] *= -1
        planes = np.column_stack([normal, (normal * walls[:, :2]).sum(axis=1)])
        unique: list[NDArray[np.float64]] = []
        for plane in planes:
            if not any(np.abs(plane - other).max() < 1e-6 for other in unique):
                unique.append(plane)
        self._first = first
        self.num_planes = len(unique)
        self._normal_x, self._normal_y, self._offset = (mi.Float(v.astype(np.float32)) for v in np.array(unique).T)
        self._end = mi.UInt(self.num_planes)
        dr.make_opaque(self._end)

    @dr.syntax
    def __call__(self, normal: Any, position: Any) -> Any:
        least, nearest, plane = mi.Float(dr.inf), mi.UInt(0), mi.UInt(0)
        while plane < self._end:
            nx = dr.gather(mi.Float, self._normal_x, plane)
            ny = dr.gather(mi.Float, self._normal_y, plane)
            offset = dr.gather(mi.Float, self._offset, plane)
            # Weight of 100 m: a 1 % error of the normal counts as much as one metre
            misfit = dr.abs(nx * position.x + ny * position.y - offset)
            misfit += 100.0 * (1.0 - dr.abs(nx * normal.x + ny * normal.y))
            nearest = dr.select(misfit < least, plane, nearest)
            least = dr.minimum(misfit, least)
            plane += 1
        return mi.UInt64(nearest) + self._first
