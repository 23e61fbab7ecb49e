# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: locus,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   locus:
#     needs: [models/locus_dt, models/locus_dt.robust, models/gmm_cart, results/robustness]
#     reads: [seed, room, radio, twin, estimator, features, evaluation, mismatch]
#     recipes: [layout, twin, observation, estimator, features, score, baselines, metrics, mismatch, robustness]
# ---

# %% [markdown]
# # A wrong twin
#
# *What the paper's conclusion leaves for later: greater mismatch of the digital twin.*
#
# So far the twin was right: its room was the room, and the receiver stood where it said. A plan is never that good. Walls are off by a hand's breadth, a cupboard is
# not on it, a compass errs by some degrees. How wrong may a twin be before one is better off without it? Which errors hurt? And can a network that was
# **trained with wrong twins** be less easily led astray?

# %% tags=["parameters"]
run = "quick"
map_points = 61  # points per axis of the maps
map_error = 1.0  # how far the twin of the maps is off [m]

# %%
import matplotlib.pyplot as plt
import numpy as np
from myst_nb import glue

import locus
from locus import robustness, robustness_figures
from locus.robustness import Robustness

opened = locus.open_run(run)
config = opened.config
rows = Robustness(opened).open()
found = robustness.summary(rows)
plt.rcParams["figure.dpi"] = 150


# %% tags=["remove-cell"]
def at(kind: str, label: str, method: str, measure: str = "loss") -> float:
    """A number of the summary."""
    one = found.isel(condition=np.flatnonzero((found.kind == kind) & (found.label == label))[0])
    return float(one[measure].sel({"method": method}))


glue("num_layouts", len(np.unique(rows.group)), display=False)
glue("num_snapshots", rows.sizes["snapshot"], display=False)
glue("num_candidates", int(rows.attrs["num_candidates"]), display=False)
for kind in ("obstacles", "walls", "position"):
    glue(f"trained_{kind}", getattr(config.mismatch, kind), display=False)
glue("trained_heading", float(np.degrees(config.mismatch.heading)), display=False)

# %% [markdown]
# ## Eight ways to be wrong
#
# The receiver hears the true room; noise and estimates are the same for every twin. The candidates are traced in what the twin believes:
#
# - **a wrong plan**: each obstacle moved in a direction of its own; each outer wall moved in or out; obstacles missing; all of it taken for another
#   material than the concrete that it is;
# - **a wrong pose**: the receiver elsewhere, or turned;
# - **a coarse list**: the transmitter not where any candidate is;
# - **all at once**: obstacles, walls and receiver off by so much, and the heading by five degrees a metre.
#
# A candidate that the twin believes inside a wall has no path. Rooms are the first {glue:text}`num_layouts` of Eval Random, with {glue:text}`num_snapshots` snapshots in all and
# {glue:text}`num_candidates` candidates each, and both sides are traced by the exact image twin, so that nothing else is wrong.
#
# Three networks are compared. **LOCUS-DT** is that of the chapters before: in its training the twin was always right. **GMM-Cart** is the strongest baseline; it knows no
# twin, so no plan can mislead it, but it is told the pose. And **LOCUS-DT, trained with errors** is the same network, trained on the same rooms and snapshots, but with a twin that is wrong in
# every room: obstacles by up to {glue:text}`trained_obstacles:g` m, walls by up to {glue:text}`trained_walls:g` m, the position by up to
# {glue:text}`trained_position:g` m, the heading by up to {glue:text}`trained_heading:.0f` degrees. Nobody tells it by how much.

# %% mystnb={"image": {"alt": "Adjusted loss of three networks against the size of eight kinds of errors of the twin, one panel each"}} tags=["hide-input"]
figure = robustness_figures.errors_figure(found, "loss")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart")):
    glue(f"exact_{short}", at("none", "exact", name), display=False)
    for kind, label in (
        ("walls", "0.3 m"), ("walls", "1 m"), ("obstacles", "1 m"), ("position", "1 m"), ("position", "3 m"), ("heading", "1°"),
        ("heading", "3°"), ("missing", "1"), ("missing", "2"), ("material", "metal"), ("all", "0.3 m"), ("all", "1 m"), ("all", "3 m"),
    ):  # fmt: skip
        key = label.replace(" m", "").replace("°", "").replace(".", "")
        glue(f"{kind}_{key}_{short}", at(kind, label, name), display=False)

# %% [markdown]
# *Adjusted loss: lower is better, and zero is a blind guess. Above zero it would be better to know nothing: a network that trusts its twin is sure of a wrong place. Bars: 95 %
# intervals over rooms.*
#
# Small errors are harmless: with walls off by 0.3 m LOCUS-DT's loss is {glue:text}`walls_03_ours:.2f` nats instead of {glue:text}`exact_ours:.2f`. A metre costs more: {glue:text}`walls_1_ours:.2f` are left
# for walls, {glue:text}`obstacles_1_ours:.2f` for obstacles, {glue:text}`position_1_ours:.2f` for the receiver. With the receiver three metres off it is {glue:text}`position_3_ours:.2f`, and GMM-Cart, without any twin, has
# {glue:text}`position_3_gmm:.2f`.
#
# Three errors weigh more:
#
# - **The heading** turns every angle of every candidate at once, and angles are what the score goes by. One degree leaves {glue:text}`heading_1_ours:.2f` nats, three degrees {glue:text}`heading_3_ours:.2f`
#   (GMM-Cart: {glue:text}`heading_3_gmm:.2f`).
# - **An obstacle that is not on the plan**: the twin expects paths straight through it, and no echo from it. One leaves {glue:text}`missing_1_ours:.2f`, two {glue:text}`missing_2_ours:+.2f`.
# - **The material** changes the strength of every echo: {glue:text}`material_metal_ours:+.2f` if concrete is taken for metal.
#
# With everything off at once by 0.3 m, and the heading by 1.5 degrees, LOCUS-DT has {glue:text}`all_03_ours:.2f` nats left and GMM-Cart {glue:text}`all_03_gmm:.2f`; at a metre and five
# degrees {glue:text}`all_1_ours:+.2f` and {glue:text}`all_1_gmm:+.2f`.
#
# ## Trained with errors
#
# The network that met wrong twins in its training gives up some sharpness where the twin is right: {glue:text}`exact_robust:.2f` instead of {glue:text}`exact_ours:.2f` nats. In exchange, three
# degrees leave it {glue:text}`heading_3_robust:.2f` nats instead of {glue:text}`heading_3_ours:.2f`, a metre of the receiver {glue:text}`position_1_robust:.2f` instead of {glue:text}`position_1_ours:.2f`, and all at
# once by a metre {glue:text}`all_1_robust:.2f` instead of {glue:text}`all_1_ours:+.2f`. With one obstacle missing, an error that it never met, it has {glue:text}`missing_1_robust:.2f` instead of
# {glue:text}`missing_1_ours:.2f`. Far beyond what it was trained for it is led astray like the other: {glue:text}`all_3_robust:+.2f` with all off by three metres.

# %% tags=["hide-input"]
robustness_figures.errors_frame(found)

# %% [markdown]
# *R with 95 % intervals over rooms; below zero, worse than a blind guess.*
#
# ## Is it still honest?
#
# A network cannot know that its twin is wrong, unless it learned that twins can be. So the sets that claim 90 % say more than the loss:

# %% mystnb={"image": {"alt": "Share of truths inside the sets that claim 90 %, of three networks, against the size of eight kinds of errors of the twin"}} tags=["hide-input"]
figure = robustness_figures.errors_figure(found, "covered")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust")):
    for kind, label in (("none", "exact"), ("all", "0.3 m"), ("all", "1 m")):
        key = label.replace(" m", "").replace("°", "").replace(".", "")
        glue(f"covered_{kind}_{key}_{short}", 100 * at(kind, label, name, "covered"), display=False)

# %% [markdown]
# *The line is at 90 %: above it a network claims too little, below it too much.*
#
# With all off by 0.3 m, LOCUS-DT's 90 % sets hold {glue:text}`covered_all_03_ours:.0f` % of the truths, and those of the network trained with errors {glue:text}`covered_all_03_robust:.0f` %; by a
# metre {glue:text}`covered_all_1_ours:.0f` % and {glue:text}`covered_all_1_robust:.0f` %. With an exact twin they hold {glue:text}`covered_none_exact_ours:.0f` % and
# {glue:text}`covered_none_exact_robust:.0f` %: who expects errors that are not there is too modest.
#
# ## One snapshot

# %% mystnb={"image": {"alt": "Three maps of one snapshot: with the exact twin, with a wrong twin, and with the wrong twin and the network trained with errors"}} tags=["hide-input"]
example = robustness_figures.make_example(opened, 0, map_error, map_points)
figure = robustness_figures.example_figure(example)

# %% tags=["remove-cell"]
glue("map_error", map_error, display=False)
glue("map_degrees", 5 * map_error, display=False)
for key, title in (("exact", "exact twin"), ("wrong", "wrong twin"), ("robust", "wrong twin, trained with errors")):
    glue(f"gain_{key}", example.gains[title], display=False)

# %% [markdown]
# *The first room of Eval Random and the strongest of its snapshots, whatever they show. Dashed: what the wrong twin believes, off by {glue:text}`map_error:g` m and
# {glue:text}`map_degrees:g` degrees. Red star: the transmitter. Titles: how many times as probable as by a blind guess the truth is.*
#
# ## What to take away
#
# A twin is worth its trouble where its errors are small beside what the score resolves. So measure the heading first. And train with the errors that you expect: it costs
# {glue:text}`cost:.2f` nats where there are none, and is the difference between a map and a trap where there are. (The weights are `locus_dt.robust.safetensors` beside the others;
# `locus locate --run` takes such a file. `--set mismatch.heading=0.2` trains for another compass.)

# %% tags=["remove-cell"]
glue("cost", at("none", "exact", "robust") - at("none", "exact", "locus_dt"), display=False)

# %% tags=["interactive"]
# Another room, and a twin that is off by more or less.
from ipywidgets import interact


def explore(room: int = 0, error: float = 1.0):
    return robustness_figures.example_figure(robustness_figures.make_example(opened, room, error, map_points))


interact(explore, room=(0, 20), error=(0.0, 3.0, 0.1))
