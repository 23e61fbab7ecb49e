"""Counts and names from a run in, phrases of the prose that agree with them, out."""

from __future__ import annotations

from collections.abc import Sequence

_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def count(number: int) -> str:
    """A count: in words below ten (``none`` for zero), otherwise in digits."""
    return _SMALL[number] if number < len(_SMALL) else f"{number:,}"


def all_but(missing: int, total: int) -> str:
    """What is found if some are missing: ``all 300``, or ``all but one of the 300``."""
    return f"all but {count(missing)} of the {total:,}" if missing else f"all {total:,}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a row, with a word before the last: ``a, b and c``."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def inside_band(names: Sequence[str], total: int) -> str:
    """Sentence that names the curves, of ``total``, which stay inside their bands."""
    if not names:
        return f"None of the {count(total)} curves stays inside its band throughout."
    if len(names) == total > 2:
        return f"All {count(total)} curves stay inside their bands throughout."
    if len(names) == 1:
        return f"Of the {count(total)} curves, only that of the {names[0]} stays inside its band throughout."
    return f"Of the {count(total)} curves, {count(len(names))} stay inside their bands throughout: {listed(names)}."


def times(ratio: float) -> str:
    """A ratio as a factor: ``180 ×``, or with a decimal if it is small."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.1f} ×"


def trained_on(ours: int, theirs: int) -> str:
    """Number of rooms for training and validation, of this run and of the paper."""
    if ours == theirs:
        return f"the training splits of both have {ours:,} rooms"
    return f"the paper’s training split has {theirs:,} rooms, that of this run {ours:,}"


def pieces(numbers: Sequence[int]) -> str:
    """Numbers of separate pieces, of one thing after the other: ``each in one piece``, or ``in 2, 1 and 3 pieces``."""
    if set(numbers) == {1}:
        return "each in one piece"
    return f"in {listed([str(number) for number in numbers])} pieces"
