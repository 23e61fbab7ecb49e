"""Run the numeric tests as on other processors: ``python tests/portable.py [PERSONALITY ...]``.

Libraries select code paths by processor, and different code paths round differently. A personality is an environment
that makes them select as on another processor. Its tests run in a child process with a separate numba cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from locus.twin import llvm

ROOT = Path(__file__).resolve().parents[1]
NUMERIC = [
    f"tests/{name}.py"
    for name in (
        *(
            "room/test_errors",
            "room/test_geodesic",
            "room/test_layout",
            "twin/test_image",
            "twin/test_sionna",
            "twin/test_twin",
        ),
        *("receiver/test_estimator", "receiver/test_observation", "score/test_densities", "score/test_features"),
        *(
            "score/test_limits",
            "score/test_moving",
            "score/test_path_set",
            "score/test_walk_fusion",
            "score/test_phase_free",
            "score/test_pairwise",
            "score/test_train",
            "judge/test_metrics",
        ),
        *("experiment/test_case", "experiment/test_moved", "experiment/test_rows", "experiment/test_table"),
        *("experiment/test_twin_agreement", "experiment/test_weights", "experiment/test_wrong_twin"),
        *("experiment/test_any_radio", "experiment/test_conditions", "experiment/test_reachable"),
        "experiment/test_walk_rooms",
        *("capture/test_locate", "explorer/test_parity", "explorer/test_path_set_parity"),
        "explorer/test_walk_parity",
        "book/test_score_behaviour",
    )
]
"""Tests whose outcome may depend on rounding."""
SLICE = ["tests/experiment/test_paper_run.py::test_the_witness_is_what_this_code_computes", "tests/score/test_train.py"]
"""Subset that `make test` also runs in the plainest personality."""


class Personality(NamedTuple):
    """Environment variables that make libraries behave as on another processor."""

    environment: Mapping[str, str]
    left_out: str = ""
    """Why it cannot run on this processor; empty if it can."""


def personalities() -> dict[str, Personality]:
    """All personalities by name; which of them can run depends on this processor."""
    flags = _flags()
    native = "as this processor does without being told"
    own, own_wide = ("", native) if "avx512f" in flags else (native, "")
    lacks = "" if "avx512f" in flags else "this processor has no AVX-512"
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    wide = [name for name in dispatched if name == "X86_V4" or name.startswith("AVX512")]
    torch_plain = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}
    torch_avx2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
    numba_plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    numpy_plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched)}
    blas_plain = {"OPENBLAS_CORETYPE": "Prescott"}
    return {
        "plainest": Personality({**torch_plain, **numba_plain, **numpy_plain, **blas_plain, **_vector_width(4)}),
        "torch-default": Personality(torch_plain),
        "torch-avx2": Personality(torch_avx2, own),
        "numba-generic": Personality(numba_plain),
        "numpy-plain": Personality(numpy_plain),
        "numpy-avx2": Personality({"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}, own),
        "openblas-prescott": Personality(blas_plain),
        "openblas-haswell": Personality({"OPENBLAS_CORETYPE": "Haswell"}, own),
        "openblas-zen": Personality({"OPENBLAS_CORETYPE": "Zen"}, own),
        "openblas-skylakex": Personality({"OPENBLAS_CORETYPE": "SkylakeX"}, lacks),
        "drjit-4": Personality(_vector_width(4)),
        "drjit-8": Personality(_vector_width(8), own),
        # With AVX-512, Embree chooses code for it by itself, and aborts if the width comes without its instructions.
        "drjit-16": Personality(_vector_width(16), own_wide),
    }


def _flags() -> set[str]:
    """Feature flags of this processor, as Linux names them."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return set(next(line for line in lines if line.startswith("flags")).split())


def _vector_width(lanes: int) -> dict[str, str]:
    """Dr.Jit for AVX2 with this vector width; AVX-512 has 16, SSE has 4."""
    start = [str(ROOT / "tests" / "personality"), *filter(None, [os.environ.get("PYTHONPATH")])]
    library = str(llvm.require().path)
    return {"LOCUS_TEST_VECTOR_WIDTH": str(lanes), "PYTHONPATH": os.pathsep.join(start), llvm.VARIABLE: library}


def environment(name: str) -> dict[str, str]:
    """Environment of this process with a personality's variables."""
    cache = ROOT / ".pytest_cache" / "numba" / name
    return {**os.environ, **personalities()[name].environment, "NUMBA_CACHE_DIR": str(cache)}


def run(name: str, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the tests in a personality."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment(name), capture_output=True, text=True, check=False)


def main(names: Sequence[str]) -> int:
    """Print one line per personality, and failures if there are any."""
    known = personalities()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"Expected personalities of {list(known)}, got {unknown}")
    failed = 0
    for name in names or known:
        if known[name].left_out:
            print(f"{name}: left out, {known[name].left_out}", flush=True)
            continue
        done = run(name, NUMERIC)
        if done.returncode:
            failed += 1
            print(done.stdout, done.stderr, sep="\n")
        print(f"{name}: {(done.stdout.splitlines() or ['no output'])[-1].strip('= ')}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
