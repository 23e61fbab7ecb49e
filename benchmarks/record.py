"""Store measurements: one section per benchmark in results.json, each with a description of the machine."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
