"""The page "Reading the paper": readings and their effects in, values for its template and a figure out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from locus.book.tables import percent, which_reading
from locus.book.typography import numbers
from locus.experiment import solver
from locus.experiment.sensitivity import Reading, readings
from locus.experiment.solver import Call
from locus.experiment.table import SCORER_TITLES


def values(data: xr.Dataset) -> dict[str, Any]:
    """Values for the template: the readings, and the effect of each alternative value."""
    return {
        "readings": [{"reading": one, "rows": _rows(one, data)} for one in readings()],
        "chosen": percent(data.sel(variant="chosen: chosen")),
        "num_seeds": data.sizes["seed"],
        "lowest": _lowest(data),
    }


def sensitivity_figure(data: xr.Dataset, *, narrow: bool = False) -> Figure:
    """Change of R for every alternative value of every reading, with intervals, and for each seed alone.

    If ``narrow``, for a phone, names stand above the intervals instead of beside them.
    """
    lines = [(one, label) for one in readings() for label in list(one.values)[1:]]
    size = (3.7, 0.43 * len(lines) + 0.7) if narrow else (7.0, 0.27 * len(lines) + 1.0)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    for height, (reading, label) in enumerate(reversed(lines)):
        row = 100 * data.sel(variant=f"{reading.name}: {label}")
        change = float(row.ratio_difference)
        ends = [[abs(change - float(row[f"ratio_difference{end}"]))] for end in ("_low", "_high")]
        axes.errorbar(change, height, xerr=ends, fmt="o", color="#0072B2", linewidth=2, markersize=5)
        of_seeds = row.difference_of_seed * float(row.ratio_difference / row.difference)
        axes.plot(of_seeds, np.full(row.sizes["seed"], height - 0.24), "|", color="0.35", markersize=5)
        if label == list(reading.values)[1]:
            axes.axhline(height + 0.5, color="0.85", linewidth=0.8)
    names = [numbers(f"{reading.title}: {label}") for reading, label in reversed(lines)]
    if narrow:
        axes.set_yticks([])
        style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": "small", "va": "center"}
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # lines pass behind the names
        for height, name in enumerate(names):
            axes.text(0.01, height + 0.3, name, **style)
    else:
        axes.set_yticks(range(len(lines)), names, fontsize="small")
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.set(xlabel="change of R [percentage points]", ylim=(-0.7, len(lines) - 0.3 * (not narrow)))
    axes.grid(axis="x", alpha=0.3)
    return figure


def _rows(reading: Reading, data: xr.Dataset) -> list[dict[str, str]]:
    found = {label: data.sel(variant=f"{reading.name}: {label}") for label in list(reading.values)[1:]}
    return [
        {"label": label, "ratio": percent(row), "change": percent(row, "ratio_difference", "+.1f")}
        for label, row in found.items()
    ]


def _lowest(data: xr.Dataset) -> dict[str, str]:
    """Among the readings that the paper leaves open, the alternative that lowers R on Eval Random most."""
    left_open = [
        (reading, row)
        for reading in readings()
        if reading.setting and not reading.stated
        for row in _rows(reading, data)
    ]
    reading, row = min(left_open, key=lambda pair: float(pair[1]["change"].split()[0]))
    return {"title": reading.title, **row, "points": row["change"].split()[0].lstrip("-−")}


def solver_values(data: xr.Dataset) -> dict[str, Any]:
    """Values for the template: completeness and time of each call of Sionna's solver, and of our twin.

    ``missing`` is a function that returns the share of missing paths [%] of a call, as text.
    """
    found, count = solver.summary(data), int(data.attrs["num_candidates"])

    def row(name: str) -> dict[str, str]:
        one = found.sel(call=name)
        return {
            "missing": percent(one, "missing_share", ".2f") if int(one.missing) else "0",
            "extra": str(int(one.extra)),
            "at_corner": str(int(one.at_corner)),
            "seconds": _two_digits(count * float(one.seconds)),
            "slowdown": _two_digits(float(one.slowdown)),
        }

    def missing(num_rays: int, num_receivers: int, *, deterministic: bool = False) -> str:
        share = found.missing_share.sel(call=Call(num_rays, num_receivers, deterministic).name)
        return f"{100 * float(share):.2f}"

    return {
        "calls": [(call, row(call.name)) for call in solver.CALLS],
        "ours": row(solver.OURS),
        "missing": missing,
        "num_rooms": data.sizes["room"],
        "num_paths": int(found.num_paths),
        "num_candidates": count,
        "gibibytes": solver.BYTES_PER_HASH * data.attrs["max_depth"] * 1_000_000 * count / 2**30,
    }


def _two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def negatives(measured: dict[str, Any]) -> dict[str, Any]:
    """Training with a few wrong candidates per step compared with all, as measured by ``benchmarks/negatives.py``.

    ``few`` and ``all`` hold means over seeds: ``loss`` on test rooms [nat], and ``covered``, the shares of truths in
    credible sets [%]. ``gap`` is the difference of these shares between the two, ``spread`` their range over seeds.
    """
    found: dict[str, Any] = {"levels": [round(100 * level) for level in measured["levels"]]}
    shares = {}
    for name, count in zip(("few", "all"), sorted((key for key in measured if key.isdigit()), key=int), strict=True):
        shares[name] = 100 * np.array(measured[count]["coverage"])
        found[name] = {
            "count": count,
            "loss": np.mean(measured[count]["test"]),
            "covered": shares[name].mean(axis=0),
            "num_seeds": len(shares[name]),
        }
    found["gap"] = np.abs(shares["few"].mean(axis=0) - shares["all"].mean(axis=0))
    found["spread"] = np.max([np.ptp(one, axis=0) for one in shares.values()], axis=0)
    return found


def differences(table: xr.Dataset, printed: xr.Dataset, encodings: xr.Dataset, raw: xr.Dataset) -> dict[str, Any]:
    """R [%] of every method here and in the paper, as text.

    Args:
        table: results of the run, (method, evaluation).
        printed: results printed in the paper, (evaluation, method).
        encodings: summary of the test split, (method), with the baselines in each encoding, like ``gmm_cart.plain``.
        raw: results of the baselines that see samples, (method, evaluation).
    """

    def here(method: str, evaluation: str) -> str:
        return percent(table.sel({"method": method, "evaluation": evaluation}))

    def there(method: str, evaluation: str) -> str:
        return f"{100 * float(printed.ratio.sel({'method': method, 'evaluation': evaluation})):.2f}"

    methods = {
        str(method): {
            "title": SCORER_TITLES[str(method)],
            **{name: (here(method, name), there(method, name)) for name in ("grid", "random")},
        }
        for method in printed.method.values
    }
    for method in methods.keys() - {"locus_dt"}:
        for kind in ("plain", "turned"):
            methods[method][kind] = percent(encodings.sel({"method": f"{method}.{kind}"}))
        for name in ("grid", "random"):
            methods[method][f"raw_{name}"] = percent(raw.sel({"method": method, "evaluation": name}))
    own, theirs = (
        100 * float(one.ratio.sel({"method": "locus_dt", "evaluation": "random"})) for one in (table, printed)
    )
    return {
        "methods": methods,
        "off_list": here("locus_dt", "grid_offlist"),
        "gap": f"{own - theirs:+.1f}",
        "which_reading": which_reading(table, raw, printed),
    }
