"""Inputs that were once accepted, hung, or ended in a traceback: each must be refused now."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import torch
import xarray as xr

import locus
from fuzz import Reader
from locus.capture import candidates, files
from locus.experiment.weights import load_scorer
from locus.score import weight_files
from locus.score.options import MethodOptions
from locus.settings.profiles import parse_changes

REFUSED = "was refused"
_CASES: dict[str, Callable[[Path], Any]] = {}


def _case(name: str) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    def note(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
        _CASES[name] = function
        return function

    return note


def _square() -> locus.Layout:
    return locus.Layout(shapely.box(0, 0, 50, 40))


def _npy(folder: Path, kind: str, shape: str) -> Any:
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return files.read_iq(folder / "x.npy")


for _kind in ("|V0", "|S0", "<U0"):
    for _shape in ("(99999999999999,)", "(10000000000000, 8)"):
        _CASES[f"npy of {_kind} and {_shape}"] = lambda folder, kind=_kind, shape=_shape: _npy(folder, kind, shape)
for _shape in ("(128, 8", "(" * 200, "9" * 5000, "(1e400,)", "lambda: 0", "(2**63, 8)", "'\\ud800'"):
    _CASES[f"npy with shape {_shape[:20]}"] = lambda folder, shape=_shape: _npy(folder, "<c16", shape)


@_case("yaml bomb in a radio")
def _(folder: Path) -> Any:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    (folder / "radio.yml").write_text("\n".join(lines))
    return files.read_radio(folder / "radio.yml")


@_case("yaml bomb in run.yml")
def _(folder: Path) -> Any:
    (folder / "bomb").mkdir(exist_ok=True)
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    (folder / "bomb" / "run.yml").write_text("\n".join(lines))
    return locus.open_run("bomb", root=folder)


@_case("yaml bomb on the command line")
def _(folder: Path) -> Any:
    return parse_changes(["room.size=[&a [1, 1], *a]"])


@_case("a yaml error on the command line")
def _(folder: Path) -> Any:
    return parse_changes(["room.size=[1"])


@_case("coordinates of 10^400")
def _(folder: Path) -> Any:
    ring = f"[[0, 0], [1{'0' * 400}, 0], [50, 40], [0, 40], [0, 0]]"
    polygon = f'{{"type": "Polygon", "coordinates": [{ring}]}}'
    text = f'{{"features": [{{"geometry": {polygon}, "properties": {{"role": "room"}}}}]}}'
    (folder / "room.geojson").write_text(text)
    return files.read_layout(folder / "room.geojson")


@_case("NaN among a million vertices")
def _(folder: Path) -> Any:
    angle = np.linspace(0, 2 * np.pi, 10**6, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ring[7] = np.nan
    return locus.Layout(shapely.Polygon(ring))


@_case("deep nesting")
def _(folder: Path) -> Any:
    (folder / "room.geojson").write_text("[" * 100_000)
    return files.read_layout(folder / "room.geojson")


@_case("a pose without numbers")
def _(folder: Path) -> Any:
    return locus.Pose(None, 2.0, 0.0)  # type: ignore[arg-type]


@_case("complex candidates")
def _(folder: Path) -> Any:
    return locus.make_twin("image").trace(_square(), locus.Pose(20, 30, 0.4), [[1 + 1j, 2]])


@_case("a grid of 1.5 points")
def _(folder: Path) -> Any:
    return _square().grid(1.5)  # type: ignore[arg-type]


@_case("a grid of a million points per axis")
def _(folder: Path) -> Any:
    return candidates.grid_candidates(_square(), locus.Pose(20, 30, 0.4), 10**6)


def _weights(folder: Path, tensors: dict[str, torch.Tensor] | None = None, **header: Any) -> Any:
    method = weight_files.make_method("locus_dt", MethodOptions())
    content = {"method": "locus_dt", "options": {}, "config": {}, "hash": "0", **header}
    state = {**method.state_dict(), **(tensors or {})}
    known = {key: value for key, value in content.items() if value is not None}
    weight_files.write_tensors(folder / "w.safetensors", state, known)
    return load_scorer(str(folder / "w.safetensors"))


@_case("weights for two million paths")
def _(folder: Path) -> Any:
    return _weights(folder, options={"num_paths": 2_000_000})


for _name in ("method", "options"):
    _CASES[f"weights without {_name}"] = lambda folder, name=_name: _weights(folder, **{name: None})
for _value in (float("nan"), float("inf"), 1e30):
    _CASES[f"weights of {_value}"] = lambda folder, value=_value: _weights(folder, {"bias": torch.full((64,), value)})
_CASES["weights of another shape"] = lambda folder: _weights(folder, {"bias": torch.zeros(63)})
_CASES["weights of whole numbers"] = lambda folder: _weights(folder, {"bias": torch.zeros(64, dtype=torch.int64)})
_CASES["weights with another name"] = lambda folder: _weights(folder, {"more": torch.zeros(1)})


@_case("weights that are a number")
def _(folder: Path) -> Any:
    method = weight_files.make_method("locus_dt", MethodOptions())
    weight_files.write_tensors(folder / "w.safetensors", method.state_dict(), 7)  # type: ignore[arg-type]
    return load_scorer(str(folder / "w.safetensors"))


@_case("weights whose header is 90 MB, they say")
def _(folder: Path) -> Any:
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", 90 * 2**20) + b"{" * 100)
    return load_scorer(str(folder / "w.safetensors"))


_IQ = 1.4e-6 * (np.random.default_rng(0).standard_normal((128, 8, 2)) @ [1, 1j])
for _scale in (1e200, 1e150, 1e60):
    _CASES[f"samples of {_scale:g}"] = lambda _, scale=_scale: locus.estimate(_IQ / 1e-6 * scale)


@_case("a posterior from scores that are not numbers")
def _(folder: Path) -> Any:
    paths = locus.make_twin("image").trace(_square(), locus.Pose(20, 30, 0.4), [[1.0, 2.0], [3.0, 4.0]])
    observed = locus.estimate(_IQ)
    broken = observed.assign(snr_db=xr.full_like(observed.snr_db, np.nan), valid=xr.ones_like(observed.valid))
    return locus.load_scorer("paper").posterior(paths, broken)


@_case("a radio in a Dataset that is no radio")
def _(folder: Path) -> Any:
    data = xr.Dataset({"iq": (("sample", "antenna"), _IQ)}, attrs={"radio": json.dumps({"carrier": [1]})})
    return locus.estimate(data)


def _ask(case: tuple[str, Path]) -> str:
    name, folder = case
    if name:
        _CASES[name](folder)
    return name


def _check(name: str) -> None:
    assert not name, f"{name} was accepted"


READERS = [
    Reader(
        f"known: {name}", lambda folder: ("", folder), lambda _, folder, name=name: (name, folder), _ask, _check, most=1
    )
    for name in _CASES
]
