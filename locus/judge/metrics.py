"""Metrics: posteriors and true positions in; loss, calibration, errors and areas, with 95 % intervals, out.

Snapshots of a layout share walls and receiver and are not independent, so every interval is a percentile bootstrap over
whole layouts; with several trainings, :func:`locus.judge.bootstrap.over_trainings` adds their variation. ``rows`` is a
Dataset with ``log_posterior`` (snapshot, method) of the true candidate, and coordinates ``method`` and ``group``
(snapshot), the layout that a snapshot belongs to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import ArrayLike

from locus.judge.bootstrap import (
    CONFIDENCE,
    ROUNDING,
    Floats,
    described,
    means,
    over_trainings,
    quantiles,
    resample,
    with_interval,
)
from locus.judge.credible import credible_level, smallest_set
from locus.settings.checks import check_range

RECIPE = 1

STRATA = ("line of sight", "one bounce", "more bounces", "near outage")
"""Meaning of the codes of ``stratum``: the order of the simplest path, or near outage if all paths are too weak."""

SNR_EDGES = (-30.0, -20.0, -10.0, 0.0, 10.0)
"""Edges [dB] between the bins of the strongest path's SNR; an edge belongs to the bin above it."""

NOMINAL = tuple(i / 20 for i in range(21))
"""Nominal credible levels at which coverage is computed: 0, 0.05, …, 1."""

_SNR_LABELS = ("below -30 dB", *(f"{a:g} to {b:g} dB" for a, b in itertools.pairwise(SNR_EDGES)), "above 10 dB")


def measure(
    log_posterior: xr.DataArray, truth: ArrayLike, area: float, rng: Generator, position: ArrayLike | None = None
) -> xr.Dataset:
    """Per-snapshot metrics of one method's posteriors over one set of candidates.

    Args:
        log_posterior: log of the normalised posterior, (snapshot, candidate), with coordinates x and y [m] on
            candidate; -inf where a candidate is ruled out.
        truth: index of the true candidate, (snapshot).
        area: free area [m²], of which each candidate represents an equal part.
        rng: breaks ties between the truth and equally probable candidates.
        position: true position [m], (snapshot, 2); by default that of the true candidate.

    Returns:
        Dataset (snapshot) with ``log_posterior`` of the truth; ``map_error`` of the most probable candidate (the first,
        if tied); ``mean_error`` of the posterior mean; ``level``, the credible level of the truth; ``area`` of the
        smallest set that holds 90 %. The level is the mass of all candidates more probable than the truth plus a
        random fraction of the mass tied with it, its own included: on discrete candidates, only such randomised levels
        are uniform for a calibrated posterior.
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
        raise ValueError(f"Expected normalised 'log_posterior', got total probabilities {probability.sum(axis=1)}")
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
    """SNR [dB] of the strongest valid path, (snapshot), of path sets (snapshot, path); -inf if there is none."""
    for name in ("snr_db", "order", "valid"):
        if name not in paths or paths[name].dims != ("snapshot", "path"):
            raise ValueError(f"Expected 'paths' with '{name}' (snapshot, path), got {dict(paths.sizes)}")
    values = np.where(paths.valid, paths.snr_db, -np.inf).max(axis=1, initial=-np.inf)
    return xr.DataArray(values, dims="snapshot", attrs={"units": "dB", "long_name": "SNR of the strongest path"})


def stratum(paths: xr.Dataset, threshold_db: float) -> xr.DataArray:
    """Stratum of each snapshot, an index into ``STRATA``, from the true transmitter's path sets (snapshot, path).

    A snapshot is near outage if the strongest path's SNR is below ``threshold_db``; otherwise the lowest number of
    bounces among the valid paths decides.
    """
    lost = strongest_snr(paths).values < threshold_db
    bounces = np.where(paths.valid, paths.order, 2).min(axis=1, initial=2)
    codes = np.where(lost, STRATA.index("near outage"), bounces).astype(np.int64)
    return xr.DataArray(codes, dims="snapshot", attrs={"units": "1", "long_name": ", ".join(STRATA)})


def summary(
    rows: xr.Dataset,
    num_candidates: int,
    rng: Generator,
    num_resamples: int = 2000,
    trainings: xr.Dataset | None = None,
) -> xr.Dataset:
    r"""Adjusted loss L of eq. (24), gain G and ratio R of eq. (25) of each method, with intervals.

    All methods share the same resamples; the intervals of G and R are transformed from L's. With a single layout they
    are NaN; with few layouts, percentile intervals are too narrow to rely on. A log posterior of -inf at the truth
    gives L = ∞, G = 0 and R = −∞. ``num_candidates`` is :math:`N_m` of eq. (24) and :math:`N_\mathrm{cand}` of eq.
    (25).

    Args:
        rows: log posteriors of the truths.
        num_candidates: number of candidates.
        rng: draws the resamples.
        num_resamples: number of resamples.
        trainings: ``log_posterior`` (network, group), averaged over the snapshots of each layout, of all trainings of
            some methods, with the coordinate ``method`` (network). For these methods, the result is the mean over
            trainings, and the intervals include the variation between training seeds
            (:func:`locus.judge.bootstrap.over_trainings`).

    Returns:
        Dataset (method) with ``loss`` [nat], ``gain``, ``ratio``, each with ``_low`` and ``_high``; ``num_trainings``;
        ``num_snapshots`` and ``num_groups``.
    """
    check_range("num_candidates", num_candidates, 2)
    logs = _checked(rows)
    index, weights = resample(rows.group.values, len(logs), rng, num_resamples)
    # The constant is subtracted per snapshot, so that a uniform posterior gives exactly 0
    loss = means(-logs.values - np.log(num_candidates), index, weights)
    num_trainings = np.ones(len(logs.method), dtype=np.int64)
    for column, own in _by_method(trainings, logs):
        loss[:, column] = over_trainings(-own - np.log(num_candidates), weights, rng)
        num_trainings[column] = len(own)
    ratio = 0 - loss / np.log(num_candidates)
    return xr.Dataset(
        {
            "num_trainings": ("method", *described(num_trainings, "1", "number of trainings")),
            **with_interval("loss", ("method",), loss, "nat", "adjusted loss"),
            **with_interval("gain", ("method",), np.exp(-loss), "1", "gain over a uniform guess"),
            **with_interval("ratio", ("method",), ratio, "1", "share of the largest possible log gain"),
            "num_snapshots": ((), *described(len(index), "1", "number of snapshots")),
            "num_groups": ((), *described(weights.shape[1], "1", "number of layouts")),
        },
        coords={"method": logs.method.values},
    )


def _by_method(trainings: xr.Dataset | None, logs: xr.DataArray) -> Iterator[tuple[int, Floats]]:
    """Column of ``logs``, and log posteriors (training, layout), of each method in ``trainings``."""
    if trainings is None:
        return
    layouts = np.unique(logs.group)
    if not np.array_equal(trainings.group, layouts):
        raise ValueError(
            f"Expected 'trainings' on the {len(layouts)} layouts of 'rows', got {trainings.sizes['group']}"
        )
    for column, method in enumerate(logs.method.values):
        own = trainings.log_posterior.isel(network=trainings.method.values == method)
        if own.sizes["network"]:
            yield column, own.transpose("network", "group").values.astype(float)


def paired(rows: xr.Dataset, first: str, second: str, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """Loss of one method minus that of another on the same snapshots: ``difference`` [nat], ``_low`` and ``_high``.

    Both are averaged over the same resampled layouts, so that variation common to both cancels. If both losses are
    infinite, the difference is NaN.
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


def covered(rows: xr.Dataset, mass: float, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """Share of true positions inside the credible sets of this mass, ``covered`` (method), ``_low`` and ``_high``."""
    index, weights = resample(rows.group.values, rows.sizes["snapshot"], rng, num_resamples)
    inside = (rows.level <= mass).transpose("snapshot", "method").values.astype(float)
    name = f"share inside the {100 * mass:.0f} % sets"
    return xr.Dataset(with_interval("covered", ("method",), means(inside, index, weights), "1", name))


def by(rows: xr.Dataset, key: str, num_candidates: int, rng: Generator, num_resamples: int = 2000) -> xr.Dataset:
    """``summary`` (bin, method) in bins of a coordinate of ``rows``: ``stratum``, or ``snr_db`` of the strongest path.

    The loss of an empty bin is NaN; so is the interval of a bin with a single layout.
    """
    picks = binned(rows, key)
    bins = [summary(pick, num_candidates, rng, num_resamples) for pick in picks.values()]
    dim = xr.DataArray(list(picks), dims="bin", name="bin")
    return xr.concat(bins, dim, data_vars="all", coords="minimal", compat="override", join="exact")


def binned(rows: xr.Dataset, key: str) -> dict[str, xr.Dataset]:
    """Rows of each bin of ``stratum`` or ``snr_db``, by the bin's name; bins may be empty."""
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
    r"""Share of truths with a credible level of at most ``nominal``, and a simultaneous 95 % band about the diagonal.

    For a calibrated score, the whole curve lies in the band in 95 % of all experiments. The band's half-width at
    nominal level :math:`u` is :math:`c \sqrt{u (1 - u)}`, the shape expected under calibration; it vanishes at 0 and 1,
    where every curve meets the diagonal. The factor :math:`c` is the 95 % quantile of the largest resampled deviation
    in units of :math:`\sqrt{u (1 - u)}`. Studentising by the bootstrap variance would fail near the ends, where that
    variance may be near 0 by chance.

    Returns:
        Dataset (nominal) with ``coverage``, the band ``low`` to ``high``, and a scalar ``calibrated``, whether the
        curve is in the band everywhere. A curve above the band is under-confident, one below it over-confident.
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
    """Quantiles of values (snapshot, method), e.g. errors: ``value`` (quantile, method), with ``_low`` and ``_high``.

    A quantile is the smallest value that at least this fraction of the snapshots does not exceed.
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


def known(rows: xr.Dataset) -> xr.Dataset:
    """Rows (snapshot, method) of the methods that have a log posterior of every snapshot."""
    complete = rows.log_posterior.notnull().all("snapshot")
    return rows.sel({"method": rows.method.values[complete.values]})


def _checked(rows: xr.Dataset) -> xr.DataArray:
    """Log posteriors (snapshot, method) of ``rows``; raises a ValueError if they are malformed."""
    if "log_posterior" not in rows or set(rows.log_posterior.dims) != {"snapshot", "method"}:
        raise ValueError(f"Expected 'rows' with 'log_posterior' (snapshot, method), got {list(rows)}")
    if not {"method", "group"} <= set(rows.coords):
        raise ValueError(f"Expected 'rows' with coordinates 'method' and 'group', got {list(rows.coords)}")
    logs: xr.DataArray = rows.log_posterior.transpose("snapshot", "method").astype(float)
    if not (logs.values <= ROUNDING).all():
        raise ValueError(f"Expected 'rows.log_posterior' at most 0 and not NaN, got {logs.values.max():g}")
    return logs
