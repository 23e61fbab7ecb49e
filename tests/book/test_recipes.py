"""Every module that computes results has a RECIPE or is covered by another module's."""

from __future__ import annotations

from locus.book.recipes import BEARERS, COMPUTES_NOTHING, COVERED_BY, recipes
from locus.experiment.run import repository

METHOD = ("room", "twin", "receiver", "score", "judge")


def test_every_module_of_the_method_has_a_recipe_or_is_covered_by_one() -> None:
    root = repository() / "locus"
    modules = {f"{folder}.{file.stem}" for folder in METHOD for file in (root / folder).glob("[a-z]*.py")}
    own = {name for name in modules if "\nRECIPE = " in (root / f"{name.replace('.', '/')}.py").read_text()}
    assert modules == own | COVERED_BY.keys() | set(COMPUTES_NOTHING)
    assert not own & (COVERED_BY.keys() | set(COMPUTES_NOTHING))
    assert set(COVERED_BY.values()) <= own


def test_every_recipe_is_known() -> None:
    root = repository() / "locus"
    files = [file for file in root.rglob("*.py") if "\nRECIPE = " in file.read_text()]
    assert {".".join(file.relative_to(root).with_suffix("").parts) for file in files} == set(BEARERS)


def test_a_module_has_the_recipe_that_covers_it() -> None:
    assert recipes(["twin.image", "draw"]) == {"twin.base": BEARERS["twin.base"].RECIPE}
