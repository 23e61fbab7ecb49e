"""LOCUS-DT from a LiteRT file: traced and observed paths in, a posterior out, with neither torch nor TensorFlow.

The file has three parts, run as the package runs the network: ``candidates`` once per candidate, ``snapshot`` once per
snapshot, and ``pairs`` for every pair.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from locus.score.features import features
from locus.score.lite_file import LiteFileError, read_header
from locus.score.options import HIDDEN, MethodOptions
from locus.score.posterior import exponentiated, labelled
from locus.settings.checks import from_mapping
from locus.settings.quiet import quietly
from locus.settings.untrusted import short

METHOD = "locus_dt"
"""Method that such a file holds."""

MAX_BYTES = 2**20
"""Size limit; the paper's network takes less than 20 kB in single precision."""

_PARTS: dict[str, tuple[dict[str, tuple[int | str, ...]], ...]] = {
    "candidates": ({"features": (-1, "feature")}, {"halves": (-1, "hidden")}),
    "snapshot": ({"features": (1, "feature")}, {"half": (1, "hidden")}),
    "pairs": ({"halves": (-1, "hidden"), "half": (1, "hidden")}, {"scores": (-1, 1)}),
}
"""Inputs and outputs of each part, with their shapes; -1 is any number of candidates."""
_TYPES = (np.float32, np.int8, np.int16)


class LiteScorer:
    """A pairwise network run by LiteRT; :func:`load_lite` makes one from a file; error messages quote its ``name``."""

    sees = "observed"

    def __init__(self, content: bytes, name: str = "'content'") -> None:
        self.header = read_header(content, name)
        if self.header.get("method") != METHOD:
            raise LiteFileError(f"Expected the network {METHOD!r} in {name}, got {short(self.header.get('method'))}")
        self.options: MethodOptions = from_mapping(MethodOptions, self.header.get("options"), "options.")
        with quietly():
            self._runners = _start(content, name)
        _check_shapes(self._runners, self.options.num_features, name)
        nothing = np.zeros((1, self.options.num_features), dtype=np.float32)
        with quietly():  # the first call prepares the kernels, and LiteRT says so
            self.scores(nothing, nothing)

    def scores(self, candidates: NDArray[np.float32], conditions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores (snapshot, candidate) from the features of candidates and of snapshots."""
        halves = self.run("candidates", features=candidates)
        rows = [self.run("pairs", halves=halves, half=self.run("snapshot", features=one[None])) for one in conditions]
        return np.stack(rows)[..., 0]

    def run(self, part: str, **inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Output of one part, as real numbers; integer parts round their inputs."""
        runner = self._runners[part]
        given = runner.get_input_details()
        ((name, result),) = runner(**{key: _to_steps(value, given[key]) for key, value in inputs.items()}).items()
        return _from_steps(result, runner.get_output_details()[name])

    def log_posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Logarithm of :meth:`posterior`, accurate even where the posterior underflows."""

        def scores(observed: xr.Dataset) -> NDArray[np.float32]:
            return self.scores(
                *(features(one, self.options.num_paths, self.options.features) for one in (paths, observed))
            )

        return labelled(scores, paths, observed, prior)

    def posterior(self, paths: xr.Dataset, observed: xr.Dataset, prior: ArrayLike | None = None) -> xr.DataArray:
        """Probability of every candidate, as :meth:`locus.score.method.Method.posterior` returns it."""
        return exponentiated(self.log_posterior(paths, observed, prior))


def load_lite(path: Path) -> tuple[LiteScorer, dict[str, Any]]:
    """Load a file that ``locus export`` made; return the scorer and the header of the file.

    Raises:
        ValueError: the file is damaged, or ``locus export`` did not make it.
        RuntimeError: the runtime is not installed.
    """
    if path.stat().st_size > MAX_BYTES:
        raise LiteFileError(f"Expected at most {MAX_BYTES} bytes in {path}, got {path.stat().st_size}")
    scorer = LiteScorer(path.read_bytes(), str(path))
    return scorer, scorer.header


def _start(content: bytes, name: str) -> dict[str, Any]:
    """Runner of each part."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ModuleNotFoundError as error:
        raise RuntimeError(
            "Expected LiteRT to be installed to run a .tflite file, got none; `pip install ai-edge-litert` "
            "installs it, in a clone `make device`"
        ) from error
    try:
        interpreter = Interpreter(model_content=content, num_threads=1)
        found = interpreter.get_signature_list()
        if found.keys() != _PARTS.keys():
            raise LiteFileError(f"Expected the parts {sorted(_PARTS)} in {name}, got {sorted(found)}")
        return {part: interpreter.get_signature_runner(part) for part in _PARTS}
    except RuntimeError as error:
        raise LiteFileError(f"Expected a network that LiteRT can run in {name}, got: {error}") from error


def _check_shapes(runners: dict[str, Any], num_features: int, name: str) -> None:
    sizes = {"feature": num_features, "hidden": HIDDEN[0]}
    for part, sides in _PARTS.items():
        details = (runners[part].get_input_details(), runners[part].get_output_details())
        for side, got in zip(sides, details, strict=True):
            expected = {
                key: [sizes.get(size, size) if isinstance(size, str) else size for size in shape]
                for key, shape in side.items()
            }
            found = {key: one["shape_signature"].tolist() for key, one in got.items()}
            if found != expected:
                raise LiteFileError(f"Expected {part!r} in {name} with shapes {expected}, got {found}")
            if not all(one["dtype"] in _TYPES for one in got.values()):
                raise LiteFileError(f"Expected {part!r} in {name} of float32, int8 or int16, got another type")


def _to_steps(values: NDArray[np.float32], tensor: dict[str, Any]) -> NDArray[Any]:
    """Round real numbers to the steps of an integer tensor, cutting off what is out of its range."""
    kind = tensor["dtype"]
    if kind is np.float32:
        return values.astype(np.float32, copy=False)
    scale, zero = tensor["quantization"]
    limits = np.iinfo(kind)
    return np.asarray(np.clip(np.round(values / np.float32(scale)) + zero, limits.min, limits.max), dtype=kind)


def _from_steps(values: NDArray[Any], tensor: dict[str, Any]) -> NDArray[np.float32]:
    """Real numbers of an integer tensor."""
    if tensor["dtype"] is np.float32:
        return values
    scale, zero = tensor["quantization"]
    return (values.astype(np.float32) - np.float32(zero)) * np.float32(scale)
