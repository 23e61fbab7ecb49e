"""The look of posterior maps: cells reach to the walls, the set is outlined, and a small one is magnified."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

import locus
from locus import draw


@pytest.fixture
def room() -> locus.Layout:
    return locus.Layout(shapely.box(0, 0, 60, 60), (shapely.box(20, 20, 30, 40),))


def posterior(room: locus.Layout, width: float, points: np.ndarray | None = None) -> xr.DataArray:
    """A round spot at (45, 15) [m]."""
    xy = room.grid(61) if points is None else points
    logs = -((xy - [45.0, 15.0]) ** 2).sum(axis=1) / (2 * width**2)
    return xr.DataArray(logs, dims="candidate", coords={"x": ("candidate", xy[:, 0]), "y": ("candidate", xy[:, 1])})


def drawn(room: locus.Layout, logs: xr.DataArray) -> Axes:
    axes = plt.figure().subplots()
    draw.draw_posterior(axes, room, locus.Pose(10.0, 50.0, 0.0), logs, (45.0, 15.0))
    return axes


def test_cells_reach_to_the_walls_and_no_farther(room: locus.Layout) -> None:
    axes = plt.figure().subplots()
    values = posterior(room, 5.0)
    mesh = draw.draw_map(axes, values, room)
    assert not np.isnan(np.asarray(mesh.get_array(), dtype=float)).any()
    corners = np.asarray(mesh.get_coordinates()).reshape(-1, 2)
    assert corners.min() <= 0
    assert corners.max() >= 60
    plt.close("all")


def test_the_outline_holds_nine_tenths(room: locus.Layout) -> None:
    """Of a Gaussian spot it is a circle of radius sqrt(2 ln 10) standard deviations."""
    axes = drawn(room, posterior(room, 6.0))
    line = max(
        (line for line in axes.lines if line.get_color() == "white" and len(line.get_xdata())),
        key=lambda one: len(one.get_xdata()),
    )
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    area = shapely.Polygon(np.column_stack([x, y])).area
    inside = (
        shapely.box(0.5, 0.5, 59.5, 59.5).intersection(shapely.Point(45, 15).buffer(6 * np.sqrt(2 * np.log(10)))).area
    )
    assert area == pytest.approx(inside, rel=0.1)
    plt.close("all")


@pytest.mark.parametrize(("width", "magnified"), [(1.0, True), (6.0, False)])
def test_only_a_small_set_is_magnified(room: locus.Layout, width: float, magnified: bool) -> None:
    axes = drawn(room, posterior(room, width))
    insets = axes.child_axes
    assert bool(insets) is magnified
    for inset in insets:
        (x0, x1), (y0, y1) = inset.get_xlim(), inset.get_ylim()
        assert x0 <= 45 <= x1
        assert y0 <= 15 <= y1
        place = inset.get_window_extent()
        for x, y in ((45, 15), (10, 50)):
            assert not place.contains(*axes.transData.transform((x, y))), "it hides what it is about"
    plt.close("all")


def test_a_star_is_hollow_and_scattered_candidates_are_points(room: locus.Layout, rng: np.random.Generator) -> None:
    axes = drawn(room, posterior(room, 6.0, room.sample(200, rng)))
    stars = [line for line in axes.lines if line.get_marker() == "*"]
    assert stars
    assert {line.get_fillstyle() for line in stars} == {"none"}
    assert len(axes.collections[0].get_offsets()) == 200
    plt.close("all")


def test_an_inset_shows_obstacles_solid_and_has_a_whole_frame(room: locus.Layout) -> None:
    with plt.rc_context({"axes.spines.right": False, "axes.spines.top": False}):
        (inset,) = drawn(room, posterior(room, 1.0)).child_axes
    assert len(inset.patches) >= len(room.obstacles)
    assert any(patch.get_facecolor() == to_rgba(draw.SOLID) for patch in inset.patches)
    assert all(spine.get_visible() for spine in inset.spines.values())
    assert (inset.get_xlabel(), inset.get_ylabel()) == ("", "")
    plt.close("all")


def test_an_inset_shrinks_rather_than_hide_an_obstacle() -> None:
    obstacles = [shapely.box(x, y, x + 2, y + 2) for x in (19, 39) for y in (19, 39)]
    room = locus.Layout(shapely.box(0, 0, 60, 60), tuple(obstacles))
    axes = drawn(room, posterior(room, 1.0))
    axes.figure.draw_without_rendering()
    (inset,) = axes.child_axes
    x0, y0, x1, y1 = inset.get_window_extent().transformed(axes.transData.inverted()).extents
    assert x1 - x0 < draw.ZOOM["side"] * 60 - 1
    assert not any(shapely.box(x0, y0, x1, y1).buffer(-0.1).intersects(one) for one in obstacles)
    plt.close("all")
