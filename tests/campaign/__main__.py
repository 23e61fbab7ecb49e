"""Command line of the campaign: ``python -m campaign`` in ``tests``. Two halves of it run at the same time."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fuzz import readers
from fuzz.run import fuzz

from campaign import State
from campaign.flips import flips
from campaign.kills import kills
from campaign.losses import full_disks, lost_workers

ROOT = Path(__file__).parents[2]
PLANNED = {"kills": 200, "bit flips": 1000, "hostile inputs": 10_000, "lost workers": 20, "full disks": 2}
BESIDE = ("hostile inputs", "bit flips")
"""Parts that a second process does."""
AT_A_TIME = 25
"""Inputs of each reader in one process of the fuzzer."""


def hostile_inputs(state: State, count: int, more: Callable[[], bool]) -> None:
    """Fuzz every reader, some inputs at a time, until there were ``count`` in all; the same number of each."""
    first = 0

    def note(name: str, number: int, outcome: str, detail: str) -> None:
        state.note("hostile inputs", f"{name} {number}", outcome, detail if outcome == "wrong" else "")

    while not state.complete("hostile inputs", count) and more():
        wanted = {name: range(first, min(first + AT_A_TIME, one.most)) for name, one in readers().items()}
        due = [
            name for name, some in wanted.items() if not all(state.done("hostile inputs", f"{name} {n}") for n in some)
        ]
        if due:
            fuzz(due, AT_A_TIME, first, each=note)
        first += AT_A_TIME


def main() -> int:
    """Run what is missing, then write the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=ROOT / "_build" / "campaign", help="folder of the trials so far")
    parser.add_argument("--minutes", type=float, default=60.0, help="time after which no trial is begun")
    parser.add_argument("--part", action="append", choices=list(PLANNED), help="only this part; may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the planned trials to do")
    parser.add_argument("--no-record", action="store_true", help="leave benchmarks/results.json alone")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes

    def more() -> bool:
        return time.monotonic() < deadline

    folder = options.state.absolute()
    state = State(folder)
    counts = {part: max(1, round(options.scale * count)) for part, count in PLANNED.items()}
    parts: dict[str, Callable[[], None]] = {
        "full disks": lambda: full_disks(state, folder, counts["full disks"], more),
        "lost workers": lambda: lost_workers(state, folder, counts["lost workers"], more),
        "kills": lambda: kills(state, folder, counts["kills"], more),
        "hostile inputs": lambda: hostile_inputs(state, counts["hostile inputs"], more),
        "bit flips": lambda: flips(state, folder, counts["bit flips"], more),
    }
    beside = None
    if not options.part:
        same = ["--state", str(folder), "--minutes", str(options.minutes), "--scale", str(options.scale), "--no-record"]
        asked = [word for part in BESIDE for word in ("--part", part)]
        beside = subprocess.Popen([sys.executable, "-m", "campaign", *same, *asked])
    for part in options.part or [part for part in parts if part not in BESIDE]:
        if more():
            parts[part]()
            print(f"{part}: {dict(state.counts(part))}", flush=True)
    failed = beside is not None and beside.wait() not in (0, 1)
    summary = State(folder).summary(PLANNED)  # read again, for the trials of both
    if not options.no_record:
        sys.path.insert(0, str(ROOT / "benchmarks"))
        from record import record

        record("campaign", summary)
    return 2 if failed else int(summary["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
