"""Metrics: posteriors and true positions in; loss, calibration, errors and areas, with 95 % intervals, out.

Snapshots of one layout share its walls and its receiver, so they are not independent: every interval is a percentile
bootstrap over whole layouts. ``rows`` stands for a Dataset with ``log_posterior`` (snapshot, method) of the true
candidate and coordinates ``method`` and ``group`` (snapshot), the layout that a snapshot belongs to.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import ArrayLike

from locus.judge.bootstrap import (
    CONFIDENCE,
    ROUNDING,
    described,
    means,
    quantiles,
    resample,
    with_interval,
)
from locus.judge.credible import credible_level, smallest_set
from locus.settings.checks import check_range

RECIPE = 1

STRATA = ("line of sight", "first order", "higher order", "near outage")
"""What the codes of ``stratum`` stand for: the simplest path there is, unless all are too weak."""

SNR_EDGES = (-30.0, -20.0, -10.0, 0.0, 10.0)
"""Edges [dB] between the bins of the strongest path's SNR; an edge belongs to the bin above it."""

NOMINAL = tuple(i / 20 for i in range(21))
"""Credible levels at which coverage is looked at."""

_SNR_LABELS = ("below -30 dB", *(f"{a:g} to {b:g} dB" for a, b in itertools.pairwise(SNR_EDGES)), "above 10 dB")


def measure(
    log_posterior: xr.DataArray, truth: ArrayLike, area: float, rng: Generator, position: ArrayLike | None = None
) -> xr.Dataset:
    """Per-snapshot metrics of one method's posteriors over one list of candidates.

    Args:
        log_posterior: log of the normalised posterior, (snapshot, candidate), with coordinates x and y [m] on
            candidate; -inf where a candidate is ruled out.
        truth: index of the true candidate, (snapshot).
        area: free area [m^2] that the candidates stand for, in equal parts.
        rng: draws the place of the truth among candidates of its own probability.
        position: true position [m], (snapshot, 2), where it is not the true candidate's own.

    Returns:
        Dataset (snapshot): ``log_posterior`` of the truth; ``map_error`` of the most probable candidate, the first of
        several; ``mean_error`` of the posterior mean; ``level``, the credible level of the truth; ``area`` of the
        smallest set that holds 90 %. A level is the mass strictly above the truth plus a random share of the mass tied
        with it, its own included: candidates are coarse steps, and uniform levels are what calibration is checked by.
    """
    check_range("area", area, 0, open_low=True)
    if log_posterior.dims != ("snapshot", "candidate"):
        raise ValueError(f"Expected 'log_posterior' with dims (snapshot, candidate), got {log_posterior.dims}")
    logs = log_posterior.values.astype(float)
    (num_snapshots, num_candidates), index = logs.shape, np.asarray(truth)
    if index.dtype.kind not in "iu" or not ((index >= 0) & (index < num_candidates)).all():
        raise ValueError(f"Expected 'truth' as integers in [0, {num_candidates}), got {index}")
    probability = np.exp(logs)
    if not np.allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-3):  # NaN is not close to 1 either
        raise ValueError(f"Expected 'log_posterior' of distributions, got sums {probability.sum(axis=1)}")
    candidates = np.stack([log_posterior.x.values, log_posterior.y.values], axis=1)
    true_position = candidates[index] if position is None else np.asarray(position, dtype=float)
    for name, value, shape in (("truth", index, (num_snapshots,)), ("position", true_position, (num_snapshots, 2))):
        if value.shape != shape:
            raise ValueError(f"Expected '{name}' of shape {shape}, got {value.shape}")
    mode, mean = candidates[logs.argmax(axis=1)], probability @ candidates
    level, set_size = credible_level(logs, index, rng.random(logs.shape[:1])), smallest_set(probability).sum(axis=1)
    columns = {
        "log_posterior": (logs[np.arange(num_snapshots), index], "nat", "log posterior of the true candidate"),
        "map_error": (np.linalg.norm(mode - true_position, axis=1), "m", "error of the most probable candidate"),
        "mean_error": (np.linalg.norm(mean - true_position, axis=1), "m", "error of the posterior mean"),
        "level": (level, "1", "credible level of the truth"),
        "area": (set_size * area / num_candidates, "m^2", "area of the smallest 90 % set"),
    }
    kept = {name: value for name, value in log_posterior.coords.items() if "candidate" not in value.dims}
    return xr.Dataset({name: ("snapshot", *described(*column)) for name, column in columns.items()}, coords=kept)


def strongest_snr(paths: xr.Dataset) -> xr.DataArray:
    """SNR [dB] of the strongest valid path, (snapshot), of path sets (snapshot, path); -inf where there is none."""
    for name in ("snr_db", "order", "valid"):
        if name not in paths or paths[name].dims != ("snapshot", "path"):
            raise ValueError(f"Expected 'paths' with '{name}' (snapshot, path), got {dict(paths.sizes)}")
    values = np.where(paths.valid, paths.snr_db, -np.inf).max(axis=1, initial=-np.inf)
    return xr.DataArray(values, dims="snapshot", attrs={"units": "dB", "long_name": "SNR of the strongest path"})


def stratum(paths: xr.Dataset, threshold_db: float) -> xr.DataArray:
    """Code (snapshot), an index into ``STRATA``, of the true transmitters' path sets (snapshot, path).

    Near outage: the strongest path's SNR is below ``threshold_db``. Else the fewest bounces of a valid path decide.
    """
    lost = strongest_snr(paths).values < threshold_db
    bounces = np.where(paths.valid, paths.order, 2).min(axis=1, initial=2)
    codes = np.where(lost, STRATA.index("near outage"), bounces).astype(np.int64)
    return xr.DataArray(codes, dims="snapshot", attrs={"units": "1", "long_name": ", ".join(STRATA)})


def summary(rows: xr.Dataset, num_candidates: int, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """Adjusted loss L of eq. (24), gain G and ratio R of eq. (25) of each method, each with its interval.

    All methods share the resamples; intervals of G and R are L's, carried over. From one layout alone they are NaN: it
    says nothing about others. A truth of log posterior -inf gives L = +inf, G = 0, R = -inf: a method that rules out
    the truth pays in full. ``num_candidates`` is N_m of eq. (24) and N_cand of eq. (25). Few layouts make percentiles
    narrow: do not lean on the intervals of a handful.

    Returns:
        Dataset (method): ``loss`` [nat], ``gain``, ``ratio``, each with ``_low`` and ``_high``; ``num_snapshots`` and
        ``num_groups``.
    """
    check_range("num_candidates", num_candidates, 2)
    logs = _checked(rows)
    index, weights = resample(rows.group.values, len(logs), rng, num_resamples)
    # Constant off snapshot by snapshot, so that a uniform posterior gives exactly 0
    loss = means(-logs.values - np.log(num_candidates), index, weights)
    ratio = 0 - loss / np.log(num_candidates)
    return xr.Dataset(
        {
            **with_interval("loss", ("method",), loss, "nat", "adjusted loss"),
            **with_interval("gain", ("method",), np.exp(-loss), "1", "gain over a uniform guess"),
            **with_interval("ratio", ("method",), ratio, "1", "share of the largest possible log gain"),
            "num_snapshots": ((), *described(len(index), "1", "number of snapshots")),
            "num_groups": ((), *described(weights.shape[1], "1", "number of layouts")),
        },
        coords={"method": logs.method.values},
    )


def paired(rows: xr.Dataset, first: str, second: str, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """Loss of one method less that of another on the same snapshots: ``difference`` [nat], ``_low`` and ``_high``.

    Both are averaged over the same resampled layouts, so that what makes a layout hard for both cancels. Where both
    losses are infinite the difference is NaN.
    """
    logs = _checked(rows)
    for name, method in (("first", first), ("second", second)):
        if method not in logs.method.values:
            raise ValueError(f"Expected '{name}' in {logs.method.values.tolist()}, got {method!r}")
    index, weights = resample(rows.group.values, len(logs), rng, num_resamples)
    loss = means(-logs.loc[{"method": [first, second]}].values, index, weights)
    with np.errstate(invalid="ignore"):
        difference = loss[:, 0] - loss[:, 1]
    return xr.Dataset(with_interval("difference", (), difference, "nat", f"loss of {first} less that of {second}"))


def by(rows: xr.Dataset, key: str, num_candidates: int, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """``summary`` (bin, method) in bins of a coordinate of ``rows``, ``stratum`` or ``snr_db``, the strongest path's.

    A bin without snapshots has NaN for its loss; one that a single layout fills has NaN for its interval.
    """
    picks = binned(rows, key)
    bins = [summary(pick, num_candidates, rng, num_resamples) for pick in picks.values()]
    dim = xr.DataArray(list(picks), dims="bin", name="bin")
    return xr.concat(bins, dim, data_vars="all", coords="minimal", compat="override", join="exact")


def binned(rows: xr.Dataset, key: str) -> dict[str, xr.Dataset]:
    """Rows of each bin of ``stratum`` or of ``snr_db``, by the bin's name; some may be empty."""
    if key not in ("stratum", "snr_db") or key not in rows.coords:
        raise ValueError(f"Expected 'key' in ['stratum', 'snr_db'] and in 'rows', got {key!r}")
    values, labels = rows[key].values, STRATA if key == "stratum" else _SNR_LABELS
    if np.isnan(values).any() or (key == "stratum" and not np.isin(values, range(len(STRATA))).all()):
        raise ValueError(f"Expected 'rows.{key}' without NaN and codes in [0, {len(STRATA)}), got {values}")
    codes = values if key == "stratum" else np.digitize(values, SNR_EDGES)
    return {label: rows.isel(snapshot=codes == code) for code, label in enumerate(labels)}


def coverage(
    level: ArrayLike, group: ArrayLike, rng: Generator, nominal: ArrayLike = NOMINAL, num_resamples: int = 2000
) -> xr.Dataset:
    """Share of truths whose credible level is at most ``nominal``, with a simultaneous 95 % band about the diagonal.

    The whole curve of a calibrated score lies in the band in 95 % of all experiments. Its half-width at nominal u is
    c sqrt(u (1 - u)): the shape that calibration gives, and none at 0 and 1, where every curve meets the diagonal; c is
    the 95 % quantile of the largest resampled deviation in that unit. One studentised by the
    bootstrap's own variance would not hold: near the ends that is almost 0 by chance.

    Returns:
        Dataset (nominal): ``coverage``, the band ``low`` to ``high``, and a scalar ``calibrated``: whether the curve is
        in the band everywhere. A curve above the band is under-confident, one below it over-confident.
    """
    levels, u = np.asarray(level, dtype=float), np.asarray(nominal, dtype=float)
    for name, values in (("level", levels), ("nominal", u)):
        if values.ndim != 1 or not values.size or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"Expected '{name}' as a list of numbers in [0, 1], got {values}")
    index, weights = resample(group, len(levels), rng, num_resamples)
    if len(weights) == 1:
        raise ValueError(f"Expected 'group' with at least 2 layouts, got {np.unique(group)}")
    share = means((levels[:, np.newaxis] <= u).astype(float), index, weights)
    unit = np.sqrt(u * (1 - u))
    deviation = np.divide(np.abs(share - share[0]), unit, out=np.zeros_like(share), where=unit > 0)
    width = unit * np.quantile(deviation[1:].max(axis=1), CONFIDENCE)
    inside = np.abs(share[0] - u) <= width
    return xr.Dataset(
        {
            "coverage": ("nominal", *described(share[0], "1", "share of truths in the credible set")),
            "low": ("nominal", *described(np.maximum(u - width, 0), "1", "lower end of the band")),
            "high": ("nominal", *described(np.minimum(u + width, 1), "1", "upper end of the band")),
            "calibrated": ((), *described(inside[unit > 0].all(), "1", "whether the curve is in the band")),
        },
        coords={"nominal": ("nominal", *described(u, "1", "nominal credible level"))},
    )


def distribution(
    values: xr.DataArray, group: ArrayLike, rng: Generator, shares: ArrayLike = (0.5, 0.9), num_resamples: int = 2000
) -> xr.Dataset:
    """Quantiles of position errors, say, (snapshot, method): ``value`` (quantile, method), ``_low`` and ``_high``.

    A quantile is the smallest value that at least this share of the snapshots does not exceed.
    """
    if set(values.dims) != {"snapshot", "method"} or values.isnull().any() or not values.sizes["snapshot"]:
        raise ValueError(f"Expected 'values' (snapshot, method) without NaN, got {dict(values.sizes)}")
    asked = np.atleast_1d(np.asarray(shares, dtype=float))
    if not ((asked > 0) & (asked <= 1)).all():
        raise ValueError(f"Expected 'shares' in (0, 1], got {shares!r}")
    index, weights = resample(group, values.sizes["snapshot"], rng, num_resamples)
    columns = values.transpose("method", "snapshot").values
    draws = np.stack([quantiles(column, index, weights, asked) for column in columns], axis=2)
    units, name = values.attrs.get("units", "1"), values.attrs.get("long_name", "value")
    return xr.Dataset(
        with_interval("value", ("quantile", "method"), draws, units, name),
        coords={"quantile": asked, "method": values.method.values},
    )


def _checked(rows: xr.Dataset) -> xr.DataArray:
    """Log posteriors (snapshot, method) of well-formed rows."""
    if "log_posterior" not in rows or set(rows.log_posterior.dims) != {"snapshot", "method"}:
        raise ValueError(f"Expected 'rows' with 'log_posterior' (snapshot, method), got {list(rows)}")
    if not {"method", "group"} <= set(rows.coords):
        raise ValueError(f"Expected 'rows' with coordinates 'method' and 'group', got {list(rows.coords)}")
    logs: xr.DataArray = rows.log_posterior.transpose("snapshot", "method").astype(float)
    if not (logs.values <= ROUNDING).all():
        raise ValueError(f"Expected 'rows.log_posterior' at most 0 and not NaN, got {logs.values.max():g}")
    return logs
