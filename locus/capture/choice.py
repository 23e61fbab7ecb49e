"""Choice of a method for your own data: its name, weights and tolerance in, all that is needed to use it, out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from locus.capture.candidates import extent
from locus.room.layout import Layout
from locus.score.options import METHOD_TITLES
from locus.score.path_set import PathSet
from locus.score.tolerance import Tolerance
from locus.settings.config import Config, EstimatorOptions, Radio, TwinOptions
from locus.settings.untrusted import short

if TYPE_CHECKING:
    from locus.score.lite import LiteScorer
    from locus.score.method import Method

DEFAULT_WEIGHTS = "paper"
"""Run whose networks are used unless others are named."""

_MUST_MATCH = ("carrier", "bandwidth", "num_antennas", "num_subcarriers")  # the link budget may differ from training
_UNUSUAL = 2.0  # warn if the room is larger or smaller than the training rooms by more than this factor


class Choice(NamedTuple):
    """Either a likelihood of path sets or a network, and what belongs to it."""

    path_set: PathSet | None
    network: Method | LiteScorer | None
    radio: Radio
    estimator: EstimatorOptions
    twin: TwinOptions
    size: float
    """Side of the training rooms [m]; 0 if nothing was trained."""
    attributes: dict[str, Any]
    """What a result says about its method."""


def choose(method: str | None, weights: str | None, tolerance: Tolerance | None, radio: Radio | None) -> Choice:
    """The path-set likelihood, or a trained network if its name or its weights are given.

    Raises:
        ValueError: the method is unknown, cannot be used with this radio, or was given weights or a tolerance that it
            does not take.
        FileNotFoundError: the weights do not exist.
    """
    method = method or (PathSet.name if weights is None else "locus_dt")
    if method == PathSet.name:
        if weights is not None:
            raise ValueError(f"Expected 'method' in {list(METHOD_TITLES)} with weights of a run, got 'path_set'")
        scorer = PathSet(radio or Radio(), tolerance=tolerance)
        return Choice(scorer, None, radio or Radio(), scorer.estimator, TwinOptions(), 0.0, {"method": method})
    if method not in METHOD_TITLES and weights is None:
        raise ValueError(f"Expected 'method' in {[PathSet.name, *METHOD_TITLES]}, got {short(method)}")
    if tolerance is not None:
        raise ValueError(f"Expected 'tolerance' with method 'path_set' only, got it with {short(method)}")
    return _choose_network(method, weights or DEFAULT_WEIGHTS, radio)


def warn_of_size(layout: Layout, size: float) -> None:
    """Warn if the room is much larger or smaller than the training rooms, of side ``size`` [m]."""
    x0, y0, x1, y1 = layout.room.bounds
    if size and not size / _UNUSUAL <= max(x1 - x0, y1 - y0) <= size * _UNUSUAL:
        warnings.warn(
            f"The weights were trained on rooms of {size:g} m x {size:g} m, this one is {extent(layout)}: "
            "its posterior may be over- or under-confident",
            stacklevel=3,
        )


def _choose_network(method: str, weights: str, radio: Radio | None) -> Choice:
    from locus.experiment.weights import load_with_header  # imports torch, which path sets do without
    from locus.score.weight_files import check_header

    scorer, header = load_with_header(weights, method)
    check_header(header, ("method", "config", "hash"), weights)
    config = Config.from_dict(header["config"])
    radio = radio or config.radio
    _check_radio(radio, config.radio, weights)
    attributes = {"method": header["method"], "weights": weights, "weights_hash": header["hash"]}
    return Choice(None, scorer, radio, config.estimator, config.twin, scorer.options.size, attributes)


def _check_radio(radio: Radio, trained: Radio, weights: str) -> None:
    different = [name for name in _MUST_MATCH if getattr(radio, name) != getattr(trained, name)]
    if different:
        theirs, ours = (", ".join(f"{name} {getattr(one, name):g}" for name in different) for one in (trained, radio))
        changes = " ".join(f"--set radio.{name}={getattr(radio, name)}" for name in different)
        raise ValueError(
            f"Expected a radio like that of the weights {weights!r} ({theirs}), got {ours}; "
            f"`locus train locus_dt {changes}` trains weights for it, and method 'path_set' needs none"
        )
