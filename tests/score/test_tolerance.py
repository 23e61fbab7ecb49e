"""Error models of a twin: what is refused, and the variances against paths that were traced in wrong rooms."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import xarray as xr

import locus
from locus.room import errors
from locus.score.tolerance import Constants, components
from locus.settings.config import SPEED_OF_LIGHT

EXACT = locus.Tolerance(0, 0, 0, 0)


@pytest.mark.parametrize("name", ["plan", "position", "heading", "material_db"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_bad_tolerance_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"Expected 'tolerance.{name}' in \[0, .*got"):
        locus.Tolerance(**{name: value})


def test_bad_constants_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected 'constants.tail_share' in \[0, 0.5\], got 0.7"):
        Constants(tail_share=0.7)
    with pytest.raises(ValueError, match=r"Expected as many 'constants.levels' as compass errors"):
        Constants(levels=(0.0, 1.0))


def test_an_exact_twin_has_one_component() -> None:
    (weight, heading, *variances, miss, unknown, level) = (float(one[0]) for one in components(EXACT, Constants()))
    assert len(components(EXACT, Constants()).weight) == 1
    assert (weight, heading, variances, level) == (1, 0, [0, 0, 0, 0], 0)
    assert (miss, unknown) == (Constants().miss, Constants().unknown)


def test_the_compass_may_be_wrong_alone() -> None:
    found = components(locus.Tolerance(), Constants())
    turned = (found.level == 0) & (found.heading != 0)
    assert turned.sum() == 2
    assert found.weight[turned].sum() == pytest.approx((1 - Constants().changed) * Constants().weights[1] * 2 / 3)


def test_obstacles_may_have_changed_unless_the_plan_is_exact() -> None:
    """Walls are where the plan has them, but paths are blocked; the level is that of a twin at the full tolerance."""
    one = Constants()
    found = components(locus.Tolerance(), one)
    (index,) = np.flatnonzero(found.miss == one.changed_miss)
    assert found.weight[index] == pytest.approx(one.changed)
    assert found.unknown[index] == one.changed_unknown
    assert (found.variance[index], found.reflection_variance[index], found.level[index]) == (0, 0, 1)
    assert one.changed_miss not in components(locus.Tolerance(plan=0.0), one).miss


def test_the_mixture_reaches_from_exact_to_the_tolerance() -> None:
    found = components(locus.Tolerance(), Constants())
    assert found.weight.sum() == pytest.approx(1)
    assert np.abs(found.heading).max() == pytest.approx(math.radians(5))
    assert found.heading @ found.weight == pytest.approx(0, abs=1e-12)
    assert found.variance[0] == found.reflection_variance[0] == found.turn_variance[0] == 0
    assert found.variance.max() == pytest.approx(0.5)


def moved_paths(kind: str, size: float, num_rooms: int = 12) -> xr.Dataset:
    """Changes of length [m] and of direction in room axes [rad] of paths that two rooms share, with their lengths."""
    found = []
    twin = locus.make_twin("image")
    for index in range(num_rooms):
        rng = np.random.default_rng(index)
        layout = locus.Layout.random(rng)
        pose, points = locus.Pose.random(layout, rng), layout.sample(60, rng)
        scene = errors.believed(layout, pose, {kind: size}, rng)
        points = points[scene[0].is_free(points, 0.1)]
        right, wrong = twin.trace(layout, pose, points), twin.trace(*scene, points)
        turn = scene[1].heading - pose.heading
        true, other = (
            {name: paths[name].values for name in ("aoa", "delay", "order", "valid")} for paths in (right, wrong)
        )
        for n, j in zip(*np.nonzero(true["valid"]), strict=True):
            length = SPEED_OF_LIGHT * (other["delay"][n] - true["delay"][n, j])
            angle = (other["aoa"][n] - true["aoa"][n, j] + turn + np.pi) % (2 * np.pi) - np.pi
            same = other["valid"][n] & (other["order"][n] == true["order"][n, j])
            same &= (np.abs(angle) < 0.2) & (np.abs(length) < 8 * size)
            if same.sum() == 1:
                k = int(same.argmax())
                found.append((length[k], angle[k], true["delay"][n, j] * SPEED_OF_LIGHT, true["order"][n, j]))
    columns = np.array(found).T
    return xr.Dataset(
        {name: ("path", one) for name, one in zip(("length", "angle", "far", "order"), columns, strict=True)}
    )


def test_a_wrong_position_moves_paths_as_derived() -> None:
    """Paths of a room share its error, so the mean squares vary by about 1 / sqrt(12 rooms); 60 % are two of that."""
    variance = components(locus.Tolerance(plan=0, position=0.3, heading=0), level_one()).variance[0]
    paths = moved_paths("position", 0.3)
    assert float((paths.length**2).mean()) == pytest.approx(variance, rel=0.6)
    assert float(((paths.angle * paths.far) ** 2).mean()) == pytest.approx(variance, rel=0.6)


def test_wrong_walls_move_reflected_paths_as_derived() -> None:
    """Angles of incidence are not evenly spread, so that the mean square is right within a factor of 2."""
    variance = components(locus.Tolerance(plan=0.3, position=0, heading=0), level_one()).reflection_variance[0]
    paths = moved_paths("walls", 0.3)
    paths = paths.isel(path=np.flatnonzero(paths.order > 0))
    ratio = float((paths.length**2 / paths.order).mean()) / variance
    assert 1 / 2 < ratio < 2


def level_one() -> Constants:
    return dataclasses.replace(Constants(), levels=(1.0,), compass=(1.0,), weights=(1.0,), num_headings=(1,))
