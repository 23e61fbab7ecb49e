"""Store measurements: one section per benchmark in results.json, each with a description of the machine."""

from __future__ import annotations

import json
import math
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_name("results.json")


def machine() -> dict[str, Any]:
    """Properties of this machine that matter for timings; no host name."""
    model = ""
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("drjit", "mitsuba", "numba", "numpy", "sionna-rt")},
    }


def record(section: str, results: dict[str, Any]) -> None:
    """Write a section of results.json atomically."""
    everything = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    everything[section] = {"machine": machine(), **results}
    scratch = RESULTS.with_suffix(".tmp")
    scratch.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    scratch.replace(RESULTS)


def compared(pairs: list[tuple[float, float]], others: list[tuple[float, float]], name: str) -> dict[str, float]:
    """Means of losses and of whether sets held the truth, a pair per room, and the change of the loss against others.

    The change has its standard error over rooms; all is printed after the name.
    """
    loss, inside = np.array(pairs).T
    change = loss - np.array(others)[:, 0]
    error = change.std(ddof=1) / math.sqrt(len(change))
    print(f"{name}: {loss.mean():.3f}, {change.mean():+.3f} +- {error:.3f}, {inside.mean():.1%} covered")
    return {
        "loss": float(loss.mean()),
        "change": float(change.mean()),
        "error": float(error),
        "covered": float(inside.mean()),
    }
