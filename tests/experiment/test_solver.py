"""Sionna's own solver: what it finds in a room whose paths are known, and how its calls are compared and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus import Layout, Pose, Radio, Twin, TwinOptions
from locus.book import reading_page
from locus.experiment import solver
from locus.experiment.case import Case
from locus.experiment.solver import OURS, Call, Contender, SolverCheck, compare_room, summary

SQUARE = Layout(shapely.box(0, 0, 20, 20))
POSE = Pose(4.0, 9.0, 0.3)
CANDIDATES = [[15.0, 13.0], [11.0, 4.0], [9.0, 17.5]]


def _straightforward(num_rays: int, **options: Any) -> Twin:
    from locus.twin.straightforward import StraightforwardTwin

    return StraightforwardTwin(Radio(), TwinOptions(max_paths=64), num_rays, **options)


@pytest.mark.parametrize("deterministic", [False, True])
def test_many_rays_and_few_receivers_find_every_path_of_an_empty_room(sionna: Twin, *, deterministic: bool) -> None:
    """An empty rectangle has 4 n images of order n (lattice of mirrored rooms): 25 paths up to depth 3."""
    assert sionna.name == "sionna"  # the fixture finds libLLVM
    many = _straightforward(100_000, deterministic=deterministic, num_receivers=2).trace(SQUARE, POSE, CANDIDATES)
    np.testing.assert_array_equal(many.valid.sum("path"), 25)
    few = _straightforward(50, deterministic=deterministic).trace(SQUARE, POSE, CANDIDATES)
    assert (few.valid.sum("path") < 25).all()


def test_calls_that_cannot_be_made_are_refused(sionna: Twin) -> None:
    assert sionna.name == "sionna"
    with pytest.raises(ValueError, match=r"Expected 'num_rays' in \[1, inf\), got 0"):
        Call(0, 5)
    with pytest.raises(ValueError, match=r"Expected 'num_receivers' in \[1, inf\), got 0"):
        Call(1000, 0)
    with pytest.raises(ValueError, match=r"Expected 'num_rays \* num_receivers' in \[1, 5e\+07\], got 500000000"):
        Call(1_000_000, 500, deterministic=True)
    with pytest.raises(ValueError, match="Expected 'num_rays'"):
        _straightforward(0)
    with pytest.raises(ValueError, match="Expected 'num_receivers'"):
        _straightforward(1000, num_receivers=0)


class _Forgetful(Twin):
    """The exact twin without the strongest path of each candidate."""

    name = "forgetful"

    def _solve(self, layout: Layout, pose: Pose, candidates: Any) -> Any:
        paths = locus.make_twin("image", self.radio, self.options)._solve(layout, pose, candidates)
        paths.order[:, 0] = -1
        return paths


def test_paths_are_counted_on_the_same_candidates_whatever_a_twin_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "STEP", 4)
    config = locus.load_config("paper", {"twin.max_paths": 64, "twin_check.num_candidates": 40})
    exact, wrong = locus.make_twin("image", config.radio, config.twin), _Forgetful(config.radio, config.twin)
    calls: list[None] = []
    compared = {OURS: Contender(exact, 1), "all": Contender(wrong, 1), "some": Contender(wrong, 4)}
    found = compare_room(config, 0, compared, lambda: calls.append(None))
    assert len(calls) == 3
    case = Case(config, "check", 0, exact)
    paths = case.trace(case.candidates[::4])
    heard = int(paths.valid.any("path").sum())
    assert (found.missing + found.at_corner).values.tolist() == [0, heard, heard]
    assert found.extra.values.tolist() == [0, 0, 0]
    assert int(found.num_paths) == int(paths.valid.sum()) > 0
    assert (found.seconds > 0).all()


def test_shares_are_of_all_paths_and_times_typical() -> None:
    data = xr.Dataset(
        {
            "num_paths": ("room", [100, 300, 200]),
            "missing": (("room", "call"), [[10, 0], [6, 0], [2, 0]]),
            "extra": (("room", "call"), [[1, 0], [0, 0], [1, 0]]),
            "at_corner": (("room", "call"), [[0, 1], [2, 0], [0, 0]]),
            "seconds": (("room", "call"), [[90.0, 3.0], [2.0, 1.0], [3.0, 1.0]]),
        },
        {"call": ["some", OURS]},
    )
    found = summary(data)
    assert found.missing_share.values.tolist() == pytest.approx([18 / 600, 0])
    assert found.missing_share_low[0] >= 2 / 200 - 1e-9
    assert found.missing_share_high[0] <= 10 / 100 + 1e-9
    assert found.missing_share_low[0] < 0.03 < found.missing_share_high[0]
    assert found.slowdown.values.tolist() == [3.0, 1.0]
    assert found.seconds.values.tolist() == [3.0, 1.0]
    assert (found.extra.values.tolist(), found.at_corner.values.tolist()) == ([2, 0], [2, 1])


def test_finished_rooms_are_kept(sionna: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sionna.name == "sionna"
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    small = {"NUM_LAYOUTS": 2, "NUM_CANDIDATES": 12, "STEP": 4, "CALLS": (Call(20_000, 12), Call(20_000, 2))}
    for name, value in small.items():
        monkeypatch.setattr(solver, name, value)
    check, rooms = SolverCheck(locus.open_run("paper")), []

    def interrupted(config: locus.Config, index: int, *rest: Any) -> xr.Dataset:
        rooms.append(index)
        if rooms == [0, 1]:
            raise KeyboardInterrupt
        return compare_room(config, index, *rest)

    monkeypatch.setattr(solver, "compare_room", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check.make()
    assert not check.fresh()
    check.make()
    assert rooms == [0, 1, 1]
    assert check.fresh()
    data = check.open()
    assert data.missing.dims == ("room", "call")
    assert list(data.call.values) == ["20000 rays, 12 receivers", "20000 rays, 2 receivers", OURS]
    assert (data.missing.sel(call=OURS) == 0).all()
    assert (data.missing.isel(call=0) < data.num_paths).all()
    assert [path.name for path in check.run.results.rglob("*.nc")] == ["solver.nc"]


def test_the_page_shows_every_call() -> None:
    names = [*(call.name for call in solver.CALLS), OURS]
    shape = (2, len(names))
    missing = np.stack([np.arange(len(names))[::-1], np.arange(len(names))[::-1]])
    data = xr.Dataset(
        {
            "num_paths": ("room", [500, 500]),
            "missing": (("room", "call"), missing),
            "extra": (("room", "call"), np.zeros(shape, dtype=int)),
            "at_corner": (("room", "call"), np.ones(shape, dtype=int)),
            "seconds": (("room", "call"), np.tile(0.002 * np.arange(len(names), 0, -1), (2, 1))),
        },
        {"call": names},
        {"num_candidates": 500, "max_depth": 3},
    )
    told = reading_page.solver_values(data)
    assert [call for call, _ in told["calls"]] == list(solver.CALLS)
    assert told["calls"][0][1]["missing"] == "2.40 [2.40, 2.40]"
    assert told["ours"] == {"missing": "0", "extra": "0", "at_corner": "2", "seconds": "1.0", "slowdown": "1.0"}
    assert told["missing"](100_000, 500) == "2.40"
    assert told["missing"](100_000, 500, deterministic=True) == "2.20"
    assert told["num_paths"] == 1000
    assert told["gibibytes"] == pytest.approx(12e9 / 2**30)
