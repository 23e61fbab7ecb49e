"""The torch device, chosen here and nowhere else."""

from __future__ import annotations

import torch


def device() -> torch.device:
    """The GPU if torch finds one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
