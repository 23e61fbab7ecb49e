"""Posterior maps and the description of a failure, on a room with known answers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from locus.book.studies.posterior_maps import Task, diagnosis, nearest_candidates, relative_to_peak, strongest, worst
from locus.experiment.case import Case, Transmitters
from locus.settings.config import Config

THRESHOLD = -20.0


def path_set(angles: list[float], snr: list[float], num_paths: int = 3) -> xr.Dataset:
    """Paths (path) at angles [degrees], padded."""
    missing = num_paths - len(angles)
    return xr.Dataset(
        {
            "aoa": ("path", np.radians(np.array([*angles, *[0.0] * missing]))),
            "snr_db": ("path", np.array([*snr, *[-np.inf] * missing])),
            "valid": ("path", np.arange(num_paths) < len(angles)),
        }
    )


def task(observed: xr.Dataset, truth: xr.Dataset, guess: xr.Dataset) -> Task:
    """A task with two candidates, 3 m apart in x and 4 m in y; the first is the truth."""
    paths = xr.concat([truth, guess], "candidate").assign_coords(
        x=("candidate", [1.0, 4.0]), y=("candidate", [2.0, 6.0])
    )
    case = Case(Config(), "eval_random", 0, traced=paths)
    transmitters = Transmitters(np.array([[1.0, 2.0]]), np.array([0]), truth.expand_dims("snapshot"), [])
    estimates = {case.config.estimator: observed.expand_dims("snapshot")}
    case.__dict__.update(transmitters=transmitters, _estimates=estimates)
    return Task(case, {})


def test_worst_row_is_found_among_the_first() -> None:
    logs = np.array([-1.0, -5.0, -2.0, -4.0, -9.0, -3.0])
    rows = xr.Dataset(
        {"log_posterior": (("snapshot", "method"), np.stack([logs, 0 * logs], axis=1))},
        coords={"method": ["a", "b"], "group": ("snapshot", [7, 7, 8, 8, 8, 9])},
    )
    assert worst(rows, "a", 200) == (4, 8, 2)
    assert worst(rows, "a", 4) == (1, 7, 1)


def test_map_between_candidates_is_that_of_the_nearest() -> None:
    values = xr.DataArray(
        [[-1.0, -3.0]],
        {"x": ("candidate", [0.0, 10.0]), "y": ("candidate", [0.0, 0.0])},
        dims=("snapshot", "candidate"),
    )
    grid = np.array([[1.0, 0.0], [9.0, 2.0], [4.0, 4.0]])
    found = relative_to_peak(nearest_candidates(values, grid))
    assert found.values.tolist() == [[0.0, -2.0, 0.0]]
    assert found.x.values.tolist() == [1.0, 9.0, 4.0]


def test_strongest_paths_are_told_as_the_array_sees_them() -> None:
    table = strongest(task(path_set([30], [-5]), path_set([150], [-6]), path_set([], [])), 0, 1)
    assert table.loc["truth", "angle [degrees]"] == 150
    assert table.loc["truth", "as the array sees it [degrees]"] == 30
    assert table.loc["most probable", "metres from the truth"] == 5
    assert table["paths"].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("observed", "truth", "guess", "word"),
    [
        (path_set([], []), path_set([10], [-20.5]), path_set([20], [-40]), "Nothing was found"),
        (path_set([40], [-19]), path_set([10], [-25]), path_set([41], [-19]), "false alarm"),
        (path_set([40], [-9]), path_set([10, 40], [-8, -9]), path_set([41], [-9]), "not the strongest path"),
        (path_set([30], [-9]), path_set([150], [-9]), path_set([31], [-8]), "ambiguity"),
        (path_set([30], [-9]), path_set([31], [-9]), path_set([150], [-8]), "the front"),
        (path_set([30], [-9]), path_set([31], [-9]), path_set([29], [-8]), "weaker paths"),
    ],
)
def test_diagnosis(observed: xr.Dataset, truth: xr.Dataset, guess: xr.Dataset, word: str) -> None:
    assert word in diagnosis(task(observed, truth, guess), 0, 1, THRESHOLD)
