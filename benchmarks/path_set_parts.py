"""Parts of the path set: what does each of them change, with exact twins, wrong ones, and an obstacle missing?

On validation rooms of the training split, which no constant was fitted to, with the image twin. A part is left out by
its constant, or in the case of soft detection by dropping what the estimator leaves over.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from record import compared, record
from tqdm import tqdm

from locus.experiment import splits
from locus.experiment.case import Case
from locus.experiment.libraries import training_errors
from locus.judge.credible import CREDIBLE_MASS, credible_level
from locus.score.path_set import PathSet
from locus.settings.config import Config
from locus.twin import make_twin

NUM_ROOMS = 100
LEFT_OUT: dict[str, dict[str, float]] = {
    "nothing": {},
    "soft detection": {},
    "merged paths": {"merge_cells": 1e-3},
    "changed obstacles": {"changed": 0.0},
    "doubt": {"doubt": 0.0},
}
"""Constants without a part."""


def main() -> None:
    config, usual = Config(), PathSet()
    twin = make_twin("image", config.radio, config.twin)
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for index in tqdm(splits.validation_groups(config)[:NUM_ROOMS], unit="room"):
        case = Case(config, "train", index, twin)
        rows, ties = np.arange(len(case.truth)), np.random.default_rng([config.seed, index]).random(len(case.truth))
        scenes = {
            "exact": case.paths,
            "wrong": case.trace_believed(case.believed(*training_errors(config, index))),
            "missing": case.trace_believed(case.believed({"missing": 1})),
        }
        for kind, paths in scenes.items():
            for name, changes in LEFT_OUT.items():
                scorer = PathSet(constants=dataclasses.replace(usual.constants, **changes))
                observed = case.seen_by(scorer)
                logs = scorer.log_posterior(
                    paths, observed.drop_vars("residual") if name == "soft detection" else observed
                ).values
                loss = float((-logs[rows, case.truth]).mean()) - math.log(logs.shape[1])
                inside = float((credible_level(logs, case.truth, ties) <= CREDIBLE_MASS).mean())
                found.setdefault(kind, {}).setdefault(name, []).append((loss, inside))
    results: dict[str, Any] = {"num_rooms": NUM_ROOMS}
    for kind, parts in found.items():
        for name, pairs in parts.items():
            results.setdefault(kind, {})[name] = compared(pairs, parts["nothing"], f"{kind}, without {name}")
    record("path_set_parts", results)


if __name__ == "__main__":
    main()
