"""Headers of ``.tflite`` files, read without TensorFlow: what they ask for is checked before any runtime starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzz.readers_lite import sealed

import locus
from locus.score import lite
from locus.score.lite_file import read_header

HEADER = {"method": "locus_dt", "options": {"num_paths": 6}}


def test_a_header_comes_back() -> None:
    assert read_header(sealed(HEADER), "x.tflite") == {**HEADER, "format": 1}


@pytest.mark.parametrize("number", [2_000_000, 0, -1, 10**40, 1.5, "six", None, [6]])
def test_a_foolish_number_of_paths_is_refused_before_anything_is_allocated(
    number: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: Any) -> None:
        raise AssertionError("the runtime was started")

    monkeypatch.setattr(lite, "_start", start)
    (tmp_path / "x.tflite").write_bytes(sealed({**HEADER, "options": {"num_paths": number}}))
    with pytest.raises(ValueError, match=r"^Expected 'options.num_paths'") as caught:
        locus.load_scorer(str(tmp_path / "x.tflite"))
    assert len(str(caught.value)) < 500
