"""Walks through rooms: the way is free, errors last for the whole walk, and what is stored is what the methods say."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray as xr
from smoke import make, smoke_run

import locus
from locus.experiment import splits, walk
from locus.experiment.path_set_fit import fitted
from locus.experiment.run import repository
from locus.experiment.walk import CONDITIONS, METHODS, NUM_STEPS, Walks, choose, summary
from locus.experiment.walk_scene import STEP, Scene, draw_walk, wrapped

CONFIG = locus.load_config("smoke")


@pytest.fixture(scope="module")
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with walks."""
    with smoke_run(smoke_folder, lambda run: make([Walks(run)])) as made:
        yield made


def test_the_robot_drives_through_free_space_and_faces_where_it_drives() -> None:
    layout, rng = Scene(CONFIG, "train", 0).layout, np.random.default_rng(0)
    turned = 0
    for _ in range(20):
        poses = draw_walk(layout, NUM_STEPS, rng)
        for before, after in itertools.pairwise(poses):
            way = np.array([after.x - before.x, after.y - before.y])
            assert math.hypot(*way) == pytest.approx(STEP)
            assert wrapped(math.atan2(way[1], way[0]) - after.heading) == pytest.approx(0, abs=1e-9)
            assert layout.free_space.contains(shapely.LineString([(before.x, before.y), (after.x, after.y)]))
            turned += after.heading != before.heading
    assert 0 < turned < 20 * 6
    with pytest.raises(ValueError, match="Expected a room in which one can drive 6 m"):
        draw_walk(locus.Layout(shapely.box(0, 0, 3, 3)), 2, rng)


def test_errors_are_the_same_during_the_whole_walk() -> None:
    """Rooms of the training and the evaluation differ, and a walk depends on nothing but its index."""
    scene = Scene(CONFIG, "eval_grid", 1)
    layout, poses = scene.believed(CONDITIONS["1 m"])
    turns = [wrapped(one.heading - other.heading) for one, other in zip(poses, scene.poses, strict=True)]
    np.testing.assert_allclose(np.abs(turns), math.radians(5))
    assert len(set(np.round(turns, 9))) == 1
    assert [(one.x, one.y) for one in poses] == [(one.x, one.y) for one in scene.poses]
    assert layout != scene.layout
    again = Scene(CONFIG, "eval_grid", 1)
    assert (again.poses, again.truth) == (scene.poses, scene.truth)
    np.testing.assert_array_equal(again.snapshots.iq, scene.snapshots.iq)
    assert Scene(CONFIG, "train", 1).layout != scene.layout
    assert Scene(CONFIG, "eval_random", 1).layout == scene.layout
    assert scene.believed({}) == (scene.layout, scene.poses)


def test_bearings_point_to_the_candidates_ahead_and_behind() -> None:
    """A path from 30 degrees to the left, from two poses: candidates on both bearings are the most probable."""
    scene = Scene(CONFIG, "train", 0)
    poses = [locus.Pose(20, 20, 0.0), locus.Pose(40, 20, 0.0)]
    object.__setattr__(
        scene, "candidates", np.array([[20 + 10 * math.sqrt(3), 30], [20 - 10 * math.sqrt(3), 30], [50, 90]])
    )
    seen = xr.Dataset({"aoa": (("snapshot", "path"), [[0.1, math.pi / 6], [-math.pi / 2, 0.0]])})
    seen["snr_db"] = ("snapshot", "path"), [[0.0, 9.0]] * 2
    seen["valid"] = ("snapshot", "path"), [[True, True], [False, False]]
    scene._estimates[CONFIG.estimator] = seen
    logs = walk._bearings(scene, poses, np.array([(0.1, 0.2)]))[0]
    likely, outlier = math.log(0.8 / (0.1 * math.sqrt(2 * math.pi)) + 0.1), math.log(0.1)
    np.testing.assert_allclose(logs[0], [likely, likely, outlier], atol=0.05)
    np.testing.assert_array_equal(logs[1], 0)


def test_temperature_and_floor_have_the_smallest_loss() -> None:
    """Of two options, one is better but once wrong; a floor bounds what that costs."""
    steps = np.array([[6.0, 6.0, 6.0, -40.0], [1.0, 1.0, 1.0, 0.5]]).T[np.newaxis, :, np.newaxis]
    rows = xr.Dataset({name: (("condition", "step", "snapshot", f"option_{name}"), steps) for name in METHODS[:-1]})
    shares = np.linspace(1e-4, 0.999, 5000)
    loss = [-(3 * math.log((1 - one) * math.exp(6) + one) + math.log(one)) / 4 for one in shares]
    for found in choose(rows).values():
        assert found.option == 0
        assert found.share == pytest.approx(shares[int(np.argmin(loss))], rel=0.02)


def test_stored_rows_are_what_the_methods_say(run: locus.Run) -> None:
    assert Walks(run).fresh()
    rows = Walks(run).open()
    assert rows.sizes == {"condition": 3, "step": 8, "snapshot": Walks(run).num_groups, "method": 5}
    scene = Scene(run.config, "eval_grid", 0, NUM_STEPS)
    scorer, (layout, poses) = fitted(run), scene.believed(CONDITIONS["1 m"])
    walked, added = locus.Walk(layout, scorer), np.zeros(len(scene.candidates))
    observed = scene.observed_with(scorer.estimator)
    for step, paths in enumerate(scene.trace((layout, poses))):
        walked.add(paths, observed.isel(snapshot=step))
        added += scorer.log_likelihood(paths, observed.isel(snapshot=step)).values
    last = rows.isel(step=-1, snapshot=0).sel({"condition": "1 m"})
    single = last.log_posterior.sel({"method": "walk"}), last.compass_mean
    expected = walked.log_posterior().values[scene.truth], walked.heading_error().mean
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-5)
    path_set = rows.sel({"method": "path_set"})
    added = added / float(path_set.option)
    added -= np.logaddexp.reduce(added)
    share = float(path_set.share)
    mixed = math.log((1 - share) * math.exp(added[scene.truth]) + share / len(added))
    assert float(last.log_posterior.sel({"method": "path_set"})) == pytest.approx(mixed, rel=1e-4)
    assert float(last.compass) == pytest.approx(wrapped(scene.poses[0].heading - poses[0].heading), abs=1e-6)
    assert ((rows.level >= 0) & (rows.level <= 1)).all()


def test_rooms_of_fit_and_evaluation_do_not_overlap(run: locus.Run) -> None:
    groups = Walks(run).fit_groups
    assert 0 < len(groups) <= walk.NUM_FITTED
    assert set(groups) <= set(splits.validation_groups(run.config))


def test_a_summary_has_the_mean_and_its_changes(run: locus.Run) -> None:
    rows = Walks(run).open()
    found = summary(rows, 100)
    logs = rows.log_posterior + np.log(rows.num_candidates)
    np.testing.assert_allclose(found.loss, -logs.mean("snapshot").transpose("condition", "step", "method"), rtol=1e-5)
    np.testing.assert_allclose(found.rise[:, 1:], np.diff(found.loss, axis=1), atol=1e-9)
    assert found.rise[:, 0].isnull().all()
    assert (found.loss_low <= found.loss_high).all()
    np.testing.assert_allclose(found.covered, (rows.level <= 0.9).mean("snapshot").transpose(*found.covered.dims))


def test_in_the_paper_run_a_walk_learns_with_every_snapshot() -> None:
    """No snapshot raises the loss by more than its interval, and 90 % sets hold at least 80 % after the last one."""
    path = repository() / "data" / "paper" / "results" / "walk.nc"
    rows = xr.load_dataset(path, engine="h5netcdf")
    assert json.loads(rows.attrs["versions"])
    found = summary(rows).sel({"method": "walk"})
    assert not (found.rise_low > 0).any()
    assert (found.covered.isel(step=-1) >= 0.8).all()
