"""Interruptions: one line that says how to go on, no traceback, no process left; one command per run at a time."""

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

import psutil
import pytest
from patience import patience
from test_build import IMAGE, LOCUS, finish, finished_blocks, wait_for_port

import locus
from locus.cli import main
from locus.experiment import sweep
from locus.experiment.journal import StoreError, exclusive

LONG = [*IMAGE, "--set", "training.num_layouts=4000"]  # never to be finished here


@contextmanager
def started(arguments: list[str], data: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "LOCUS_DATA": str(data), "TQDM_DISABLE": "1"}
    with (data / "stderr.txt").open("w") as errors, (data / "stdout.txt").open("w") as output:
        process = subprocess.Popen(
            [LOCUS, *arguments], env=environment, stdout=output, stderr=errors, text=True, start_new_session=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def wait_for_block(data: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + patience(120)
    while not finished_blocks(data):
        assert process.poll() is None, (data / "stderr.txt").read_text()
        assert time.monotonic() < deadline, "the build makes no progress"
        time.sleep(0.05)


def said(data: Path) -> list[str]:
    return [line for line in (data / "stderr.txt").read_text().splitlines() if line]


def wait_for_kernel(process: subprocess.Popen[str], data: Path) -> list[psutil.Process]:
    """All child processes, once the kernel of a chapter has been busy for a second."""
    deadline = time.monotonic() + patience(120)
    while True:
        assert process.poll() is None, (data / "stderr.txt").read_text()
        assert time.monotonic() < deadline, "no kernel starts"
        found = psutil.Process(process.pid).children(recursive=True)
        with suppress(psutil.Error):
            kernels = [one for one in found if "ipykernel_launcher" in one.cmdline()]
            if any(one.cpu_times().user > 1 for one in kernels):
                return found
        time.sleep(0.05)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], list[str]]]:
    """A scheduler and a worker: address, processes, and the command that starts another worker."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker += ["--local-directory", str(folder)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    commands = ([*dask, "scheduler", "--host", address, "--no-dashboard"], worker)
    servers = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        wait_for_port(port)
        yield address, servers, worker
    finally:
        for server in servers:
            server.kill()
            server.wait()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_with_one_line_and_leaves_no_process(number: int, code: int, tmp_path: Path) -> None:
    with started([*LONG, "--workers", "1"], tmp_path) as process:
        wait_for_block(tmp_path, process)
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        assert process.wait(timeout=patience(3)) == code
    assert said(tmp_path) == [
        "locus build: interrupted; what is finished is kept, and the same command goes on from there"
    ]
    _, alive = psutil.wait_procs(children, timeout=patience(3))
    assert not alive


def test_an_interruption_while_a_chapter_runs_ends_its_kernel(tmp_path: Path) -> None:
    with started(["reproduce", "--only", "02", "--profile", "smoke", "--workers", "1"], tmp_path) as process:
        children = wait_for_kernel(process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(timeout=patience(3)) == 130
    assert said(tmp_path) == [
        "locus reproduce: interrupted; what is finished is kept, and the same command goes on from there"
    ]
    assert "Traceback" not in (tmp_path / "stdout.txt").read_text()
    _, alive = psutil.wait_procs(children, timeout=patience(3))
    assert not alive
    assert not list(tmp_path.glob("smoke/notebooks/*.ipynb"))


def test_a_lost_scheduler_is_told_in_one_line(tmp_path: Path) -> None:
    with (
        cluster(tmp_path) as (address, servers, _),
        started([*LONG, "--scheduler", address], tmp_path) as process,
    ):
        wait_for_block(tmp_path, process)
        servers[0].kill()
        assert process.wait(timeout=patience(120)) == 2
    (line,) = said(tmp_path)
    assert line.startswith("locus build: Expected the scheduler and its workers to stay, got ")
    assert "repeat the command" in line


def test_without_workers_it_says_that_it_waits_and_goes_on(tmp_path: Path) -> None:
    with (
        cluster(tmp_path) as (address, servers, worker),
        started([*IMAGE, "--scheduler", address], tmp_path) as process,
    ):
        wait_for_block(tmp_path, process)
        servers[1].kill()
        deadline = time.monotonic() + patience(60)
        while not said(tmp_path):
            assert process.poll() is None
            assert time.monotonic() < deadline, "it waits without a word"
            time.sleep(0.1)
        (line,) = said(tmp_path)
        assert line.startswith("No worker is left: ")
        assert f"connect to {address}" in line
        servers.append(subprocess.Popen(worker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        assert process.wait(timeout=patience(300)) == 0
    assert finished_blocks(tmp_path) == 40


@pytest.mark.parametrize("command", ["train", "evaluate", "reproduce"])
def test_the_second_on_one_run_says_who_holds_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    run = locus.open_run("smoke")
    with exclusive(run.path / "run.yml", "run smoke"):
        assert main([command, "--profile", "smoke"]) == 2
    line = f"locus {command}: Expected run smoke free for writing, got it held by process {os.getpid()}; wait for it"
    assert capsys.readouterr().err.startswith(line)


def test_a_sweep_stops_at_a_run_that_another_command_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    runs = sweep.combinations("smoke", {}, {"seed": [0, 1, 2]})
    last = runs[list(runs)[-1]]
    with exclusive(last.path / "run.yml", f"run {last.name}"):
        assert main(["sweep", "--profile", "smoke", "--over", "seed=0,1,2", "--workers", "1"]) == 2
    line = f"locus sweep: Expected run {last.name} free for writing, got it held by process {os.getpid()}; wait for it"
    assert capsys.readouterr().err.startswith(line)
    assert not list(tmp_path.glob("*/run.yml"))  # nothing was begun


def test_a_sweep_holds_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))

    @contextmanager
    def busy(*_: object) -> Iterator[None]:
        for run in sweep.combinations("smoke", {}, {"seed": [0, 1]}).values():
            with (
                pytest.raises(StoreError, match=f"Expected run {run.name} free for writing"),
                exclusive(run.path / "run.yml", f"run {run.name}"),
            ):
                pass
        raise RuntimeError("looked")
        yield

    monkeypatch.setattr(sweep.cluster, "connect", busy)
    with pytest.raises(RuntimeError, match="looked"):
        sweep.sweep("smoke", {}, {"seed": [0, 1]})


def test_two_books_at_once_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    from locus.experiment.run import repository

    with exclusive(repository() / "book" / ".building", "the book"):
        assert main(["book", "--run", "paper"]) == 2
    assert "locus book: Expected the book free for writing, got it held by process" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["settings", "--set", "room.size=[1"], "Expected a value for 'room.size', got invalid YAML"),
        (["settings", "--set", "room.size=&a 1"], "anchors and aliases are not allowed"),
        (["build", "train", "--workers", "-3"], "Expected 'workers' in [1, 1024], got -3"),
        (["train", "--workers", "-3", "--profile", "paper"], "Expected 'workers' in [1, 1024], got -3"),
        (["sweep", "--over", f"seed={','.join(map(str, range(501)))}"], "Expected at most 500 combinations"),
        (["build", "train", "--set", "room.num_obstacles=14"], "got no space for all obstacles in many draws"),
        (["build", "train", "--set", "training.num_layouts=1000000000000"], "'training.num_layouts' in [2, 1e+07]"),
        (["book", "--run", "../paper"], "Expected 'run' of at most 100 letters"),
        (["book", "--run", "/paper"], "Expected 'run' of at most 100 letters"),
    ],
)
def test_foolish_commands_are_refused_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_what_killed_processes_leave_is_cleaned_by_the_next(tmp_path: Path) -> None:
    with started([*LONG, "--workers", "1"], tmp_path) as process:
        wait_for_block(tmp_path, process)
        process.kill()
    before = {path.name for path in Path("/tmp").glob(f"locus-workers-{process.pid}-*")}
    assert before
    finish([*IMAGE, "--workers", "1"], tmp_path)
    assert not list(Path("/tmp").glob(f"locus-workers-{process.pid}-*"))
