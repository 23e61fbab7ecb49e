"""Where the nats are: from LOCUS-DT to the Bayes limit in steps; each receiver's log posterior of the truth out.

All of it on the snapshots of the phase-free limit, with an exact twin:

- ``locus_dt``: the paper's network, which sees angles and strengths of the strongest paths on both sides.
- ``set``: the same inputs in :class:`locus.score.angle_strength.AngleStrength`, a likelihood of the set of paths.
- ``delays``: all traced paths, and delays, in the likelihood of path sets; still the paper's detection threshold.
- ``soft``: the same with the lower threshold that suits this likelihood.
- ``ideal``: the same with estimates from an ideal estimator (:mod:`locus.receiver.ideal`), from fresh noise: the mean
  over a few draws.
- ``left``: the real estimates of ``soft`` again, with what they leave of the snapshot
  (:mod:`locus.score.soft_detection`).
- ``phase_blind``, ``phase_free`` and ``bayes``: receivers that see all samples.

In all of these the path set assumes an exact twin; with its usual tolerance the names end in ``.tolerant``.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from locus.experiment import scorers, splits
from locus.experiment.artifact import Artifact, Result, Workers, here
from locus.experiment.case import Case
from locus.experiment.over_groups import over_groups
from locus.experiment.unknown_phases import NUM_SNAPSHOTS, UnknownPhases
from locus.judge import metrics
from locus.receiver import ideal
from locus.receiver.estimator import estimate
from locus.score import angle_strength, path_lists
from locus.score.angle_strength import AngleStrength
from locus.score.path_set import PathSet
from locus.score.tolerance import Tolerance
from locus.settings.config import Config

RECIPE = 2

TITLES = {
    "locus_dt": "LOCUS-DT",
    "set": "the same inputs, as a set",
    "delays": "path set: with delays",
    "soft": "lower threshold",
    "ideal": "ideal estimates",
    "left": "real ones, soft detection",
    "phase_blind": "phase-blind receiver",
    "phase_free": "phase-free limit",
    "bayes": "Bayes limit",
}
"""Display names of the steps, in the order of what each knows."""

NUM_DRAWS = 8
"""Number of ideal estimates of each snapshot."""

_SPLIT = "eval_random"
_SECONDS = 1.0  # per group with 1000 candidates


def evaluate_group(config: Config, index: int, tolerant: PathSet) -> xr.Dataset:
    """Log posteriors (snapshot, method) of the truths of a group, in all steps that look at estimated paths.

    Args:
        config: settings of the run.
        index: index of the group.
        tolerant: the path set, with its usual tolerance.
    """
    case = Case(config, _SPLIT, index)
    snapshots, truth = case.snapshots.isel(snapshot=slice(NUM_SNAPSHOTS)), case.truth[:NUM_SNAPSHOTS]
    usual = estimate(snapshots, config.estimator)
    with_rest = estimate(snapshots, tolerant.estimator, residual=True)
    heard = case.transmitters.paths.isel(snapshot=np.repeat(np.arange(len(truth)), NUM_DRAWS))
    rng = splits.ideal_rng(config, _SPLIT, index)
    seen = {
        "delays": usual,
        "soft": with_rest.drop_vars("residual"),
        "left": with_rest,
        "ideal": ideal.ideal_estimates(heard, rng, tolerant.estimator, config.radio),
    }
    strongest = case.paths.isel(path=slice(config.estimator.num_paths))
    logs = {"set": _of_truths(AngleStrength().log_posterior(strongest, usual), truth)}
    exact = PathSet(tolerant.radio, None, Tolerance(0, 0, 0, 0), tolerant.constants)
    for name, observed in seen.items():
        for end, scorer in (("", exact), (".tolerant", tolerant)):
            logs[f"{name}{end}"] = _of_truths(scorer.log_posterior(case.paths, observed), truth)
    attributes = {"units": "nat", "long_name": "log posterior of the true candidate"}
    return xr.Dataset(
        {"log_posterior": (("snapshot", "method"), np.stack(list(logs.values()), axis=1), attributes)},
        coords={"method": list(logs), "group": ("snapshot", np.full(len(truth), index))},
    )


def _of_truths(logs: xr.DataArray, truth: np.ndarray) -> np.ndarray:
    """Log posterior (snapshot) of the truths, averaged over what may be several draws of each snapshot."""
    rows = logs.values.reshape(len(truth), -1, logs.sizes["candidate"])
    return np.asarray(np.take_along_axis(rows, truth[:, np.newaxis, np.newaxis], axis=2)[:, :, 0].mean(axis=1))


class Nats(Result):
    """``results/nats.nc`` of a run: ``log_posterior`` (snapshot, method) of the truth in every step."""

    stem = "nats"

    @property
    def needs(self) -> tuple[Artifact, ...]:
        """The phase-free limit, with the receivers beside it, and what the path set is made from."""
        return (UnknownPhases(self.run), *scorers.needs(self.run, "path_set"))

    def recipe(self) -> dict[str, Any]:
        """Everything that the file depends on."""
        return {
            "phase_free": UnknownPhases(self.run).hash(),
            "path_set": scorers.recipe(self.run, "path_set"),
            "recipes": {
                "ideal": ideal.RECIPE,
                "path_lists": path_lists.RECIPE,
                "angle_strength": angle_strength.RECIPE,
                "nats": RECIPE,
            },
        }

    def seconds(self, num_workers: int) -> float:
        """Estimated time [s] on ``num_workers`` workers."""
        groups, candidates = UnknownPhases(self.run).num_groups, self.run.config.evaluation.num_candidates
        return _SECONDS * groups * candidates / 1000 / num_workers

    def make(self, workers: Workers = here) -> None:
        """Evaluate the steps between LOCUS-DT and the receivers, and store them in order."""
        limits = UnknownPhases(self.run).open()
        groups = range(UnknownPhases(self.run).num_groups)
        arguments = {"tolerant": scorers.load(self.run, "path_set")}
        with tqdm(total=len(groups), desc="looking for the nats", unit="group") as bar:
            made = over_groups(evaluate_group, self.run.config, groups, workers(), progress=bar.update, **arguments)
        logs = xr.concat([limits.log_posterior, made.log_posterior], "method", coords="minimal", compat="override")
        names = [*TITLES, *(name for name in made.method.values if name not in TITLES)]
        # Names anew: with the encoding of those in the other file, longer ones would be cut
        ordered = logs.sel({"method": names}).transpose("snapshot", "method").assign_coords(method=names)
        self.save(ordered.to_dataset(name="log_posterior"), num_candidates=limits.attrs["num_candidates"])


def summary(rows: xr.Dataset) -> xr.Dataset:
    """Loss of every method with intervals, and ``step`` [nat] with ``_low`` and ``_high``.

    A step is the loss of a method minus that of the method before it, a paired difference on the same snapshots; NaN
    for the first method and for those outside the order of ``TITLES``.
    """
    found = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(0))
    pairs = {
        name: metrics.paired(rows, name, before, np.random.default_rng(0))
        for before, name in itertools.pairwise(TITLES)
    }
    steps = xr.concat(list(pairs.values()), xr.DataArray(list(pairs), dims="method", name="method"))
    names = {str(name): str(name).replace("difference", "step") for name in steps.data_vars}
    return found.merge(steps.rename(names), join="left")
