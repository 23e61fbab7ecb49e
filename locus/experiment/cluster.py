"""Workers: a number of local processes or a scheduler's address in, a Dask client out."""

from __future__ import annotations

import functools
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numba
import torch
from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.comm import CommClosedError

from locus.settings.atomic import scratch_folder
from locus.settings.untrusted import whole_number

LIMITS = {
    # One thread per worker: throughput scales with workers, and Sionna becomes deterministic.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    # With Dask's defaults, glibc returns freed memory to the system at once; getting it back costs workers much time.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
    "TQDM_DISABLE": "1",
}
"""Environment of a worker process. It must be set before the start, as OpenMP and glibc read it only once."""

WATCH_SECONDS = 5.0
"""Time [s] between checks for workers."""
MAX_WORKERS = 1024
"""Maximum number of local processes."""

_START_SECONDS = 300  # generous, for a busy machine


def check_workers(num_workers: int | None = None, scheduler: str | None = None) -> None:
    """Raise a ValueError unless workers can be asked for like this, before anything else is done."""
    if num_workers is not None and scheduler is not None:
        raise ValueError("Expected 'workers' or 'scheduler', got both")
    if num_workers is not None:
        whole_number("workers", num_workers, 1, MAX_WORKERS)


@contextmanager
def connect(num_workers: int | None = None, scheduler: str | None = None) -> Iterator[Client]:
    """Client of ``num_workers`` local processes (by default one per core), or of the scheduler at an address.

    Raises:
        ValueError: both are given, or ``num_workers`` is below 1.
        OSError: there is no scheduler at the address.
    """
    check_workers(num_workers, scheduler)
    if scheduler is not None:
        for name in [one for one in logging.root.manager.loggerDict if one.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we say what matters, in one line
        with Client(scheduler, timeout=10, set_as_default=False) as client:
            yield client
        return
    with (
        # Any free port, so that several builds can run at once; loopback only, so that no other machine can connect.
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL) as cluster,
        _workers(cluster.scheduler_address, num_workers or os.cpu_count() or 1),
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(num_workers or os.cpu_count() or 1, timeout=_START_SECONDS)
        yield client


@contextmanager
def connect_lazily(num_workers: int | None = None, scheduler: str | None = None) -> Iterator[Callable[[], Client]]:
    """Yield a function that connects on its first call, so that no workers start when everything is fresh."""
    with ExitStack() as stack:
        yield functools.cache(lambda: stack.enter_context(connect(num_workers, scheduler)))


@contextmanager
def _workers(scheduler: str, num_workers: int) -> Iterator[None]:
    """Worker processes of a scheduler, restarted when they die; they end with this process, even if it is killed.

    Dask's own local workers receive their environment through that of this process, which would affect kernels compiled
    here at the same time. These workers are started with a separate environment.
    """
    # By default, a worker would listen on every interface for whoever sends it work
    options = "--host 127.0.0.1 --dashboard-address 127.0.0.1:0 --no-dashboard --nthreads 1 --memory-limit 0 "
    options += f"--nworkers {num_workers} --death-timeout {_START_SECONDS}"
    command = [sys.executable, "-m", "locus.experiment.worker", scheduler, *options.split()]
    environment = {**os.environ, **LIMITS, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (
        scratch_folder("workers") as scratch,
        subprocess.Popen(
            [*command, "--local-directory", str(scratch)],
            env=environment,
            stdin=subprocess.PIPE,  # closes with this process
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the workers
        ) as started,
    ):
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, as every worker does: they do not compete for cores, and sums round the same way."""
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])


def each(
    client: Client | None, work: Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]], items: list[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of an item and its result as they finish; ``work(item)`` returns the function and arguments to call.

    Only two items per worker are in flight at a time, which limits the results waiting in memory. Without a client,
    this process does the work.
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

    with _waiting(client, lambda: len(under_way)), _translated():
        for _ in range(ahead):
            submit()
        for future in completed:
            result = future.result()
            item = under_way.pop(future)
            future.release()
            submit()
            yield item, result


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the many ways in which a cluster fails into one RuntimeError."""
    try:
        yield
    except (CancelledError, CommClosedError, KilledWorker) as error:
        raise RuntimeError(
            f"Expected the scheduler and its workers to stay, got {type(error).__name__}: the scheduler was lost, or "
            "workers died again and again over the same work; what is finished is kept, so repeat the command"
        ) from error


@contextmanager
def _waiting(client: Client, num_tasks: Callable[[], int]) -> Iterator[None]:
    """Say so when no worker is left, and when there are some again; a Dask client waits for them without a word."""
    ended = threading.Event()

    def watch() -> None:
        said = False
        while not ended.wait(WATCH_SECONDS):
            try:
                workers = len(client.scheduler_info(n_workers=-1)["workers"])
            except Exception:  # the main thread hears of a lost scheduler, too
                continue
            if not workers and not said:
                print(
                    f"No worker is left: {num_tasks()} tasks wait for one to connect to {client.scheduler.address} "
                    "(`dask worker` starts one); Ctrl-C ends, and what is finished is kept",
                    file=sys.stderr,
                    flush=True,
                )
            elif workers and said:
                print(f"{workers} workers are back", file=sys.stderr, flush=True)
            said = not workers

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
