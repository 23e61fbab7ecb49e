"""The explorer's path set against the package's: the same log likelihoods, for many radios and tolerances."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr
from explorer_harness import columns, compute

import locus
from locus import Config, Layout, PathSet, Pose, Radio, Tolerance, explorer
from locus.receiver.estimator import threshold
from locus.room.layout import away_from
from locus.settings.checks import plain

CONFIG = Config()
NUM_CANDIDATES = 25
EXACT = Tolerance(0, 0, 0, 0)


class Case(NamedTuple):
    """A candidate list with several snapshots."""

    paths: xr.Dataset
    observed: xr.Dataset
    scorer: PathSet
    spacing: float = 0.0

    @property
    def radio(self) -> Radio:
        assert self.scorer.radio is not None
        return self.scorer.radio


def draw_room(seed: int, radio: Radio, candidates: int = NUM_CANDIDATES) -> xr.Dataset:
    """Traced paths of a room as the paper draws them; the last candidate has none."""
    rng = np.random.default_rng([9, seed])
    layout = Layout.random(rng, CONFIG.room)
    pose = Pose.random(layout, rng)
    paths = locus.make_twin("image", radio).trace(layout, pose, away_from(pose, layout.sample(candidates, rng)))
    return paths.assign(valid=paths.valid & (paths.candidate < candidates - 1))


def look(paths: xr.Dataset, radio: Radio, num_paths: int, level: float, seed: int) -> xr.Dataset:
    """Reported paths of three candidates, as an estimator might see them, and of none.

    The energies of what the candidates' own paths leave are around ``level``, in units of the noise.
    """
    rng, sets = np.random.default_rng([10, seed]), []
    size, samples = radio.num_subcarriers * radio.num_antennas, radio.num_subcarriers
    for candidate in rng.choice(np.flatnonzero(paths.valid.any("path")), 3, replace=False):
        true = paths.isel(candidate=candidate)
        offset = 0.0 if radio.sync_window == 0 else rng.uniform(0, radio.sync_window)
        found = [
            (
                math.asin((math.sin(float(path.aoa)) + rng.normal(0, 0.02) + 1) % 2 - 1),
                (float(path.delay - offset) + rng.normal(0, 0.1) / radio.bandwidth) % radio.period,
                float(path.snr_db) + rng.normal(0, 1),
            )
            for path in (true.isel(path=i) for i in np.flatnonzero(true.valid))
            if rng.random() < 0.9
        ]
        noise = 10 * np.log10(level / size * rng.uniform(1, 1.5, 3 if num_paths <= 16 else num_paths))
        found += [(math.asin(rng.uniform(-1, 1)), rng.uniform(0, samples) / radio.bandwidth, one) for one in noise]
        sets.append(sorted(found, key=lambda path: -path[2])[:num_paths])
    values, valid = np.zeros((3, 4, num_paths)), np.zeros((4, num_paths), dtype=bool)
    for i, one in enumerate(sets):
        values[:, i, : len(one)], valid[i, : len(one)] = np.transpose(one), True
    columns = dict(zip(("aoa", "delay", "snr_db"), values, strict=True)) | {"valid": valid}
    return xr.Dataset({name: (("snapshot", "path"), column) for name, column in columns.items()})


def make_case(
    seed: int = 0,
    radio: dict[str, float] | None = None,
    tolerance: Tolerance | None = None,
    num_paths: int = 6,
    spacing: float = 0.0,
    traced: bool = True,
    residual: bool = False,
) -> Case:
    changed = dataclasses.replace(CONFIG.radio, **(radio or {}))  # type: ignore[arg-type]
    estimator = dataclasses.replace(PathSet().estimator, num_paths=num_paths)
    paths = draw_room(seed, changed)
    level = threshold(estimator, changed) * changed.num_subcarriers * changed.num_antennas
    observed = look(paths, changed, num_paths, level, seed)
    if residual:
        rng = np.random.default_rng([11, seed])
        shape = (2, observed.sizes["snapshot"], changed.num_subcarriers, changed.num_antennas)
        noise = np.array([1, 1j]) @ rng.normal(0, math.sqrt(0.5), shape).reshape(2, -1)
        left = noise.reshape(shape[1:]).astype(np.complex64)
        observed["residual"] = (("snapshot", "subcarrier", "antenna"), left)
    paths = paths.assign(valid=paths.valid & traced)
    return Case(paths, observed, PathSet(changed, estimator, tolerance), spacing)


SAMPLE, PERIOD = 1 / CONFIG.radio.bandwidth, CONFIG.radio.period
CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "other room": {"seed": 1},
    "exact": {"tolerance": EXACT},
    "exact, other room": {"seed": 2, "tolerance": EXACT},
    "wrong compass": {"seed": 3, "tolerance": Tolerance(0, 0, 0.2, 0)},
    "wrong position": {"seed": 3, "tolerance": Tolerance(0, 2.0, 0, 0)},
    "wrong plan and materials": {"seed": 4, "tolerance": Tolerance(2.0, 0, 0, 5.0)},
    "between candidates": {"seed": 5, "spacing": 2.0},
    "few paths reported": {"seed": 5, "num_paths": 2},
    "many paths reported": {"seed": 6, "radio": {"tx_power_dbm": 20.0}, "num_paths": 16},
    "more paths reported than compared": {"seed": 6, "radio": {"tx_power_dbm": 40.0}, "num_paths": 40},
    "hardly any plan": {"seed": 4, "tolerance": Tolerance(100.0, 30.0, 1.5, 10.0)},
    "hardly any plan, strong": {
        "seed": 4,
        "tolerance": Tolerance(100.0, 30.0, 1.5, 10.0),
        "radio": {"tx_power_dbm": 40.0},
    },
    "strong": {"seed": 7, "radio": {"tx_power_dbm": 60.0}},
    "stronger than any": {"seed": 7, "radio": {"tx_power_dbm": 120.0}},
    "weak": {"seed": 7, "radio": {"tx_power_dbm": -20.0}},
    "one antenna": {"seed": 8, "radio": {"num_antennas": 1, "tx_power_dbm": 10.0}},
    "one antenna, synchronised": {"seed": 8, "radio": {"num_antennas": 1, "tx_power_dbm": 10.0, "sync_window": 0.0}},
    "synchronised": {"seed": 9, "radio": {"sync_window": 0.0}},
    "synchronised, exact": {"seed": 9, "radio": {"sync_window": 0.0}, "tolerance": EXACT},
    "nearly synchronised": {"seed": 10, "radio": {"sync_window": 0.7 * SAMPLE}},
    "short window": {"seed": 10, "radio": {"sync_window": 0.4 * PERIOD}},
    "another radio": {
        "seed": 11,
        "radio": {"num_antennas": 16, "num_subcarriers": 64, "bandwidth": 50e6, "carrier": 3.5e9},
    },
    "nothing traced": {"seed": 12, "traced": False},
    "left over": {"seed": 13, "residual": True},
    "left over, exact": {"seed": 14, "residual": True, "tolerance": EXACT},
    "left over, between candidates": {"seed": 15, "residual": True, "spacing": 0.5},
    "left over, synchronised": {"seed": 16, "residual": True, "radio": {"sync_window": 0.0}},
    "left over, short window": {"seed": 16, "residual": True, "radio": {"sync_window": 0.4 * PERIOD}},
}


class Both(NamedTuple):
    """A case, and what the page computes for each of its snapshots."""

    case: Case
    page: list[dict[str, list[float]]]


@pytest.fixture(scope="module")
def both() -> dict[str, Both]:
    cases = {name: make_case(**given) for name, given in CASES.items()}
    found = compute(CONFIG, {"path_sets": [to_json(case) for case in cases.values()]})["path_sets"]
    return {name: Both(case, one) for (name, case), one in zip(cases.items(), found, strict=True)}


def to_json(case: Case) -> dict[str, Any]:
    return {
        "radio": plain(dataclasses.asdict(case.radio)),
        "path_set": explorer.describe_path_set(case.scorer, case.radio),
        "spacing": case.spacing,
        "paths": columns(case.paths, case.radio),
        "observed": columns(case.observed, case.radio),
        "residuals": _residuals(case.observed),
    }


def _residuals(observed: xr.Dataset) -> list[dict[str, list[float]]]:
    """What the paths of each snapshot leave, the subcarriers of each antenna together."""
    if "residual" not in observed:
        return []
    rows = observed.residual.transpose("snapshot", "antenna", "subcarrier").values.astype(complex)
    return [{"re": one.real.ravel().tolist(), "im": one.imag.ravel().tolist()} for one in rows]


@pytest.mark.parametrize("name", CASES)
def test_path_sets_are_as_likely(both: dict[str, Both], name: str) -> None:
    """To rounding; the package keeps what is left over in single precision, the page in double."""
    (paths, observed, scorer, spacing), page = both[name]
    likelihood = scorer.log_likelihood(paths, observed, spacing=spacing).values
    posterior = scorer.log_posterior(paths, observed, spacing=spacing).values
    near = 1e-5 if "residual" in observed else 1e-8
    np.testing.assert_allclose([one["likelihood"] for one in page], likelihood, rtol=near, atol=near)
    np.testing.assert_allclose([one["posterior"] for one in page], posterior, rtol=near, atol=near)
    if "residual" in observed:
        hard = scorer.log_likelihood(paths, observed.drop_vars("residual"), spacing=spacing).values
        assert np.abs(likelihood - hard).max() > 0.1, "a residual that changes nothing would not be compared"
    told = np.ptp(likelihood, axis=1) > 1
    assert told[:-1].all() or name == "nothing traced", "likelihoods without peaks would be equal whatever was computed"


def test_the_page_estimates_paths_for_the_path_set_with_its_own_threshold() -> None:
    looks = [{"method": method, "seed": seed} for method in ("path_set", "bayes") for seed in range(4)]
    found = compute(CONFIG, {"looks": looks})["looks"]
    for one in found:
        assert sum(one["posterior"]) == pytest.approx(1)
        assert len(one["posterior"]) > 50
    low, usual = (10 * math.log10(threshold(one, CONFIG.radio)) for one in (PathSet().estimator, CONFIG.estimator))
    assert min(min(one["snr"], default=np.inf) for one in found[4:]) >= usual
    assert low <= min(min(one["snr"]) for one in found[:4]) < usual
    assert sum(len(one["snr"]) for one in found[:4]) > sum(len(one["snr"]) for one in found[4:])
