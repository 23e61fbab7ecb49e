"""Kills: commands that are killed at random moments in; whether the next call ends with the same bits out.

Everything is of the size of the profile ``smoke``. A trial removes what one command makes from a copy of a finished
run, so that the command does one step, and kills it. The processes are forked from one that has imported locus, so no
trial is spent on imports, where nothing is written; workers and kernels that they start are as always.
"""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from safetensors.numpy import load_file

import locus
from campaign import State
from locus.book.chapters import chapters, glued
from locus.experiment.rows import Rows
from locus.experiment.run import repository

SMOKE = ["--profile", "smoke", "--workers", "1"]
IN_A_ROW = 5
"""Kills of one command, each going on from what the last one left, before it is let finish."""
GIVE_UP = 1800.0
"""Time [s] for a command to finish, on a busy machine."""
_VOLATILE = {".lock", ".journal", ".yml", ".stderr"}  # process ids, or the order in which blocks finished
_REPORTS = {"report.json", "SHA256SUMS", "filler"}  # hold times, or checksums of what holds times
_PRELOADED = ["locus.cli", "locus.book.reproduce", "locus.book.build", "locus.book.runs", "locus.experiment.sweep"]
_PRELOADED += ["locus.capture.locate", "locus.capture.figure", "papermill", "matplotlib.pyplot"]


@dataclass(frozen=True)
class Target:
    """A command to kill."""

    name: str
    command: Callable[[Path], list[str]]
    """Arguments, from the folder of all runs."""
    makes: tuple[str, ...]
    """Patterns of what it makes, in the folder of all runs; removed before a trial."""
    num_kills: int = 12


def _rows() -> str:
    rows = Rows(locus.open_run("smoke", root=Path("/")), "test", ("locus_dt",))
    return str(rows.files[0].relative_to("/"))


def _locate(data: Path) -> list[str]:
    room = repository() / "book" / "_static" / "room.geojson"
    words = [str(room), "--pose=70,30,2.8", "--iq", str(data / "iq.npy"), "--twin=image"]
    return ["locate", *words, "--out", str(data / "located.nc"), "--figure", str(data / "located.png")]


@functools.cache
def targets() -> dict[str, Target]:
    """Every command that writes, by name, and how often it is killed: 200 times in all.

    Not here: `sensitivity` and `solver`, which take an hour at the paper's size and have no other; `export`, which
    needs TensorFlow.
    """
    found = [
        Target("build", lambda _: ["build", "train", *SMOKE], ("smoke/candidates/train.*",), 14),
        Target("observe", lambda _: ["observe", "train", *SMOKE], ("smoke/observations/train.*",), 14),
        Target("train", lambda _: ["train", "locus_dt", *SMOKE], ("smoke/models/locus_dt.safetensors",), 14),
        Target("evaluate", lambda _: ["evaluate", "test", "--method=locus_dt", *SMOKE], (_rows(),), 14),
        Target("sweep", lambda _: ["sweep", "--over=seed=1,2", *SMOKE], ("smoke-*", "sweeps"), 10),
        Target("locate", _locate, ("located.*",), 10),
        Target("runs --remove", lambda _: ["runs", "--remove=smoke"], (), 10),
        *(
            Target(
                f"chapter {source.stem[:2]}",
                lambda _, number=source.stem[:2]: ["reproduce", "--only", number, *SMOKE],
                (f"smoke/notebooks/{source.stem}*",),
            )
            for source in chapters()
        ),
        Target("book", lambda data: ["book", "--run=smoke", "--out", str(data / "site")], ("site",), 6),
    ]
    return {target.name: target for target in found}


def contents(data: Path) -> dict[str, str]:
    """Checksums of what is kept, temporary files included, but for what holds times: reports, headers of weights."""
    found = {}
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        name = path.relative_to(data)
        if path.suffix in _VOLATILE or path.name in _REPORTS or (name.parts[0] == "site" and path.suffix != ".html"):
            continue
        if path.suffix == ".safetensors":
            content = b"".join(key.encode() + value.tobytes() for key, value in sorted(load_file(path).items()))
        elif path.suffix == ".ipynb":
            numbers = {key: value for key, value in glued(path).items() if not key.endswith("_speedup")}  # wall-clock
            content = repr(sorted(numbers.items())).encode()
        else:
            content = b"" if path.suffix == ".html" else path.read_bytes()  # pages of the book say when it was built
        found[str(name)] = hashlib.sha256(content).hexdigest()
    return found


def differences(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Names of files that differ, as one line; empty if there are none."""
    names = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return f"{len(names)} files differ: {', '.join(names[:4])}" if names else ""


def _work(arguments: list[str], data: str, said: str) -> None:
    """What a forked process does."""
    os.setsid()
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(descriptor, 2)
    os.environ.update(LOCUS_DATA=data, TQDM_DISABLE="1")
    from locus.cli import main

    try:
        code = main(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)


def run(command: list[str], data: Path, seconds: float | None = None) -> tuple[int | None, str]:
    """Run a command, killed after ``seconds`` unless it is None; exit code (None if killed) and standard error."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    said = data.parent / f"{data.name}.stderr"
    process = context.Process(target=_work, args=(command, str(data), str(said)))
    process.start()
    process.join(GIVE_UP if seconds is None else seconds)
    killed = process.is_alive()
    if killed:
        process.kill()
    process.join()
    text = said.read_text(encoding="utf-8", errors="replace") if said.is_file() else ""
    return None if killed else process.exitcode, text


def orphans(data: Path) -> list[int]:
    """Processes that still use a data folder after a while."""
    deadline = time.monotonic() + 120
    while True:
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("LOCUS_DATA") == str(data):
                    found.append(process.pid)
            except psutil.Error:
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def calm(folder: Path, wanted: list[Target], whole: bool = True) -> Path:
    """Data folder of a run that nobody disturbed; what is fresh stays. Raises a RuntimeError if a command fails."""
    data = folder / "calm" / "data"
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "iq.npy").is_file():
        paths = locus.make_twin("image").trace(
            locus.Layout.from_geojson(repository() / "book" / "_static" / "room.geojson"),
            locus.Pose(70.0, 30.0, 2.8),
            [[12.0, 30.0]],
        )
        np.save(data / "iq.npy", locus.observe(paths.isel(candidate=0), np.random.default_rng(0)).iq)
    commands = [["build", "train", *SMOKE], ["observe", "train", *SMOKE]]
    commands += [["reproduce", *SMOKE]] if whole else []
    for command in (*commands, *(one.command(data) for one in wanted if one.makes)):
        code, text = run(command, data)
        if code:
            raise RuntimeError(f"{command[:2]} failed undisturbed, with code {code}: {text[-300:]}")
    return data


def again(target: Target, undisturbed: Path, data: Path) -> None:
    """Copy the finished run, without what the command makes."""
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(undisturbed, data)
    for pattern in target.makes:
        for path in data.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def wrong_after(target: Target, data: Path, expected: dict[str, str]) -> str:
    """What is wrong once the command was let finish; empty if nothing."""
    code, text = run(target.command(data), data)
    if target.name.startswith("runs") and code == 2 and not (data / "smoke").exists():
        code = 0  # the last one was killed after its work was done
    if code != 0 or "Traceback" in text:
        return f"exit code {code}: {text[-300:]}"
    return differences(contents(data), expected)


def kill(target: Target, numbers: list[int], undisturbed: Path, data: Path, state: State) -> None:
    """Kill a command once per number, in a row; then let it finish, and compare."""
    expected = contents(undisturbed)
    if target.name.startswith("runs"):
        expected = {name: value for name, value in expected.items() if not name.startswith("smoke/")}
    again(target, undisturbed, data)
    start = time.monotonic()
    wrong = wrong_after(target, data, expected)
    seconds = time.monotonic() - start
    if wrong:
        raise RuntimeError(f"{target.name} does not repeat undisturbed: {wrong}")
    again(target, undisturbed, data)
    moments = {}
    for number in numbers:
        rng, longest = np.random.default_rng([2, number]), seconds
        for _ in range(20):
            moments[number] = float(rng.uniform(0, longest))
            code, text = run(target.command(data), data, moments[number])
            if code is None:
                break
            wrong = wrong or (text[-300:] if "Traceback" in text else "")
            longest = moments[number]  # it had less to do than at first: this was no kill
            again(target, undisturbed, data)
    wrong = wrong or wrong_after(target, data, expected)
    if not wrong and (left := orphans(data)):
        wrong = f"processes {left} are left"
    for number, moment in moments.items():
        detail = f"{target.name} after {moment:.1f} of {seconds:.1f} s"
        state.note("kills", number, "wrong" if wrong else "survived", f"{detail}; {wrong}" if wrong else detail)
    if not wrong:
        shutil.rmtree(data.parent)


def kills(state: State, folder: Path, count: int, more: Callable[[], bool]) -> None:
    """Kill every command in turn."""
    everything = targets()
    plan = [name for name, target in everything.items() for _ in range(target.num_kills)]
    plan = [plan[i] for i in np.random.default_rng(2).permutation(len(plan))][:count]
    due = {name: [n for n, one in enumerate(plan) if one == name and not state.done("kills", n)] for name in everything}
    due = {name: numbers for name, numbers in due.items() if numbers}
    if not due or not more():
        return
    undisturbed = calm(folder, [everything[name] for name in everything if name in due])
    while due and more():
        for name, numbers in list(due.items()):  # some of each, so that a campaign cut short has seen them all
            if more():
                now, due[name] = numbers[:IN_A_ROW], numbers[IN_A_ROW:]
                data = folder / "killed" / f"{name.replace(' ', '-')}-{now[0]}" / "data"
                kill(everything[name], now, undisturbed, data, state)
        due = {name: numbers for name, numbers in due.items() if numbers}
