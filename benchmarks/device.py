"""LOCUS-DT on a device: size, time and loss of each LiteRT file, beside torch and numba, and of what comes before it.

Runs in .venv-device, on one core: `.venv-device/bin/python benchmarks/device.py`.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}  # before any import

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
from record import record

ROUNDS = 30
NUM_ROOMS = 200
LEVEL = 0.9
WARM, MEASURED = 0, 1
"""Rooms of Eval Random: one to compile and warm up, another to measure."""


def milliseconds(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Least processor time of a call [ms] over several rounds, after one to warm up."""
    call()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        found.append(1e3 * (time.process_time() - start))
    return min(found)


# --- Jobs, each in a process of its own, so that its memory can be told from that of others


def memory(field: str) -> float:
    """VmRSS, resident memory of this process, or VmHWM, its peak [MiB]."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measured(warm: Callable[[], Any], call: Callable[[], Any], rounds: int = 20) -> dict[str, float]:
    """Time of a call [ms], memory that it takes beyond what the process had, and memory of the process [MiB]."""
    warm()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # gives freed memory back, so that using it again counts
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    before = memory("VmRSS")
    call()
    peak = memory("VmHWM")
    return {"milliseconds": milliseconds(call, rounds), "working_mib": peak - before, "process_mib": peak}


def prepared(index: int) -> Any:
    """A room of Eval Random, traced by the image twin."""
    import locus
    from locus.experiment.wrong_twin import exact_case

    return exact_case(locus.load_config("paper"), index)


def job_estimate(_: str) -> dict[str, float]:
    from locus.receiver.estimator import estimate

    snapshots = [prepared(index).snapshots.isel(snapshot=0) for index in (WARM, MEASURED)]
    return measured(*(partial(estimate, one) for one in snapshots))


def job_trace(name: str) -> dict[str, float]:
    import locus

    twin, rooms = locus.make_twin(name), [prepared(index) for index in (WARM, MEASURED)]
    return measured(*(partial(twin.trace, one.layout, one.pose, one.candidates) for one in rooms))


def job_score(weights: str) -> dict[str, float]:
    from locus.experiment.weights import load_scorer

    scorer = load_scorer(weights)
    rooms = [(one.paths, one.observed.isel(snapshot=0)) for one in map(prepared, (WARM, MEASURED))]
    return measured(*(partial(scorer.log_posterior, *one) for one in rooms))


JOBS = {"estimate": job_estimate, "trace": job_trace, "score": job_score}


def in_child(job: str, argument: str = "") -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--job", job, argument], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"{job} {Path(argument).name}: {found['milliseconds']:.2f} ms, {found['working_mib']:.1f} MiB", flush=True)
    return dict(found)


# --- Files and their scores


def export_all(folder: Path) -> dict[str, Any]:
    """Files of all kinds, and the integers as the converter makes them without equalised hidden units."""
    from locus.experiment.export import export
    from locus.score import lite_convert

    files = {kind: export(folder / f"{kind}.tflite", quantise=kind) for kind in lite_convert.KINDS}
    with patch.object(lite_convert, "equalised", lambda tensors, _: tensors):
        for kind in ("int8", "int16"):
            files[f"{kind}_plain"] = export(folder / f"{kind}_plain.tflite", quantise=kind)
    return files


def speeds(scorers: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Processor time [ms] per 1000 candidates: once per pose, per snapshot, and both from features to scores."""
    import torch

    torch.set_num_threads(1)
    network = scorers["torch"]
    rng = np.random.default_rng(0)
    candidates, condition = (rng.random((count, 18), dtype=np.float32) for count in (1000, 1))
    tensors = [torch.from_numpy(one) for one in (candidates, condition)]
    with torch.enable_grad():  # torch's own operations
        found = {"torch": {"whole": milliseconds(partial(network, *tensors))}}
    with torch.no_grad():  # the fused kernel
        found["numba"] = {"whole": milliseconds(partial(network, *tensors))}
    for name, scorer in scorers.items():
        if name == "torch":
            continue
        halves, half = scorer.run("candidates", features=candidates), scorer.run("snapshot", features=condition)
        # Integers as a device would pass them on, so that rounding in NumPy is not counted
        raw = {
            part: {key: _steps(scorer, part, key, value) for key, value in inputs.items()}
            for part, inputs in {
                "candidates": {"features": candidates},
                "snapshot": {"features": condition},
                "pairs": {"halves": halves, "half": half},
            }.items()
        }
        times = {part: milliseconds(partial(scorer._runners[part], **inputs)) for part, inputs in raw.items()}
        found[name] = {"pose": times["candidates"], "snapshot": times["snapshot"] + times["pairs"]}
        found[name]["whole"] = sum(times.values())
    return found


def _steps(scorer: Any, part: str, key: str, values: np.ndarray) -> np.ndarray:
    from locus.score.lite import _to_steps

    return _to_steps(values, scorer._runners[part].get_input_details()[key])


class RoundedFeatures:
    """The network of torch behind features in eight bits: what is lost before any weight is rounded."""

    def __init__(self, network: Any) -> None:
        self.network = network

    def log_posterior(self, paths: xr.Dataset, observed: xr.Dataset) -> xr.DataArray:
        """Log posterior (snapshot, candidate)."""
        from locus.score import pairwise

        def rounded(*arguments: Any) -> np.ndarray:
            return (np.round(features(*arguments) * 127) / 127).astype(np.float32)

        features = pairwise.features
        with patch.object(pairwise, "features", rounded):
            return self.network.log_posterior(paths, observed)


def rows_of(scorers: dict[str, Any], num_rooms: int) -> xr.Dataset:
    """Log posterior and credible level of every truth, (snapshot, method), on the first rooms of Eval Random."""
    from locus.judge import metrics

    found = []
    for index in range(num_rooms):
        case = prepared(index)
        columns = [
            metrics.measure(
                scorer.log_posterior(case.paths, case.observed),
                case.truth,
                case.layout.free_space.area,
                np.random.default_rng(index),
            )[["log_posterior", "level"]]
            for scorer in scorers.values()
        ]
        both = xr.concat(columns, xr.DataArray(list(scorers), dims="method", name="method"))
        found.append(both.assign_coords(group=("snapshot", np.full(len(case.truth), index))))
        if (index + 1) % 50 == 0:
            print(f"{index + 1} of {num_rooms} rooms", flush=True)
    return xr.concat(found, "snapshot").transpose("snapshot", "method")


def judged(rows: xr.Dataset) -> dict[str, Any]:
    """R, loss less that of torch, and share inside the 90 % sets of every method, each with its 95 % interval."""
    import locus
    from locus.judge import metrics

    count = locus.load_config("paper").evaluation.num_candidates
    summary = metrics.summary(rows, count, np.random.default_rng(0))
    covered = metrics.covered(rows, LEVEL, np.random.default_rng(0))
    found = {}
    for position, name in enumerate(rows.method.values.tolist()):
        one: dict[str, Any] = {"ratio": [float(summary[f"ratio{end}"][position]) for end in ("", "_low", "_high")]}
        one["covered"] = [float(covered[f"covered{end}"][position]) for end in ("", "_low", "_high")]
        difference = metrics.paired(rows, name, "torch", np.random.default_rng(0))
        one["lost"] = [float(difference[f"difference{end}"]) for end in ("", "_low", "_high")]
        curve = metrics.coverage(rows.level.sel({"method": name}), rows.group, np.random.default_rng(0))
        one["largest_gap"] = float(np.abs(curve.coverage - curve.nominal).max())
        found[name] = one
        print(f"{name}: R {100 * one['ratio'][0]:.2f} %, {one['lost'][0]:.4f} nats, {100 * one['covered'][0]:.1f} %")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", nargs=2, metavar=("JOB", "ARGUMENT"), help="measure one job in this process")
    parser.add_argument("--rooms", type=int, default=NUM_ROOMS, help="rooms of Eval Random (default: %(default)s)")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(JOBS[options.job[0]](options.job[1])))
        return
    import locus

    with tempfile.TemporaryDirectory() as name:
        files = export_all(Path(name))
        for one in files.values():
            print(one, flush=True)
        scorers = {"torch": locus.load_scorer("paper")}
        scorers |= {kind: locus.load_scorer(str(one.path)) for kind, one in files.items()}
        times = speeds(scorers)
        for kind, taken in times.items():
            print(f"{kind}: {taken['whole']:.3f} ms per 1000 candidates")
        jobs = {
            "estimate": in_child("estimate"),
            **{f"trace_{twin}": in_child("trace", twin) for twin in ("image", "sionna")},
            "score_torch": in_child("score", "paper"),
            **{f"score_{kind}": in_child("score", str(files[kind].path)) for kind in ("float32", "int8", "int16")},
        }
        judgements = judged(rows_of({**scorers, "rounded_features": RoundedFeatures(scorers["torch"])}, options.rooms))
    results = {
        "versions": {package: version(package) for package in ("tensorflow-cpu", "ai-edge-litert", "torch")},
        "files": {kind: {"bytes": one.num_bytes, "weight_bytes": one.weight_bytes} for kind, one in files.items()},
        "milliseconds": times,
        "jobs": jobs,
        "num_rooms": options.rooms,
        "methods": judgements,
    }
    record("device", results)


if __name__ == "__main__":
    main()
