"""The campaign: kills, bit flips, hostile input, lost workers and full disks in; counts of what became of them out.

``make campaign`` runs it for an hour, as ``python -m campaign`` in ``tests``, and goes on where the last call stopped.
Its state is a line of JSON per trial in a folder; the summary goes to ``benchmarks/results.json`` and says how many
trials of each part were done. Trial n of a part depends on n only, so each can be repeated alone. An outcome is one of

- ``survived``: the next call ended with the same bits as without the fault;
- ``found``: the fault was noticed, in one line, or what was damaged is made again;
- ``refused``: hostile input was refused in one line;
- ``accepted``: hostile input was understood, and the result passed its check;
- ``harmless``: nothing that anybody reads has changed;
- ``wrong``: a silent wrong result, a traceback, a hang or a process left behind. There must be none.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

OUTCOMES = ("survived", "found", "refused", "accepted", "harmless", "wrong")
MENDED = (
    "The path set, the networks, the walk and `locus.observe` failed with a traceback if given a Dataset that "
    "lacked a variable or had text or absurdly large numbers in it, or something that was not a Dataset at all.",
    "`locus.observe` returned samples that were not finite for gains near the largest float.",
    "Priors and times given as text, as complex numbers or as integers too large for a float caused a traceback, "
    "or an error message of 100 kB.",
    "A spacing of 1e200 m and a speed of 1e-320 m/s made `locus.locate` end in a traceback.",
    "A CSV trajectory with a field above 128 KiB, and quaternions whose squares overflow, ended in a traceback.",
    "The error message for a ROS map whose image has a name of 5000 characters repeated all of them.",
    "`locus runs --remove`, killed after it had moved the run aside, left its files for good.",
    "If a command was killed while its workers started, they looked for their scheduler for five minutes.",
    "The error message for a nested value in the header of a `.tflite` file was longer than 500 characters.",
)
"""What trials found, and was mended; the summary and the status page say so."""


class State:
    """Trials that were done, in a file of one line of JSON each; half a line of a killed campaign is ignored."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "trials.jsonl"
        self.trials: dict[tuple[str, str], dict[str, Any]] = {}
        if self.path.is_file():
            text = self.path.read_text(encoding="utf-8")
            if text and not text.endswith("\n"):  # half a line, which would swallow the next
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write("\n")
            for line in text.splitlines():
                try:
                    one = json.loads(line)
                    self.trials[one["part"], one["trial"]] = one
                except (ValueError, KeyError, TypeError):
                    continue
        self.again = {key for key, one in self.trials.items() if one["outcome"] == "wrong"}
        """Trials that an earlier call found wrong: what it found may be mended, so they are done again."""

    def done(self, part: str, trial: Any) -> bool:
        return (part, str(trial)) in self.trials.keys() - self.again

    def complete(self, part: str, count: int) -> bool:
        """Whether ``count`` trials are done, and none is to be done again."""
        return sum(self.counts(part).values()) >= count and not any(which == part for which, _ in self.again)

    def note(self, part: str, trial: Any, outcome: str, detail: str = "") -> None:
        assert outcome in OUTCOMES, outcome
        self.again.discard((part, str(trial)))
        one = {"part": part, "trial": str(trial), "outcome": outcome, "detail": detail}
        self.trials[part, str(trial)] = one
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(one) + "\n")
        if outcome == "wrong":
            print(f"{part}, trial {trial}: {detail}", flush=True)

    def counts(self, part: str) -> Counter[str]:
        return Counter(one["outcome"] for (which, _), one in self.trials.items() if which == part)

    def summary(self, planned: dict[str, int]) -> dict[str, Any]:
        """Per part: number of trials planned and done, and of each outcome."""
        rows = {}
        for part, count in planned.items():
            found = self.counts(part)
            rows[part] = {"planned": count, "done": sum(found.values()), **{name: found[name] for name in OUTCOMES}}
        return {"parts": rows, "wrong": sum(row["wrong"] for row in rows.values()), "mended": list(MENDED)}
