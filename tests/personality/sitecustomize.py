"""Startup hook of the personalities of ``portable.py`` that change Dr.Jit's vector width, also in child processes.

Dr.Jit has neither a setting nor a Python function for it, only a function of its core library.
"""

import ctypes
import os
from pathlib import Path

import drjit

_LLVM = 1 << 2  # Dr.Jit's JitBackend.LLVM as a flag

_core = ctypes.CDLL(str(Path(drjit.__file__).with_name("libdrjit-core.so")))
_core["_Z8jit_initj"](_LLVM)
_core["_Z19jit_llvm_set_targetPKcS0_j"](b"haswell", None, int(os.environ["LOCUS_TEST_VECTOR_WIDTH"]))
