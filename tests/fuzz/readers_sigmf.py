"""Readers of SigMF: metadata, samples, archives and collections of a recording that is valid otherwise."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.random import Generator

import locus
from fuzz import Reader
from fuzz.mutations import damaged, json_changed, nested, number_replaced
from locus.capture.sigmf_metadata import MAX_RECORDING_BYTES
from locus.capture.sigmf_writer import write_sigmf
from locus.capture.simulated import record

_RADIO = locus.Radio(num_antennas=2, num_subcarriers=8)


@cache
def _valid(name: str) -> dict[str, bytes]:
    """A recording of two antennas: its files by name, the one to open first."""
    path = {"aoa": ("path", [0.5]), "delay": ("path", [1e-8]), "gain": ("path", [1e-3 + 0j]), "valid": ("path", [True])}
    data = record(xr.Dataset(path), np.random.default_rng(0), _RADIO, num_periods=3)
    with tempfile.TemporaryDirectory() as folder:
        written = write_sigmf(Path(folder) / name, data, heading=0.3)
        return {file.name: _without_hashes(file.read_bytes(), file.suffix) for file in written}


def _without_hashes(content: bytes, suffix: str) -> bytes:
    """Metadata without hashes: with them, every changed byte would be noticed."""
    if suffix not in (".sigmf-meta", ".sigmf-collection"):
        return content
    metadata = json.loads(content)
    metadata.get("global", {}).pop("core:sha512", None)
    for stream in metadata.get("collection", {}).get("core:streams", []):
        stream.pop("hash")
    return json.dumps(metadata).encode()


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


def is_capture(found: Any) -> None:
    """What was accepted is one finite snapshot of bounded size, with a radio that fits it."""
    radio = locus.Radio.carried_by(found)
    assert radio is not None
    assert found.iq.shape == (radio.num_subcarriers, radio.num_antennas), f"{found.iq.shape} for {radio}"
    assert np.isfinite(found.iq.values).all(), "samples that are not finite"
    assert found.iq.nbytes <= 2 * MAX_RECORDING_BYTES, found.iq.nbytes


def _reader(name: str, file: str, changed: str, mutations: list[Any]) -> Reader:
    def hostile(rng: Generator, folder: Path) -> Path:
        files = dict(_valid(file))
        target = next(one for one in files if one.endswith(changed))
        files[target] = mutations[int(rng.integers(len(mutations)))](files[target], rng)
        return _write(folder, files)

    return Reader(name, lambda folder: _write(folder, _valid(file)), hostile, locus.read_capture, is_capture)


READERS = [
    _reader("sigmf metadata", "a.sigmf-meta", ".sigmf-meta", [json_changed, damaged, nested, number_replaced]),
    _reader("sigmf samples", "a.sigmf-meta", ".sigmf-data", [damaged]),
    _reader("sigmf archive", "b.sigmf", ".sigmf", [damaged, number_replaced]),
    _reader("sigmf collection", "c.sigmf-collection", ".sigmf-collection", [json_changed, damaged, nested]),
    _reader("sigmf in a collection", "c.sigmf-collection", "-1.sigmf-meta", [json_changed, damaged, number_replaced]),
]
