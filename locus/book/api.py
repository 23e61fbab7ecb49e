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

import locus

# "Dataset (path): what it holds" is prose here, not a type to link to.
_STYLE = Config(napoleon_use_rtype=False, napoleon_use_param=True)
_DEFAULTS = ("_scales", "_at_least_a_period")  # of the settings; their arguments are the paper's values

Definition = ast.FunctionDef | ast.ClassDef


class Module:
    """One module, parsed."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._body = ast.parse(path.read_text(encoding="utf-8"))
        self._body = _Readable(_literals(self._body.body)).visit(self._body)
        self._imported = dict(_imports(self._body.body))
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

    def _definition(self, node: Definition, options: str = "") -> str:
        if isinstance(node, ast.FunctionDef):
            return _entry("function", node.name + _signature(node.args), options, _prose(node))
        made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        bases = ", ".join(self._link(ast.unparse(base)) or f"``{ast.unparse(base)}``" for base in node.bases)
        summary, _, rest = _prose(node).partition("\n\n")
        content = [
            summary,
            rest,
            f"Bases: {bases}." if bases else "",
            "\n".join(self._fields(node.body)),
            *_methods(node.body),
        ]
        return _entry(
            "class", node.name + (_bound(made.args) if made else ""), options, "\n\n".join(filter(None, content))
        )

    def _link(self, name: str) -> str:
        """Link to a class of the package, by its name in this module; empty for any other name."""
        if name in locus.HOMES:
            return f":py:class:`{name} <locus.{name}>`"
        home = self.name if name in self.definitions else _home(self._imported.get(name, ""), name)
        return f":py:class:`{name} <{home}.{name}>`" if home else ""

    def _fields(self, body: list[ast.stmt]) -> Iterator[str]:
        """One line per field of a dataclass: its declaration, and the docstring that follows it, if any."""
        for node, after in pairwise([*body, ast.Pass()]):
            if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
                continue
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).rpartition(".")[2] == "field":
                node.value = next((one.value for one in node.value.keywords if one.arg == "default"), None)
            elif isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _DEFAULTS:
                lengths = node.value.args
                node.value = lengths[0] if len(lengths) == 1 else ast.Tuple(lengths, ast.Load())
            link = self._link(ast.unparse(node.annotation))
            declaration = f"``{ast.unparse(node)}``"
            if link:
                default = f" ``= {ast.unparse(node.value)}``" if node.value else ""
                declaration = f"``{ast.unparse(node.target)}:`` {link}{default}"
            prose = _text_of(after)
            yield f"- {declaration}" + (f" – {prose}" if prose else "")


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
        text, names = _text_of(after), _names(node)
        if text and names and all(name.isupper() and name[0] != "_" for name in names):
            value = ast.unparse(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else ""
            tells = 0 < len(value) < 80 and not re.search(rf"\b_[A-Za-z]|\bfor\b|\b({'|'.join(names)})\b", value)
            options = f":value: {value}\n" if tells and len(names) == 1 else ""
            values = f"\n\nValues: ``{value[1:-1] if value[0] == '(' else value}``." if tells and len(names) > 1 else ""
            yield _entry("data", f"\n{' ' * 13}".join(names), options, f"{text}{values}\n")


def _names(node: ast.stmt) -> list[str]:
    """Names that a statement assigns to."""
    assigned = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    targets = assigned.elts if isinstance(assigned, ast.Tuple) else [assigned]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _text_of(node: ast.stmt) -> str:
    """What a statement says if it is only a string, as one line."""
    documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return " ".join(str(node.value.value).split()) if documents else ""  # type: ignore[attr-defined]


class _Readable(ast.NodeTransformer):
    """Writes numbers as the source does, and defaults and values as literals if a constant of the module has one."""

    def __init__(self, literals: dict[str, ast.expr]) -> None:
        self._literals = literals

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A number in a readable form, such as 16_777_216, 12e9 or 4e-6."""
        if not isinstance(node.value, int | float) or isinstance(node.value, bool):
            return node
        return ast.Name(_short(node.value), ast.Load())

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Arguments whose defaults are literals where possible."""
        node.defaults = [self._literal(one) for one in node.defaults]
        node.kw_defaults = [one and self._literal(one) for one in node.kw_defaults]
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A sum of integers as one number."""
        parts = [self._literal(one) for one in (node.left, node.right)]
        values = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, int)]
        if isinstance(node.op, ast.Add) and len(values) == 2:
            return self.visit_Constant(ast.Constant(sum(values)))
        return self.generic_visit(node)

    def _literal(self, node: ast.expr) -> ast.expr:
        found = self._literals.get(node.id) if isinstance(node, ast.Name) else None
        return copy.deepcopy(found) if found else node


def _literals(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Constants of a module that are a single number or string, by name."""
    return {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def _imports(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Names that a module imports from others of the package, and from which."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("locus."):
            for one in node.names:
                yield one.asname or one.name, node.module or ""


def _home(module: str, name: str) -> str:
    """Module of the package that defines a class, found from one that imports it; empty if there is none."""
    path = Path(locus.__file__).parents[1].joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not module or not path.is_file():
        return ""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    if any(isinstance(node, ast.ClassDef) and node.name == name for node in body):
        return module
    return _home(dict(_imports(body)).get(name, ""), name)


def _short(number: float) -> str:
    """A number with thousands apart, and with a short exponent, such as 16_777_216, 12e9 and 4e-6."""
    if isinstance(number, int):
        return f"{number:_}" if abs(number) >= 10_000 else str(number)
    large = re.sub(r"^(\d+?)((?:000){2,})\.0$", lambda found: f"{found[1]}e{len(found[2])}", repr(number))
    return re.sub(r"e([+-])0*", lambda found: f"e{found[1].strip('+')}", large)


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
