"""Conversion to LiteRT: tensors of a pairwise network and some rooms in, the content of a ``.tflite`` file out.

The network is rebuilt in Keras in the three parts that :mod:`locus.score.lite` runs. TensorFlow is imported only here.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from locus.score.lite_file import NAME, seal, write_header
from locus.settings.quiet import quietly

Float = NDArray[np.float32]
Rooms = Sequence[tuple[Float, Float]]
"""Features of the candidates (candidate, feature) and of the snapshots (snapshot, feature) of each room."""

KINDS = ("float32", "float16", "int8", "int16")
"""Number formats: ``float16`` stores half-precision weights and computes in float32; ``int16`` has int8 weights."""

_LEAST = 0.01  # range of a hidden unit relative to the widest, below which it is not widened any further


def require_tensorflow() -> Any:
    """TensorFlow, imported without the messages of its C++ code.

    Raises:
        RuntimeError: TensorFlow is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        with quietly():
            import tensorflow
    except ModuleNotFoundError as error:
        raise RuntimeError(
            "Expected TensorFlow and LiteRT to be installed for an export, got none; in a clone of the repository, "
            "`make device` installs them into .venv-device"
        ) from error
    return tensorflow


def convert(tensors: Mapping[str, Float], kind: str, rooms: Rooms = ()) -> bytes:
    """Content of a ``.tflite`` file without a header.

    Args:
        tensors: weights by name, as in the state of :class:`locus.score.pairwise.PairNetwork`.
        kind: one of ``KINDS``.
        rooms: features that calibrate the integer ranges; needed for the integer kinds only.
    """
    tf = require_tensorflow()
    whole = kind in ("int8", "int16")
    if whole:
        tensors = equalised(tensors, rooms)
    with tempfile.TemporaryDirectory() as folder, quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow uses an interpreter of its own that it calls outdated
        module, parts = _keras_parts(tf, tensors)
        tf.saved_model.save(module, folder, signatures=parts)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(parts))
        if kind != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if kind == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if whole:
            operations = tf.lite.OpsSet
            narrow = operations.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
            converter.representative_dataset = lambda: _examples(tensors, rooms)
            converter.target_spec.supported_ops = [operations.TFLITE_BUILTINS_INT8 if kind == "int8" else narrow]
            converter.inference_input_type = converter.inference_output_type = getattr(tf, kind)
        return bytes(converter.convert())


def with_header(content: bytes, header: dict[str, Any]) -> bytes:
    """Add a header to the content of a ``.tflite`` file, and the checksum of the whole."""
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    entry, buffer = schema.MetadataT(), schema.BufferT()
    entry.name, entry.buffer, buffer.data = NAME, len(model.buffers), list(write_header(header))
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), entry]
    return seal(bytes(flatbuffer_utils.convert_object_to_bytearray(model)))


def weight_bytes(content: bytes) -> int:
    """Bytes of all constant tensors of a ``.tflite`` file."""
    from ai_edge_litert.tools import flatbuffer_utils

    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    return sum(len(model.buffers[number].data) for number in used if model.buffers[number].data is not None)


def equalised(tensors: Mapping[str, Float], rooms: Rooms) -> dict[str, Float]:
    r"""The same network with hidden units of equal ranges over some rooms, so that one step size suits all of them.

    As :math:`\mathrm{ReLU}(k x) = k\, \mathrm{ReLU}(x)` for :math:`k > 0`, a unit's scale can move into the next
    layer, and scores change only by rounding.
    """
    new = {name: values.astype(np.float64) for name, values in tensors.items()}
    halves = [_halves(new, *room) for room in rooms]
    first = _relative(np.max([np.abs(side).max(axis=0) for pair in halves for side in pair], axis=0))
    for name in ("twin", "observation"):
        new[name] /= first[:, np.newaxis]
    new["bias"] /= first
    new["hidden.weight"] *= first
    outputs = [
        np.maximum(one + twin, 0) @ new["hidden.weight"].T + new["hidden.bias"]
        for twin, seen in (_halves(new, *room) for room in rooms)
        for one in seen
    ]
    second = _relative(np.max([one.max(axis=0) for one in outputs], axis=0))
    new["hidden.weight"] /= second[:, np.newaxis]
    new["hidden.bias"] /= second
    new["last.weight"] *= second
    return {name: values.astype(np.float32) for name, values in new.items()}


def _relative(ranges: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(ranges / ranges.max(), _LEAST))


def _halves(tensors: Mapping[str, Any], candidates: Float, conditions: Float) -> tuple[Any, Any]:
    """Outputs of the first layer for candidates and for snapshots."""
    return candidates @ tensors["twin"].T, conditions @ tensors["observation"].T + tensors["bias"]


def _examples(tensors: Mapping[str, Float], rooms: Rooms) -> Iterator[tuple[str, dict[str, Float]]]:
    """Calibration inputs of each part: all rooms, so that a half has one range as an output and as an input."""
    for candidates, conditions in rooms:
        halves, seen = _halves(tensors, candidates, conditions)
        yield "candidates", {"features": candidates}
        for features, half in zip(conditions, seen, strict=True):
            yield "snapshot", {"features": features[np.newaxis]}
            yield "pairs", {"halves": halves, "half": half[np.newaxis]}


def _keras_parts(tf: Any, tensors: Mapping[str, Float]) -> tuple[Any, dict[str, Any]]:
    """A module with the weights of the three parts as Keras models, and a concrete function for each part."""
    (width, num_features), second = tensors["twin"].shape, tensors["hidden.weight"].shape[0]
    layers, entry = tf.keras.layers, tf.keras.Input
    one, other, sides = entry((num_features,)), entry((num_features,)), [entry((width,)), entry((width,))]
    hidden = layers.Dense(second, activation="relu")(layers.ReLU()(layers.Add()(sides)))
    models = {
        "candidates": tf.keras.Model(one, layers.Dense(width, use_bias=False)(one)),
        "snapshot": tf.keras.Model(other, layers.Dense(width)(other)),
        "pairs": tf.keras.Model(sides, layers.Dense(1)(hidden)),
    }
    weights = {
        "candidates": ("twin",),
        "snapshot": ("observation", "bias"),
        "pairs": ("hidden.weight", "hidden.bias", "last.weight", "last.bias"),
    }
    for name, model in models.items():
        model.set_weights([tensors[key].T for key in weights[name]])  # Keras has weights (input, output)
    module = tf.Module()
    module.weights = [one.value for model in models.values() for one in model.weights]

    def signature(function: Any, **inputs: tuple[int | None, int]) -> Any:
        specifications = {name: tf.TensorSpec(shape, tf.float32) for name, shape in inputs.items()}
        return tf.function(function).get_concrete_function(**specifications)

    return module, {
        "candidates": signature(
            lambda features: {"halves": models["candidates"](features)}, features=(None, num_features)
        ),
        "snapshot": signature(lambda features: {"half": models["snapshot"](features)}, features=(1, num_features)),
        "pairs": signature(
            lambda halves, half: {"scores": models["pairs"]([halves, half])}, halves=(None, width), half=(1, width)
        ),
    }
