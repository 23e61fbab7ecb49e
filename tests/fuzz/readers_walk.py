"""Readers of walks: trajectories as TUM and CSV, odometry, and the functions that take them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator

import locus
from fuzz import file_reader, function_reader
from fuzz.mutations import NUMBERS, damaged, nested, number_replaced
from fuzz.readers_capture import is_finite
from locus.capture import files
from locus.capture.trajectory import Trajectory, read_trajectory
from locus.capture.walk import MAX_POSES, check_times

_CSV = b"time,x,y,heading\n" + b"".join(b"%d,%.1f,2.5,%.2f\n" % (i, i / 2, i / 10 - 1) for i in range(20))
_TUM = b"# time x y z qx qy qz qw\n" + b"".join(
    b"%d.5 %.1f 2.5 0.3 0 0 %.6f %.6f\n" % (i, i / 2, math.sin(i / 20), math.cos(i / 20)) for i in range(20)
)


def lines_changed(content: bytes, rng: Generator) -> bytes:
    """Lines swapped, repeated, dropped, emptied, joined, quoted, or of another length."""
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    odd = (
        *(lines[at] * 2, lines[at] + b",1", b"", b'"', b'"' + lines[at], b"#" * 1000, b"\xef\xbb\xbf", b"\r", b"\x00"),
        *(b"," * 5000, b" ".join([b"1"] * 8), b",".join([b"nan"] * 4), b"1 2 3 0 9 9 9 9", b"\x85\xe2\x80\xa8"),
    )
    kind = int(rng.integers(4))
    if kind == 0:
        lines[at] = odd[int(rng.integers(len(odd)))]
    elif kind == 1:
        lines.insert(at, lines[int(rng.integers(len(lines)))])
    elif kind == 2:
        lines[at:] = lines[at:] * int(rng.choice([2, 50, 2000]))
    else:
        del lines[at]
    return b"\n".join(lines)


def column_replaced(content: bytes, rng: Generator) -> bytes:
    """The same odd number on every line, in one column."""
    separator = b"," if content.startswith(b"time,") else b" "
    first, *lines = content.split(b"\n")
    column, odd = int(rng.integers(8)), NUMBERS[int(rng.integers(len(NUMBERS)))].encode()
    changed = [
        separator.join(odd if number == column else part for number, part in enumerate(line.split(separator)))
        for line in lines
    ]
    return b"\n".join([first, *changed])


def _is_walk(found: Trajectory) -> None:
    assert 1 <= len(found.poses) <= MAX_POSES, f"{len(found.poses)} poses"
    assert len(found.times) == len(found.poses), "another number of times"
    assert np.isfinite(found.times).all(), "times that are not finite"
    assert (np.diff(found.times) > 0).all(), "times that do not increase"
    numbers = np.array([(pose.x, pose.y, pose.heading) for pose in found.poses])
    assert np.isfinite(numbers).all(), "poses that are not finite"
    assert (np.abs(numbers[:, 2]) <= math.pi).all(), "headings beyond pi"


def _are_times(found: Any) -> None:
    assert found.shape == (3,), found.shape
    assert np.isfinite(found).all(), "times that are not finite"


_MUTATIONS = [lines_changed, column_replaced, number_replaced, damaged, nested]
READERS = [
    file_reader("walk as csv", "walk.csv", [_CSV], _MUTATIONS, read_trajectory, _is_walk),
    file_reader("walk as tum", "walk.tum", [_TUM], _MUTATIONS, read_trajectory, _is_walk),
    function_reader("odometry", (0.01, 0.01, 0.02), locus.Odometry, is_finite),
    function_reader("odometry on the command line", ("position=0.02",), lambda text: files.parse_odometry(str(text))),
    function_reader("times of a walk", ([0.0, 1.0, 2.5],), lambda times: check_times(times, 3), _are_times),
]
