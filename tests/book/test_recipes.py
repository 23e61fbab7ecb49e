"""Every module that computes results has a RECIPE or is covered by another module's."""

from __future__ import annotations

from locus.book.recipes import COMPUTES_NOTHING, COVERED_BY
from locus.experiment.run import repository

METHOD = ("room", "twin", "receiver", "score", "judge")


def test_every_module_of_the_method_has_a_recipe_or_is_covered_by_one() -> None:
    root = repository() / "locus"
    modules = {f"{folder}.{file.stem}" for folder in METHOD for file in (root / folder).glob("[a-z]*.py")}
    own = {name for name in modules if "\nRECIPE = " in (root / f"{name.replace('.', '/')}.py").read_text()}
    assert modules == own | COVERED_BY.keys() | set(COMPUTES_NOTHING)
    assert not own & (COVERED_BY.keys() | set(COMPUTES_NOTHING))
    assert set(COVERED_BY.values()) <= own
