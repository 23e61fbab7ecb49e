"""Agreement of twins: paths of the same candidates from two twins in; missing and extra paths, and errors, out."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from locus.experiment.case import Case
from locus.room.layout import Layout
from locus.settings.config import Config
from locus.twin import Twin, make_twin
from locus.twin.rays import corner_distance, ray_points, shortest_segment

CORNER = 0.01
"""Paths closer to a corner than this [m] depend on rounding in both twins; they are counted separately."""
SHORT = 0.05
"""Paths with a segment shorter than this [m] are inaccurate in Sionna's single precision; counted separately."""

# Two entries are the same path if they have equal orders and are this close: ten times the error allowed to a twin.
_SAME_ANGLE = 1e-2
_SAME_DELAY = 1e-10


@dataclass(frozen=True)
class Comparison:
    """Agreement of a twin with the exact one; arrays have one entry per matched path."""

    num_paths: int
    """Number of paths of the exact twin."""
    missing: int
    extra: int
    missing_at_corner: int
    extra_at_corner: int
    angle_error: NDArray[np.float64]
    """Difference of angles of arrival [rad]."""
    delay_error: NDArray[np.float64]
    """Difference of delays [s]."""
    gain_error_db: NDArray[np.float64]
    """Difference of gains [dB]."""
    phase_error: NDArray[np.float64]
    """Difference of phases [rad], carrier phase included."""
    short: NDArray[np.bool_]
    """Whether the path has a segment shorter than 5 cm."""

    def __add__(self, other: Comparison) -> Comparison:
        def join(mine: Any, theirs: Any) -> Any:
            return mine + theirs if isinstance(mine, int) else np.concatenate([mine, theirs])

        return Comparison(*(join(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))

    @property
    def missing_share(self) -> float:
        """Paths away from corners that the twin did not find, as a share of all paths."""
        return self.missing / self.num_paths

    @property
    def corner_share(self) -> float:
        """Missing and extra paths at corners, as a share of all paths."""
        return (self.missing_at_corner + self.extra_at_corner) / self.num_paths

    def summary(self) -> str:
        """Readable summary, one line per quantity."""
        long = self.gain_error_db[~self.short]
        corner = self.missing_at_corner + self.extra_at_corner
        lines = [
            f"paths of the exact twin         {self.num_paths:,}",
            f"missing                         {self.missing} ({100 * self.missing_share:.4f} %)",
            f"extra                           {self.extra}",
            f"missing or extra at corners     {corner} (1 in {self.num_paths / corner:,.0f})"
            if corner
            else "missing or extra at corners     0",
            f"largest angle error             {self.angle_error.max():.1e} rad",
            f"largest delay error             {self.delay_error.max():.1e} s",
            f"gain within 0.1 dB              {100 * np.mean(long < 0.1):.3f} %, largest error {long.max():.3f} dB",
            f"phase error, median             {np.median(self.phase_error):.1e} rad",
        ]
        if self.short.any():
            error = self.gain_error_db[self.short].max()
            lines.append(f"with a segment under 5 cm       {self.short.sum()}, largest gain error {error:.3f} dB")
        return "\n".join(lines)


def compare_paths(layout: Layout, found: xr.Dataset, exact: xr.Dataset) -> Comparison:
    """Compare two twins on the same candidates, path by path.

    Trace both with a ``max_paths`` that no candidate reaches, so that no list of paths is truncated.

    Raises:
        ValueError: a candidate has ``max_paths`` paths.
    """
    a, b = ({name: data[name].values for name in ("aoa", "delay", "gain", "order", "valid")} for data in (found, exact))
    for data in (a, b):
        if data["valid"].all(axis=1).any():
            raise ValueError(f"Expected 'max_paths' above the number of paths, got {data['valid'].shape[1]}; raise it")
    angle = np.abs(np.angle(np.exp(1j * (a["aoa"][:, :, None] - b["aoa"][:, None, :]))))
    delay = np.abs(a["delay"][:, :, None] - b["delay"][:, None, :])
    cost = angle / _SAME_ANGLE + delay / _SAME_DELAY
    same = (angle < _SAME_ANGLE) & (delay < _SAME_DELAY) & (a["order"][:, :, None] == b["order"][:, None, :])
    cost[~(same & a["valid"][:, :, None] & b["valid"][:, None, :])] = np.inf

    # Two paths match if each is the closest to the other.
    best_b, best_a = cost.argmin(axis=2), cost.argmin(axis=1)
    mutual = np.take_along_axis(best_a, best_b, axis=1) == np.arange(cost.shape[1])
    mutual &= np.isfinite(cost.min(axis=2))
    row, i = np.nonzero(mutual)
    j = best_b[row, i]
    matched = np.zeros_like(b["valid"])
    matched[row, j] = True
    missing, extra = b["valid"] & ~matched, a["valid"] & ~mutual

    points_b = ray_points(layout, exact)
    missing_corner = missing & (corner_distance(layout, points_b) < CORNER)
    # Rays along the angle in single precision, and rays aimed at the candidate: near a corner, either may miss it.
    drawn, aimed = (corner_distance(layout, ray_points(layout, found, aimed=aim)) for aim in (False, True))
    extra_corner = extra & (np.minimum(drawn, aimed) < CORNER)
    ratio = a["gain"][row, i] / b["gain"][row, j]
    return Comparison(
        num_paths=int(b["valid"].sum()),
        missing=int((missing & ~missing_corner).sum()),
        extra=int((extra & ~extra_corner).sum()),
        missing_at_corner=int(missing_corner.sum()),
        extra_at_corner=int(extra_corner.sum()),
        angle_error=angle[row, i, j],
        delay_error=delay[row, i, j],
        gain_error_db=np.abs(20 * np.log10(np.abs(ratio))),
        phase_error=np.abs(np.angle(ratio)),
        short=shortest_segment(points_b)[row, j] < SHORT,
    )


def time_group(twin: Twin, config: Config) -> float:
    """Time [s] that ``twin`` takes for one random room; another is traced first, so that compilation is not timed."""
    _ = Case(config, "check", 0, twin).paths
    case = Case(config, "check", 1, twin)
    candidates = case.candidates
    start = time.perf_counter()
    case.trace(candidates)
    return time.perf_counter() - start


def compare_on_random_rooms(twin: Twin, config: Config) -> Comparison:
    """Compare a twin with the exact one on the random rooms and candidates of ``config.twin_check``."""
    exact = make_twin("image", twin.radio, twin.options)
    total = None
    for index in tqdm(range(config.twin_check.num_layouts), desc="rooms", disable=None):
        case = Case(config, "check", index, twin)
        one = compare_paths(case.layout, case.paths, exact.trace(case.layout, case.pose, case.candidates))
        total = one if total is None else total + one
    assert total is not None  # twin_check.num_layouts is at least 1
    return total
