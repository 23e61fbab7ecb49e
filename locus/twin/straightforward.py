"""Sionna as used in its tutorials: the reference for speed and completeness of the Sionna twin."""

from __future__ import annotations

import os

import drjit as dr
import mitsuba as mi
import numpy as np
import sionna.rt as rt
from numpy.typing import NDArray

from locus.room.layout import Layout, Pose
from locus.twin.base import PathArrays
from locus.twin.sionna import SionnaTwin, make_scene


class StraightforwardTwin(SionnaTwin):
    """One Receiver object per candidate, Python floats, 3 m walls, Sionna's defaults, all threads.

    Since it runs Dr.Jit on several threads, its results may vary from run to run.
    """

    name = "straightforward"

    def _solve(self, layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> PathArrays:
        scene = make_scene(rt.Scene(), layout, self.radio, self.options, wall_height=3.0)
        scene.add(rt.Transmitter("rx", position=[pose.x, pose.y, 0.0], orientation=[pose.heading, 0.0, 0.0]))
        for i, (x, y) in enumerate(candidates.tolist()):
            scene.add(rt.Receiver(f"candidate-{i}", position=mi.Point3f(x, y, 0.0)))
        dr.set_thread_count(os.cpu_count() or 1)
        try:
            paths = rt.PathSolver()(scene, max_depth=self.options.max_depth, refraction=False)
            return self._collect(paths, pose, len(candidates))
        finally:
            dr.set_thread_count(1)
