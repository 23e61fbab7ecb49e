"""Timeouts of tests, extended when the machine is busy with other work."""

from __future__ import annotations

import os


def patience(seconds: float) -> float:
    """Timeout [s] for something that takes at most ``seconds`` on an idle machine."""
    return seconds * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))
