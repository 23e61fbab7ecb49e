"""Conditions: worlds with other physics have the same transmitters and noise, and the paths that they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely

import locus
from locus.experiment.conditions import Condition, conditions, exact_case, expected, heard
from locus.room import errors

CONFIG = locus.load_config("smoke")
COMPLETE = replace(CONFIG, twin=replace(CONFIG.twin, max_paths=64))  # no list of paths is truncated


def test_a_world_like_the_twin_is_heard_as_before() -> None:
    exact = exact_case(COMPLETE, 1)
    same = heard(exact, Condition("depth", "as before", world={"max_depth": 3}))
    np.testing.assert_array_equal(same.truth, exact.truth)
    np.testing.assert_allclose(same.snapshots.iq, exact.snapshots.iq, rtol=1e-12)
    assert heard(exact, Condition("walls", "1 m", {"walls": 1.0})) is exact


def test_a_world_without_reflections_is_heard_only_along_the_line_of_sight() -> None:
    exact = exact_case(COMPLETE, 1)
    dark = heard(exact, Condition("depth", "none", world={"max_depth": 0})).transmitters
    for position, paths in zip(dark.position, dark.paths.valid.values, strict=True):
        sight = shapely.LineString([position, (exact.pose.x, exact.pose.y)])
        assert paths.sum() == exact.layout.free_space.covers(sight)


def test_a_shallow_twin_expects_only_paths_of_its_depth() -> None:
    exact = exact_case(COMPLETE, 0)
    paths = expected(exact, Condition("depth", "1 of 3", twin={"max_depth": 1}))
    assert set(np.unique(paths.order.values[paths.valid.values])) <= {0, 1}
    for candidate in range(0, len(exact.candidates), 7):
        before, after = (one.isel(candidate=candidate) for one in (exact.paths, paths))
        lengths = before.delay.values[before.valid.values & (before.order.values <= 1)]
        np.testing.assert_allclose(np.sort(after.delay.values[after.valid.values]), np.sort(lengths), rtol=1e-12)


def test_diffraction_adds_paths_and_refraction_through_thick_concrete_none() -> None:
    """Sionna traces these worlds; whatever the exact twin finds is in both."""
    exact = exact_case(COMPLETE, 0)
    own = exact.transmitters.paths
    for name, adds in (("diffraction", True), ("refraction", False)):
        world = heard(exact, Condition("physics", name, world={name: True})).transmitters
        np.testing.assert_array_equal(world.truth, exact.truth)
        for row in range(len(world.truth)):
            mine = own.delay.values[row, own.valid.values[row]]
            theirs = world.paths.delay.values[row, world.paths.valid.values[row]]
            assert (np.abs(theirs - mine[:, np.newaxis]).min(axis=1) < 1e-10).all()
        assert (int(world.paths.valid.sum()) > int(own.valid.sum())) == adds


def test_small_errors_are_those_of_plan_and_pose_up_to_a_metre_and_five_degrees() -> None:
    found = {(one.kind, one.label): one.small for one in conditions(CONFIG)}
    assert all(found[kind, "1 m"] and not found[kind, "3 m"] for kind in ("obstacles", "walls", "position", "all"))
    assert found["heading", "5°"]
    assert not found["heading", "10°"]
    others = ("missing", "material", "transmitter", "scale", "depth", "physics")
    assert not any(small for (kind, _), small in found.items() if kind in others)
    assert Condition("all", "0.5 m", errors.everything(0.5)).small


def test_a_twin_without_reflections_has_none_to_leave_out() -> None:
    flat = replace(CONFIG, twin=replace(CONFIG.twin, max_depth=0))
    assert [one.label for one in conditions(flat) if one.kind == "depth"] == ["0 of 1", "0 of 2"]
    assert [one.label for one in conditions(CONFIG) if one.kind == "depth"] == ["2 of 3", "3 of 4", "3 of 5"]
