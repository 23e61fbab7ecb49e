"""Start-up of worker processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import psutil
from patience import patience

from locus.experiment import cluster


def _at_start() -> dict[str, str]:
    lines = Path("/proc/self/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_workers_start_with_one_thread_and_keep_their_memory() -> None:
    with cluster.connect(1) as client:
        found = client.submit(_at_start).result()
        everything = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [one for process in everything for one in process.net_connections() if one.status == "LISTEN"]
    assert len(listening) > 1  # scheduler, dashboard, worker
    assert {one.laddr.ip for one in listening} <= {"127.0.0.1", "::1"}  # no other machine can connect
    assert {name: found[name] for name in cluster.LIMITS} == cluster.LIMITS
    assert int(found["MALLOC_TRIM_THRESHOLD_"]) >= 2**30


def test_workers_whose_process_is_killed_before_they_found_a_scheduler_end() -> None:
    """They would wait for its answer for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        code = f"from locus.experiment.cluster import _workers\nwith _workers({address!r}, 1):\n print(); input()"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-uc", code], **pipes) as process:  # type: ignore[call-overload]
            process.stdout.readline()
            with mute.accept()[0]:  # a worker asks for its scheduler, and nobody answers
                started = psutil.Process(process.pid).children(recursive=True)
                commands = [one.cmdline() for one in started]  # before the kill: an ended process has none
                process.kill()
                _, left = psutil.wait_procs(started, timeout=patience(20))
        assert any("locus.experiment.worker" in command for command in commands)
        assert left == []


def test_kernels_compile_in_this_process_while_workers_start() -> None:
    """Dask's nanny would set thread limits in this process's environment, on which numba would fail."""
    before = dict(os.environ)
    stop = threading.Event()
    counts: list[int] = []

    def compile_kernels() -> None:
        while not stop.is_set():
            kernel = numba.njit(parallel=True)(lambda x: x + 1)  # a new kernel each time, so that it is compiled again
            assert kernel(np.ones(3))[0] == 2
            assert dict(os.environ) == before
            counts.append(numba.get_num_threads())

    compiler = threading.Thread(target=compile_kernels)
    compiler.start()
    try:
        for _ in range(3):
            with cluster.connect(2) as client:
                assert client.submit(numba.get_num_threads).result() == 1
    finally:
        stop.set()
        compiler.join()
    assert len(counts) > 3
    assert set(counts) == {numba.config.NUMBA_NUM_THREADS}
