"""One script out of many: a JavaScript module, and all that it imports, in; a script without imports out.

A page that was opened from disk cannot load modules, and a worker of such a page not even those in memory.
The explorer's modules only have named imports at the head and exports of declarations, so that each becomes a function
that returns what it exports.
"""

from __future__ import annotations

import graphlib
import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{(.+?)\} from "\./(.+?)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def link(path: Path) -> str:
    """The module at ``path`` with all that it imports, in one text.

    Raises:
        ValueError: a module imports or exports in another way.
    """
    sources = {}
    missing = [path.stem]
    while missing:
        name = missing.pop()
        sources[name] = path.with_name(f"{name}.js").read_text(encoding="utf-8")
        missing += sorted({found[1] for found in _IMPORT.findall(sources[name])} - sources.keys())
    imports = {name: [found[1] for found in _IMPORT.findall(source)] for name, source in sources.items()}
    return "".join(_as_function(name, sources[name]) for name in graphlib.TopologicalSorter(imports).static_order())


def _as_function(name: str, source: str) -> str:
    names = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: f"const {{{_renamed(found[1])}}} = $_{found[2]};", source))
    if left := re.search(r"^(import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"Expected named imports and exported declarations in {name}.js, got '{left[0]}'")
    return f"const $_{name} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\n"


def _renamed(names: str) -> str:
    return names.replace(" as ", ": ")
