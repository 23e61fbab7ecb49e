"""The process of local workers: Dask's own command line, which ends with the process that started it.

Standard input is a pipe from that process. It closes when that process ends, however it ends, even before the workers
have found their scheduler. ``python -m locus.experiment.worker`` is for :mod:`locus.experiment.cluster` only.
"""

from __future__ import annotations

import os
import signal
import sys
import threading


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)  # this process and the workers, in a group of their own


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()

    from distributed.cli.dask_worker import main

    main()
