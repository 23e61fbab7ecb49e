"""Lost workers and full disks: builds that lose what they need in; whether they end with the same bits out."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from campaign import State
from campaign.kills import GIVE_UP, contents, differences, run, targets

LOCUS = Path(sys.executable).with_name("locus")
_BLOCKS = ["--set=training.num_layouts=400", "--set=storage.block=1", "--set=training.num_candidates=300"]
_BUILD = ["build", "train", "--profile=smoke", *_BLOCKS]
_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def lost_workers(state: State, folder: Path, count: int, more: Callable[[], bool]) -> None:
    """Builds on a scheduler with two workers that are killed in turn, and replaced; then compare with a calm build."""
    data = folder / "calm-cluster" / "data"
    data.mkdir(parents=True, exist_ok=True)
    wanted = [n for n in range(count) if not state.done("lost workers", n)]
    if not wanted or not more():
        return
    code, text = run([*_BUILD, "--workers", "1"], data)
    if code:
        raise RuntimeError(f"the build failed undisturbed, with code {code}: {text[-300:]}")
    while wanted and more():
        lost = _lose(wanted, folder, contents(data), state, more)
        wanted = [n for n in wanted if n not in lost]


def _lose(
    wanted: list[int], folder: Path, expected: dict[str, str], state: State, more: Callable[[], bool]
) -> list[int]:
    """One build; returns the numbers of the workers that it lost."""
    data = folder / "lost" / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m", "dask"]
    worker = [*dask, "worker", address, "--nthreads=1", "--no-nanny", "--no-dashboard", "--local-directory", folder]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--host", address, "--no-dashboard"],
        env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "100"},
        **_QUIET,
    )
    workers = [subprocess.Popen(worker, **_QUIET) for _ in range(2)]
    environment = {**os.environ, "LOCUS_DATA": str(data), "TQDM_DISABLE": "1"}
    lost: list[int] = []
    try:
        _wait_for(address)
        with (folder / "lost.stderr").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [LOCUS, *_BUILD, "--scheduler", address], env=environment, stdout=subprocess.DEVNULL, stderr=errors
            )
            for number in wanted:
                before = _num_blocks(data)
                while process.poll() is None and _num_blocks(data) < before + 5:  # so that there is work to lose
                    time.sleep(0.02)
                time.sleep(float(np.random.default_rng([3, number]).uniform(0, 0.3)))
                if process.poll() is not None or not more():
                    break
                workers[number % 2].kill()
                workers[number % 2].wait()
                workers[number % 2] = subprocess.Popen(worker, **_QUIET)
                lost.append(number)
            ended = process.wait(timeout=GIVE_UP)
            errors.seek(0)
            text = errors.read()
    finally:
        for one in (*workers, scheduler):
            one.kill()
            one.wait()
    wrong = differences(contents(data), expected) if ended == 0 else f"exit code {ended}: {text[-300:]}"
    wrong = wrong or (text[-300:] if "Traceback" in text else "")
    for number in lost:
        state.note("lost workers", number, "wrong" if wrong else "survived", wrong)
    return lost


def _num_blocks(data: Path) -> int:
    return sum(path.read_text().count('"block"') for path in data.glob("*/candidates/*.journal"))


def _wait_for(address: str) -> None:
    host, port = address.removeprefix("tcp://").split(":")
    deadline = time.monotonic() + 300
    while True:
        try:
            socket.create_connection((host, int(port))).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def full_disks(state: State, folder: Path, count: int, more: Callable[[], bool]) -> None:
    """A build and a training on a disk that fills up: one line, exit code 2; with space, the same bits. Needs root."""
    for number, name in enumerate(["build", "train"][:count]):
        if state.done("full disks", number) or not more():
            continue
        calm, data = folder / "calm-disk" / "data", folder / f"full{number}"
        for place in (calm, data):
            place.mkdir(parents=True, exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(data)], check=False)
        if mounted.returncode:
            print("full disks: not done, as this user may not mount a small file system", flush=True)
            return
        try:
            command = targets()[name].command(data)
            code, _ = run(command, calm)
            filler = data / "filler"
            filler.write_bytes(bytes(300 * 1024))
            full, text = run(command, data)
            filler.unlink()
            subprocess.run(["mount", "-o", "remount,size=200m", str(data)], check=True)
            ended, again = run(command, data)
            said = [line for line in text.splitlines() if line]
            fine = full == 2 and len(said) == 1 and "Traceback" not in text
            ours, theirs = contents(data), contents(calm)  # which may hold more, of other commands
            good = (code, ended) == (0, 0) and bool(ours) and all(theirs.get(k) == v for k, v in ours.items())
            outcome = "survived" if fine and good else "wrong"
            detail = "" if outcome == "survived" else f"{full}, {said[-3:]}, {code}, {ended}, {again[-200:]}"
            state.note("full disks", number, outcome, detail)
        finally:
            subprocess.run(["umount", str(data)], check=False)
