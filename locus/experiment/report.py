"""The report of a run: ``report.json`` with inputs, outputs, time, versions and machine of each step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from locus.experiment.artifact import Artifact
from locus.experiment.run import Run, versions
from locus.settings.checksums import checksum, damaged, sealing
from locus.settings.units import duration, size


def read(run: Run) -> dict[str, Any]:
    """Read the report of a run; it has no steps if ``report.json`` is missing or damaged."""
    path = run.path / "report.json"
    try:
        report = None if damaged(path) else json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        report = None
    if not isinstance(report, dict) or not isinstance(report.get("steps"), dict):
        return {"run": run.name, "profile": run.profile, "steps": {}}
    return report


def note(run: Run, made: Artifact, seconds: float, kept: Iterable[Artifact] = ()) -> None:
    """Add a step that was just made, and mark the steps in ``kept`` as fresh.

    A kept step that is not in the report yet is added without a time, unless it is a store, which may not exist.
    """
    report = read(run)
    report["steps"][made.name] = _entry(run, made, round(seconds, 1))
    for step in kept:
        if step.name not in report["steps"]:
            if step.is_store:
                continue
            report["steps"][step.name] = _entry(run, step, None)
        report["steps"][step.name]["state"] = "fresh"
    with sealing(run.path / "report.json") as scratch:
        scratch.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Machine that the times refer to, without its host name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cores": os.cpu_count(), "memory_gib": round(memory, 1), "system": os.uname().sysname}


def _entry(run: Run, step: Artifact, seconds: float | None) -> dict[str, Any]:
    return {
        "state": "computed",
        "seconds": seconds,
        "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M") if seconds is not None else None,
        "hash": step.hash(),
        "inputs": {need.name: need.hash() for need in step.needs},
        "outputs": {str(path.relative_to(run.path)): checksum(path) for path in step.files},
        "versions": versions(),
        "machine": machine(),
    }


def plan(run: Run, due: Iterable[Artifact], num_workers: int | None = None) -> tuple[dict[str, str], str]:
    """Estimated time and disk space of the steps that are due: one line per step, by name, and a line for the total."""
    workers = num_workers or os.cpu_count() or 1
    before = read(run)["steps"]
    lines, total, disk = {}, 0.0, 0
    for step in due:
        measured = before.get(step.name, {})
        same = measured.get("hash") == step.hash()
        seconds = measured["seconds"] if same and measured["seconds"] else step.seconds(workers)
        total, disk = total + seconds, disk + step.max_bytes
        lines[step.name] = f"{step.name}: to make, about {duration(seconds)}" + (
            f", at most {size(step.max_bytes)}" if step.max_bytes else ""
        )
    return lines, f"about {duration(total)} on {workers} workers, at most {size(disk)}"
