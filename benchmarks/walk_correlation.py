"""Walks: what does a correlation of errors that repeat from pose to pose, but are in no unknown of the walk, change?

On walks through validation rooms of the training split, which no constant of a single snapshot was fitted to, after
all snapshots of each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from record import compared, record
from tqdm import tqdm

from locus.experiment import splits
from locus.experiment.walk import CONDITIONS, NUM_FITTED, NUM_STEPS
from locus.experiment.walk_scene import Scene
from locus.judge.credible import CREDIBLE_MASS, credible_level
from locus.score.path_set import PathSet
from locus.score.walk import Walk
from locus.settings.config import Config

CORRELATIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def main() -> None:
    config, scorer = Config(), PathSet()
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for index in tqdm(splits.validation_groups(config)[-NUM_FITTED:], unit="room"):
        scene = Scene(config, "train", index, NUM_STEPS)
        observed = scene.observed_with(scorer.estimator)
        for condition, sizes in CONDITIONS.items():
            believed = scene.believed(sizes)
            walk = Walk(believed[0], scorer)
            for step, paths in enumerate(scene.trace(believed)):
                walk.add(paths, observed.isel(snapshot=step))
            for walk.correlation in CORRELATIONS:  # read only when scores are added up
                logs = walk.log_posterior().values
                loss = -float(logs[scene.truth]) - math.log(len(logs))
                level = credible_level(logs[np.newaxis], np.array([scene.truth]), scene.tie_shares[-1:])
                found.setdefault((condition, walk.correlation), []).append((loss, float(level[0] <= CREDIBLE_MASS)))
    results: dict[str, Any] = {"num_rooms": NUM_FITTED, "num_steps": NUM_STEPS}
    for (condition, correlation), pairs in found.items():
        name = f"{condition}, correlation {correlation:g}"
        results.setdefault(condition, {})[f"{correlation:g}"] = compared(pairs, found[condition, 0.0], name)
    record("walk_correlation", results)


if __name__ == "__main__":
    main()
