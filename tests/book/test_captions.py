"""Captions get the numbers of what they belong to."""

from __future__ import annotations

import nbformat.v4 as nb
import pytest

from locus.book import captions, diagram
from locus.book.chapters import chapters

FIGURE = [nb.new_output("display_data", {"image/svg+xml": "<svg/>"})]
TABLE = [nb.new_output("execute_result", {"text/html": '<table class="dataframe"></table>'})]


def test_figures_and_tables_are_numbered_apart() -> None:
    cells = [
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_markdown_cell("*What it **shows**.* The rest."),
        nb.new_code_cell("frame", outputs=TABLE),
        nb.new_code_cell("glue()", metadata={"tags": ["remove-cell"]}, outputs=TABLE),
        nb.new_markdown_cell("*A table.*"),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_markdown_cell("*Three at once.*\n\nText."),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_code_cell("frame", outputs=TABLE),
        nb.new_markdown_cell("*Both.*"),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_markdown_cell("**Bold** is no caption."),
        nb.new_markdown_cell("*Nor is this, without a figure.*"),
        nb.new_code_cell("draw()", outputs=FIGURE),
        nb.new_markdown_cell("*The one without a caption has no number.*"),
    ]
    notebook = nb.new_notebook(cells=cells)
    captions.number(notebook, 5)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert texts == [
        "```{div} caption\n**Figure 5.1.** What it **shows**.\n```\n\nThe rest.",
        "```{div} caption\n**Table 5.1.** A table.\n```",
        "```{div} caption\n**Figures 5.2 to 5.4.** Three at once.\n```\n\nText.",
        "```{div} caption\n**Figure 5.5 and Table 5.2.** Both.\n```",
        "**Bold** is no caption.",
        "*Nor is this, without a figure.*",
        "```{div} caption\n**Figure 5.6.** The one without a caption has no number.\n```",
    ]


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_every_chapter_has_a_stage_and_its_number(path) -> None:
    lit = diagram.CHAPTERS[path.stem[:2]]
    assert diagram.diagram(path.stem[:2]).count('class="stage lit"') == len(lit) > 0
    assert f"# # {int(path.stem[:2])}. " in path.read_text(encoding="utf-8")
