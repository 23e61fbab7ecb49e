"""The numeric tests also pass on other processors: `make test-portable` runs all of them, this file a subset."""

from __future__ import annotations

import subprocess
import sys

import portable
import pytest

PROBE = """
import ctypes, pathlib
import drjit, scipy.linalg, torch
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
import locus
locus.make_twin("sionna")
core = ctypes.CDLL(str(pathlib.Path(drjit.__file__).with_name("libdrjit-core.so")))
print(torch.backends.cpu.get_cpu_capability(), cpu_target.target_context.codegen().magic_tuple()[1])
print([name for name in __cpu_dispatch__ if __cpu_features__[name]], core["_Z21jit_llvm_vector_widthv"]())
"""


def test_libraries_believe_the_plainest_personality() -> None:
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE],
        env={**portable.environment("plainest"), "OPENBLAS_VERBOSE": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.split("\n")[:2] == ["DEFAULT generic", "[] 4"]
    assert child.stderr.split("\n")[:2] == ["Core: Katmai"] * 2  # OpenBLAS's name for Prescott, in NumPy and SciPy


def test_witness_and_training_hold_on_the_plainest_processor() -> None:
    done = portable.run("plainest", portable.SLICE)
    assert done.returncode == 0, done.stdout


def test_what_cannot_run_here_is_left_out_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(portable, "_flags", lambda: {"avx2"})
    assert portable.main(["openblas-skylakex", "torch-avx2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "openblas-skylakex: left out, this processor has no AVX-512",
        "torch-avx2: left out, as this processor does without being told",
    ]
    monkeypatch.setattr(portable, "_flags", lambda: {"avx2", "avx512f"})
    assert portable.main(["drjit-16"]) == 0
    assert capsys.readouterr().out == "drjit-16: left out, as this processor does without being told\n"
    with pytest.raises(SystemExit, match=r"Expected personalities of \['plainest', .*\], got \['z80'\]"):
        portable.main(["z80"])
