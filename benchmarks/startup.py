"""From the command to the map: how long `locus locate` takes with a warm cache, and the share of imports.

Runs the example of the book's page on your own room several times in processes of their own, with each twin, and once
more with what was imported before: torch, Dask and SciPy. Seconds on the clock depend on what else the machine does, so
processor seconds and the load average are recorded, too.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import record

import locus

ROOM = Path(__file__).parents[1] / "book/_static/room.geojson"
MAIN = "import sys; from locus.cli import main; sys.exit(main())"
BEFORE = "import torch, dask.array, distributed, scipy.linalg; "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; the median counts")
    options = parser.parse_args()
    results: dict[str, Any] = {"load_average": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        _capture(Path(folder))
        for twin in ("image", "sionna"):
            command = ["locate", str(ROOM), "--pose=70,30,2.8", "--iq=capture.npy", f"--twin={twin}", "--out=map.nc"]
            new, old = ([sys.executable, "-c", first + MAIN, *command] for first in ("", BEFORE))
            _run(new, folder)  # fills the caches of numba and Dr.Jit
            seconds, cpu = _median([_run(new, folder) for _ in range(options.runs)])
            _, cpu_before = _median([_run(old, folder) for _ in range(options.runs)])
            share = _import_share(new, folder)
            results[twin] = {
                "seconds": seconds,
                "processor_seconds": cpu,
                "share_of_imports": share,
                "times_processor_seconds_with_torch_dask_scipy": cpu_before / cpu,
            }
            print(
                f"startup: {twin}: {seconds:.1f} s on the clock, {cpu:.1f} s of processors, {100 * share:.0f} % of it "
                f"imports; with torch, Dask and SciPy {cpu_before / cpu:.2f} times as many",
                flush=True,
            )
    print(f"startup: load average {results['load_average']:.1f} on {os.cpu_count()} cores")
    record("startup", results)


def _capture(folder: Path) -> None:
    layout, pose = locus.Layout.from_geojson(ROOM), locus.Pose(70.0, 30.0, 2.8)
    paths = locus.make_twin("image").trace(layout, pose, [[12.0, 30.0]])
    np.save(folder / "capture.npy", locus.observe(paths.isel(candidate=0), np.random.default_rng(0)).iq)


def _run(command: list[str], folder: str) -> tuple[float, float]:
    """Seconds on the clock and of processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _median(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    seconds, cpu = zip(*pairs, strict=True)
    return statistics.median(seconds), statistics.median(cpu)


def _import_share(command: list[str], folder: str) -> float:
    """Share of the time on the clock that modules take to import, without those that they import in turn."""
    start = time.perf_counter()
    traced = [command[0], "-X", "importtime", *command[1:]]
    done = subprocess.run(traced, cwd=folder, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    own = re.findall(r"^import time: +(\d+) \|", done.stderr, re.MULTILINE)
    return sum(map(int, own)) / 1e6 / seconds


if __name__ == "__main__":
    main()
