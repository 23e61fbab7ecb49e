"""Chooses where torch computes: the only place that does."""

from __future__ import annotations

import torch


def device() -> torch.device:
    """The GPU if torch sees one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
