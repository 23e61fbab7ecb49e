"""Draws the picture of the README and of the book's first page from the paper's run: `make picture`."""

from pathlib import Path

import locus
from locus import maps, result_figures

if __name__ == "__main__":
    task = maps.make_task(locus.open_run("paper"), 0, 101)
    figure = result_figures.snapshots_figure(task)
    figure.savefig(Path(__file__).parent / "_static" / "posterior_map.png", dpi=110)
