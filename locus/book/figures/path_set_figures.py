"""Figures of the path set: traced and observed paths of a case in, matplotlib figures out."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from locus.settings.config import Radio

_CLOSE = np.array([0.05, 0.5])  # differences of sine and delay [samples] that count as agreement
_WEAKEST = 0.5  # energy below which a traced path is not drawn


def pairs_figure(paths: xr.Dataset, observed: xr.Dataset, candidates: dict[str, int], radio: Radio) -> Figure:
    """Traced paths (candidate, path) of some candidates, by title, and the observed paths (path) of one snapshot.

    Each panel has the sync offset at which most of its observed paths lie on traced ones.
    """
    size, layout = (3.4 * len(candidates), 4.4), ConstrainedLayoutEngine(w_pad=0.12)  # or ticks of two panels meet
    figure, panels = plt.subplots(1, len(candidates), figsize=size, layout=layout, sharey=True, squeeze=False)
    seen = _points(observed, radio)
    for axes, (title, candidate) in zip(panels[0], candidates.items(), strict=True):
        traced = _points(paths.isel(candidate=candidate), radio)
        traced = traced[traced[:, 2] > _WEAKEST]
        offset = _offset(traced, seen, radio.num_subcarriers)
        late = (seen[:, 1] + offset) % radio.num_subcarriers
        style = {"facecolor": "none", "edgecolor": "#0072B2", "linewidth": 1.5}
        axes.scatter(traced[:, 0], traced[:, 1], _size(traced), marker="o", label="traced", **style)
        axes.scatter(seen[:, 0], late, _size(seen) / 2, marker="x", color="#D55E00", label="observed")
        _label(axes, title)
    panels[0][0].set_ylabel("delay [samples] at the best sync offset")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def _points(paths: xr.Dataset, radio: Radio) -> NDArray[np.float64]:
    """Sine, delay [samples] and energy (path, 3) of the valid paths."""
    valid = paths.valid.values.astype(bool)
    energy = radio.num_subcarriers * radio.num_antennas * 10 ** (paths.snr_db.values[valid] / 10)
    delay = paths.delay.values[valid] * radio.bandwidth
    return np.stack([np.sin(paths.aoa.values[valid]), delay % radio.num_subcarriers, energy], axis=1)


def _offset(traced: NDArray[np.float64], seen: NDArray[np.float64], period: int) -> float:
    """Sync offset [samples] that brings the most, and the strongest, observed paths onto traced ones."""
    offsets = (traced[:, np.newaxis, 1] - seen[:, 1]).ravel()
    if not len(offsets):
        return 0.0
    apart = (traced[:, np.newaxis, 1] - seen[:, 1] - offsets[:, np.newaxis, np.newaxis] + period / 2) % period
    sines = traced[:, np.newaxis, 0] - seen[:, 0]
    close = np.exp(-((sines / _CLOSE[0]) ** 2) - ((apart - period / 2) / _CLOSE[1]) ** 2)
    weight = np.minimum(np.sqrt(traced[:, np.newaxis, 2]), np.sqrt(seen[:, 2]))
    return float(offsets[(close * weight).sum(axis=(1, 2)).argmax()])


def _size(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area of a marker: it grows with the energy in decibels."""
    return np.asarray(15 + 8 * np.maximum(10 * np.log10(points[:, 2]), 0))


def _label(axes: Axes, title: str) -> None:
    axes.set_title(textwrap.fill(title, 24), fontsize="medium")
    axes.set(xlabel="sine of the angle of arrival", xlim=(-1.05, 1.05))
    axes.grid(alpha=0.3)
