"""Figures of rooms, paths and estimates: labelled data in, matplotlib figures out.

The receiver is a blue marker with an arrow along its heading, the transmitter a red star; obstacles are outlined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from locus.draw import RECEIVER, draw_map, draw_receiver, draw_room, draw_transmitter
from locus.receiver.estimator import matched_filter
from locus.room.layout import Layout, Pose
from locus.settings.config import Radio
from locus.twin.antenna import array_response
from locus.twin.rays import ray_points

# Okabe-Ito colours, distinguishable for colour-blind readers, by number of reflections
_ORDER_COLOURS = ("black", "#0072B2", "#D55E00", "#009E73")


def room_figure(layout: Layout, pose: Pose, candidates: NDArray[np.float64]) -> Figure:
    """The room, the receiver and the candidate positions."""
    figure, axes = plt.subplots(figsize=(6.2, 5.2), layout="constrained")
    draw_room(axes, layout)
    axes.plot(*candidates.T, ".", color="0.45", markersize=3, label=f"{len(candidates)} candidates")
    draw_receiver(axes, pose)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def most_spread(paths: xr.Dataset, num_paths: int) -> int:
    """Index of the candidate whose strongest paths are best separated: with the largest angle between the closest two.

    Raises:
        ValueError: no candidate has ``num_paths`` paths.
    """
    enough = paths.valid.sum("path").values >= num_paths
    if not enough.any():
        raise ValueError(f"Expected a candidate with at least {num_paths} paths, got none")
    angles = np.sort(paths.aoa.values[:, :num_paths], axis=1)
    gaps = np.diff(angles, axis=1, append=angles[:, :1] + 2 * np.pi)
    return int(np.where(enough, gaps.min(axis=1), -1).argmax())


def ray_figure(layout: Layout, pose: Pose, paths: dict[str, xr.Dataset]) -> Figure:
    """Paths of one candidate as traced by two twins: rays in the room, and SNR over angle.

    Args:
        layout: the room.
        pose: the receiver.
        paths: two path sets (path) of one candidate, by display name; the first is drawn below the second.
    """
    figure, (room, stems) = plt.subplots(
        1, 2, figsize=(7.2, 4.2), layout="constrained", gridspec_kw={"width_ratios": [1.05, 1]}
    )
    draw_room(room, layout)
    styles: tuple[dict[str, Any], ...] = (
        {"linewidth": 4.5, "alpha": 0.35},
        {"linewidth": 1.2, "linestyle": (0, (5, 3))},
    )
    markers: tuple[dict[str, Any], ...] = (
        {"marker": "o", "markersize": 11, "fillstyle": "none", "markeredgewidth": 1.5},
        {"marker": "x", "markersize": 6, "markeredgewidth": 1.5},
    )
    for (name, data), style, marker in zip(paths.items(), styles, markers, strict=True):
        rays = ray_points(layout, data.expand_dims("candidate"))[0]
        for path in np.flatnonzero(data.valid):
            colour = _ORDER_COLOURS[int(data.order[path]) % len(_ORDER_COLOURS)]
            room.plot(*rays[path].T, color=colour, **style)
            stems.plot(
                np.degrees(data.aoa[path]), data.snr_db[path], color=colour, linestyle="none", clip_on=False, **marker
            )
        stems.plot([], [], color="0.2", linestyle="none", label=name, **marker)
    first = next(iter(paths.values()))
    draw_transmitter(room, float(first.x), float(first.y))
    draw_receiver(room, pose)
    orders = sorted({int(order) for order in first.order.values[first.valid.values]})
    names = ["line of sight", "1 bounce"] + [f"{n} bounces" for n in range(2, 20)]
    lines = [
        Line2D([], [], color=_ORDER_COLOURS[n % len(_ORDER_COLOURS)], linewidth=2.5, label=names[n]) for n in orders
    ]
    figure.legend(handles=lines, loc="outside upper left", ncols=2, frameon=False, handlelength=1.2, columnspacing=1)
    figure.legend(*stems.get_legend_handles_labels(), loc="outside upper right", frameon=False)
    stems.set(xlabel="angle of arrival [degrees]", ylabel="SNR per sample [dB]", xlim=(-180, 180))
    stems.set_xticks(range(-180, 181, 90))
    stems.grid(alpha=0.3)
    return figure


def map_figure(layout: Layout, pose: Pose, values: list[xr.DataArray], colour_maps: list[str]) -> Figure:
    """Maps over a grid of candidates, one panel per array (candidate) in ``values``, labelled by its attributes."""
    figure, panels = plt.subplots(
        1, len(values), figsize=(3.5 * len(values), 4.2), layout="constrained", squeeze=False, sharey=True
    )
    for axes, value, colour_map in zip(panels[0], values, colour_maps, strict=True):
        mesh = draw_map(axes, value, cmap=colour_map)
        units = value.attrs.get("units", "1")
        label = value.attrs["long_name"] + (f" [{units}]" if units != "1" else "")
        figure.colorbar(mesh, ax=axes, label=label, location="top", shrink=0.9)
        draw_room(axes, layout)
        draw_receiver(axes, pose)
    for axes in panels[0][1:]:
        axes.set_ylabel("")
    return figure


def snapshot_figure(snapshot: xr.Dataset, truth: xr.Dataset, observed: xr.Dataset) -> Figure:
    """A snapshot (sample, antenna): its samples, and its matched filter with true and estimated paths (path)."""
    radio = Radio.carried_by(snapshot) or Radio()
    figure, (raw, filtered) = plt.subplots(
        1, 2, figsize=(7.2, 3.8), layout="constrained", gridspec_kw={"width_ratios": [1, 1.5]}
    )
    level = 10 * np.log10(np.abs(snapshot.iq.values) ** 2 / radio.noise_power)
    mesh = raw.imshow(level.T, aspect="auto", origin="lower", cmap="viridis", interpolation="nearest")
    mesh.set_clim(np.percentile(level, 1), level.max())
    raw.set(xlabel="sample", ylabel="antenna")
    figure.colorbar(mesh, ax=raw, label="power over noise [dB]", location="top", extend="min")

    sine, delay, surface = matched_filter(snapshot.iq.values, radio)
    peak = surface.max()
    mesh = filtered.pcolormesh(
        1e9 * delay, sine, 10 * np.log10(surface).T, cmap="viridis", vmin=10 * np.log10(peak) - 40, rasterized=True
    )
    figure.colorbar(mesh, ax=filtered, label="matched filter over noise [dB]", location="top", extend="min")
    real = truth.isel(path=truth.valid.values)
    seen = observed.isel(path=observed.valid.values)
    late = (real.delay - float(snapshot.sync_offset)) % radio.period
    style = {"linestyle": "none", "markeredgewidth": 1.6}
    filtered.plot(
        1e9 * late, np.sin(real.aoa), marker="o", markersize=11, color="white", fillstyle="none", label="true", **style
    )
    filtered.plot(
        1e9 * seen.delay, np.sin(seen.aoa), marker="x", markersize=7, color="#FF6A3D", label="estimated", **style
    )
    filtered.legend(loc="best", labelcolor="white", facecolor="black", framealpha=0.5, fontsize="small")
    filtered.set(xlabel="delay after the start of the snapshot [ns]", ylabel="sine of the angle", ylim=(-1.1, 1.1))
    filtered.set_facecolor(mesh.cmap(0))  # room for the circle of a path along the array
    return figure


def error_figure(curves: Mapping[str, xr.Dataset]) -> Figure:
    """Errors of angle and delay over SNR (``snr_db``) with their bounds, a column per title.

    The shading shows the share of snapshots in which not all paths are found.
    """
    figure, panels = plt.subplots(
        2, len(curves), figsize=(7.2, 5.6), layout="constrained", sharex=True, sharey="row", squeeze=False
    )
    scales = {"angle": (180 / np.pi, "error of the angle [degrees]"), "delay": (1e9, "error of the delay [ns]")}
    for row, (name, (scale, label)) in zip(panels, scales.items(), strict=True):
        for axes, curve in zip(row, curves.values(), strict=True):
            (line,) = axes.semilogy(curve.snr_db, scale * curve[f"{name}_bound"], color="black")
            (points,) = axes.semilogy(curve.snr_db, scale * curve[f"{name}_error"], "o", color="#0072B2", markersize=4)
            axes.grid(alpha=0.3)
            share = axes.twinx()
            shading = share.fill_between(
                curve.snr_db, 100 * (1 - curve.found), color="#D55E00", alpha=0.18, linewidth=0
            )
            share.set(ylim=(0, 100), yticks=range(0, 101, 25))
            share.tick_params(right=axes is row[-1], labelright=axes is row[-1])
            share.spines["right"].set_visible(axes is row[-1])
            axes.set_zorder(share.get_zorder() + 1)  # points above the shading
            axes.patch.set_visible(False)
            axes.yaxis.set_major_formatter("{x:g}")
        row[0].set_ylabel(label)
        share.set_ylabel("not all found [%]")
    for axes, title in zip(panels[0], curves, strict=True):
        axes.set_title(title, fontsize="medium")
    figure.supxlabel("SNR per path, sample and antenna [dB]", fontsize="medium")
    labels = ["Cramér-Rao bound", "estimator", "snapshots in which not all paths are found"]
    figure.legend([line, points, shading], labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def pairs_figure(pairs: xr.Dataset) -> Figure:
    """Angle and SNR of the strongest estimated path over those of the strongest traced path, (snapshot)."""
    found = pairs.isel(snapshot=pairs.valid.values)
    figure, (angle, snr) = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
    angle.plot(
        np.degrees(found.true_aoa),
        np.degrees(found.aoa),
        ".",
        markersize=3,
        color="#0072B2",
        alpha=0.6,
        rasterized=True,
    )
    angle.plot([-180, -90, 90, 180], [0, -90, 90, 0], color="black", linewidth=0.8, zorder=0)
    angle.set(xlabel="traced angle [degrees]", ylabel="estimated angle [degrees]", xlim=(-180, 180), ylim=(-95, 95))
    angle.set_xticks(range(-180, 181, 90))
    snr.plot(found.true_snr_db, found.snr_db, ".", markersize=3, color="#0072B2", alpha=0.6, rasterized=True)
    ends = [pairs.attrs["threshold_db"] - 15, float(found.snr_db.max())]
    snr.plot(ends, ends, color="black", linewidth=0.8, zorder=0)
    snr.axhline(pairs.attrs["threshold_db"], color="#D55E00", linestyle="--", linewidth=1)
    snr.set(xlabel="traced SNR [dB]", ylabel="estimated SNR [dB]", xlim=(ends[0], None))
    for axes in (angle, snr):
        axes.grid(alpha=0.3)
    return figure


def ambiguity_figure(aoa: float, num_antennas: int) -> Figure:
    """A linear array, and wavefronts from an angle and from its mirror image, which the array cannot distinguish."""
    figure, (plan, phases) = plt.subplots(
        1, 2, figsize=(7.2, 3.4), layout="constrained", gridspec_kw={"width_ratios": [1.2, 1]}
    )
    y = -np.arange(num_antennas) / 2  # antenna m is m/2 wavelengths to the right of the heading
    plan.plot(np.zeros(num_antennas), y, "o", color=RECEIVER, markersize=6, zorder=3)
    for angle, colour, name in ((aoa, "#009E73", "from the front"), (np.pi - aoa, "#D55E00", "from behind")):
        towards = np.array([np.cos(angle), np.sin(angle)])
        along = np.array([-towards[1], towards[0]])
        middle = np.array([0.0, y.mean()])
        for distance in range(2, 6):
            ends = middle + distance * towards + np.outer([-1.2, 1.2], along)
            plan.plot(*ends.T, color=colour, linewidth=1.5)
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2}
        plan.annotate("", middle + 0.6 * towards, middle + 5.6 * towards, arrowprops=arrow)
        path = np.angle(array_response(angle, num_antennas))
        marker = {"from the front": "o", "from behind": "x"}[name]
        size = {"o": 10, "x": 7}[marker]
        style = {"markersize": size, "fillstyle": "none", "markeredgewidth": 1.5}
        phases.plot(np.degrees(path), marker, color=colour, label=name, **style)
    arrow = {"arrowstyle": "-|>", "color": RECEIVER, "linewidth": 2.5}
    plan.annotate("", (2.0, y.mean()), (0.0, y.mean()), arrowprops=arrow)
    plan.text(0.5, y.mean() - 0.3, "heading", color=RECEIVER, va="top", ha="left")
    plan.set(xlabel="x [wavelengths]", ylabel="y [wavelengths]", aspect="equal", xlim=(-6, 6))
    phases.set(xlabel="antenna", ylabel="phase [degrees]", ylim=(-190, 190))
    phases.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=2)
    phases.grid(alpha=0.3)
    return figure


def path_table(paths: xr.Dataset) -> pd.DataFrame:
    """Table of the paths (path) of one candidate, in degrees, nanoseconds and decibels."""
    real = paths.isel(path=paths.valid.values)
    columns = {
        "angle [degrees]": np.degrees(real.aoa.values).round(1),
        "delay [ns]": (1e9 * real.delay.values).round(1),
        "SNR [dB]": real.snr_db.values.round(1),
    }
    if "order" in real:
        columns["bounces"] = real.order.values
    return pd.DataFrame(columns, index=pd.RangeIndex(1, real.sizes["path"] + 1, name="path"))
