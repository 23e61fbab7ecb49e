"""Whether this machine may have a GPU that torch can use, without importing torch."""

from __future__ import annotations

import ctypes
import functools
import sys


@functools.cache
def may_have_gpu() -> bool:
    """Whether the library of NVIDIA's driver can be loaded; without it, CUDA is never available."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True
