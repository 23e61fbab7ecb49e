"""Splits of the experiment: their sizes, the twin that traces each, and the random generators of each group.

A group depends only on (seed, split, index), so it can be recomputed alone, in any order, on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from locus.settings.config import Config

# Random streams. Splits with different streams share no layouts; the two evaluation splits share theirs.
_ROOMS = {"train": 0, "test": 1, "eval_random": 2, "eval_grid": 2, "check": 3}
_LAYOUT, _CANDIDATES, _SNAPSHOT, _ERRORS, _PHASES, _IDEAL, _WORLDS, _WALK = 0, 1, 2, 3, 4, 5, 6, 7
_FURNITURE, _SURVEY = 20, 21

SPLITS = ("train", "test", "eval_random", "eval_grid")
"""Splits of the experiment; the extra split ``check`` compares twins."""


def check_split(split: str) -> None:
    """Raise a ValueError unless ``split`` is in ``SPLITS``."""
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
    """Number of snapshots in each group of a split."""
    check_split(split)
    return config.evaluation.num_snapshots if split.startswith("eval") else config.training.num_snapshots


def validation_groups(config: Config) -> range:
    """Groups of the train split that validate during training, the last ones."""
    training = config.training
    return range(training.num_layouts - training.num_validation_layouts, training.num_layouts)


def backend(config: Config, split: str) -> str:
    """Name of the twin that traces a split."""
    return config.twin.evaluation if split.startswith("eval") else config.twin.train


def layout_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the layout and the receiver pose of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _LAYOUT])


def candidate_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the candidates of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _CANDIDATES, split == "eval_grid"])


def snapshot_rngs(config: Config, split: str, index: int, *, off_list: bool = False) -> list[Generator]:
    """One generator per snapshot of a group; it draws the transmitter, then sync offset, phase and noise."""
    kind = 2 if off_list else int(split == "eval_grid")
    stream = [config.seed, _ROOMS[split], index, _SNAPSHOT, kind]
    return [np.random.default_rng([*stream, snapshot]) for snapshot in range(num_snapshots(config, split))]


def error_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the errors in a wrong twin of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _ERRORS])


def phase_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the phases and offsets that sample the phase-free limit of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _PHASES])


def ideal_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of what an ideal estimator reports of the transmitters of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _IDEAL])


def world_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the worlds that are sampled around the twin of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _WORLDS])


def walk_rng(config: Config, split: str, index: int, part: int) -> Generator:
    """Generator of one part of a walk through the room of a group: poses, transmitter, ties, noise of a snapshot."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _WALK, part])


def furniture_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the furniture in the room of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _FURNITURE])


def survey_rng(config: Config, split: str, index: int) -> Generator:
    """Generator of the errors of a robot that maps the room of a group."""
    return np.random.default_rng([config.seed, _ROOMS[split], index, _SURVEY])


def tie_rng(config: Config, split: str, index: int, *, off_list: bool = False) -> Generator:
    """Generator that ranks the truth among equally probable candidates."""
    return np.random.default_rng([config.seed, SPLITS.index(split), index, int(off_list)])
