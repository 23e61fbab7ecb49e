"""Draws the README's picture, which is also that of the book's first page, and writes its tables: `make readme`."""

import json
import re

import locus
from locus.book.chapters import Chapter, chapters, glued
from locus.book.figures import result_figures
from locus.book.paper import printed
from locus.book.studies import posterior_maps
from locus.book.tables import headline, twins_table
from locus.experiment.run import repository
from locus.experiment.table import Table
from locus.settings.atomic import write_text

if __name__ == "__main__":
    run, root = locus.open_run("paper"), repository()
    measured = json.loads((root / "benchmarks" / "results.json").read_text(encoding="utf-8"))["twin"]
    tables = {
        "table": headline(Table(run).open(), printed()),
        "twins": twins_table(measured, glued(Chapter(run, *chapters("01")).path)),
    }
    text = (root / "README.md").read_text(encoding="utf-8")
    for name, table in tables.items():
        text = re.sub(rf"(?<=<!-- {name} -->\n)(\|.*\n)*", lambda _, table=table: f"{table}\n", text)
    write_text(root / "README.md", text)
    task = posterior_maps.make_task(run, 0, 101)
    result_figures.snapshots_figure(task).savefig(root / "book" / "_static" / "posterior_map.png", dpi=200)
    narrow = result_figures.snapshots_figure(task, narrow=True)
    narrow.savefig(root / "book" / "_static" / "posterior_map_narrow.png", dpi=150)
