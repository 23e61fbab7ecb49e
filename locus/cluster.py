"""Workers: a number of local processes or a scheduler's address in, a Dask client out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster, as_completed

_POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
# By Dask's default glibc hands freed memory back at once, and asking for it again costs a worker much of its time.
_KEEP_MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
}


@contextmanager
def connect(num_workers: int | None = None, scheduler: str | None = None) -> Iterator[Client]:
    """Client of ``num_workers`` local processes (one a core if missing), or of the scheduler at an address.

    Each worker uses one thread: two such workers do twice the work of one, and Sionna repeats itself.

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
    before_start = {**dict.fromkeys(_POOLS, "1"), **_KEEP_MEMORY}
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": before_start}),
        LocalCluster(
            n_workers=num_workers or os.cpu_count(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any port: two builds at once must not quarrel over one
            env={"TQDM_DISABLE": "1"},
            memory_limit=0,
            # A worker that is told to end may find its scheduler gone already, and would say so at length.
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


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
