"""The fuzzer: readers and a number of inputs in, counts of refused, accepted and wrong ones out.

Run it from ``tests`` as ``python -m fuzz.run``; ``make fuzz`` does. Input ``n`` of a reader depends on (reader, n),
so ``--reader NAME --first N --count 1`` repeats one. All inputs of all readers are read in one child process
under limits; if one of them kills it, the next child goes on after that input.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import Reader, readers

SECONDS = 1.0
"""CPU time that an input may take."""
BYTES = 200 * 2**20
"""Address space that an input may add."""
LENGTH = 500
"""Characters of a message, at most."""
_GIVE_UP = 60.0  # wall-clock seconds after which compiled code that never returns is ended


class TookTooLong(BaseException):
    """An input took more than its CPU time."""


def try_one(reader: Reader, number: int, folder: Path) -> tuple[str, str]:
    """Outcome of one input: ``refused``, ``accepted`` or ``wrong``, and for the last what was wrong."""
    rng = np.random.default_rng([zlib.crc32(reader.name.encode()), number])
    value = reader.hostile(rng, folder)
    try:
        with limited(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            result = reader.call(value)
    except reader.refuses as error:
        message = str(error)
        if not message or len(message) >= LENGTH or len(message.splitlines()) > 1:
            return "wrong", f"message of {len(message)} characters: {message[:200]!r}"
        return "refused", message
    except TookTooLong:
        return "wrong", f"took more than {SECONDS} s of CPU time"
    except MemoryError:
        return "wrong", f"took more than {BYTES // 2**20} MB"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return "wrong", f"{type(error).__name__}: {str(error)[:200]} ({Path(place.filename).name}:{place.lineno})"
    try:
        reader.check(result)
    except AssertionError as error:
        return "wrong", f"silently wrong: {str(error)[:200]}"
    return "accepted", ""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Limit CPU time and memory of a block, on top of what the process uses already."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + BYTES, before[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _too_long(*_: Any) -> None:
    raise TookTooLong


def child(names: list[str], first: dict[str, int], last: int) -> None:
    """Try inputs ``first[name]`` to ``last`` of each reader, a line of JSON for each; runs under limits."""
    import faulthandler

    signal.signal(signal.SIGPROF, _too_long)
    known = readers()
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            reader, folder = known[name], Path(scratch, name.replace("/", "_"))
            folder.mkdir()
            if first[name] < min(last, reader.most):
                reader.check(reader.call(reader.valid(folder)))
            for number in range(first[name], min(last, reader.most)):
                print(json.dumps([name, number, "begun", ""]), flush=True)
                faulthandler.dump_traceback_later(_GIVE_UP, exit=True)
                start = time.process_time()
                outcome, detail = try_one(reader, number, folder)
                faulthandler.cancel_dump_traceback_later()
                print(json.dumps([name, number, outcome, detail, time.process_time() - start]), flush=True)


def fuzz(names: list[str], count: int, first: int = 0, report: Any = None, each: Any = None) -> dict[str, Counter[str]]:
    """Counts of outcomes by reader.

    ``report`` is called with reader, number and detail of each wrong one, ``each`` with reader, number, outcome and
    detail of every one.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    following = dict.fromkeys(names, first)
    ends = {name: min(first + count, readers()[name].most) for name in names}
    while any(number < ends[name] for name, number in following.items()):
        before = dict(following)
        command = [sys.executable, "-m", "fuzz.run", "--child", json.dumps([names, following, first + count])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        with tempfile.TemporaryFile("w+", encoding="utf-8") as kept:  # a pipe that nobody empties would block the child
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=kept, text=True, cwd=Path(__file__).parents[1], env=environment
            )
            begun = None
            with process:
                assert process.stdout is not None
                for line in process.stdout:
                    name, number, outcome, detail, *_ = json.loads(line)
                    following[name] = number + 1
                    begun = (name, number) if outcome == "begun" else None
                    if begun is None:
                        counts[name][outcome] += 1
                        if each:
                            each(name, number, outcome, detail)
                        if outcome == "wrong" and report:
                            report(name, number, detail)
            kept.seek(0)
            errors = kept.read()
        if process.returncode and begun is None:
            raise RuntimeError(f"the fuzzer failed: {errors[-2000:]}")
        if begun is not None:
            counts[begun[0]]["wrong"] += 1
            if each:
                each(*begun, "wrong", f"ended the process with code {process.returncode}")
            if report:
                report(*begun, f"ended the process with code {process.returncode}: {errors[-300:]!r}")
        assert following != before, errors
    return counts


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", action="append", help="only readers whose name contains this; may be repeated")
    parser.add_argument("--count", type=int, default=2000, help="inputs per reader (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default: %(default)s)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*json.loads(options.child))
        return 0
    names = [name for name in readers() if not options.reader or any(part in name for part in options.reader)]

    def report(name: str, number: int, detail: str) -> None:
        print(f"{name}, input {number}: {detail}", flush=True)

    counts = fuzz(names, options.count, options.first, report)
    for name, count in counts.items():
        print(f"{name}: {count['refused']} refused, {count['accepted']} accepted, {count['wrong']} wrong")
    return int(any(count["wrong"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
