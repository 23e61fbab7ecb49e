"""Draws the README's picture, which is also that of the book's first page, and writes its table: `make readme`."""

import re

import locus
from locus.book.figures import result_figures
from locus.book.paper import printed
from locus.book.studies import posterior_maps
from locus.book.tables import headline
from locus.experiment.run import repository
from locus.experiment.table import Table
from locus.settings.atomic import write_text

if __name__ == "__main__":
    run = locus.open_run("paper")
    readme = repository() / "README.md"
    table = headline(Table(run).open(), printed())
    text = readme.read_text(encoding="utf-8")
    write_text(readme, re.sub(r"(?<=<!-- table -->\n)(\|.*\n)*", lambda _: f"{table}\n", text))
    figure = result_figures.snapshots_figure(posterior_maps.make_task(run, 0, 101))
    figure.savefig(repository() / "book" / "_static" / "posterior_map.png", dpi=110)
