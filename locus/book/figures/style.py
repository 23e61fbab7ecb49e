"""Style of the book's figures and tables: sharp figures that are legible on a phone, and cells shown whole."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C510A", "#000000")
"""Okabe-Ito, and brown: distinguishable for colour-blind readers."""

METHOD_COLOURS = {
    "locus_dt": COLOURS[0],
    "gmm_cart": COLOURS[1],
    "path_set": COLOURS[2],
    "gauss_polar": COLOURS[3],
    "gauss_cart": COLOURS[4],
    "fingerprint": COLOURS[5],
    "angle_strength": COLOURS[6],
    "bayes": COLOURS[7],
    "phase_blind": "0.55",
    "robust": "#882255",
}
"""Colour of each method, in all figures."""


def use() -> None:
    """Draw figures as SVG, the same bytes every time, and show cells of tables whole."""
    pd.set_option("display.max_colwidth", None)
    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.dpi": 150,
            "font.size": 10.5,
            "savefig.dpi": 150,
            "svg.hashsalt": "locus",
        }
    )
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # not in a notebook
        return
    set_matplotlib_formats("svg", metadata={"Date": None})  # type: ignore[no-untyped-call]
