"""Workers: how their processes are started."""

from __future__ import annotations

from pathlib import Path

from locus import cluster


def _at_start() -> dict[str, str]:
    lines = Path("/proc/self/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_workers_start_with_one_thread_and_keep_their_memory() -> None:
    """Set before a worker's process begins: later, neither OpenMP nor glibc would look again."""
    with cluster.connect(1) as client:
        found = client.submit(_at_start).result()
    assert {found[name] for name in cluster._POOLS} == {"1"}
    assert int(found["MALLOC_TRIM_THRESHOLD_"]) >= 2**30
    assert found["MALLOC_ARENA_MAX"] == "1"
