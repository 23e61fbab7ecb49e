"""The paper's printed results, read from ``paper.yml`` into a labelled Dataset for comparison."""

from __future__ import annotations

from importlib import resources
from typing import Any

import xarray as xr
import yaml

RECIPE = 1

_QUANTITIES = {
    "loss": ("nat", "adjusted loss", 1.0),
    "gain": ("1", "gain over a uniform guess", 1.0),
    "ratio": ("1", "share of the largest possible log gain", 0.01),
}


def printed() -> xr.Dataset:
    """Dataset with ``loss`` [nat], ``gain``, ``ratio`` (evaluation, method) and ``num_candidates`` (evaluation)."""
    text = (resources.files(__package__) / "paper.yml").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = yaml.safe_load(text)
    counts = {evaluation: values.pop("num_candidates") for evaluation, values in table.items()}
    names = list(next(iter(table.values())))
    columns = {
        quantity: (
            ("evaluation", "method"),
            [[factor * row[name][quantity] for name in names] for row in table.values()],
            {"units": units, "long_name": f"{meaning}, as printed"},
        )
        for quantity, (units, meaning, factor) in _QUANTITIES.items()
    }
    described = {"units": "1", "long_name": "number of candidates"}
    return xr.Dataset(
        {**columns, "num_candidates": ("evaluation", list(counts.values()), described)},
        coords={"evaluation": list(table), "method": names},
    )
