"""Workers: a number of local processes or a scheduler's address in, a Dask client out."""

from __future__ import annotations

import functools
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numba
import torch
from distributed import Client, LocalCluster, as_completed

LIMITS = {
    # One thread per worker: two such workers do twice the work of one, and Sionna repeats itself.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    # By Dask's default glibc hands freed memory back at once, and asking for it again costs a worker much of its time.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
    "TQDM_DISABLE": "1",
}
"""Environment of a worker's process, set before it starts: later, neither OpenMP nor glibc would look again."""

_START_SECONDS = 300  # on a machine that is busy with other things


@contextmanager
def connect(num_workers: int | None = None, scheduler: str | None = None) -> Iterator[Client]:
    """Client of ``num_workers`` local processes (one per core if missing), or of the scheduler at an address.

    Raises:
        ValueError: both are given, or a number below one.
        OSError: no scheduler answers at the address.
    """
    if num_workers is not None and scheduler is not None:
        raise ValueError("Expected 'workers' or 'scheduler', got both")
    if num_workers is not None and num_workers < 1:
        raise ValueError(f"Expected 'workers' in [1, inf), got {num_workers}")
    if scheduler is not None:
        with Client(scheduler, timeout=10, set_as_default=False) as client:
            yield client
        return
    with (
        # Any port: two builds at once must not quarrel over one. On loopback alone: nobody else has business there.
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL) as cluster,
        _workers(cluster.scheduler_address, num_workers or os.cpu_count() or 1),
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(num_workers or os.cpu_count() or 1, timeout=_START_SECONDS)
        yield client


@contextmanager
def connect_lazily(num_workers: int | None = None, scheduler: str | None = None) -> Iterator[Callable[[], Client]]:
    """A function that connects when it is first called: what is fresh needs no workers."""
    with ExitStack() as stack:
        yield functools.cache(lambda: stack.enter_context(connect(num_workers, scheduler)))


@contextmanager
def _workers(scheduler: str, num_workers: int) -> Iterator[None]:
    """Workers of a scheduler, started anew when lost.

    Dask's own local workers get their environment through that of this process, where a kernel that is compiled at that
    moment would take it for its own; these are started with one of their own. They end with their scheduler.
    """
    options = f"--nworkers {num_workers} --nthreads 1 --memory-limit 0 --no-dashboard --death-timeout {_START_SECONDS}"
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *options.split()]
    environment = {**os.environ, **LIMITS, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryDirectory() as scratch:
        started = subprocess.Popen(
            [*command, "--local-directory", scratch],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which then ends them
        )
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def use_one_thread() -> None:
    """Leave the other cores to the other workers, also where numba and torch do not look at the environment."""
    torch.set_num_threads(1)
    numba.set_num_threads(1)


def each(
    client: Client | None, work: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]], items: list[Any]
) -> Iterator[tuple[Any, Any]]:
    """Pairs of an item and what its work gives, as they are finished; ``work`` names an item's function and arguments.

    A few items a worker are under way at a time, so that the results that wait here stay few. Without a client the work
    is done here.
    """
    if client is None:
        for item in items:
            function, arguments = work(item)
            yield item, function(*arguments)
        return
    waiting = iter(items)
    ahead = 2 * max(1, len(client.nthreads()))
    under_way = {}
    completed = as_completed(loop=client.loop)

    def submit() -> None:
        for item in waiting:
            function, arguments = work(item)
            future = client.submit(function, *arguments, pure=False)
            under_way[future] = item
            completed.add(future)
            return

    for _ in range(ahead):
        submit()
    for future in completed:
        result = future.result()
        item = under_way.pop(future)
        future.release()
        submit()
        yield item, result
