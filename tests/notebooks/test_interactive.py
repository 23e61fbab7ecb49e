"""Interactive cells: each callback is called as by its sliders, and the figure's data must change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import jupytext
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from smoke import make, smoke_run

from locus.book.chapters import BATCH_LEAVES_OUT, Chapter, chapters

mpl.use("Agg")


@pytest.fixture(scope="module", autouse=True)
def finished_run(smoke_folder: Path) -> Iterator[str]:
    """The smoke run with all that the chapters open."""
    with smoke_run(smoke_folder, lambda run: make(n for one in chapters() for n in Chapter(run, one).needs)) as run:
        yield run.name


def callback_of(
    source: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Callable[..., Figure], dict[str, Any]]:
    """The function that the interactive cell connects to its widgets, and the range of each argument.

    The cell runs after those it depends on, the recipe, the imports and the settings at the start of a chapter.
    """
    notebook = jupytext.read(source)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (cell,) = [cell for cell in code if BATCH_LEAVES_OUT in cell.metadata.get("tags", [])]
    assert cell is notebook.cells[-1], "the interactive cell is the last"
    seen: list[tuple[Callable[..., Figure], dict[str, Any]]] = []
    monkeypatch.setattr(ipywidgets, "interact", lambda function, **ranges: seen.append((function, ranges)))
    parameters, recipe, imports = code[:3]
    assert "parameters" in parameters.metadata["tags"]
    space: dict[str, Any] = {}
    for text in (parameters.source, f"run = {run!r}", recipe.source, imports.source, cell.source):
        exec(text, space)
    return seen[0]


def data_of(figure: Figure) -> list[np.ndarray]:
    """All data drawn in a figure."""
    found = []
    for axes in figure.axes:
        found += [np.asarray(line.get_xydata(), dtype=float).ravel() for line in axes.lines]
        found += [np.ma.filled(image.get_array().astype(float), np.nan).ravel() for image in axes.images]
        found += [
            np.ma.filled(mesh.get_array().astype(float), np.nan).ravel()
            for mesh in axes.collections
            if isinstance(mesh, QuadMesh)
        ]
        found += [
            np.asarray(points.get_offsets(), dtype=float).ravel()
            for points in axes.collections
            if isinstance(points, PathCollection)
        ]
    return found


def other_value(given: Any, default: Any) -> Any:
    """A value of the widget other than its default."""
    if isinstance(given, tuple) and len(given) >= 2 and all(isinstance(end, int | float) for end in given[:2]):
        return given[1] if given[1] != default else given[0]
    return next(value for value in given if value != default)


# The explorer is not a widget; tests/browser tests it in a browser
SLIDERS = [source for source in chapters() if source.stem != "09_explorer"]


@pytest.mark.parametrize("source", SLIDERS, ids=lambda path: path.stem)
def test_moving_a_widget_changes_what_is_drawn(
    source: Path, finished_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback, ranges = callback_of(source, finished_run, monkeypatch)
    assert 2 <= len(ranges) <= 3
    defaults = dict(zip(ranges, callback.__defaults__, strict=True))
    before = data_of(callback())
    for name, given in ranges.items():
        after = data_of(callback(**{**defaults, name: other_value(given, defaults[name])}))
        same = len(before) == len(after) and all(
            one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
            for one, other in zip(before, after, strict=True)
        )
        assert not same, f"{name} changed nothing"
        plt.close("all")
