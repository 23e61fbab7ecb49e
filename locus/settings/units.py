"""Human-readable quantities: durations, file sizes, counts and areas as text."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Duration in a suitable unit, e.g. 4.8 min."""
    limits = {"s": (1, 120), "min": (60, 120), "h": (3600, 48)}
    unit, length = next(((u, n) for u, (n, most) in limits.items() if seconds < most * n), ("days", 86400))
    return _short(seconds / length, unit)


def size(num_bytes: float) -> str:
    """Size in a suitable unit, e.g. 178 GB."""
    units = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6))
    unit, length = next((pair for pair in units if num_bytes >= pair[1]), ("kB", 1e3))
    return _short(num_bytes / length, unit)


def count(number: float) -> str:
    """Count with thousands separators, or in millions, e.g. 140,000 or 8.4 million."""
    return f"{number:,.0f}" if number < 1e6 else f"{number / 1e6:,.1f}".removesuffix(".0") + " million"


def area(square_metres: float) -> str:
    """Number of square metres, e.g. 4,214 or 0.41; callers add the unit."""
    return f"{square_metres:.2g}" if square_metres < 10 else f"{square_metres:,.0f}"


def _short(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
