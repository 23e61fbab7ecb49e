"""Mapped rooms: snapshots come from the furnished room, maps cost little without drift, and more with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import shapely
from smoke import make, smoke_run

import locus
from locus.book.figures import mapped_figures
from locus.book.studies import mapped_room
from locus.experiment import mapped
from locus.experiment.conditions import exact_case
from locus.experiment.mapped import NUM_PIECES, Mapped, Plan, make_world, plans, settled
from locus.room.polygons import MAX_WALLS
from locus.score.path_set import PathSet
from locus.score.tolerance import Constants

CONFIG = mapped.settings(locus.load_config("smoke"))
FEW = [Plan("furnished"), Plan("bare"), Plan("map", 0.1, 0.0), Plan("map", 0.2, 0.03)]


@pytest.fixture(scope="module")
def run(smoke_folder: Path) -> Iterator[locus.Run]:
    """The smoke run, with mapped rooms."""
    with smoke_run(smoke_folder, lambda run: make([Mapped(run)])) as made:
        yield made


@pytest.fixture(scope="module")
def world() -> mapped.World:
    return make_world(CONFIG, 0)


def test_the_plans_are_all_combinations() -> None:
    assert [one.kind for one in plans()] == ["furnished", "bare"] + 9 * ["map"]
    assert len({one.label for one in plans()}) == 11
    assert plans()[2].label == "map, 5 cm, drift 0 %"


def test_snapshots_come_from_the_room_with_furniture(world: mapped.World) -> None:
    case = exact_case(CONFIG, 0)
    assert len(world.layout.obstacles) == len(case.layout.obstacles) + NUM_PIECES
    assert world.layout.is_free([[case.pose.x, case.pose.y]], 1.0).all()
    # A transmitter is never inside furniture, and its paths are those that the image twin traces around it
    positions = world.heard.transmitters.position
    assert world.layout.is_free(positions, 0.01).all()
    options = locus.TwinOptions(max_paths=64)
    traced = locus.make_twin("image", CONFIG.radio, options).trace(world.layout, case.pose, positions)
    np.testing.assert_allclose(world.heard.transmitters.paths.delay, traced.delay, rtol=1e-12)
    np.testing.assert_allclose(world.heard.transmitters.paths.gain, traced.gain, rtol=1e-9)


def test_the_robot_starts_at_the_receiver(world: mapped.World) -> None:
    pose = world.exact.pose
    np.testing.assert_allclose(world.survey.poses[0, :2], [pose.x, pose.y])
    again = make_world(CONFIG, 0)
    np.testing.assert_array_equal(again.survey.ranges, world.survey.ranges)
    assert not np.array_equal(make_world(CONFIG, 1).survey.ranges[:1], world.survey.ranges[:1])


def test_a_map_without_drift_is_the_true_room(world: mapped.World) -> None:
    layout, pose = world.scene(Plan("map", 0.1, 0.0))
    assert pose == world.exact.pose
    assert len(layout.walls) <= MAX_WALLS
    points = shapely.points(shapely.get_coordinates(shapely.segmentize(layout.free_space.boundary, 0.1)))
    assert shapely.distance(points, world.layout.free_space.boundary).mean() < 0.05
    assert len(layout.obstacles) == len(world.layout.obstacles)


def test_a_receiver_in_a_wall_is_moved_to_the_nearest_free_place() -> None:
    layout = locus.Layout(shapely.box(0, 0, 10, 10))
    assert settled(layout, locus.Pose(5, 5, 1)) == locus.Pose(5, 5, 1)
    moved = settled(layout, locus.Pose(-0.3, 5, 1))
    assert (moved.x, moved.y, moved.heading) == pytest.approx((0.02, 5, 1))


def test_rows_are_what_each_plan_gives(monkeypatch: pytest.MonkeyPatch, world: mapped.World) -> None:
    monkeypatch.setattr(mapped, "plans", lambda: FEW)
    scorer = PathSet(constants=Constants())
    rows = mapped.evaluate_group(CONFIG, 0, {"path_set": scorer}, {"path_set": 0.0})
    place, truth = np.arange(len(world.heard.truth)), world.heard.truth
    for number, plan in enumerate(FEW[:3]):
        scene = world.scene(plan)
        paths = world.exact.trace_believed(scene)
        logs = scorer.log_posterior(paths, world.heard.seen_by(scorer)).values[place, truth]
        np.testing.assert_allclose(rows.log_posterior.values[number, :, 0], logs, rtol=1e-9)
        assert (rows.num_walls[number] == len(scene[0].walls)).all()
    assert rows.wall_error.values[0].max() < 1e-9
    assert np.isnan(rows.stated_mean.values[:2]).all()
    assert rows.wall_error.values[2].max() < 0.05 < rows.wall_error.values[3].min()


def test_costs_are_plain_differences_of_means(run: locus.Run) -> None:
    assert Mapped(run).fresh()
    rows = Mapped(run).open()
    found, logs = mapped.summary(rows), rows.log_posterior.astype(float)
    np.testing.assert_allclose(
        found.loss, (-logs - math.log(rows.attrs["num_candidates"])).mean("snapshot"), rtol=1e-5, atol=1e-6
    )
    cost = (logs.isel(plan=0) - logs).mean("snapshot")
    np.testing.assert_allclose(found.cost, cost.transpose("plan", "method"), atol=1e-6)
    assert (found.cost.isel(plan=0) == 0).all()
    # Maps without drift are good to a fraction of a cell, and drift makes them worse
    error = found.wall_error.where(found.kind == "map", drop=True)
    still = error.where(error.drift == 0, drop=True)
    assert (still < 0.25 * still.resolution).all()
    assert error.where(error.drift > 0, drop=True).min() > still.max()
    assert (found.num_walls <= MAX_WALLS).all()


def test_figures_and_table_show_every_plan(run: locus.Run) -> None:
    found = mapped.summary(Mapped(run).open())
    assert len(mapped_figures.cost_figure(found).axes) == 2
    table = mapped_figures.cost_frame(found)
    assert table.index.tolist() == [one.label for one in plans()]
    example = mapped_room.make_example(run, 0, 0.2, 0.0, 21)
    figure = mapped_figures.mapped_room_figure(example)
    assert len(figure.axes) == 5
    assert set(example.maps) == set(example.gains) == {"true plan", "plan without furniture", "map"}
    assert all(float(one.max()) == 0 for one in example.maps.values())
