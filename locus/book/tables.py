"""Tables for readers: results in, pandas frames with intervals as text out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from locus.book import words
from locus.experiment import unknown_phases
from locus.experiment.table import EVALUATION_TITLES, SCORER_TITLES
from locus.judge import metrics
from locus.judge.calibration import covered_by_snr
from locus.score import weight_files


def results_frame(table: xr.Dataset, printed: xr.Dataset) -> pd.DataFrame:
    """L, G and R of the run and as printed in the paper; one row per evaluation and method."""
    rows = {}
    for evaluation in table.evaluation.values:
        for method in table.method.values:
            one = table.sel({"method": method, "evaluation": evaluation})
            cells = [
                number_with_interval([float(one[f"loss{end}"]) for end in ("", "_low", "_high")], ".2f"),
                f"{float(one.gain):.2f}",
                percent(one),
            ]
            if evaluation in printed.evaluation and method in printed.method:
                known = printed.sel({"method": method, "evaluation": evaluation})
                cells += [f"{float(known.loss):.2f}", f"{float(known.gain):.2f}", f"{100 * float(known.ratio):.2f}"]
            else:
                cells += [""] * 3
            rows[EVALUATION_TITLES[str(evaluation)], SCORER_TITLES[str(method)]] = cells
    measures = ["L [nat]", "G", "R [%]"]
    columns = pd.MultiIndex.from_product([["this run", "printed in the paper"], measures])
    index = pd.MultiIndex.from_tuples(rows, names=["evaluation", "method"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def number_with_interval(numbers: Sequence[float], form: str) -> str:
    """Format a number and the ends of its interval.

    No interval is shown for an infinite number, or with too few rooms.
    """
    value, low, high = numbers
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if math.isnan(low) or math.isnan(high):
        return f"{value:{form}}"
    unsigned_zero = form.replace(",.", ".").replace(".", "z,." if "," in form else "z.")
    return f"{value:{unsigned_zero}} [{low:{unsigned_zero}}, {high:{unsigned_zero}}]"


def three_digits(numbers: Sequence[float]) -> str:
    """Format specification that gives the largest of some numbers three digits, but at most two decimals."""
    largest = max(map(abs, numbers))
    return f".{2 if largest < 10 else 1 if largest < 100 else 0}f"


def inputs_frame(table: xr.Dataset, raw: xr.Dataset, printed: xr.Dataset) -> pd.DataFrame:
    """R [%] of the baselines by what they see, and as printed in the paper; one row per evaluation and method.

    Args:
        table: results of the run, (method, evaluation), with the baselines that see estimated paths.
        raw: the same of baselines that see samples, from :meth:`locus.experiment.iq_baselines.IqBaselines.summary`.
        printed: the paper's results, from :func:`locus.book.paper.printed`.
    """
    rows = {}
    for evaluation in printed.evaluation.values:
        for method in raw.method.values:
            key = {"method": method, "evaluation": evaluation}
            cells = [percent(data.sel(key)) for data in (table, raw)]
            cells.append(f"{100 * float(printed.ratio.sel(key)):.2f}")
            rows[EVALUATION_TITLES[str(evaluation)], SCORER_TITLES[str(method)]] = cells
    columns = pd.Index(["estimated paths", "samples", "in the paper"], name="R [%]")
    index = pd.MultiIndex.from_tuples(rows, names=["evaluation", "method"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def nearer_readings(table: xr.Dataset, raw: xr.Dataset, printed: xr.Dataset) -> dict[str, int]:
    """Count how many of the paper's R of baselines are nearer to ours with ``samples``, and how many with ``paths``."""
    samples, paths = (abs(_gains(data, printed, raw.method)) for data in (raw, table))
    nearer = int((samples < paths).sum())
    return {"samples": nearer, "paths": samples.size - nearer}


def which_reading(table: xr.Dataset, raw: xr.Dataset, printed: xr.Dataset) -> str:
    """State which input of the baselines, samples or estimated paths, gives numbers nearer to the paper's."""
    nearer = nearer_readings(table, raw, printed)
    total, closer = sum(nearer.values()), nearer["samples"]
    samples, paths = (float(abs(_printed_gains(data, printed, raw.method)).max()) for data in (raw, table))
    split = f"{words.count(closer)} {'is' if closer == 1 else 'are'} nearer to ours with samples, and "
    split += f"{words.count(nearer['paths'])} to ours with estimated paths"
    for kind, title in (("samples", "samples"), ("paths", "estimated paths")):
        split = f"all are nearer to ours with {title}" if nearer[kind] == total else split
    text = (
        f"Of the {words.count(total)} values of R that the paper prints for its baselines, {split}. With samples, R "
        f"differs from the paper's by at most {samples:.1f} points; with estimated paths, by at most {paths:.1f}. "
    )
    better = int((_gains(raw, printed, raw.method) < 0).sum())
    if better == total == int((_gains(table, printed, raw.method) > 0).sum()):
        return text + "All of them lie between ours with samples and ours with paths: neither input reproduces them."
    if closer == total:
        rest = (
            f" But {words.count(better)} of them are better than ours with samples, so something else differs, too."
            if better
            else ""
        )
        return text + f"So they are closer to samples as input, the words of Sec. III-D taken literally.{rest}"
    if nearer["paths"] == total:
        return text + "So samples as input do not explain why the paper's baselines are weaker."
    return text + "So the numbers alone do not tell which of the two the paper's baselines saw."


def _gains(data: xr.Dataset, printed: xr.Dataset, methods: xr.DataArray) -> xr.DataArray:
    """R less the paper's, (evaluation, method)."""
    key = {"method": methods.values, "evaluation": printed.evaluation.values}
    gains: xr.DataArray = data.ratio.sel(key) - printed.ratio.sel(key)
    return gains


def _printed_gains(data: xr.Dataset, printed: xr.Dataset, methods: xr.DataArray) -> xr.DataArray:
    """The same [%], from values as tables show them, so that readers who subtract them get the same."""
    key = {"method": methods.values, "evaluation": printed.evaluation.values}
    gains: xr.DataArray = (100 * data.ratio.sel(key)).round(1) - (100 * printed.ratio.sel(key)).round(2)
    return gains


def percent(row: xr.Dataset, name: str = "ratio", form: str = ".1f") -> str:
    """Format a variable of a Dataset and its interval in per cent."""
    return number_with_interval([100 * float(row[f"{name}{end}"]) for end in ("", "_low", "_high")], form)


def trainings_frame(seeds: xr.Dataset, table: xr.Dataset) -> pd.DataFrame:
    """Number of trainings of each method, and the lowest and highest R [%] among them, by evaluation.

    Args:
        seeds: losses of all trainings, from :class:`locus.experiment.seeds.Seeds`.
        table: results of the run, from :class:`locus.experiment.table.Table`, in which their means are.
    """
    ratio = 100 * (1 + seeds.log_posterior.mean("group") / np.log(table.num_candidates))
    columns: dict[str, list[Any]] = {"trainings": []}
    methods = list(dict.fromkeys(seeds.method.values))
    for method in methods:
        own = ratio.isel(network=seeds.method.values == method)
        columns["trainings"].append(own.sizes["network"])
        for name in seeds.evaluation.values:
            one = own.sel(evaluation=name)
            columns.setdefault(f"R [%] on {EVALUATION_TITLES[name]}", []).append(
                f"{float(one.min()):.1f} to {float(one.max()):.1f}"
            )
    return pd.DataFrame(columns, index=pd.Index([SCORER_TITLES[name] for name in methods], name="method"))


def intervals_hold(table: xr.Dataset, *, baselines: bool = False) -> str:
    """Say what the intervals of the table, or of its ``baselines``, cover: rooms, and trainings if several."""
    counts = {str(name): int(table.num_trainings.sel({"method": name})) for name in weight_files.METHODS}
    if max(counts.values()) == 1:
        return "rooms; each network was trained once, so they leave out the seed of its training"
    ours, others = counts["locus_dt"], max(counts[name] for name in weight_files.METHODS[1:])
    counted = f"{others} trainings" if baselines else f"{ours} trainings of LOCUS-DT, {others}"
    return f"rooms and seeds of the training ({counted} of each baseline)"


def paired_losses(rows: xr.Dataset, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Paired differences of the losses of two methods, first minus second [nat], one row per pair."""
    found = [metrics.paired(rows, first, second, np.random.default_rng(0)) for first, second in pairs]
    names = ("difference", "difference_low", "difference_high")
    index = pd.MultiIndex.from_tuples(
        [(SCORER_TITLES[a], SCORER_TITLES[b]) for a, b in pairs], names=["method", "less"]
    )
    columns = ["difference", "low", "high"]
    return pd.DataFrame([[float(one[name]) for name in names] for one in found], index=index, columns=columns)


def paired_frame(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Results of :func:`paired_losses` for several evaluations, side by side."""
    columns = {
        EVALUATION_TITLES[name]: [number_with_interval(line, ".2f") for line in frame.to_numpy()]
        for name, frame in compared.items()
    }
    return pd.DataFrame(columns, index=next(iter(compared.values())).index).rename_axis(["method", "minus"])


def phases_frame(rows: xr.Dataset) -> pd.DataFrame:
    """What each receiver of :class:`locus.experiment.unknown_phases.UnknownPhases` knows, and its loss with intervals.

    The last column is the loss of a line less that of the line above, on the same snapshots.
    """
    knows = {
        "locus_dt": "a few estimated paths",
        "phase_blind": "all samples; angle, delay and mean power",
        "phase_free": "all samples; angle, delay and amplitude",
        "bayes": "all samples; angle, delay, amplitude and phase",
    }
    found = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(0))
    lines, above = {}, ""
    for name in unknown_phases.METHODS:
        one = found.sel({"method": name})
        line = {"knows": knows[name], "L [nat]": _cell(one, "loss"), "minus the line above [nat]": ""}
        if above:
            line["minus the line above [nat]"] = _cell(
                metrics.paired(rows, name, above, np.random.default_rng(0)), "difference"
            )
        lines[unknown_phases.TITLES[name]] = line
        above = name
    return pd.DataFrame(lines).T


def _cell(data: xr.Dataset, name: str) -> str:
    return number_with_interval([float(data[f"{name}{end}"]) for end in ("", "_low", "_high")], ".2f")


def quantiles_frame(quantiles: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """Quantiles (quantile, method) from :func:`locus.judge.metrics.distribution`, by label of their quantity."""
    columns = {}
    for label, data in quantiles.items():
        for share in data["quantile"].values:
            ends = data.sel({"quantile": share})
            rows = zip(*(ends[f"value{end}"].values for end in ("", "_low", "_high")), strict=True)
            title = "median" if share == 0.5 else f"{100 * share:.0f}th percentile"
            form = ",.1f" if label.endswith("[m]") else ",.0f"
            columns[label, title] = [number_with_interval(row, form) for row in rows]
    methods = next(iter(quantiles.values())).method.values
    return pd.DataFrame(columns, index=pd.Index([SCORER_TITLES[name] for name in methods], name="method"))


def moved_frame(moved: xr.Dataset) -> pd.DataFrame:
    """Loss (distance, method) from :func:`locus.experiment.moved.summary`: a row per method, a column per distance."""
    columns = {}
    for distance in moved.distance.values:
        one = moved.sel(distance=distance)
        rows = zip(*(one[f"loss{end}"].values for end in ("", "_low", "_high")), strict=True)
        columns["L [nat]", f"{1000 * distance:g} mm"] = [number_with_interval(row, three_digits(row)) for row in rows]
    return pd.DataFrame(columns, index=pd.Index([SCORER_TITLES[name] for name in moved.method.values], name="method"))


def strata_frame(rows: xr.Dataset, method: str) -> pd.DataFrame:
    """By kind of channel and by SNR: number of snapshots, and one method's coverage of 90 % sets, error and area."""
    own = rows.sel({"method": [method]})
    kinds = {"channel": "stratum", "strongest path": "snr_db"}
    return pd.concat({title: _bins_frame(metrics.binned(own, key)) for title, key in kinds.items()})


def calibration_frame(rows: xr.Dataset, methods: Sequence[str]) -> pd.DataFrame:
    """Number of snapshots, and share of truths in the 50 % and 90 % sets, overall and by the strongest path's SNR."""
    own = rows.sel({"method": list(methods)})
    shares = {mass: covered_by_snr(own, mass, np.random.default_rng(0)) for mass in (0.5, 0.9)}
    lines = {}
    for band, count in shares[0.9].num_snapshots.to_series().items():
        if count:
            lines[band] = {("", "snapshots"): f"{count:,}"} | {
                (SCORER_TITLES.get(method, method), f"in the {100 * mass:.0f} % set [%]"): percent(
                    share.sel({"band": band, "method": method}), "covered"
                )
                for method in methods
                for mass, share in shares.items()
            }
    return pd.DataFrame(lines).T


def _bins_frame(bins: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    lines = {}
    for name, part in bins.items():
        if not part.sizes["snapshot"]:
            continue
        halves = [
            metrics.distribution(part[key], part.group, np.random.default_rng(0), (0.5, 0.9)).value.values[:, 0]
            for key in ("map_error", "area")
        ]
        lines[name] = {
            "snapshots": f"{part.sizes['snapshot']:,}",
            "90\N{NO-BREAK SPACE}% set holds [%]": f"{100 * float((part.level <= 0.9).mean()):.1f}",
            "median error [m]": f"{halves[0][0]:.1f}",
            "90th percentile [m]": f"{halves[0][1]:.1f}",
            "median area [m²]": f"{halves[1][0]:,.0f}",
            "90th percentile [m²]": f"{halves[1][1]:,.0f}",
        }
    return pd.DataFrame(lines).T


def headline(table: xr.Dataset, printed: xr.Dataset) -> str:
    """R [%] of every method beside the paper's, as a Markdown table for the README."""
    order = ("grid", "random")
    heads = " | ".join(f"{EVALUATION_TITLES[name]} | in the paper" for name in order)
    lines = [f"| R [%] | {heads} |", "|---|" + "---|---|" * len(order)]
    for method in table.method.values:
        cells = []
        for name in order:
            one = table.sel({"method": method, "evaluation": name})
            cells.append(percent(one))
            known = method in printed.method
            cells.append(
                f"{100 * float(printed.ratio.sel({'method': method, 'evaluation': name})):.2f}" if known else ""
            )
        lines.append(f"| {SCORER_TITLES[str(method)]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def twins_table(measured: Mapping[str, Any], glued: Mapping[str, str]) -> str:
    """Speed and completeness of the twins, as a Markdown table for the README.

    Args:
        measured: section ``twin`` of ``benchmarks/results.json``.
        glued: values glued by chapter 1, from :func:`locus.book.chapters.glued`.
    """
    missing = {
        "straightforward": f"{float(glued['straightforward_missing']):.1f} %",
        "sionna": f"{float(glued['missing_percent']):.4f} %",
        "image": "none: it is the reference",
    }
    lines = ["| | s per 500 candidates | times as fast | paths missing |", "|---|---|---|---|"]
    for name, share in missing.items():
        one = measured[name]
        lines.append(f"| {name} | {one['seconds_per_group']:.3f} | {one['times_as_fast']:.0f} | {share} |")
    return "\n".join(lines)
