"""Groups: a seed, a split and an index in; a layout, a receiver pose and its candidates out.

A group depends on these three alone, so that any one can be made again, in any order, on any machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from locus.config import Config
from locus.layout import MIN_DISTANCE, Layout, Pose

# Streams of random numbers. Splits with different streams share no layout; both evaluation splits share theirs.
_ROOMS = {"train": 0, "test": 1, "eval_random": 2, "eval_grid": 2, "check": 3}
_LAYOUT, _CANDIDATES, _SNAPSHOT, _ERRORS = 0, 1, 2, 3

SPLITS = ("train", "test", "eval_random", "eval_grid")
"""Splits of the experiment; ``check`` is for comparing twins."""


class Group(NamedTuple):
    """One layout, one receiver pose, and the candidates (candidate, 2) [m]."""

    layout: Layout
    pose: Pose
    candidates: NDArray[np.float64]


def check_split(split: str) -> None:
    """Raise a ValueError unless ``split`` is one of the experiment's."""
    if split not in SPLITS:
        raise ValueError(f"Expected 'split' in {list(SPLITS)}, got {split!r}")


def num_groups(config: Config, split: str) -> int:
    """Number of groups of a split."""
    if split == "check":
        return config.twin_check.num_layouts
    check_split(split)
    if split.startswith("eval"):
        return config.evaluation.num_layouts
    return config.training.num_layouts if split == "train" else config.training.num_test_layouts


def num_candidates(config: Config, split: str) -> int:
    """Number of candidates in each group of a split."""
    if split == "check":
        return config.twin_check.num_candidates
    check_split(split)
    if split == "eval_grid":
        return config.evaluation.num_grid_candidates
    return config.evaluation.num_candidates if split == "eval_random" else config.training.num_candidates


def num_snapshots(config: Config, split: str) -> int:
    """Number of snapshots of each group of a split."""
    check_split(split)
    return config.evaluation.num_snapshots if split.startswith("eval") else config.training.num_snapshots


def snapshot_rng(
    config: Config, split: str, index: int, snapshot: int, *, off_list: bool = False
) -> np.random.Generator:
    """Random numbers of one snapshot of one group: its true transmitter, sync offset, phase and noise."""
    kind = 2 if off_list else int(split == "eval_grid")
    return np.random.default_rng([config.seed, _ROOMS[split], index, _SNAPSHOT, kind, snapshot])


def error_rng(config: Config, split: str, index: int) -> np.random.Generator:
    """Random numbers of what a wrong twin of a group believes."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _ERRORS])


def backend(config: Config, split: str) -> str:
    """Twin that traces a split."""
    return config.twin.evaluation if split.startswith("eval") else config.twin.train


def draw(config: Config, split: str, index: int) -> Group:
    """Group number ``index`` of a split."""
    count = num_candidates(config, split)
    stream = [config.seed, _ROOMS[split], index]
    rng = np.random.default_rng([*stream, _LAYOUT])
    layout = Layout.random(rng, config.room)
    pose = Pose.random(layout, rng)
    rng = np.random.default_rng([*stream, _CANDIDATES, split == "eval_grid"])
    if split == "eval_grid":
        grid = away_from(pose, layout.grid(config.room.grid_points))
        return Group(layout, pose, grid[np.sort(rng.choice(len(grid), count, replace=False))])
    candidates = np.empty((0, 2))
    while len(candidates) < count:
        candidates = np.concatenate([candidates, away_from(pose, layout.sample(count, rng))])
    return Group(layout, pose, candidates[:count])


def draw_position(layout: Layout, pose: Pose, rng: np.random.Generator) -> NDArray[np.float64]:
    """A point of the free space, far enough from the receiver for a twin to trace, (2)."""
    while True:
        found = away_from(pose, layout.sample(1, rng))
        if len(found):
            return np.asarray(found[0])


def away_from(pose: Pose, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points far enough from the receiver for a twin to trace."""
    return points[np.hypot(points[:, 0] - pose.x, points[:, 1] - pose.y) >= MIN_DISTANCE]
