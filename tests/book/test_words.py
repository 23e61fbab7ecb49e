"""Phrases agree with their counts."""

from locus.book import words


def test_counts_are_letters_while_small() -> None:
    assert [words.count(number) for number in (0, 1, 9, 10, 60754)] == ["none", "one", "nine", "10", "60,754"]


def test_what_is_found() -> None:
    assert words.all_but(0, 60754) == "all 60,754"
    assert words.all_but(1, 60754) == "all but one of the 60,754"
    assert words.all_but(12, 60754) == "all but 12 of the 60,754"


def test_names_in_a_row() -> None:
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(["a", "b", "c"]) == "a, b and c"


def test_verbs_agree_with_the_number_of_curves() -> None:
    assert words.inside_band([], 9) == "None of the nine curves stays inside its band throughout."
    assert words.inside_band(["A"], 9) == "Of the nine curves, only that of the A stays inside its band throughout."
    assert words.inside_band(["A", "B"], 9) == "Of the nine curves, two stay inside their bands throughout: A and B."
    assert words.inside_band(["A", "B", "C"], 3) == "All three curves stay inside their bands throughout."


def test_factors_and_pieces() -> None:
    assert [words.times(ratio) for ratio in (0.42, 9.94, 180.3, 1000.0)] == ["0.4 ×", "9.9 ×", "180 ×", "1,000 ×"]
    assert words.pieces([1, 1, 1]) == "each in one piece"
    assert words.pieces([2, 1, 3]) == "in 2, 1 and 3 pieces"


def test_numbers_of_training_rooms() -> None:
    assert words.trained_on(8000, 8000) == "the training splits of both have 8,000 rooms"
    assert words.trained_on(1200, 8000) == "the paper’s training split has 8,000 rooms, that of this run 1,200"
