import numpy as np
import pytest

from locus import load_config
from locus.experiment import case
from locus.settings.config import Config, Evaluation

CONFIG = load_config(
    "smoke", {"training.num_layouts": 150, "training.num_test_layouts": 150, "evaluation.num_layouts": 150}
)


def outline(split: str, index: int) -> tuple[float, ...]:
    return tuple(case.draw(CONFIG, split, index).layout.walls.ravel())


def test_no_layout_is_in_two_splits_and_none_comes_twice() -> None:
    seen = [outline(split, index) for split in ("train", "test", "eval_random", "check") for index in range(150)]
    assert len(set(seen)) == len(seen)


def test_both_evaluation_sets_share_rooms_and_poses_but_not_candidates() -> None:
    for index in range(5):
        random, grid = (case.draw(CONFIG, split, index) for split in ("eval_random", "eval_grid"))
        assert np.array_equal(random.layout.walls, grid.layout.walls)
        assert random.pose == grid.pose
        step = 100 / 30
        np.testing.assert_allclose(grid.candidates / step, np.round(grid.candidates / step), atol=1e-9)
        assert not np.allclose(random.candidates / step, np.round(random.candidates / step), atol=1e-3)


def test_a_group_depends_on_seed_split_and_index_alone() -> None:
    alone = case.draw(CONFIG, "train", 7)
    for index in (3, 9, 7):
        again = case.draw(CONFIG, "train", index)
    assert np.array_equal(alone.candidates, again.candidates)
    other = load_config("smoke", {"seed": 1})
    assert not np.array_equal(case.draw(other, "train", 7).layout.walls, alone.layout.walls)
    # A different number of layouts only makes the same experiment longer or shorter.
    longer = load_config("smoke", {"training.num_layouts": 5000})
    assert np.array_equal(case.draw(longer, "train", 7).candidates, alone.candidates)


def test_paper_sizes() -> None:
    paper = load_config("paper")
    sizes = {split: (case.num_groups(paper, split), case.num_candidates(paper, split)) for split in case.SPLITS}
    assert sizes == {"train": (8000, 500), "test": (2000, 500), "eval_random": (2000, 1000), "eval_grid": (2000, 696)}
    grid = case.draw(paper, "eval_grid", 0)
    assert len(np.unique(grid.candidates, axis=0)) == 696
    assert grid.layout.is_free(grid.candidates).all()


def test_unknown_split_and_too_many_grid_points_are_named() -> None:
    with pytest.raises(ValueError, match=r"Expected 'split' in \['train', .*\], got 'trian'"):
        case.num_groups(CONFIG, "trian")
    with pytest.raises(ValueError, match=r"num_grid_candidates' at most 'room.min_feasible' = 696, got 700"):
        Config(evaluation=Evaluation(num_grid_candidates=700))
    with pytest.raises(ValueError, match=r"Expected 'twin.train' in \['sionna', 'image'\], got 'mirror'"):
        load_config("smoke", {"twin.train": "mirror"})
