"""Cases: groups depend only on seed, split and index, and are computed part by part on demand."""

from __future__ import annotations

import numpy as np
import pytest

from locus import load_config
from locus.experiment import splits
from locus.experiment.case import Case
from locus.room.layout import Layout
from locus.settings.config import Config, Evaluation
from locus.twin.image import ImageTwin

CONFIG = load_config(
    "smoke", {"training.num_layouts": 150, "training.num_test_layouts": 150, "evaluation.num_layouts": 150}
)


def outline(split: str, index: int) -> tuple[float, ...]:
    return tuple(Case(CONFIG, split, index).layout.walls.ravel())


def test_no_layout_is_in_two_splits_and_none_comes_twice() -> None:
    seen = [outline(split, index) for split in ("train", "test", "eval_random", "check") for index in range(150)]
    assert len(set(seen)) == len(seen)


def test_both_evaluation_sets_share_rooms_and_poses_but_not_candidates() -> None:
    for index in range(5):
        random, grid = (Case(CONFIG, split, index) for split in ("eval_random", "eval_grid"))
        assert np.array_equal(random.layout.walls, grid.layout.walls)
        assert random.pose == grid.pose
        step = 100 / 30
        np.testing.assert_allclose(grid.candidates / step, np.round(grid.candidates / step), atol=1e-9)
        assert not np.allclose(random.candidates / step, np.round(random.candidates / step), atol=1e-3)


def test_a_group_depends_on_seed_split_and_index_alone() -> None:
    alone = Case(CONFIG, "train", 7)
    for index in (3, 9, 7):
        again = Case(CONFIG, "train", index)
    assert np.array_equal(alone.candidates, again.candidates)
    other = load_config("smoke", {"seed": 1})
    assert not np.array_equal(Case(other, "train", 7).layout.walls, alone.layout.walls)
    # The number of layouts does not change the individual layouts.
    longer = load_config("smoke", {"training.num_layouts": 5000})
    assert np.array_equal(Case(longer, "train", 7).candidates, alone.candidates)


def test_paper_sizes() -> None:
    paper = load_config("paper")
    sizes = {split: (splits.num_groups(paper, split), splits.num_candidates(paper, split)) for split in splits.SPLITS}
    assert sizes == {"train": (8000, 500), "test": (2000, 500), "eval_random": (2000, 1000), "eval_grid": (2000, 696)}
    grid = Case(paper, "eval_grid", 0)
    assert len(np.unique(grid.candidates, axis=0)) == 696
    assert grid.layout.is_free(grid.candidates).all()


def test_unknown_split_and_too_many_grid_points_are_named() -> None:
    with pytest.raises(ValueError, match=r"Expected 'split' in \['train', .*\], got 'trian'"):
        splits.num_groups(CONFIG, "trian")
    with pytest.raises(ValueError, match=r"num_grid_candidates' at most 'room.min_feasible' = 696, got 700"):
        Config(evaluation=Evaluation(num_grid_candidates=700))
    with pytest.raises(ValueError, match=r"Expected 'twin.train' in \['sionna', 'image'\], got 'mirror'"):
        load_config("smoke", {"twin.train": "mirror"})


def test_parts_are_made_when_asked_for_and_shared_by_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, traced = [], []
    layout, trace = Layout.random, ImageTwin.trace
    monkeypatch.setattr(Layout, "random", lambda *given: drawn.append(1) or layout(*given))
    monkeypatch.setattr(ImageTwin, "trace", lambda self, *given: traced.append(len(given[2])) or trace(self, *given))
    case = Case(load_config("smoke", {"twin.evaluation": "image"}), "eval_grid", 0)
    assert (drawn, traced) == ([], [])
    count = len(case.candidates)
    assert (drawn, traced) == ([1], [])
    assert case.observed.sizes["snapshot"] == len(case.truth)
    assert (drawn, traced) == ([1], [count])
    assert len(case.off_list().snapshots.iq) == len(case.moved(0.3, (0.1, 0.3)).snapshots.iq)
    assert drawn == [1], "the room is drawn once"
    assert traced.count(count) == 1, "and its candidates are traced once"


def test_moved_transmitters_are_so_far_off_in_the_same_noise() -> None:
    case = Case(load_config("smoke", {"twin.evaluation": "image"}), "eval_random", 1)
    near, far = (case.moved(distance, (1.0, 3.0)) for distance in (1.0, 3.0))
    steps = [one.transmitters.position - case.transmitters.position for one in (near, far)]
    np.testing.assert_allclose(steps[1], 3 * steps[0], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(steps[0], axis=1), 1)
    for one in (near, far):
        assert case.layout.is_free(one.transmitters.position).all()
        np.testing.assert_array_equal(one.snapshots.sync_offset, case.snapshots.sync_offset)
        distance = np.linalg.norm(one.transmitters.position[:, None] - case.candidates, axis=-1)
        np.testing.assert_array_equal(one.truth, distance.argmin(axis=1))
    still = case.moved(0.0, (0.0,))
    np.testing.assert_array_equal(still.truth, case.truth)
    np.testing.assert_allclose(still.snapshots.iq, case.snapshots.iq, atol=1e-5 * float(abs(case.snapshots.iq).max()))
