"""Posterior maps: a run and one of its held-out groups in, the posterior of every method on a fine grid out.

The group is recomputed, bit for bit as it was evaluated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from locus.experiment import splits
from locus.experiment.case import Case
from locus.experiment.run import Run
from locus.experiment.weights import trained
from locus.room.layout import away_from
from locus.score.limits import RECEIVERS
from locus.settings.config import Config
from locus.twin import Twin, make_twin

SPLIT = "eval_random"
"""Split of the mapped groups."""


class Task(NamedTuple):
    """One group and posterior maps of its snapshots."""

    case: Case
    maps: dict[str, xr.DataArray]
    """Log posterior (snapshot, candidate) on a grid, relative to the maximum of each map [nat], by method."""

    @property
    def num_snapshots(self) -> int:
        """Number of snapshots of the group."""
        return len(self.case.truth)

    def true_position(self, snapshot: int) -> tuple[float, float]:
        """Position (x, y) of the transmitter of a snapshot [m]."""
        x, y = self.case.transmitters.position[snapshot]
        return float(x), float(y)


def make_task(run: Run, index: int, num_points: int, twin: Twin | None = None) -> Task:
    """Map group ``index`` of Eval Random with every trained method and the Bayes limit.

    The methods score every free point of a grid of ``num_points`` per axis, traced here. The Bayes limit is evaluated
    on the group's candidates only; its map shows the value of the nearest candidate.
    """
    case = Case(run.config, SPLIT, index)
    twin = twin or evaluation_twin(run.config)
    grid = away_from(case.pose, case.layout.grid(num_points))
    fine = twin.trace(case.layout, case.pose, grid)
    maps = {name: scorer.log_posterior(fine, case.observed) for name, scorer in trained(run).items()}
    maps["bayes"] = nearest_candidates(case.log_posterior(RECEIVERS["bayes"]), grid)
    return Task(case, {name: relative_to_peak(values) for name, values in maps.items()})


def evaluation_twin(config: Config) -> Twin:
    """Twin that traces the evaluation splits."""
    return make_twin(splits.backend(config, SPLIT), config.radio, config.twin)


def worst(rows: xr.Dataset, method: str, num_snapshots: int) -> tuple[int, int, int]:
    """Row in which a method gives the truth the lowest posterior, its group, and its index within the group.

    Args:
        rows: ``log_posterior`` (snapshot, method) with ``group`` (snapshot), group after group.
        method: the method.
        num_snapshots: number of rows to search, from the first.
    """
    logs = rows.log_posterior.sel({"method": method}).values[:num_snapshots]
    row = int(logs.argmin())
    group = int(rows.group[row])
    return row, group, row - int(np.argmax(rows.group.values == group))


def nearest_candidates(values: xr.DataArray, grid: NDArray[np.float64]) -> xr.DataArray:
    """Values (snapshot, candidate) at the points of a grid (point, 2), each taken from the nearest candidate."""
    candidates = np.stack([values.x.values, values.y.values], axis=-1)
    distance = ((grid[:, np.newaxis] - candidates) ** 2).sum(axis=-1)
    found = values.isel(candidate=distance.argmin(axis=1))
    return found.assign_coords(x=("candidate", grid[:, 0]), y=("candidate", grid[:, 1]))


def relative_to_peak(logs: xr.DataArray) -> xr.DataArray:
    """Log posterior less its largest value, (snapshot, candidate) [nat]."""
    relative = logs - logs.max("candidate")
    return relative.assign_attrs(units="nat", long_name="log posterior over its largest value")


def strongest(task: Task, snapshot: int, most_probable: int) -> pd.DataFrame:
    """Table of the strongest path of the observation, of the truth and of the most probable candidate."""
    truth, there = int(task.case.truth[snapshot]), task.true_position(snapshot)
    rows = {}
    for name, candidate in (("observed", None), ("truth", truth), ("most probable", most_probable)):
        observed = candidate is None
        paths = task.case.observed.isel(snapshot=snapshot) if observed else task.case.paths.isel(candidate=candidate)
        first = paths.isel(path=0)
        found = bool(first.valid)
        away = np.nan if observed else float(np.hypot(paths.x - there[0], paths.y - there[1]))
        rows[name] = {
            "paths": int(paths.valid.sum()),
            "angle [degrees]": np.degrees(float(first.aoa)) if found else np.nan,
            "as the array sees it [degrees]": np.degrees(np.arcsin(np.sin(float(first.aoa)))) if found else np.nan,
            "SNR [dB]": float(first.snr_db) if found else np.nan,
            "metres from the truth": away,
        }
    return pd.DataFrame(rows).T.round(1).astype({"paths": int})


def diagnosis(task: Task, snapshot: int, most_probable: int, threshold_db: float) -> str:
    """Explain why a snapshot misled LOCUS-DT, from angles and SNRs of the strongest paths."""
    near = 5.0  # [degrees], about a third of the array's resolution
    facts = strongest(task, snapshot, most_probable)
    angle, folded = facts["angle [degrees]"], facts["as the array sees it [degrees]"]
    above = facts["SNR [dB]"]["truth"] - threshold_db
    side = f"{abs(above):.1f} dB {'above' if above >= 0 else 'below'} the threshold"
    if facts["paths"]["observed"] == 0:
        return (
            "Nothing was found in this snapshot, and LOCUS-DT takes that for a statement: it prefers places from "
            f"which nothing would be found. The truth's strongest path is {side}. Noise decides whether a path near "
            "the threshold is found; a method that expects to find it pays when it is not."
        )
    if abs(folded["observed"] - folded["truth"]) > near:
        what = "a false alarm" if above < 0 else "not the strongest path that the twin traces for the truth"
        return (
            f"The strongest path found, at {angle['observed']:.0f} degrees, is {what}. The strongest true path is "
            f"{side} and would be seen at {folded['truth']:.0f} degrees. LOCUS-DT prefers a place whose strongest path "
            f"would be seen at {folded['most probable']:.0f} degrees."
        )
    behind = abs(angle) > 90
    if abs(folded["observed"] - folded["most probable"]) <= near and behind["truth"] != behind["most probable"]:
        where = "behind" if behind["truth"] else "the front"
        return (
            f"This is the array's ambiguity: the truth's strongest path comes from {where}, the preferred "
            "candidate's from the other side at the mirrored angle, and to a linear array both look alike. Only "
            "strengths could tell."
        )
    return (
        f"The strongest path was found where the twin has it, at {folded['truth']:.0f} degrees; the preferred "
        f"candidate's would be seen at {folded['most probable']:.0f} degrees. What misled LOCUS-DT is the weaker "
        "paths, or the strengths; the delays, which would tell more, it does not use."
    )
