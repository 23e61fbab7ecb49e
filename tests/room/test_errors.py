"""Errors of the twin have the requested size and change nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus.experiment.case import Case, trace_possible
from locus.experiment.journal import StoreError
from locus.experiment.libraries import Library, WrongLibrary, trace_wrong_group, training_errors
from locus.room.errors import believed, possible

CONFIG = locus.load_config("smoke")
TWIN = locus.make_twin("image", CONFIG.radio, CONFIG.twin)


def scene(index: int = 0) -> tuple[locus.Layout, locus.Pose, np.ndarray]:
    case = Case(CONFIG, "eval_random", index)
    return case.layout, case.pose, case.candidates


@pytest.mark.parametrize("kind", [None, "obstacles", "walls", "missing", "position", "heading", "scale"])
def test_no_error_is_no_change(kind: str | None) -> None:
    layout, pose, candidates = scene()
    wrong, place = believed(layout, pose, {kind: 0} if kind else {}, np.random.default_rng(0))
    assert place == pose
    assert wrong.room.equals(layout.room)
    assert all(a.equals(b) for a, b in zip(wrong.obstacles, layout.obstacles, strict=True))
    xr.testing.assert_identical(trace_possible(TWIN, wrong, place, candidates), TWIN.trace(layout, pose, candidates))


@pytest.mark.parametrize("index", range(20))
def test_each_error_is_as_large_as_asked_for_and_alone(index: int) -> None:
    layout, pose, _ = scene(index)
    rng = np.random.default_rng(index)
    for size in (0.1, 1.0, 3.0):
        wrong, place = believed(layout, pose, {"obstacles": size}, rng)
        assert (place, wrong.room) == (pose, layout.room)
        for before, after in zip(layout.obstacles, wrong.obstacles, strict=True):
            step = np.subtract(shapely.get_coordinates(after), shapely.get_coordinates(before))
            np.testing.assert_allclose(np.hypot(*step.T), size)
            np.testing.assert_allclose(step, step[[0]].repeat(len(step), axis=0), atol=1e-9)

        wrong, place = believed(layout, pose, {"walls": size}, rng)
        assert (place, wrong.obstacles) == (pose, layout.obstacles)
        np.testing.assert_allclose(np.abs(np.subtract(wrong.room.bounds, layout.room.bounds)), size)

        wrong, place = believed(layout, pose, {"position": size}, rng)
        assert (wrong, place.heading) == (layout, pose.heading)
        assert math.hypot(place.x - pose.x, place.y - pose.y) == pytest.approx(size)

        wrong, place = believed(layout, pose, {"heading": size}, rng)
        assert (wrong, place.x, place.y) == (layout, pose.x, pose.y)
        assert math.cos(place.heading - pose.heading) == pytest.approx(math.cos(size))

    for count in (1, 2, 3):
        wrong, place = believed(layout, pose, {"missing": count}, rng)
        assert place == pose
        assert len(wrong.obstacles) == len(layout.obstacles) - count
        assert all(one in layout.obstacles for one in wrong.obstacles)

    wrong, place = believed(layout, pose, {"material": "glass"}, rng)
    assert (place, wrong.obstacles, set(wrong.materials)) == (pose, layout.obstacles, {"glass"})


@pytest.mark.parametrize("index", range(5))
def test_a_scaled_plan_keeps_its_centre_and_the_receiver(index: int) -> None:
    layout, pose, _ = scene(index)
    factors = set()
    for seed in range(6):
        wrong, place = believed(layout, pose, {"scale": 0.02}, np.random.default_rng(seed))
        assert place == pose
        factor = wrong.room.length / layout.room.length
        factors.add(round(factor, 9))
        centre = np.array(layout.room.centroid.coords)
        for before, after in zip((layout.room, *layout.obstacles), (wrong.room, *wrong.obstacles), strict=True):
            expected = centre + factor * (shapely.get_coordinates(before) - centre)
            np.testing.assert_allclose(shapely.get_coordinates(after), expected, atol=1e-9)
    assert factors == {0.98, 1.02}


def test_a_turned_receiver_expects_all_angles_turned_the_other_way() -> None:
    """Delays and numbers of bounces do not depend on the heading; angles change by exactly its error."""
    layout, pose, candidates = scene()
    uncut = locus.make_twin(
        "image", CONFIG.radio, replace(CONFIG.twin, max_paths=100)
    )  # no truncation: strengths depend on the heading
    exact = uncut.trace(layout, pose, candidates)
    _, place = believed(layout, pose, {"heading": 0.2}, np.random.default_rng(0))
    turned = trace_possible(uncut, layout, place, candidates)
    turn = place.heading - pose.heading
    for index in range(len(candidates)):
        before, after = (one.isel(candidate=index).sortby("delay") for one in (exact, turned))
        before, after = (one.isel(path=one.valid.values) for one in (before, after))
        np.testing.assert_allclose(after.delay, before.delay, rtol=1e-12)
        np.testing.assert_allclose(np.exp(1j * after.aoa), np.exp(1j * (before.aoa - turn)), atol=1e-9)


def test_a_candidate_inside_a_wall_of_the_twin_has_no_path() -> None:
    layout, pose, candidates = scene()
    wrong = locus.Layout(layout.room, (shapely.box(*(candidates[3] - 0.2), *(candidates[3] + 0.2)),))
    paths = trace_possible(TWIN, wrong, pose, candidates)
    assert not paths.valid.isel(candidate=3).any()
    assert (paths.order.isel(candidate=3) == -1).all()
    assert (paths.snr_db.isel(candidate=3) == -np.inf).all()
    assert (paths.gain.isel(candidate=3) == 0).all()
    others = [index for index in range(len(candidates)) if index != 3]
    alone = TWIN.trace(wrong, pose, candidates[others])
    xr.testing.assert_identical(paths.isel(candidate=others), alone)
    np.testing.assert_array_equal(np.stack([paths.x, paths.y], axis=1), candidates)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({"ceiling": 1.0}, r"Expected 'errors' in \['obstacles', .*got 'ceiling'"),
        ({"position": 500.0}, "leave a valid room"),
        ({"missing": 4}, r"Expected 'missing' in \[0, 3\], got 4"),
        ({"walls": -1.0}, r"Expected 'walls' in \[0, inf\), got -1.0"),
        ({"heading": float("nan")}, "Expected 'heading' in"),
        ({"scale": 0.95}, r"Expected 'scale' in \[0, 0.9\], got 0.95"),
    ],
)
def test_errors_that_make_no_sense_are_named(errors: dict[str, float], message: str) -> None:
    layout, pose, _ = scene()
    with pytest.raises(ValueError, match=message):
        believed(layout, pose, errors, np.random.default_rng(0))


def test_training_rooms_are_the_same_and_their_twins_are_not() -> None:
    exact, wrong = Case(CONFIG, "train", 1).paths, trace_wrong_group(CONFIG, 1)
    for axis in ("x", "y"):
        np.testing.assert_array_equal(exact[axis], wrong[axis])
    assert not np.allclose(exact.aoa, wrong.aoa)
    xr.testing.assert_identical(wrong, trace_wrong_group(CONFIG, 1))
    sizes = [training_errors(CONFIG, index)[0] for index in range(200)]
    for kind, most in (("obstacles", 1.0), ("walls", 1.0), ("position", 1.0), ("heading", math.radians(5))):
        drawn = np.array([one[kind] for one in sizes])
        assert 0 <= drawn.min() < 0.05 * most
        assert 0.95 * most < drawn.max() <= most


def test_the_library_with_errors_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    run = locus.open_run("smoke")
    with pytest.raises(ValueError, match="Expected 'split' to be 'train', the only one with wrong twins, got 'test'"):
        WrongLibrary(run, "test")
    with pytest.raises(
        StoreError, match=r"wrong_candidates of train in run smoke, got none; `locus reproduce` builds it"
    ):
        WrongLibrary(run, "train").open()
    assert WrongLibrary(run, "train").hash() != Library(run, "train").hash()
    assert WrongLibrary(run, "train").path != Library(run, "train").path
    other = locus.open_run("smoke", {"mismatch.walls": 0.5})
    assert WrongLibrary(run, "train").hash() != WrongLibrary(other, "train").hash()
    assert Library(run, "train").hash() == Library(other, "train").hash()


@pytest.mark.parametrize("index", range(5))
def test_possible_worlds_explain_what_a_twin_gets_wrong(index: int) -> None:
    layout, pose, _ = scene(index)
    rng = np.random.default_rng(index)
    world, place = possible(*believed(layout, pose, {"missing": 2}, rng), {"missing": 2}, rng, CONFIG.room)
    assert (place, len(world.obstacles), world.room) == (pose, len(layout.obstacles), layout.room)
    assert world.is_free([[pose.x, pose.y]], 0.0).all()
    assert min(a.distance(b) for i, a in enumerate(world.obstacles) for b in world.obstacles[:i]) >= min(
        CONFIG.room.obstacle_gap,
        min(a.distance(b) for i, a in enumerate(layout.obstacles) for b in layout.obstacles[:i]),
    )
    world, place = possible(layout, pose, {"materials": ["wood"]}, rng, CONFIG.room)
    assert (place, world.obstacles, set(world.materials)) == (pose, layout.obstacles, {"wood"})
    world, place = possible(layout, pose, {"walls": 0.5}, rng, CONFIG.room)
    np.testing.assert_allclose(np.abs(np.subtract(world.room.bounds, layout.room.bounds)), 0.5)
