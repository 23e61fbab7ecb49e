"""Readers of captures and radios: ``.npy``, ``radio.yml``, and the public functions that take samples and paths."""

from __future__ import annotations

import dataclasses
import io
import math
from typing import Any

import numpy as np

import locus
from fuzz import file_reader, function_reader
from fuzz.mutations import damaged, nested, npy_changed, npy_values, number_replaced, yaml_bomb, yaml_odd
from locus.capture import files
from locus.settings.profiles import load_config, parse_changes, parse_over


def _npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


IQ = 1.4e-6 * (np.random.default_rng(0).standard_normal((128, 8, 2)) @ [1, 1j])
RADIO = b"carrier: 6.0e+9\nbandwidth: 100e6\nnum_antennas: 4\nnum_subcarriers: 64\ntx_power_dbm: 10\n"


def is_samples(samples: Any) -> None:
    """Samples are numbers, and as many as the file has bytes for."""
    assert isinstance(samples, np.ndarray), type(samples)
    assert samples.dtype.kind in "cf", samples.dtype
    assert samples.nbytes <= files.MAX_IQ_BYTES, samples.nbytes


def is_finite(settings: Any) -> None:
    """Every number of a dataclass is finite."""
    for name, value in dataclasses.asdict(settings).items():
        assert not isinstance(value, float) or math.isfinite(value), f"{name} is {value}"


def _estimate(samples: Any) -> Any:
    return locus.estimate(samples)


def _is_estimate(found: Any) -> None:
    for name in ("aoa", "delay", "gain", "snr_db"):
        assert np.isfinite(found[name].values[found.valid.values]).all(), f"{name} is not finite"


READERS = [
    file_reader(
        "capture as npy",
        "iq.npy",
        [_npy(IQ), _npy(IQ.astype("complex64"))],
        [npy_changed, npy_values, damaged],
        files.read_iq,
        is_samples,
    ),
    file_reader(
        "radio as yaml",
        "radio.yml",
        [RADIO],
        [yaml_bomb, yaml_odd, damaged, nested, number_replaced],
        files.read_radio,
        is_finite,
    ),
    file_reader("estimate", "iq.npy", [_npy(IQ)], [npy_values], lambda path: _estimate(np.load(path)), _is_estimate),
    function_reader(
        "radio",
        (12e9, 200e6, 0.0, 7.0, 290.0, 8, 128, 4e-6),
        locus.Radio,
        is_finite,
    ),
    function_reader("tolerance", (0.1, 0.1, 0.1, 1.0), locus.Tolerance, is_finite),
    function_reader(
        "settings on the command line", ("room.size=80",), lambda text: load_config("smoke", parse_changes([str(text)]))
    ),
    *(
        function_reader(f"setting {name}", (value,), lambda value, name=name: load_config("smoke", {name: value}))
        for name, value in {"room.size": 80.0, "room.bent_side": [15.0, 40.0], "seed": 3, "twin.train": "image"}.items()
    ),
    function_reader("sweep on the command line", ("seed=0,1",), lambda text: parse_over([str(text)])),
]
