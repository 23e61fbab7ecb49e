"""Counts and names from a run in, phrases of the prose that agree with them out."""

from __future__ import annotations

from collections.abc import Sequence

_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def count(number: int) -> str:
    """A number of things: in letters below ten, ``none`` for zero."""
    return _SMALL[number] if number < len(_SMALL) else f"{number:,}"


def all_but(missing: int, total: int) -> str:
    """What is found if some are missing: ``all 300``, or ``all but one of the 300``."""
    return f"all but {count(missing)} of the {total:,}" if missing else f"all {total:,}"


def listed(names: Sequence[str]) -> str:
    """Names in a row: ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def inside_band(names: Sequence[str], total: int) -> str:
    """Sentence that names the curves, of ``total``, which stay inside their bands."""
    if not names:
        return f"None of the {count(total)} curves stays inside its band throughout."
    if len(names) == total > 2:
        return f"All {count(total)} curves stay inside their bands throughout."
    stays = "only one stays inside its band" if len(names) == 1 else f"{count(len(names))} stay inside their bands"
    return f"Of the {count(total)} curves, {stays} throughout: {listed(names)}."
