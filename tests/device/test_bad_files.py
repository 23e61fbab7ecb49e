"""Bad files: each gets one clear line, and none reaches the runtime unless it is what `locus export` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from locus.cli import main
from locus.score.lite import LiteScorer, load_lite
from locus.score.lite_convert import convert, with_header
from locus.score.lite_file import LiteFileError, read_header


@pytest.fixture(scope="module")
def content(files: dict[str, Path]) -> bytes:
    return files["int8"].read_bytes()


@pytest.fixture(scope="module")
def bare(network: Any) -> bytes:
    """The network as TensorFlow converts it, without our header."""
    from locus.experiment.export import arrays

    return convert(arrays(network), "float32")


@pytest.fixture(scope="module")
def header(content: bytes) -> dict[str, Any]:
    return read_header(content, "file")


def test_every_truncated_file_is_refused(content: bytes) -> None:
    for length in {*range(0, 64), *range(64, len(content), 61), len(content) - 1}:
        with pytest.raises(LiteFileError, match=r"^Expected .* in cut.tflite|^Expected cut.tflite"):
            read_header(content[:length], "cut.tflite")


def test_every_changed_byte_is_noticed(content: bytes, rng: np.random.Generator) -> None:
    places = {*range(0, 64), *rng.integers(0, len(content), 500).tolist()}
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        with pytest.raises(LiteFileError):
            read_header(bytes(damaged), "damaged.tflite")


def test_noise_behind_the_magic_bytes_is_refused(rng: np.random.Generator) -> None:
    for _ in range(2000):
        noise = rng.integers(0, 256, rng.integers(0, 200), dtype=np.uint8)
        noise[rng.random(len(noise)) < 0.7] = 0  # small offsets, which stay inside the file
        with pytest.raises(LiteFileError):
            read_header(noise[:4].tobytes() + b"TFL3" + noise[4:].tobytes(), "noise.tflite")


def test_a_file_without_our_header_is_refused(bare: bytes) -> None:
    with pytest.raises(
        LiteFileError, match=r"^Expected .* `locus export` made in bare.tflite, got one without its header"
    ):
        LiteScorer(bare, "bare.tflite")


def test_another_method_is_refused_by_name(bare: bytes, header: dict[str, Any]) -> None:
    with pytest.raises(LiteFileError, match=r"^Expected the network 'locus_dt' in x.tflite, got 'gmm_cart'$"):
        LiteScorer(with_header(bare, {**header, "method": "gmm_cart"}), "x.tflite")


def test_wrong_shapes_are_refused(bare: bytes, header: dict[str, Any]) -> None:
    options = {**header["options"], "num_paths": 5}
    with pytest.raises(LiteFileError, match=r"'candidates' in x.tflite .*\[-1, 15\].*, got .*\[-1, 18\]"):
        LiteScorer(with_header(bare, {**header, "options": options}), "x.tflite")


def test_another_model_under_our_header_is_refused(header: dict[str, Any]) -> None:
    from locus.score.lite_convert import require_tensorflow
    from locus.settings.quiet import quietly

    tf = require_tensorflow()
    entry = tf.keras.Input((18,))
    with quietly():
        other = tf.lite.TFLiteConverter.from_keras_model(
            tf.keras.Model(entry, tf.keras.layers.Dense(1)(entry))
        ).convert()
    with pytest.raises(LiteFileError, match=r"^Expected the parts \['candidates', 'pairs', 'snapshot'\] in x.tflite"):
        LiteScorer(with_header(bytes(other), header), "x.tflite")


@pytest.mark.parametrize("change", [{"options": None}, {"options": {"num_paths": "six"}}, {"options": {"more": 1}}])
def test_a_wrong_header_is_refused(bare: bytes, header: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^Expected .*options"):
        LiteScorer(with_header(bare, {**header, **change}), "x.tflite")


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "large.tflite").open("wb") as stream:
        stream.truncate(2**30)
    with pytest.raises(LiteFileError, match=r"^Expected at most 1048576 bytes"):
        load_lite(tmp_path / "large.tflite")


@pytest.mark.parametrize("length", [None, 0, 5000])
def test_the_command_says_so_in_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], length: int | None
) -> None:
    room = Path(__file__).resolve().parents[2] / "book/_static/room.geojson"
    np.save(tmp_path / "iq.npy", np.ones((128, 8), dtype=complex))
    if length is not None:
        (tmp_path / "bad.tflite").write_bytes(content[:length])
    options = ["--pose", "70,30,2.8", "--iq", str(tmp_path / "iq.npy"), "--out", str(tmp_path / "out.nc")]
    assert main(["locate", str(room), *options, "--run", str(tmp_path / "bad.tflite")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("locus locate: Expected ")
    assert message.count("\n") == 1
    assert not (tmp_path / "out.nc").exists()
