"""Scorers of a run: a name in; the scorer, what it is made from, and what its scores depend on, out.

There are trained methods, in one or several trainings; methods without a network; and ideal receivers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from locus.experiment.artifact import Artifact
from locus.experiment.path_set_fit import PathSetFit, fitted
from locus.experiment.run import Run
from locus.experiment.temperature import Temperature
from locus.experiment.weights import Weights, further_weights
from locus.score import angle_strength, limits, path_lists, weight_files
from locus.score.angle_strength import AngleStrength
from locus.score.fingerprint import Fingerprint
from locus.score.limits import RECEIVERS
from locus.score.method import Scorer

UNTRAINED_TITLES = {
    "fingerprint": "nearest fingerprint",
    "angle_strength": "angles and strengths",
    "path_set": "path set",
}
"""Display names of the methods that compare paths without a network."""


class _Source(NamedTuple):
    """Where a scorer of a run comes from."""

    load: Callable[[Run], Scorer]
    recipe: Callable[[Run], dict[str, Any]]
    """What its scores depend on, beside what it sees with the run's settings."""
    needs: Callable[[Run], tuple[Artifact, ...]] = lambda _: ()


def _fingerprint(run: Run) -> Fingerprint:
    return Fingerprint(float(Temperature(run).open().best))


_UNTRAINED = {
    "fingerprint": _Source(
        _fingerprint,
        lambda run: {"temperature": Temperature(run).hash()},
        lambda run: (Temperature(run),),
    ),
    "angle_strength": _Source(
        lambda _: AngleStrength(),
        lambda _: {"angle_strength": angle_strength.RECIPE, "path_lists": path_lists.RECIPE},
    ),
    "path_set": _Source(
        fitted,
        lambda run: {"path_set": PathSetFit(run).hash()},
        lambda run: (PathSetFit(run),),
    ),
}


def needs(run: Run, name: str) -> tuple[Artifact, ...]:
    """Artifacts that a scorer is made from."""
    if name in _UNTRAINED:
        return _UNTRAINED[name].needs(run)
    return () if name in RECEIVERS else (_weights(run, name),)


def recipe(run: Run, name: str) -> dict[str, Any]:
    """Everything that the scores of a scorer depend on, beside what it sees with the run's settings."""
    if name in _UNTRAINED:
        return _UNTRAINED[name].recipe(run)
    return {"limits": limits.RECIPE} if name in RECEIVERS else {"weights": _weights(run, name).hash(), "method": name}


def load(run: Run, name: str) -> Scorer:
    """A scorer, ready for use."""
    if name in _UNTRAINED:
        return _UNTRAINED[name].load(run)
    return RECEIVERS.get(name) or weight_files.load_method(run.models / f"{name}.safetensors")[0]


def _weights(run: Run, method: str) -> Weights:
    """Weights of a method, whose name may be followed by an encoding or a seed."""
    return further_weights(run).get(method) or Weights(run, method.partition(".")[0])
