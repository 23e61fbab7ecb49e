"""Sionna as used in its tutorials: the reference for speed and completeness of the Sionna twin."""

from __future__ import annotations

import os

import drjit as dr
import mitsuba as mi
import numpy as np
import sionna.rt as rt
from numpy.typing import NDArray

from locus.room.layout import Layout, Pose
from locus.settings.checks import check_range
from locus.settings.config import Radio, TwinOptions
from locus.twin.base import PathArrays
from locus.twin.sionna import SionnaTwin, make_scene


class StraightforwardTwin(SionnaTwin):
    """One Receiver object per candidate, Python floats, 3 m walls, Sionna's defaults, all threads.

    Since it runs Dr.Jit on several threads, its results may vary from run to run.

    Args:
        radio: carrier, link budget and antennas.
        options: ``max_depth``, ``max_paths`` and ``wall_thickness`` are used; there is no refraction or diffraction.
            Rays and table are Sionna's own, not those of the options.
        num_rays: Sionna's ``samples_per_src``.
        deterministic: Sionna's solver option of this name.
        num_receivers: largest number of candidates per call of the solver; all in one call if None.

    Raises:
        ValueError: ``num_rays`` or ``num_receivers`` is below 1.
    """

    name = "straightforward"

    def __init__(
        self,
        radio: Radio,
        options: TwinOptions,
        num_rays: int = 1_000_000,
        *,
        deterministic: bool = False,
        num_receivers: int | None = None,
    ) -> None:
        check_range("num_rays", num_rays, 1)
        if num_receivers is not None:
            check_range("num_receivers", num_receivers, 1)
        super().__init__(radio, options)
        self._solver = rt.PathSolver(deterministic=deterministic)
        self._num_rays, self._num_receivers = num_rays, num_receivers

    def _solve(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        batch = self._num_receivers or len(candidates)
        parts = [
            self._solve_call(layout, pose, candidates[start : start + batch])
            for start in range(0, len(candidates), batch)
        ]
        return PathArrays(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _solve_call(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        scene = make_scene(rt.Scene(), layout, self.radio, self.options, wall_height=3.0)
        scene.add(rt.Transmitter("rx", position=[pose.x, pose.y, 0.0], orientation=[pose.heading, 0.0, 0.0]))
        for i, (x, y) in enumerate(candidates.tolist()):
            scene.add(rt.Receiver(f"candidate-{i}", position=mi.Point3f(x, y, 0.0)))
        dr.set_thread_count(os.cpu_count() or 1)
        try:
            paths = self._solver(
                scene, max_depth=self.options.max_depth, samples_per_src=self._num_rays, refraction=False
            )
            return self._collect(paths, pose, len(candidates))
        finally:
            dr.set_thread_count(1)
