"""Mutations: valid bytes and a generator in, hostile bytes out."""

from __future__ import annotations

import io
import json
import re
import struct
from typing import Any

import numpy as np
from numpy.random import Generator

NUMBERS = (
    *(
        "nan",
        "NaN",
        ".nan",
        "inf",
        "-inf",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        "1e308",
        "1e200",
        "1e-320",
        "-0.0",
    ),
    *(
        "0",
        "-1",
        "1.5",
        "0x10",
        "1_000",
        "2000000",
        "99999999999999999999",
        "1" + "0" * 400,
        "9" * 5000,
        "true",
        "null",
        '"x"',
    ),
)
"""Texts that stand for a number, or pretend to."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "x" * 100_000, "\x00", "\ud800", "../..", "NaN", b"x".decode(), [], {}, [[]], [None]),
    *(0, -1, 1.5, 1e308, -1e308, 1e200, 1e-320, float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), 2**63),
    *(
        {"a": 1},
        [1, 2, 3],
        [[1, 2], [3]],
        ["1", "2"],
        [1e308] * 3,
        list(range(1000)),
        "\u202e\n\r\t",
        "<script>",
        "é" * 100,
    ),
)
"""Values that a tree of JSON or YAML may hold where something else is expected."""


def damaged(content: bytes, rng: Generator) -> bytes:
    """Bytes cut off, flipped, repeated, dropped, exchanged for noise or for zeros, or numbers replaced."""
    kind = int(rng.integers(8))
    at = int(rng.integers(len(content) + 1))
    end = min(len(content), at + int(rng.integers(1, 64)))
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + content[end:]
    if kind == 2:
        return content[:at] + content[at:end] * int(rng.integers(2, 200)) + content[end:]
    if kind == 3:
        return content[:at] + rng.bytes(end - at) + content[end:]
    if kind == 4:
        return content[:at] + bytes(end - at) + content[end:]
    if kind == 5:
        return rng.bytes(int(rng.integers(0, 300)))
    if kind == 6:
        return number_replaced(content, rng)
    flipped = bytearray(content)
    for place in rng.integers(0, max(len(content), 1), int(rng.integers(1, 9))):
        if flipped:
            flipped[place] ^= 1 << int(rng.integers(8))
    return bytes(flipped)


def number_replaced(content: bytes, rng: Generator) -> bytes:
    """One number of a text replaced by something odd."""
    places = list(re.finditer(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?", content))
    if not places:
        return content + NUMBERS[int(rng.integers(len(NUMBERS)))].encode()
    place = places[int(rng.integers(len(places)))]
    return content[: place.start()] + NUMBERS[int(rng.integers(len(NUMBERS)))].encode() + content[place.end() :]


def json_changed(content: bytes, rng: Generator) -> bytes:
    """A node of a tree replaced, removed, repeated or nested deeply."""
    tree = changed(json.loads(content), rng)
    try:
        return json.dumps(tree).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b"[" * 100_000


def changed(tree: Any, rng: Generator) -> Any:
    """A copy of a tree of lists and dictionaries with one node changed."""
    holders: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in list(items):
            holders.append((node, key))
            visit(child)

    tree = json.loads(json.dumps(tree))
    visit(tree)
    if not holders or rng.random() < 0.05:
        return _odd(tree, rng)
    holder, key = holders[int(rng.integers(len(holders)))]
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
    elif rng.random() < 0.1 and isinstance(holder, list):
        holder.extend([holder[key]] * int(rng.integers(1, 500)))
    elif rng.random() < 0.1 and isinstance(holder, dict):
        holder[VALUES[3] if rng.random() < 0.1 else "unexpected"] = _odd(holder[key], rng)
    else:
        holder[key] = _odd(holder[key], rng)
    return tree


def _odd(value: Any, rng: Generator) -> Any:
    if rng.random() < 0.1:
        for _ in range(int(rng.choice([3, 30, 300]))):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return VALUES[int(rng.integers(len(VALUES)))]


def nested(_: bytes, rng: Generator) -> bytes:
    """Brackets without end."""
    opening, closing = ((b"[", b"]"), (b'{"a":', b"}"), (b"- ", b""), (b"{a: ", b"}"))[int(rng.integers(4))]
    depth = int(rng.choice([50, 500, 5000, 100_000]))
    return opening * depth + b"1" + closing * (depth if rng.random() < 0.7 else 0)


def yaml_bomb(content: bytes, rng: Generator) -> bytes:
    """Aliases of aliases, or a merge of an anchor with itself, before or after valid lines."""
    wide, deep = int(rng.integers(2, 10)), int(rng.integers(2, 12))
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * wide)}]" for i in range(1, deep)]
    if rng.random() < 0.3:
        lines = ["a: &a [*a]"] if rng.random() < 0.5 else ["a: &a {b: 1}", "c: {<<: *a}"]
    bomb = "\n".join(lines).encode() + b"\n"
    return bomb + content if rng.random() < 0.5 else content + b"\n" + bomb


def yaml_odd(content: bytes, rng: Generator) -> bytes:
    """Tags, documents, keys and scalars that YAML reads as something surprising."""
    odd = (
        *(
            "!!python/object/apply:os.system [id]",
            "!!binary aGk=",
            "!!set {a, b}",
            "!!timestamp 2001-13-45",
            "--- 1\n--- 2",
        ),
        *(
            "? [a, b]\n: 1",
            "{1: 2}",
            "~: ~",
            "1:30:00",
            "0b1",
            "0o17",
            "%YAML 9.9\n---\n",
            "\t- x",
            "'",
            '"\\x',
            "@",
            "`",
            "a: b: c",
        ),
        *(
            "carrier: 2001-01-01",
            "- - - -",
            "? ",
            "!!float x",
            "!!int [1]",
            "<<: 1",
            "<<: [1]",
            "&a",
            "*a",
            "!<x> y",
            "|9\n x",
        ),
        *(
            "2001-99-99",
            "2001-01-01 99:99:99",
            "190:20:30",
            "!!omap [a]",
            "!!int ''",
            "!!bool maybe",
            "=",
            "!!null x",
            "\ufeff",
        ),
    )
    line = odd[int(rng.integers(len(odd)))].encode()
    if rng.random() < 0.4:
        return line
    key = content.split(b":")[0].split(b"\n")[-1]
    return content + b"\n" + (key + b": " + line if rng.random() < 0.5 else line)


def npy_changed(content: bytes, rng: Generator) -> bytes:
    """A ``.npy`` whose header lies about type, order or shape."""
    kinds = (
        "<c16",
        "<c8",
        "<f8",
        "|V0",
        "|S0",
        "<U0",
        "|O",
        "<i4",
        "|V16",
        "<c32",
        "<f2",
        ">c16",
        "<c0",
        "c",
        "",
        "<x9",
    )
    shapes = ("(128, 8)", "()", "(0,)", "(-1, 8)", "(2**62,)", "(99999999999999,)", "(10000000000, 8)", "(128, 8, 0)")
    shapes += (
        "(128, 8.0)",
        "(True, 8)",
        "'x'",
        "None",
        "(128, 8",
        "(" + "1, " * 100 + ")",
        "(" + "9" * 400 + ",)",
        "(1j, 2)",
    )
    kind, shape = kinds[int(rng.integers(len(kinds)))], shapes[int(rng.integers(len(shapes)))]
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}"
    forms = (
        *(header, header.replace("False", "0"), header.replace("'descr'", "'dscr'"), header[:-3], header + "x"),
        *(
            "[" * int(rng.integers(1, 3000)),
            "(" * 90 + ")" * 90,
            "\\",
            "'\\ud800'",
            "{'descr': [('a', '<c16')], 'fortran_order': False, 'shape': (1,)}",
        ),
        *(
            "lambda: 0",
            "{}",
            "",
            "{'descr': '<c16'}",
            "9" * 5000,
            "-" * 5000 + "1",
            "'" * 3,
            "\x00",
            "{**{}}",
            "1 if 1 else 2",
        ),
        *(
            "{'descr': {}, 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), 1: 2}",
        ),
    )
    text = (header if rng.random() < 0.6 else forms[int(rng.integers(len(forms)))]).encode("utf-8", "surrogatepass")
    version = int(rng.choice([1, 1, 1, 2, 3, 9]))
    length = struct.pack("<H" if version == 1 else "<I", int(rng.choice([len(text), len(text), len(text), 0, 60_000])))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + content[128:]


def npy_values(content: bytes, rng: Generator) -> bytes:
    """A valid ``.npy`` with odd numbers in it."""
    values = np.load(io.BytesIO(content))
    odd = rng.choice([np.nan, np.inf, 1e308, 1e200, 1e30, 1e-200, 0.0, 1e-320], size=values.shape)
    share = rng.choice([1e-3, 0.5, 1.0])
    values = np.where(rng.random(values.shape) < share, odd, values)
    if rng.random() < 0.3:
        values = values.astype(str(rng.choice(["complex64", "float64", "int32", "float16", "bool"])))
    stream = io.BytesIO()
    with np.errstate(all="ignore"):
        np.save(stream, values)
    return stream.getvalue()


def odd_argument(rng: Generator) -> Any:
    """Something that a function is unlikely to expect."""
    others = (
        1j,
        "2",
        b"2",
        object(),
        np.array([1, 2]),
        np.array([[1j, 2]]),
        np.array([["a", "b"]]),
        0.5,
        -5,
        np.int64(3),
    )
    pool = (
        *VALUES,
        *others,
        [[1j, 2]],
        [[None, 1]],
        np.zeros((0, 2)),
        np.full((5, 2), np.nan),
        np.float64(np.nan),
        10**9,
    )
    return pool[int(rng.integers(len(pool)))]
