"""Public functions that take arrays, Datasets, names or settings: odd values in any of them."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import xarray as xr
from numpy.random import Generator

import locus
from fuzz import Reader, function_reader
from fuzz.mutations import VALUES, odd_argument
from fuzz.readers_capture import IQ, is_finite
from locus.capture import candidates
from locus.settings.config import FeatureOptions, Room, Training

_POSE = locus.Pose(20.0, 30.0, 0.4)
_XY = np.array([[5.0, 6.0], [9.0, 30.0], [40.0, 10.0], [44.0, 33.0]])


@cache
def _room() -> locus.Layout:
    return locus.Layout(shapely.box(0, 0, 50, 40), (shapely.box(20, 15, 30, 22),))


@cache
def _twin() -> locus.Twin:
    return locus.make_twin("image")


@cache
def _paths() -> xr.Dataset:
    return _twin().trace(_room(), _POSE, _XY)


@cache
def _observed() -> xr.Dataset:
    return locus.estimate(locus.observe(_paths().isel(candidate=1), np.random.default_rng(0)))


@cache
def _scorer() -> Any:
    return locus.load_scorer("paper")


def odd_dataset(data: xr.Dataset, rng: Generator) -> Any:
    """A Dataset with a variable that is missing, or of odd values, type, order or size; or something else."""
    if rng.random() < 0.1:
        return odd_argument(rng)
    name = str(rng.choice([str(one) for one in data.data_vars]))
    values, kind = data[name].values, int(rng.integers(7))
    if kind == 0:
        return data.drop_vars(name)
    if kind == 1:
        return data.assign({name: (data[name].dims, values.astype(str))})
    if kind == 2:
        return data.transpose()
    if kind == 3:
        return data.isel({str(rng.choice(list(map(str, data.dims)))): slice(0, 0)})
    if kind == 4:
        return data.assign({name: data[name].astype(str(rng.choice(["complex128", "float16", "int8", "bool"])))})
    if kind == 5:
        return data.assign_attrs({str(rng.choice(["radio", "estimator"])): VALUES[int(rng.integers(len(VALUES)))]})
    odd = rng.choice([np.nan, np.inf, -np.inf, 1e308, 1e30, -1.0, 1e6], size=values.shape)
    where = rng.random(values.shape) < rng.choice([0.1, 1.0])
    return data.assign({name: (data[name].dims, np.where(where, odd, values))})


def is_posterior(found: Any) -> None:
    """Probabilities are finite and sum to 1."""
    values = np.asarray(found)
    assert np.isfinite(values).all(), "a posterior that is not finite"
    assert (values >= 0).all(), "a negative probability"
    assert np.allclose(values.sum(axis=-1), 1), f"a posterior with sum {values.sum(axis=-1)}"


def _is_located(found: xr.Dataset) -> None:
    is_posterior(found.posterior)
    assert np.isfinite([found.map_x, found.map_y]).all(), "a place that is not finite"


def _are_paths(found: xr.Dataset) -> None:
    valid = found.valid.values
    for name in ("aoa", "delay", "gain", "snr_db"):
        assert np.isfinite(found[name].values[valid]).all(), f"{name} is not finite"


def _are_samples(found: xr.Dataset) -> None:
    assert np.isfinite(found.iq.values).all(), "samples that are not finite"


def _datasets(name: str, call: Any, check: Any) -> Reader:
    """A function of traced and observed paths, of which one is odd."""

    def hostile(rng: Generator, _: Path) -> list[Any]:
        given: list[Any] = [_paths(), _observed()]
        which = int(rng.integers(2))
        given[which] = odd_dataset(given[which], rng)
        return given

    return Reader(name, lambda _: [_paths(), _observed()], hostile, lambda given: call(*given), check)


def _locate(iq: Any, xy: Any, noise: Any, spacing: Any) -> Any:
    return locus.locate(_room(), _POSE, iq, xy, twin="image", noise_power=noise, spacing=spacing)


def _walk(iq: Any, poses: Any, times: Any, speed: Any) -> Any:
    return locus.locate(_room(), poses, iq, _XY, twin="image", times=times, speed=speed)


def _observe(paths: Any) -> Any:
    return locus.observe(paths, np.random.default_rng(0))


def _hostile_transmitter(rng: Generator, _: Path) -> Any:
    return odd_dataset(_paths().isel(candidate=1), rng)


def _walked(paths: Any, observed: Any) -> Any:
    walk = locus.Walk(_room())
    walk.add(paths, observed)
    return walk.posterior()


def _settings(kind: Any) -> Reader:
    """A dataclass of settings with one odd field."""
    names = [field.name for field in dataclasses.fields(kind)]

    def hostile(rng: Generator, _: Path) -> dict[str, Any]:
        return {names[int(rng.integers(len(names)))]: odd_argument(rng)}

    return Reader(f"settings {kind.__name__}", lambda _: {}, hostile, lambda given: kind(**given), is_finite)


READERS = [
    function_reader("locate", (IQ, _XY, None, None), _locate, _is_located),
    function_reader("locate along a walk", (np.stack([IQ, IQ]), [_POSE, _POSE], [0.0, 1.0], 1.0), _walk, _is_located),
    function_reader("trace", (_XY,), lambda xy: _twin().trace(_room(), _POSE, xy), _are_paths),
    Reader("observe", lambda _: _paths().isel(candidate=1), _hostile_transmitter, _observe, _are_samples),
    _datasets("path set", lambda paths, observed: locus.PathSet().posterior(paths, observed), is_posterior),
    _datasets("network", lambda paths, observed: _scorer().posterior(paths, observed), is_posterior),
    _datasets("walk", _walked, is_posterior),
    function_reader(
        "prior", (np.ones(4),), lambda prior: locus.PathSet().posterior(_paths(), _observed(), prior), is_posterior
    ),
    function_reader("name of a run", ("paper",), locus.open_run),
    function_reader("name of weights", ("paper", "locus_dt"), locus.load_scorer),
    function_reader("name of a twin", ("image",), locus.make_twin),
    function_reader("grid of candidates", (7,), lambda number: candidates.grid_candidates(_room(), _POSE, number)),
    *(_settings(kind) for kind in (Room, Training, FeatureOptions, locus.TwinOptions, locus.EstimatorOptions)),
]
