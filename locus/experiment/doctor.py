"""Check of the machine: one line per requirement, OK or FAIL with the command that fixes it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from locus.twin import llvm

_MIN_MEMORY = 4.0  # [GiB]
_MIN_DISK = 2.0  # [GiB]


class _MissingError(Exception):
    """A requirement is not met; the message says how to fix it."""


def examine() -> Iterator[tuple[str, bool, str]]:
    """Yield the name of each requirement, whether it is met, and what was found or how to fix it."""
    needs: dict[str, Callable[[], str]] = {
        "Python": _python,
        "torch": lambda: _package("torch"),
        "Sionna": lambda: f"{_package('sionna')}, ray tracer {_package('sionna-rt')}",
        "Mitsuba/Dr.Jit": lambda: f"{_package('mitsuba')} / {_package('drjit')}",
        "libLLVM": lambda: str(llvm.require()),
        "cores": lambda: str(os.cpu_count()),
        "memory": _memory,
        "free disk": _disk,
        "GPU": _gpu,
    }
    for name, look in needs.items():
        try:
            yield name, True, look()
        except (_MissingError, llvm.LLVMError) as error:
            yield name, False, str(error)


def main() -> int:
    """Print what :func:`examine` finds; return 1 if a requirement is not met, else 0."""
    healthy = True
    for name, met, text in examine():
        print(f"{'OK  ' if met else 'FAIL'}  {name:<15} {text}")
        healthy &= met
    return 0 if healthy else 1


def _python() -> str:
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        raise _MissingError(f"{platform.python_version()}; 3.11 to 3.13 are needed: make setup PYTHON=python3.11")
    return platform.python_version()


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise _MissingError(f"{name} is not installed: make setup") from None


def _memory() -> str:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if size < _MIN_MEMORY:
        raise _MissingError(f"{size:.1f} GiB; {_MIN_MEMORY:g} GiB are needed: use a larger machine")
    return f"{size:.1f} GiB"


def _disk() -> str:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    if free < _MIN_DISK:
        raise _MissingError(f"{free:.1f} GiB; {_MIN_DISK:g} GiB are needed: make clean, or free some space")
    return f"{free:.1f} GiB"


def _gpu() -> str:
    _package("torch")
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "none (not needed)"
