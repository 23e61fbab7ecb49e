"""Networks for another radio: recorded measurements in, values for its page out."""

from __future__ import annotations

import itertools
import json
from typing import Any

from locus.experiment.run import repository
from locus.settings.profiles import load_config


def numbers() -> dict[str, Any]:
    """Values for the template: R by number of training rooms, of the path set, and what doublings of the rooms gain."""
    measured = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))["own_radio"]
    rows = [{"rooms": rooms, **one} for rooms, one in zip(measured["num_layouts"], measured["locus_dt"], strict=True)]
    return {
        "rows": rows,
        "path_set": measured["path_set"],
        "num_layouts": measured["num_evaluation_layouts"],
        "gains": [f"{100 * (more['ratio'] - fewer['ratio']):.1f}" for fewer, more in itertools.pairwise(rows)],
        "quick": load_config("quick").training.num_layouts,
        "paper": load_config("paper").training.num_layouts,
    }
