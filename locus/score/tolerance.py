"""How wrong a twin may be: tolerances of plan, pose and materials in; a mixture of error models out.

A twin that is believed exact is useless once it is wrong by a metre, and one that is believed wrong by a metre wastes
what an exact one tells. So the likelihood is averaged over several components, from an exact twin to one with the full
tolerance; the observation decides between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.settings.checks import check_range

DECIBEL = math.log(10) / 20
"""Relative change of an amplitude per decibel, for small changes."""
MAX_METRES = 1000.0
"""Largest error of plan and position [m]: the side of the largest room."""

_MOST = 1e6  # of any constant: cells, decibels, paths


@dataclass(frozen=True)
class Tolerance:
    """How far the twin may be off. All zero: it is exact. The defaults range from an exact twin to a rough one."""

    plan: float = 1.0
    """Displacement of walls and obstacles [m]."""
    position: float = 1.0
    """Error of the receiver position [m]."""
    heading: float = math.radians(5)
    """Error of the receiver heading [rad]."""
    material_db: float = 2.0
    """Error of each reflection [dB]."""

    def __post_init__(self) -> None:
        check_range("tolerance.plan", self.plan, 0.0, MAX_METRES)
        check_range("tolerance.position", self.position, 0.0, MAX_METRES)
        check_range("tolerance.heading", self.heading, 0.0, math.pi)
        check_range("tolerance.material_db", self.material_db, 0.0, 40.0)


@dataclass(frozen=True)
class Constants:
    """What theory leaves open in the likelihood of path sets.

    The defaults are first guesses; :func:`locus.score.path_set_file.load_constants` reads the fitted values.

    None of them depends on the radio. A resolution cell is :math:`2 / M` in the sine of the angle, with :math:`M`
    antennas, and one sample in delay.
    """

    sine_excess: float = 0.012
    """Error of an estimated sine beyond the Cramér-Rao bound [resolution cells]."""
    delay_excess: float = 0.02
    """Error of an estimated delay beyond the Cramér-Rao bound [resolution cells]."""
    strength_excess_db: float = 0.3
    """Error of an estimated strength beyond the noise [dB]."""
    tail_share: float = 0.08
    """Share of detected paths whose estimate is disturbed by another path."""
    tail_cells: float = 0.2
    """Error of a disturbed sine or delay [resolution cells]."""
    tail_db: float = 6.0
    """Error of a disturbed strength [dB]."""
    merge_cells: float = 0.6
    """Distance at which two paths are reported as one with probability :math:`1 / e` [resolution cells]."""
    miss: float = 0.02
    """Probability that a path above the threshold is not reported."""
    miss_per_metre: float = 0.13
    """What a wrong plan or position adds to it [1/m]: walls block other paths than the twin believes."""
    unknown: float = 0.02
    """Expected number of observed paths that a twin does not trace."""
    unknown_per_metre: float = 0.2
    """What a wrong plan or position adds to it [1/m]."""
    plan_scale: float = 1.0
    """Changes of lengths and angles by a wrong plan, relative to images that move independently of each other."""
    levels: tuple[float, ...] = (0.0, 0.0, 0.3, 1.0)
    """Errors of plan, position and materials that are mixed, relative to the tolerance."""
    compass: tuple[float, ...] = (0.0, 1.0, 0.3, 1.0)
    """Error of the heading that goes with each level, relative to the tolerance."""
    weights: tuple[float, ...] = (0.5, 0.1, 0.2, 0.2)
    """Prior probability of each level, unless obstacles have changed."""
    num_headings: tuple[int, ...] = (1, 3, 1, 3)
    """Number of headings tried at each level, evenly spaced from minus to plus the level's heading error."""
    changed: float = 0.125
    """Prior probability that obstacles of the plan are gone or others have come, if the plan may be wrong at all."""
    changed_miss: float = 0.5
    """Probability that a path above the threshold is not reported, if obstacles have changed."""
    changed_unknown: float = 0.5
    """Expected number of observed paths that the twin does not trace, if obstacles have changed."""
    doubt: float = 0.4
    """Temperature that a twin at the full tolerance adds to 1, for errors shared by several of its paths."""
    false_alarm: float = 0.999
    """False-alarm rate of the estimator that suits the likelihood best."""
    floor: float = 0.015
    """Share of the prior in every posterior, for what no component foresees."""

    def __post_init__(self) -> None:
        for name in (
            "sine_excess",
            "delay_excess",
            "strength_excess_db",
            "tail_cells",
            "merge_cells",
            "miss",
            "unknown",
            "plan_scale",
        ):
            check_range(f"constants.{name}", getattr(self, name), 0.0, _MOST, open_low=True)
        for name in ("tail_db", "miss_per_metre", "unknown_per_metre", "changed_unknown", "doubt"):
            check_range(f"constants.{name}", getattr(self, name), 0.0, _MOST)
        for name in ("tail_share", "miss", "changed", "changed_miss", "floor"):
            check_range(f"constants.{name}", getattr(self, name), 0.0, 0.5)
        check_range("constants.false_alarm", self.false_alarm, 0.0, 0.999, open_low=True)
        parts = (self.levels, self.compass, self.weights, self.num_headings)
        check_range("constants.levels (their number)", len(self.levels), 1, 20)
        if len({len(part) for part in parts}) > 1:
            raise ValueError(
                "Expected as many 'constants.levels' as compass errors, weights and numbers of headings, "
                f"got {', '.join(str(len(part)) for part in parts)}"
            )
        for level, compass, weight, count in zip(*parts, strict=True):
            check_range("constants.levels", level, 0.0, 100.0)
            check_range("constants.compass", compass, 0.0, 100.0)
            check_range("constants.weights", weight, 0.0, open_low=True)
            check_range("constants.num_headings", count, 1, 99)


class Components(NamedTuple):
    """Error models of the mixture, each field (component); the exact twin first."""

    weight: NDArray[np.float64]
    """Prior probability; sums to 1."""
    heading: NDArray[np.float64]
    """Turn that is added to all traced angles [rad]."""
    turn_variance: NDArray[np.float64]
    """Variance of a path's angle about that turn [rad²]."""
    variance: NDArray[np.float64]
    """Variance of the receiver position along any axis [m²]."""
    reflection_variance: NDArray[np.float64]
    """Variance that each reflection adds to the position of an image along any axis [m²]."""
    gain_variance: NDArray[np.float64]
    """Variance that each reflection adds to the relative error of a path's amplitude."""
    miss: NDArray[np.float64]
    """Probability that a path above the threshold is not reported."""
    unknown: NDArray[np.float64]
    """Expected number of observed paths that the twin does not trace."""
    level: NDArray[np.float64]
    """Errors of plan, position and materials, relative to the tolerance; 1 if obstacles have changed."""


def components(tolerance: Tolerance, constants: Constants) -> Components:
    """Mixture of error models for a tolerance.

    A level takes its share of all tolerances at once, but the compass may be wrong alone. The position errs by that
    much in a random direction, which gives half its square as the variance along any axis. A wall that is displaced
    along its normal moves the image of the transmitter by twice as much, also in a random direction relative to the
    path: twice the square per reflection. One component has every wall where the plan has it, but some obstacles are
    gone or new: many paths are blocked, and others appear.
    """
    rows: dict[tuple[float, ...], float] = {}
    kinds = zip(constants.levels, constants.compass, constants.weights, constants.num_headings, strict=True)
    for level, compass, weight, count in kinds:
        turn, plan, position = compass * tolerance.heading, level * tolerance.plan, level * tolerance.position
        num_headings = count if turn > 0 else 1
        step = 2 * turn / (num_headings - 1) if num_headings > 1 else 0.0
        metres = math.hypot(plan, position)
        level = level if tolerance.plan + tolerance.position + tolerance.material_db > 0 else 0.0
        shape = (
            step**2 / 12 if num_headings > 1 else turn**2,  # uniform between neighbours; a single heading covers all
            position**2 / 2,
            2 * (constants.plan_scale * plan) ** 2,
            (DECIBEL * level * tolerance.material_db) ** 2,
            min(constants.miss + constants.miss_per_metre * metres, 0.5),
            constants.unknown + constants.unknown_per_metre * metres,
            level,
        )
        for heading in np.linspace(-turn, turn, num_headings) if num_headings > 1 else (0.0,):
            row = (float(heading), *shape)
            rows[row] = rows.get(row, 0.0) + weight / num_headings  # an exact tolerance makes all levels the same
    if tolerance.plan > 0 and constants.changed > 0:
        row = (0.0, 0.0, 0.0, 0.0, 0.0, constants.changed_miss, constants.changed_unknown, 1.0)
        rows[row] = constants.changed / (1 - constants.changed) * sum(rows.values())
    columns = np.array([(weight, *row) for row, weight in rows.items()])
    columns[:, 0] /= columns[:, 0].sum()
    return Components(*np.ascontiguousarray(columns.T))
