"""The paper's printed table: complete, and consistent with its own definitions."""

import numpy as np

from locus.book.paper import printed
from locus.score.weight_files import METHODS


def test_printed_values_are_those_of_every_method_on_both_sets() -> None:
    table = printed()
    assert list(table.method.values) == list(METHODS)
    assert dict(zip(table.evaluation.values, table.num_candidates.values, strict=True)) == {"grid": 696, "random": 1000}


def test_printed_gain_and_ratio_follow_from_the_printed_loss() -> None:
    table = printed()  # eq. (25), to the digits that are printed
    np.testing.assert_allclose(table.gain, np.exp(-table.loss), atol=0.006)
    ratio = (-table.loss / np.log(table.num_candidates)).transpose(*table.ratio.dims)
    np.testing.assert_allclose(table.ratio, ratio, atol=0.00006)
