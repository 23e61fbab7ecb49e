"""The architecture page: sources of the package in; its folders and the imports between them out."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from locus.experiment.run import repository

FLOW = (
    *("settings", "room", "twin", "receiver", "score", "judge", "draw"),
    *("experiment", "capture", "explorer", "book", "cli"),
)
"""Folders and top-level modules of the package, in the order of the paper; each imports only from earlier ones."""


class Folder(NamedTuple):
    """A folder, or a top-level module."""

    name: str
    purpose: str
    modules: list[str]
    num_lines: int


def values() -> dict[str, Any]:
    """Values for the template of the page."""
    return {"folders": [_folder(name) for name in FLOW]}


def imports() -> Counter[tuple[str, str]]:
    """Number of modules of one folder that import from another, by (importing, imported); counts local imports."""
    found: Counter[tuple[str, str]] = Counter()
    for name in FLOW:
        for file in _files(name):
            used = {target for node in ast.walk(_parse(file)) for target in _targets(node)}
            found.update((name, target) for target in used if target != name)
    return found


def imports_figure() -> Figure:
    """Table of imports between folders: rows import from columns."""
    counts = imports()
    table = np.array([[counts[row, column] for column in FLOW] for row in FLOW])
    figure, axes = plt.subplots(figsize=(7.0, 5.6), layout="constrained")
    axes.imshow(np.where(table > 0, np.log1p(table), np.nan), cmap="Blues", vmin=-0.5, vmax=np.log1p(table.max()) * 1.4)
    for (row, column), count in np.ndenumerate(table):
        if count:
            dark = np.log1p(count) > 0.95 * np.log1p(table.max())
            axes.text(column, row, f"{count}", ha="center", va="center", size="small", color="w" if dark else "k")
    for place in range(len(FLOW)):
        axes.add_patch(Rectangle((place - 0.5, place - 0.5), 1, 1, color="0.85"))
    axes.set_xticks(range(len(FLOW)), FLOW, rotation=45, ha="left")
    axes.set_yticks(range(len(FLOW)), FLOW)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.set(xlabel="imported folder", ylabel="importing folder")
    axes.spines[:].set_visible(False)
    return figure


def _folder(name: str) -> Folder:
    files = _files(name)
    home = next((file for file in files if file.name == "__init__.py"), files[0])
    modules = [file.stem if file.name != "__init__.py" else file.parent.name for file in files if file != home]
    purpose = (ast.get_docstring(_parse(home)) or "").splitlines()[0]
    return Folder(name, purpose, modules, sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files))


def _files(name: str) -> list[Path]:
    root = repository() / "locus"
    return sorted((root / name).rglob("*.py")) or [root / f"{name}.py"]


def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _targets(node: ast.AST) -> list[str]:
    """Folders of the package that an import statement names."""
    names: list[str] = []
    if isinstance(node, ast.ImportFrom) and node.module == "locus":
        names = [f"locus.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    parts = [name.split(".") for name in names]
    return [part[1] for part in parts if part[0] == "locus" and len(part) > 1 and part[1] in FLOW]
