"""Sweeps: settings and their values in; one run per combination, and a table and a figure of R, out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from locus.experiment import cluster
from locus.experiment.artifact import due as find_due
from locus.experiment.case import check_room
from locus.experiment.journal import exclusive
from locus.experiment.libraries import Observations
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.run import Run, data_root, fingerprint, open_run
from locus.experiment.weights import Weights
from locus.judge import metrics
from locus.score.weight_files import check_method
from locus.settings.untrusted import short

MAX_RUNS = 500
"""Maximum number of combinations of a sweep."""


def combinations(profile: str, changes: Mapping[str, Any], over: Mapping[str, Sequence[Any]]) -> dict[str, Run]:
    """One run per combination of the swept settings, by name. Invalid settings fail here, before any work.

    Raises:
        ValueError: nothing is swept, a setting has no value, or one is unknown or out of range.
    """
    if not over or not all(over.values()):
        raise ValueError(f"Expected settings to sweep over, each with values, got {short(dict(over))}")
    count = math.prod(len(values) for values in over.values())
    if count > MAX_RUNS:
        raise ValueError(f"Expected at most {MAX_RUNS} combinations to sweep over, got {count}")
    picks = [dict(zip(over, values, strict=True)) for values in itertools.product(*over.values())]
    runs = [open_run(profile, {**changes, **pick}) for pick in picks]
    return {run.name: run for run in runs}


def sweep(
    profile: str,
    changes: Mapping[str, Any],
    over: Mapping[str, Sequence[Any]],
    method: str = "locus_dt",
    evaluation: str = "test",
    num_workers: int | None = None,
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Train and evaluate one method for every combination that is not fresh, one worker per run.

    Stores are built first, by all workers; runs share them where possible. Workers need access to the data folder.

    Returns:
        One row per combination, with the swept settings, L and R with their 95 % intervals, and the name of the run.

    Raises:
        StoreError: another command writes to one of the runs.
    """
    check_method(method)
    if evaluation not in EVALUATIONS:
        raise ValueError(f"Expected 'evaluation' in {list(EVALUATIONS)}, got {short(evaluation)}")
    cluster.check_workers(num_workers, scheduler)
    runs = combinations(profile, changes, over)
    for room in {run.config.room for run in runs.values()}:
        check_room(room)
    due = [run for run in runs.values() if not _rows(run, method, evaluation).fresh()]
    with ExitStack() as stack:
        for run in due:  # all of them before any work, so that the second of two sweeps stops at once
            stack.enter_context(exclusive(run.path / "run.yml", f"run {run.name}"))
        for run in due:
            run.save()
        client = stack.enter_context(cluster.connect(num_workers, scheduler))
        for run in due:
            if not Weights(run, method).fresh():
                for store in find_due([Observations(run, "train")]):
                    store.make(lambda: client)
        arguments = (method, evaluation, data_root())
        work = cluster.each(client, lambda name: (train_and_evaluate, (name, *arguments)), [run.name for run in due])
        failures = []
        for number, (name, failure) in enumerate(work, 1):
            print(f"[{number}/{len(due)}] {name} {f'failed: {failure}' if failure else 'finished'}", flush=True)
            failures += [name] if failure else []
    if failures:
        raise RuntimeError(
            f"{len(failures)} of {len(due)} runs failed: {failures}; fix the cause and repeat, finished runs are kept"
        )
    return pd.DataFrame([_row(run, over, method, evaluation) for run in runs.values()])


def train_and_evaluate(name: str, method: str, evaluation: str, root: Path) -> str:
    """Train and evaluate one run whose stores exist; runs on a worker. Returns the error, or an empty string."""
    try:
        run = open_run(name, root=root)
        weights, rows = Weights(run, method), _rows(run, method, evaluation)
        if not weights.fresh():
            weights.make()
        rows.make()
    except Exception as error:  # one failed run must not stop the others
        return f"{type(error).__name__}: {error}"
    return ""


def write(table: pd.DataFrame, over: Mapping[str, Sequence[Any]]) -> tuple[Path, Path]:
    """Write the table as CSV and the figure as PNG into ``sweeps`` of the data folder, and return both paths."""
    from locus.draw import sweep_figure

    folder = data_root() / "sweeps"
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(over) + "-" + fingerprint({"runs": sorted(table.run)})[:8]
    table.to_csv(folder / f"{name}.csv", index=False)
    sweep_figure(table, list(over)).savefig(folder / f"{name}.png", dpi=150)
    return folder / f"{name}.csv", folder / f"{name}.png"


def _rows(run: Run, method: str, evaluation: str) -> Rows:
    return Rows(run, EVALUATIONS[evaluation], (method,))


def _row(run: Run, over: Mapping[str, Sequence[Any]], method: str, evaluation: str) -> dict[str, Any]:
    rows = _rows(run, method, evaluation).open(evaluation)
    result = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(0)).isel(method=0)
    settings = {}
    for key in over:
        section, _, name = key.partition(".")
        value = getattr(run.config, section)
        settings[key] = getattr(value, name) if name else value
    numbers = {
        f"{name}{end}": float(result[f"{name}{end}"]) for name in ("loss", "ratio") for end in ("", "_low", "_high")
    }
    return {**settings, **numbers, "run": run.name}
