"""One walk as maps: a run and one of its rooms in, posteriors after each snapshot by two methods out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

import locus
from locus.experiment.path_set_fit import fitted
from locus.experiment.run import Run
from locus.experiment.walk import CONDITIONS, NUM_STEPS
from locus.experiment.walk_scene import Scene
from locus.judge.floor import floored
from locus.room.layout import Layout, Pose
from locus.score.posterior import normalise
from locus.score.walk import Walk
from locus.score.walk_compass import HeadingError

SPLIT = "eval_grid"
"""Split of the rooms."""


class WalkMaps(NamedTuple):
    """A walk, what its twin believes, and what two methods make of the snapshots so far."""

    scene: Scene
    believed: tuple[Layout, list[Pose]]
    """Room and poses that the twin takes for true."""
    maps: dict[str, xr.DataArray]
    """Log posterior (step, candidate) by method."""
    compass: list[HeadingError]
    """Posterior of the compass error after each step."""


def map_walk(run: Run, index: int, condition: str, rows: xr.Dataset, num_steps: int = NUM_STEPS) -> WalkMaps:
    """Walk through room ``index`` of Eval Grid with a twin of a ``condition`` of the study.

    ``rows`` has the temperature and the share of uniform guessing that LOCUS-DT was given there.
    """
    scene = Scene(run.config, SPLIT, index, num_steps)
    believed = scene.believed(CONDITIONS[condition])
    network, scorer = locus.load_scorer(run.name), fitted(run)
    walk, total, added, fused, compass = Walk(believed[0], scorer), np.zeros(len(scene.candidates)), [], [], []
    temperature, share = (float(rows[name].sel({"method": "locus_dt"})) for name in ("option", "share"))
    for step, paths in enumerate(scene.trace(believed)):
        score = network.log_posterior(paths, scene.observed_with(run.config.estimator).isel(snapshot=step))
        total = total + score.values / temperature
        added.append(score.copy(data=floored(normalise(total), len(total), share)))
        walk.add(paths, scene.observed_with(scorer.estimator).isel(snapshot=step))
        fused.append(walk.log_posterior())
        compass.append(walk.heading_error())
    maps = {"locus_dt": xr.concat(added, "step"), "walk": xr.concat(fused, "step")}
    return WalkMaps(scene, believed, maps, compass)
