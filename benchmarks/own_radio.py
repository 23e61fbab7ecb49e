"""LOCUS-DT for the radio of the page *A network for your own radio*, trained on more and more rooms.

All trainings take the same number of optimiser steps, so that only the number of rooms differs. L and R are those of
Eval Random, on rooms that no training has seen; the path set, which needs no training, is measured on the same. Data
already in LOCUS_DATA is reused.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from record import record

from locus import PathSet, Run, make_twin, open_run
from locus.capture.files import read_radio_fields
from locus.experiment import artifact, cluster
from locus.experiment.case import Case
from locus.experiment.rows import EVALUATIONS, Rows
from locus.judge import metrics

RADIO = Path(__file__).parents[1] / "book" / "_static" / "radio.yml"
NUM_LAYOUTS = (300, 600, 1200)
NUM_EVALUATION_LAYOUTS = 100
EPOCHS_TIMES_LAYOUTS = 60_000  # of the profile `quick`


def run_of(num_layouts: int) -> Run:
    """Run of the page's radio with so many training rooms."""
    radio = {f"radio.{name}": value for name, value in read_radio_fields(RADIO).items()}
    epochs = EPOCHS_TIMES_LAYOUTS // num_layouts
    sizes = {"num_layouts": num_layouts, "num_epochs": epochs, "patience": epochs}
    training = {f"training.{name}": value for name, value in sizes.items()}
    evaluation = {"twin.evaluation": "image", "evaluation.num_layouts": NUM_EVALUATION_LAYOUTS}
    return open_run("quick", {**radio, **training, **evaluation})


def trained(run: Run) -> dict[str, float]:
    """L and R of LOCUS-DT on the evaluation rooms, with intervals."""
    rows = Rows(run, EVALUATIONS["random"], ("locus_dt",))
    run.save()
    with cluster.connect_lazily(1) as workers:
        artifact.make_all(artifact.due([rows]), workers)
    return summary(rows.open("random"), run)


def untrained(run: Run) -> dict[str, float]:
    """L and R of the path set with the constants that `locus locate` uses, on the same rooms and snapshots."""
    config, logs = run.config, []
    twin, scorer = make_twin("image", config.radio, config.twin), PathSet(config.radio)
    for index in range(NUM_EVALUATION_LAYOUTS):
        case = Case(config, "eval_random", index, twin)
        logs.append(case.log_posterior(scorer).values[np.arange(len(case.truth)), case.truth])
    groups = np.repeat(np.arange(NUM_EVALUATION_LAYOUTS), len(logs[0]))
    values = (("snapshot", "method"), np.concatenate(logs)[:, np.newaxis])
    rows = xr.Dataset({"log_posterior": values}, coords={"method": ["path_set"], "group": ("snapshot", groups)})
    return summary(rows, run)


def summary(rows: xr.Dataset, run: Run) -> dict[str, float]:
    """L and R of the only method, with intervals."""
    table = metrics.summary(rows, run.config.evaluation.num_candidates, np.random.default_rng(0)).isel(method=0)
    return {f"{name}{end}": float(table[f"{name}{end}"]) for name in ("loss", "ratio") for end in ("", "_low", "_high")}


def main() -> None:
    results: dict[str, Any] = {
        "num_evaluation_layouts": NUM_EVALUATION_LAYOUTS,
        "num_layouts": list(NUM_LAYOUTS),
        "path_set": untrained(run_of(max(NUM_LAYOUTS))),
    }
    print(f"path set: L {results['path_set']['loss']:.3f}, R {100 * results['path_set']['ratio']:.1f} %", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("LOCUS_DATA", folder)
        found = {}
        for num_layouts in reversed(NUM_LAYOUTS):  # the largest first: the others reuse its rooms
            one = found[num_layouts] = trained(run_of(num_layouts))
            print(f"{num_layouts} rooms: L {one['loss']:.3f}, R {100 * one['ratio']:.1f} %", flush=True)
    record("own_radio", {**results, "locus_dt": [found[num_layouts] for num_layouts in NUM_LAYOUTS]})


if __name__ == "__main__":
    main()
