"""Numbers that the JavaScript modules share with the package are defined only in the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from locus import explorer

MODULES = [path for path in explorer.assets() if path.suffix == ".js"]
TAKEN = {
    ("pointer.js", 0.01),
    ("pointer.js", 0.2),
    ("describe.js", 0.05),
    ("world.js", 0.1),
    ("marks.js", 0.6),
    ("side_by_side.js", 0.6),
}
"""Steps of a key press, the largest error of a hit, lengths and an opacity: equal to shared numbers by coincidence."""


def leaves(section: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        yield from leaves(value) if isinstance(value, dict) else [(name, value)]


def code(text: str) -> str:
    """Source of a module without comments."""
    return re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)


def copies(name: str, text: str) -> list[str]:
    """Shared numbers and names that a module hard-codes; small multiples of 1/8 are ignored, as they are ambiguous."""
    shared = {value for _, value in leaves(explorer.CONSTANTS) if isinstance(value, float | int)}
    telling = {value for value in shared if not ((8 * value) % 1 == 0 and abs(value) <= 100)}
    numbers = re.findall(r"(?<![\w.$#])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?", code(text))
    typed = [n for n in numbers if float(n) in telling and (name, float(n)) not in TAKEN]
    named = [n.upper() for n, _ in leaves(explorer.CONSTANTS) if re.search(rf"\b{n.upper()}\b", code(text))]
    return typed + named + re.findall(r"\d (?:m|dB)\b", code(text))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_module_has_a_shared_number_of_its_own(path: Any) -> None:
    assert copies(path.name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "const KEPT = 40;",
        "if (distance < 1e-6) return;",
        'readout("Posterior mass within 5 m of the truth");',
        "const c = 299_792_458;",
    ],
)
def test_a_copy_would_be_found(line: str) -> None:
    assert copies("limit.js", f"/** A comment about 5 m and 4096 bins. */\n{line} // 4096")


def test_every_shared_number_is_read() -> None:
    everything = "\n".join(code(path.read_text(encoding="utf-8")) for path in MODULES)
    assert [name for name, _ in leaves(explorer.CONSTANTS) if not re.search(rf"\b{name}\b", everything)] == []
