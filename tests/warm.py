"""Compile the kernels into numba's cache, which all processes of the tests share: ``python tests/warm.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from locus import Run, load_config
from locus.experiment.artifact import due, make_all
from locus.experiment.rows import Rows
from locus.experiment.scorers import UNTRAINED_TITLES

SMALL = {
    "twin.evaluation": "image",
    "training.num_layouts": 4,
    "training.num_epochs": 1,
    "evaluation.num_layouts": 1,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = Run("warm", load_config("smoke", SMALL), root=Path(folder))
        make_all(due([Rows(run, "eval_grid", ("locus_dt", *UNTRAINED_TITLES, "phase_blind", "bayes"))]))
