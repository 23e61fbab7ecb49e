"""How long a test waits before it calls something stuck: longer on a machine that is busy with other things."""

from __future__ import annotations

import os


def patience(seconds: float) -> float:
    """Seconds to wait for what takes so many on an idle machine at the very most."""
    return seconds * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))
