"""Quiet libraries: what compiled code writes to standard error is kept, and shown only if something goes wrong."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly() -> Iterator[None]:
    """Keep standard error of this process, including that of C++ code, from the terminal unless the block raises."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            os.lseek(kept.fileno(), 0, os.SEEK_SET)
            os.write(before, kept.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
