"""API descriptions: a module's source in, reStructuredText for the book's API page out.

No module is imported, so that describing Sionna's twin needs no LLVM.
"""

from __future__ import annotations

import ast
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
        """Docstring of the module, followed by its public functions and classes."""
        found = [node for name, node in self.definitions.items() if name not in leave_out]
        docstring = ast.get_docstring(self._body) or ""
        return "\n".join([f".. py:module:: {self.name}\n", f"{docstring}\n", *map(self._definition, found)])

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
        content = [_prose(node), "\n".join(_fields(node.body)), *_methods(node.body)]
        return _entry("class", node.name, options, "\n\n".join(content))


def _methods(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef) or node.name[0] == "_" or not ast.get_docstring(node):
            continue
        kinds = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        if kinds & {"property", "cached_property"}:
            yield _entry("property", node.name, "", _prose(node))
            continue
        arguments = node.args
        arguments.args = arguments.args[1:]  # self, or the class
        option = ":classmethod:\n" if "classmethod" in kinds else ""
        yield _entry("method", node.name + _signature(arguments), option, _prose(node))


def _fields(body: list[ast.stmt]) -> Iterator[str]:
    """One line per field of a dataclass: its declaration, and the docstring that follows it, if any."""
    for node, after in pairwise([*body, ast.Pass()]):
        if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
            continue
        if node.value and "default_factory" in ast.unparse(node.value):
            node.value = None
        documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        prose = " ".join(str(after.value.value).split()) if documented else ""  # type: ignore[attr-defined]
        yield f"- ``{ast.unparse(node)}``" + (f"  {prose}" if prose else "")


def _signature(arguments: ast.arguments) -> str:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument:
            argument.annotation = None
    return f"({ast.unparse(arguments)})"


def _prose(node: Definition) -> str:
    return str(GoogleDocstring(ast.get_docstring(node) or "", _STYLE))  # type: ignore[arg-type]


def _entry(kind: str, name: str, options: str, content: str) -> str:
    return f".. py:{kind}:: {name}\n{indent(options, '   ')}\n{indent(content, '   ')}\n"
