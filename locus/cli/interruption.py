"""Interruption: Ctrl-C or SIGTERM ends all processes within seconds, with one line that says how to go on."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PATIENCE = 2.0
"""Time [s] that clean-up may take after an interruption, before all child processes and this one are ended."""

_RESUMED = ("reproduce", "sweep", "sensitivity", "build", "observe", "train", "evaluate")


class InterruptionError(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        """Exit code, as shells have it: 130 for Ctrl-C."""


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into an :class:`InterruptionError`; if clean-up takes long, end everything at once.

    Libraries print what they like while they are torn down, so standard error is closed to them after the line.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    asked = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if asked.is_set():
            return
        asked.set()
        say(command)
        end = threading.Timer(PATIENCE, end_everything, (128 + number,))
        end.daemon = True
        end.start()
        raise InterruptionError(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if not asked.is_set():
            for number, handler in before.items():
                signal.signal(number, handler)


def say(command: str) -> None:
    """Print that the command was interrupted and how to go on, and nothing after it."""
    kept = "what is finished is kept, and the same command goes on from there"
    print(f"\nlocus {command}: interrupted; {kept if command in _RESUMED else 'repeat the command'}", file=sys.stderr)
    sys.stderr.flush()
    logging.disable(logging.CRITICAL)
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        os.close(nothing)


def end_everything(code: int) -> None:
    """End all processes that descend from this one, then this one."""
    end_children()
    os._exit(code)


def end_children() -> None:
    """End all processes that descend from this one, and wait for them."""
    import psutil

    with suppress(psutil.Error):
        found = psutil.Process().children(recursive=True)
        for one in found:
            with suppress(psutil.Error):
                one.kill()
        psutil.wait_procs(found, timeout=1)
