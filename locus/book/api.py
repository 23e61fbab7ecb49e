"""API descriptions: a module's source in, reStructuredText for the book's API page out.

No module is imported, so that describing Sionna's twin needs no LLVM.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import indent

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

# "Dataset (path): what it holds" is prose here, not a type to link to.
_STYLE = Config(napoleon_use_rtype=False, napoleon_use_param=True)

Definition = ast.FunctionDef | ast.ClassDef


class Module:
    """One module, parsed."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._body = ast.parse(path.read_text(encoding="utf-8"))
        self.definitions = {
            node.name: node for node in self._body.body if isinstance(node, Definition) and node.name[0] != "_"
        }

    @property
    def purpose(self) -> str:
        """First paragraph of its docstring, as one line."""
        return " ".join((ast.get_docstring(self._body) or "").split("\n\n")[0].split())

    def text(self, leave_out: Sequence[str] = ()) -> str:
        """Docstring of the module, its public constants that have one, and its public functions and classes.

        For definitions that are left out, there are links to the API page.
        """
        found = [node for name, node in self.definitions.items() if name not in leave_out]
        elsewhere = ", ".join(f":py:obj:`locus.{name}`" for name in self.definitions if name in leave_out)
        parts = [f".. py:module:: {self.name}\n", f"{ast.get_docstring(self._body) or ''}\n"]
        if elsewhere:
            parts.append(f"Described on the API page: {elsewhere}.\n")
        return "\n".join([*parts, *_constants(self._body.body), *map(self._definition, found)])

    def summary(self, name: str) -> str:
        """First line of the docstring of one definition."""
        return (ast.get_docstring(self.definitions[name]) or "").splitlines()[0]

    def public(self, name: str) -> str:
        """One definition, described as a name of ``locus`` itself."""
        return ".. py:currentmodule:: locus\n\n" + self._definition(
            self.definitions[name], f":canonical: {self.name}.{name}\n"
        )

    @staticmethod
    def _definition(node: Definition, options: str = "") -> str:
        if isinstance(node, ast.FunctionDef):
            return _entry("function", node.name + _signature(node.args), options, _prose(node))
        made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        bases = ", ".join(f"``{ast.unparse(base)}``" for base in node.bases)
        content = [_prose(node), "\n".join(_fields(node.body)), *_methods(node.body)]
        if bases:
            content.insert(1, f"Bases: {bases}.")
        return _entry("class", node.name + (_bound(made.args) if made else ""), options, "\n\n".join(content))


def _methods(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef) or node.name[0] == "_" or not ast.get_docstring(node):
            continue
        kinds = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        if kinds & {"property", "cached_property"}:
            yield _entry("property", node.name, "", _prose(node))
            continue
        static = "staticmethod" in kinds
        signature = _signature(node.args) if static else _bound(node.args)
        option = ":classmethod:\n" if "classmethod" in kinds else ":staticmethod:\n" if static else ""
        yield _entry("method", node.name + signature, option, _prose(node))


def _constants(body: list[ast.stmt]) -> Iterator[str]:
    """Public constants of a module that are followed by a docstring."""
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name) and name.id[0] != "_":
            text = _text_of(after)
            if text and name.id.isupper():
                value = _short(ast.unparse(node.value))
                yield _entry("data", name.id, f":value: {value}\n" if len(value) < 80 else "", f"{text}\n")


def _text_of(node: ast.stmt) -> str:
    """What a statement says if it is only a string, as one line."""
    documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return " ".join(str(node.value.value).split()) if documents else ""  # type: ignore[attr-defined]


def _fields(body: list[ast.stmt]) -> Iterator[str]:
    """One line per field of a dataclass: its declaration, and the docstring that follows it, if any."""
    for node, after in pairwise([*body, ast.Pass()]):
        if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
            continue
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).rpartition(".")[2] == "field":
            node.value = next((one.value for one in node.value.keywords if one.arg == "default"), None)
        elif isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "_scales":
            lengths = node.value.args
            node.value = lengths[0] if len(lengths) == 1 else ast.Tuple(lengths, ast.Load())
        prose = _text_of(after)
        yield f"- ``{_short(ast.unparse(node))}``" + (f"  {prose}" if prose else "")


def _short(code: str) -> str:
    """Code whose large round numbers are written with exponents, such as 12e9."""
    return re.sub(r"\b(\d+?)((?:000){2,})\.0\b", lambda found: f"{found[1]}e{len(found[2])}", code)


def _bound(arguments: ast.arguments) -> str:
    """Signature of a method, without the object or class that it belongs to."""
    bound = copy.deepcopy(arguments)
    del (bound.posonlyargs or bound.args)[:1]
    return _signature(bound)


def _signature(arguments: ast.arguments) -> str:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument:
            argument.annotation = None
    return f"({ast.unparse(arguments)})"


def _prose(node: Definition) -> str:
    return str(GoogleDocstring(ast.get_docstring(node) or "", _STYLE))  # type: ignore[arg-type]


def _entry(kind: str, name: str, options: str, content: str) -> str:
    return f".. py:{kind}:: {name}\n{indent(options, '   ')}\n{indent(content, '   ')}\n"
