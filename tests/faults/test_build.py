"""The real command, killed: finished blocks are kept, and the final store is bit-identical."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from patience import patience

from locus.experiment.journal import Journal

LOCUS = Path(sys.executable).with_name("locus")
# Forty blocks of one group each
IMAGE = ["build", "train", "--profile", "smoke", "--set", "training.num_layouts=40", "--set", "storage.block=1"]
IMAGE += ["--set", "training.num_candidates=300"]
SIONNA = ["build", "eval_random", "--profile", "smoke", "--set", "evaluation.num_layouts=8", "--set", "storage.block=1"]
ALONE = ["--workers", "1"]  # starts faster; two workers are killed in the middle, and lost, below


@contextmanager
def started(arguments: list[str], data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command in a separate process, which is ended when the block exits."""
    data.mkdir(exist_ok=True)
    environment = {**os.environ, "LOCUS_DATA": str(data)}
    with (data / "stderr.txt").open("wb") as errors, (data / "stdout.txt").open("wb") as output:
        process = subprocess.Popen([LOCUS, *arguments], env=environment, stdout=output, stderr=errors)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def finish(arguments: list[str], data: Path) -> float:
    """Run the command to completion; returns the seconds it took."""
    start = time.monotonic()
    with started(arguments, data) as process:
        code = process.wait(timeout=patience(300))
    assert code == 0, (data / "stderr.txt").read_text()
    return time.monotonic() - start


def chunks(data: Path) -> dict[str, Path]:
    """Every file of the store by its relative path."""
    (store,) = data.glob("*/candidates/*.zarr")
    return {str(path.relative_to(store)): path for path in store.rglob("*") if path.is_file()}


def contents(data: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in chunks(data).items()}


def finished_blocks(data: Path) -> int:
    return sum(path.read_text().count('"block"') for path in data.glob("*/candidates/*.journal"))


def wait_for_blocks(data: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + patience(120)
    while finished_blocks(data) < count:
        assert process.poll() is None, "the build ended too early"
        assert time.monotonic() < deadline, "the build makes no progress"
        time.sleep(0.01)


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + patience(60)
    while True:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < deadline, "the scheduler does not start"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], float]:
    """Files of an undisturbed build, and the seconds it took with everything compiled."""
    finish([*IMAGE, *ALONE, "--set", "training.num_layouts=2"], tmp_path_factory.mktemp("compiling"))
    data = tmp_path_factory.mktemp("undisturbed")
    seconds = finish([*IMAGE, *ALONE], data)
    return contents(data), seconds


def test_killed_at_six_moments_it_ends_with_the_same_bits(
    undisturbed: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    progress = []
    for moment in np.random.default_rng(0).uniform(0, seconds, size=6):
        count = finished_blocks(tmp_path)  # on a busy machine, the first kill may come before the store exists
        before = {name: path.stat().st_mtime_ns for name, path in chunks(tmp_path).items()} if count else {}
        with started([*IMAGE, *ALONE], tmp_path) as process, suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment)  # killed after this time, unless it has finished
        progress.append(finished_blocks(tmp_path))
        if count == 40:  # nothing was left to do, and nothing was computed
            assert before == {name: path.stat().st_mtime_ns for name, path in chunks(tmp_path).items()}
    print(f"blocks finished after each kill: {progress}")
    assert progress == sorted(progress)  # no finished block is lost
    finish([*IMAGE, *ALONE], tmp_path)
    assert contents(tmp_path) == expected


def test_killed_in_the_middle_it_computes_only_what_was_unfinished(
    undisturbed: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    with started(IMAGE, tmp_path) as process:
        wait_for_blocks(tmp_path, 5, process)
        process.send_signal(signal.SIGKILL)
    (journal,) = tmp_path.glob("*/candidates/train.journal")
    kept = Journal(journal.with_suffix(".zarr")).finished()
    names = {name for files in kept.values() for name in files}
    stamps = {name: chunks(tmp_path)[name].stat().st_mtime_ns for name in names}
    assert 5 <= len(kept) < 40
    finish(IMAGE, tmp_path)
    assert {name: chunks(tmp_path)[name].stat().st_mtime_ns for name in names} == stamps
    assert contents(tmp_path) == undisturbed[0]


def test_sionna_killed_once_ends_with_the_same_bits(tmp_path: Path) -> None:
    finish([*SIONNA, *ALONE], tmp_path / "undisturbed")
    with started([*SIONNA, *ALONE], tmp_path / "killed") as process:
        wait_for_blocks(tmp_path / "killed", 2, process)
        process.send_signal(signal.SIGKILL)
    assert 2 <= finished_blocks(tmp_path / "killed") < 8
    finish([*SIONNA, *ALONE], tmp_path / "killed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


def test_a_cluster_that_loses_a_worker_gives_the_same_store(
    undisturbed: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    """A real scheduler and two workers, separate processes on loopback; one worker is killed during the run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--host", address, "--no-dashboard"]
    worker = [
        *dask,
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--local-directory",
        str(tmp_path),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    servers = [subprocess.Popen(command, **quiet) for command in (scheduler, worker, worker)]
    try:
        wait_for_port(port)
        with started([*IMAGE, "--scheduler", address], tmp_path / "data") as process:
            wait_for_blocks(tmp_path / "data", 3, process)
            servers[-1].send_signal(signal.SIGKILL)
            assert finished_blocks(tmp_path / "data") < 40
            assert process.wait(timeout=patience(300)) == 0, (tmp_path / "data" / "stderr.txt").read_text()
        assert servers[1].poll() is None
    finally:
        for server in servers:
            server.kill()
            server.wait()
    assert contents(tmp_path / "data") == undisturbed[0]
