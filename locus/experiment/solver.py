"""Sionna's own solver: ways to call it, in; the paths that it misses in random rooms, and its time per candidate, out.

Walls and receivers are set up as in Sionna's tutorials, and all paths are compared with those of the exact twin. The
number of receivers per call matters: the solver recognises the chains of walls that it has already found by their
hashes, in a table that all receivers of a call share, and drops a chain that falls on the entry of another.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import ingredients, netcdf
from locus.experiment.artifact import Result, Workers, here, silent
from locus.experiment.case import Case
from locus.experiment.twin_agreement import compare_paths
from locus.judge.bootstrap import described, means, resample, with_interval
from locus.settings.checks import check_range
from locus.settings.config import Config, TwinCheck
from locus.twin import Twin, make_twin

RECIPE = 1

NUM_LAYOUTS = 10
"""Number of rooms: the first of those in which chapter 1 compares the twins."""
NUM_CANDIDATES = 500
"""Number of candidates per room."""
STEP = 10
"""Every tenth candidate is compared, to save time. Only these are traced, unless a call takes more receivers than there
are of them: it then traces all candidates."""

MAX_DETERMINISTIC = 50_000_000
"""Largest number of rays times receivers in a deterministic call at depth 3, which then takes 5 GiB of memory."""
BYTES_PER_HASH = 8
"""Memory that a deterministic call keeps for each ray, reflection and receiver, at least."""

OURS = "ours"
"""Name of the Sionna twin of this project among the calls."""


@dataclass(frozen=True)
class Call:
    """One way to call Sionna's solver."""

    num_rays: int
    """Sionna's ``samples_per_src``."""
    num_receivers: int
    """Number of receivers per call."""
    deterministic: bool = False
    """Sionna's option of this name."""

    def __post_init__(self) -> None:
        check_range("num_rays", self.num_rays, 1)
        check_range("num_receivers", self.num_receivers, 1)
        if self.deterministic:
            check_range("num_rays * num_receivers", self.num_rays * self.num_receivers, 1, MAX_DETERMINISTIC)

    @property
    def name(self) -> str:
        """Name in the file."""
        text = f"{self.num_rays} rays, {self.num_receivers} receivers"
        return f"{text}, deterministic" if self.deterministic else text


CALLS = (
    Call(100_000, 500),
    Call(100_000, 500, deterministic=True),
    Call(100_000, 50),
    Call(100_000, 50, deterministic=True),
    Call(1_000_000, 500),
    Call(1_000_000, 50),
    Call(1_000_000, 50, deterministic=True),
    Call(1_000_000, 5),
    Call(1_000_000, 5, deterministic=True),
    Call(10_000_000, 500),
    Call(10_000_000, 5),
    Call(10_000_000, 5, deterministic=True),
)
"""The calls compared: all candidates at once, and batches small enough for the memory of deterministic calls."""


class SolverCheck(Result):
    """``results/solver.nc`` of a run: counts of paths and time of every call in every room, (room, call)."""

    stem = "solver"

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "paths": {name: ingredients.of_paths(self._config, "check", name) for name in ("image", "sionna")},
            "num_layouts": NUM_LAYOUTS,
            "step": STEP,
            "calls": [asdict(call) for call in CALLS],
            "recipes": {"solver": RECIPE},
        }

    def make(self, workers: Workers = here) -> None:  # noqa: ARG002 - nothing else runs while calls are timed
        """Compare all calls, room by room, in this process; finished rooms are kept."""
        compared = contenders(self._config)
        with tqdm(total=NUM_LAYOUTS * len(compared), desc="calling Sionna's solver", unit="call") as bar:
            for index in range(NUM_LAYOUTS):
                if netcdf.attributes_of(self._block(index)).get("hash") == self.hash():
                    bar.update(len(compared))
                else:
                    room = compare_room(self._config, index, compared, bar.update)
                    netcdf.save(self._block(index), room, {"hash": self.hash()})
        rooms = [netcdf.load(self._block(index)).drop_attrs(deep=False) for index in range(NUM_LAYOUTS)]
        self.save(xr.concat(rooms, "room"), num_candidates=NUM_CANDIDATES, max_depth=self._config.twin.max_depth)
        shutil.rmtree(self._blocks)

    @property
    def _config(self) -> Config:
        """Settings of the run, with more paths than any candidate has."""
        config = self.run.config
        twin = replace(config.twin, max_paths=max(64, config.twin.max_paths))
        return replace(config, twin=twin, twin_check=TwinCheck(NUM_LAYOUTS, NUM_CANDIDATES))

    @property
    def _blocks(self) -> Path:
        return self.run.results / "blocks" / self.stem

    def _block(self, index: int) -> Path:
        return self._blocks / f"{index:03d}.nc"


class Contender(NamedTuple):
    """A twin to be compared with the exact one."""

    twin: Twin
    step: int
    """Traces every n-th candidate; 1 for all."""


def contenders(config: Config) -> dict[str, Contender]:
    """One twin per call of Sionna's solver, and the Sionna twin of this project, by name."""
    ours = make_twin("sionna", config.radio, config.twin)  # first, as it finds libLLVM
    from locus.twin.straightforward import StraightforwardTwin

    found = {}
    for call in CALLS:
        options: dict[str, Any] = {"deterministic": call.deterministic, "num_receivers": call.num_receivers}
        twin = StraightforwardTwin(config.radio, config.twin, call.num_rays, **options)
        found[call.name] = Contender(twin, 1 if call.num_receivers > NUM_CANDIDATES // STEP else STEP)
    return {**found, OURS: Contender(ours, 1)}


def compare_room(
    config: Config, index: int, compared: dict[str, Contender], progress: Callable[[], Any] = silent
) -> xr.Dataset:
    """Compare twins with the exact one in one room of the split ``check``. ``progress`` is called after each.

    Returns:
        Dataset (call) with the number of ``missing`` and ``extra`` paths, and of both kinds within 1 cm of a corner,
        ``at_corner``, which are not among the former; ``seconds`` per candidate; ``num_paths`` of the exact twin.
    """
    exact = make_twin("image", config.radio, config.twin)
    case = Case(config, "check", index, exact)
    known = case.trace(case.candidates[::STEP])
    counts, seconds = [], []
    for twin, step in compared.values():
        candidates = case.candidates[::step]
        start = time.perf_counter()
        found = twin.trace(case.layout, case.pose, candidates)
        seconds.append((time.perf_counter() - start) / len(candidates))
        one = compare_paths(case.layout, found.isel(candidate=slice(None, None, STEP // step)), known)
        counts.append([one.missing, one.extra, one.missing_at_corner + one.extra_at_corner])
        progress()
    missing, extra, at_corner = np.array(counts).T
    return xr.Dataset(
        {
            "num_paths": ((), *described(int(known.valid.sum()), "1", "paths of the exact twin")),
            "missing": ("call", *described(missing, "1", "paths not found")),
            "extra": ("call", *described(extra, "1", "paths that do not exist")),
            "at_corner": ("call", *described(at_corner, "1", "differences within 1 cm of a corner")),
            "seconds": ("call", *described(seconds, "s", "time per candidate")),
        },
        {"call": list(compared)},
    )


def summary(data: xr.Dataset) -> xr.Dataset:
    """Counts over all rooms, ``missing_share`` of all paths with its interval over rooms, and typical times.

    ``seconds`` per candidate and ``slowdown``, the time relative to that of our twin in the same room, are medians over
    rooms: what is compiled once, in the first room, does not count; kernels that a call compiles in every room do.
    """
    counts = data[["missing", "num_paths"]].transpose("room", ...)
    index, weights = resample(np.arange(data.sizes["room"]), data.sizes["room"], np.random.default_rng(0), 2000)
    draws = means(np.column_stack([counts.missing, counts.num_paths]).astype(float), index, weights)
    shares = draws[:, :-1] / draws[:, -1:]
    slowdown = (data.seconds / data.seconds.sel(call=OURS)).median("room")
    return xr.Dataset(
        {
            **with_interval("missing_share", ("call",), shares, "1", "share of paths not found"),
            **{name: data[name].sum("room") for name in ("num_paths", "missing", "extra", "at_corner")},
            "seconds": data.seconds.median("room"),
            "slowdown": ("call", *described(slowdown.values, "1", "time relative to our twin")),
        },
        {"call": data.call},
    )
