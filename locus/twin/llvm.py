"""Find a libLLVM that Dr.Jit can use, and raise a Python error if there is none.

With LLVM 14, 15 or 16, Dr.Jit 1.5 aborts the whole process at the first solve; it does not accept 13 or older. It is
also linked against libatomic, which a minimal Debian lacks.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path

from locus.settings.atomic import write_text

VARIABLE = "DRJIT_LIBLLVM_PATH"
MEND = (
    "as root 'apt-get install libllvm19' (Debian, Ubuntu), 'brew install llvm@19', "
    "or 'conda install -c conda-forge libllvm19'"
)

_GOOD = 19  # tested in this project
_NEWEST_BAD = 16
_LIBATOMIC = "libatomic.so.1"
_PLACES = (
    "{prefix}/lib/libLLVM*",
    "/usr/lib/*-linux-gnu*/libLLVM*",
    "/usr/lib/llvm-*/lib/libLLVM*",
    "/usr/lib64/libLLVM*",
    "/usr/lib64/llvm*/lib/libLLVM*",
    "/usr/lib/libLLVM*",
    "/opt/homebrew/opt/llvm*/lib/libLLVM*",
    "/usr/local/opt/llvm*/lib/libLLVM*",
)
_PROBE = """
import numpy as np, shapely
from locus.settings.config import Radio, TwinOptions
from locus.room.layout import Layout, Pose
from locus.twin.sionna import SionnaTwin
layout = Layout(shapely.box(0, 0, 10, 10))
paths = SionnaTwin(Radio(), TwinOptions(max_depth=1, num_rays=100)).trace(layout, Pose(2, 3, 0), np.array([[7.0, 6.0]]))
assert int(paths.valid.sum()) == 5, paths  # line of sight and one reflection on each of four walls
"""


class LLVMError(RuntimeError):
    """No libLLVM that Dr.Jit can use is installed."""


@dataclass(frozen=True)
class Library:
    """A shared libLLVM; ``major`` is None if neither the file name nor its folder gives its major version."""

    path: Path
    major: int | None

    def __str__(self) -> str:
        return f"LLVM {self.major or 'of unknown version'} ({self.path})"


def find() -> list[Library]:
    """Libraries found on this machine: the tested version first, then by decreasing version."""
    prefix = os.environ.get("CONDA_PREFIX", sys.prefix)
    paths = {Path(name).resolve() for place in _PLACES for name in glob.glob(place.format(prefix=prefix))}
    shared = (p for p in paths if re.fullmatch(r"libLLVM([-.].*)?\.(so(\.[\d.]+)?|dylib)", p.name) and p.is_file())
    libraries = [Library(path, major_version(path)) for path in shared]
    return sorted(libraries, key=lambda lib: (lib.major != _GOOD, -(lib.major or 0), str(lib.path)))


def require() -> Library:
    """Choose a library, probing versions that we have not tested, and point Dr.Jit to it.

    A path set by the user in ``DRJIT_LIBLLVM_PATH`` is used or rejected, never replaced.

    Raises:
        LLVMError: no library works; the message says how to install one.
    """
    _require_libatomic()
    chosen = os.environ.get(VARIABLE)
    if chosen:
        path = Path(chosen)
        if not path.is_file():
            raise LLVMError(f"Expected {VARIABLE} to be the path of a libLLVM, got {chosen!r}; unset it or {MEND}")
        library = Library(path, major_version(path.resolve()))
        reason = why_not(library)
        if reason:
            raise LLVMError(f"Expected {VARIABLE} to name LLVM {_GOOD}, got {library}: {reason}; unset it or {MEND}")
        return library
    refused = []
    for library in find():
        reason = why_not(library)
        if not reason:
            os.environ[VARIABLE] = str(library.path)
            return library
        refused.append(f"{library}: {reason}")
    raise LLVMError(f"Expected a libLLVM that Dr.Jit can use, got {'; '.join(refused) or 'none'}. To get one: {MEND}")


def _require_libatomic() -> None:
    if sys.platform == "linux":
        try:
            ctypes.CDLL(_LIBATOMIC)
        except OSError:
            raise LLVMError(
                f"Expected {_LIBATOMIC}, which Dr.Jit links against, got none; as root 'apt-get install libatomic1' "
                "(Debian, Ubuntu), 'dnf install libatomic', or 'conda install -c conda-forge libgcc'"
            ) from None


def major_version(path: Path) -> int | None:
    """Major version from a file name like ``libLLVM-15.so.1``, or a folder like ``llvm-14`` or ``llvm@19``."""
    match = re.search(r"libLLVM[-.](?:so\.)?(\d+)", path.name) or re.search(r"llvm[-@](\d+)", str(path.parent))
    return int(match.group(1)) if match else None


def why_not(library: Library) -> str:
    """Reason why the library cannot be used; empty if it can."""
    if library.major == _GOOD:
        return ""
    if library.major is not None and library.major <= _NEWEST_BAD:
        return "Dr.Jit aborts with this version"
    return _probe(library.path)


def _probe(path: Path) -> str:
    """Trace a small room with this library in a child process; returns why that failed, if it did. Cached on disk."""
    status = path.stat()
    facts = [str(path), status.st_size, status.st_mtime_ns, package_version("drjit"), package_version("sionna-rt")]
    name = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "locus"
    answer = folder / f"llvm-{name}.json"
    if answer.is_file():
        return str(json.loads(answer.read_text(encoding="utf-8"))["reason"])
    child = subprocess.run(
        [sys.executable, "-c", _PROBE],
        env={**os.environ, VARIABLE: str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    last = (child.stderr.strip().splitlines() or [""])[-1]
    reason = "" if child.returncode == 0 else f"a test trace exited with code {child.returncode} ({last[:200]})"
    write_text(answer, json.dumps({"library": str(path), "reason": reason}))
    return reason


def main() -> int:
    """Print the library that Dr.Jit would use: ``python -m locus.twin.llvm [--quiet]``."""
    quiet = "--quiet" in sys.argv[1:]
    try:
        library = require()
    except LLVMError as error:
        if not quiet:
            print(error, file=sys.stderr)
        return 1
    if not quiet:
        print(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
