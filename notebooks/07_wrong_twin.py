# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   locus:
#     needs:
#     - models/locus_dt
#     - models/locus_dt.robust
#     - models/gmm_cart
#     - results/floors
#     - results/robustness
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
from locus.book.figures import error_figures
from locus.experiment import wrong_twin
from locus.experiment.floors import Floors
from locus.experiment.wrong_twin import Robustness

opened = locus.open_run(run)
config = opened.config
raw_rows = Robustness(opened).open()
rows = wrong_twin.floored(raw_rows)
found, raw = wrong_twin.summary(rows), wrong_twin.summary(raw_rows)
floors = Floors(opened).open()
plt.rcParams["figure.dpi"] = 150


# %% tags=["remove-cell"]
def at(kind: str, label: str, method: str, measure: str = "loss", given=found) -> float:
    """A number of the summary; NaN of an error that the run's rooms cannot have."""
    one = given[measure].sel({"method": method}).where((given.kind == kind) & (given.label == label))
    return float(one.max())


def key(label: str) -> str:
    """A label as part of a name."""
    return label.removesuffix(" m").removesuffix("°").replace(".", "")


walls = rows.isel(condition=np.flatnonzero((rows.kind == "walls") & (rows.label == "3 m"))[0])
glue("lost_walls", 100 * float(walls.lost.mean()), display=False)
glue("material", config.room.material, display=False)
glue("num_layouts", len(np.unique(rows.group)), display=False)
glue("num_snapshots", rows.sizes["snapshot"], display=False)
glue("num_candidates", int(rows.attrs["num_candidates"]), display=False)
for kind in ("obstacles", "walls", "position"):
    glue(f"trained_{kind}", getattr(config.mismatch, kind), display=False)
glue("trained_heading", float(np.degrees(config.mismatch.heading)), display=False)
glue("floor_layouts", len(np.unique(floors.group)), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart")):
    share = float(floors.share.sel({"method": name}))
    glue(f"floor_{short}", 100 * share, display=False)
    glue(f"raw_exact_{short}", at("none", "exact", name, given=raw), display=False)
    glue(f"raw_missing_1_{short}", at("missing", "1", name, given=raw), display=False)
    glue(f"raw_all_1_{short}", at("all", "1 m", name, given=raw), display=False)

# %% [markdown]
# ## Eight ways to be wrong
#
# The receiver hears the true room, in the same noise whatever the twin. The candidates are traced in what the twin believes:
#
# - **a wrong plan**: each obstacle moved in a direction of its own; each outer wall moved in or out; obstacles missing; all of it taken for another
#   material than the {glue:text}`material` that it is;
# - **a wrong pose**: the receiver elsewhere, or turned;
# - **a coarse list**: the twin is right, but the transmitter stands off its candidate, and the one nearest to it counts as the truth;
# - **all at once**: obstacles, walls and receiver off by so much, and the heading by five degrees a metre.
#
# A candidate that the twin believes inside a wall has no path: with walls off by three metres that happens to {glue:text}`lost_walls:.1f` % of the truths. Rooms are the first {glue:text}`num_layouts` of Eval Random, with {glue:text}`num_snapshots` snapshots in all and
# {glue:text}`num_candidates` candidates each, and both sides are traced by the exact image twin, so that nothing else is wrong.
#
# Three networks are compared. **LOCUS-DT** is that of the chapters before: in its training the twin was always right. **GMM-Cart** is the strongest baseline; it knows no
# twin, so no plan can mislead it, but it is told the pose, and was trained with right ones. And **LOCUS-DT, trained with errors** is the same network, trained on the same rooms and snapshots, but with a twin that is wrong in
# every room: obstacles by up to {glue:text}`trained_obstacles:g` m, walls by up to {glue:text}`trained_walls:g` m, the position by up to
# {glue:text}`trained_position:g` m, the heading by up to {glue:text}`trained_heading:.0f` degrees. Nobody tells it by how much.
#
# ### A floor
#
# The loss of a wrong map has no bound: a few snapshots in which the truth gets a millionth of the probability that it deserves can decide a mean. Nobody would use a map so. Whoever knows
# that the twin may be wrong mixes the posterior $p$ with a uniform guess over all $N$ listed candidates,
#
# $$
# (1 - \varepsilon)\, p + \varepsilon / N,
# $$
#
# and then no truth costs more than $-\log\varepsilon$ over the guess. Each network gets one share $\varepsilon$, by the same rule: the one of least loss on the {glue:text}`floor_layouts` rooms that
# validated its training, half of them with exact twins and half with errors as above. It is {glue:text}`floor_ours:.2g` % for LOCUS-DT, {glue:text}`floor_robust:.2g` % for the one trained with errors, and
# {glue:text}`floor_gmm:.2g` % for GMM-Cart. With an exact twin the floor changes LOCUS-DT's loss from {glue:text}`raw_exact_ours:.2f` to {glue:text}`exact_ours:.2f` nats; with one obstacle missing
# from {glue:text}`raw_missing_1_ours:.2f` to {glue:text}`missing_1_ours:.2f`. **All that follows is with floors**; the table has the bare values beside them.

# %% mystnb={"image": {"alt": "Adjusted loss of three networks against eight kinds of errors of the twin, one panel each"}} tags=["hide-input"]
figure = error_figures.errors_figure(found, "loss")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart")):
    glue(f"exact_{short}", at("none", "exact", name), display=False)
    for kind, label in (
        ("walls", "0.3 m"), ("walls", "1 m"), ("obstacles", "1 m"), ("obstacles", "3 m"), ("position", "0.3 m"), ("position", "1 m"), ("heading", "1°"),
        ("heading", "3°"), ("heading", "5°"), ("missing", "1"), ("missing", "2"), ("material", "glass"), ("material", "metal"), ("all", "0.3 m"), ("all", "1 m"),
    ):  # fmt: skip
        glue(f"{kind}_{key(label)}_{short}", at(kind, label, name), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust")):
    better = error_figures.listed(wrong_twin.compared(rows, "gmm_cart", name), better=True)
    glue(f"no_twin_{short}", better, display=False)
training = wrong_twin.compared(rows, "robust", "locus_dt")
glue("pays", error_figures.listed(training, better=True), display=False)
glue("costs", error_figures.listed(training, better=False), display=False)

# %% [markdown]
# *Adjusted loss: lower is better, and zero is a uniform guess. Above zero it would be better to know nothing. Bars: 95 % intervals over rooms.*
#
# Errors of a hand's breadth cost little, one at a time: with walls off by 0.3 m LOCUS-DT's loss is {glue:text}`walls_03_ours:.2f` nats instead of {glue:text}`exact_ours:.2f`, with the receiver off by as much
# {glue:text}`position_03_ours:.2f`. They add up: all at once by 0.3 m, and 1.5 degrees, leave {glue:text}`all_03_ours:.2f`. A metre leaves {glue:text}`walls_1_ours:.2f` for walls,
# {glue:text}`obstacles_1_ours:.2f` for obstacles, {glue:text}`position_1_ours:.2f` for the receiver, and {glue:text}`all_1_ours:.2f` for all at once.
#
# Three errors deserve a look of their own:
#
# - **The heading** turns every angle of every candidate at once. One degree leaves {glue:text}`heading_1_ours:.2f` nats, three degrees {glue:text}`heading_3_ours:.2f`, five {glue:text}`heading_5_ours:.2f`.
# - **An obstacle that is not on the plan**: the twin expects paths straight through it, and no echo from it. One leaves {glue:text}`missing_1_ours:.2f`, two {glue:text}`missing_2_ours:.2f`.
# - **The material** changes the strength of every echo. Glass leaves {glue:text}`material_glass_ours:.2f`, metal {glue:text}`material_metal_ours:.2f`.
#
# ### When is no twin better?
#
# Where GMM-Cart, on the same snapshots, is ahead by a whole 95 % interval:
#
# - of LOCUS-DT: {glue:text}`no_twin_ours`.
# - of LOCUS-DT, trained with errors: {glue:text}`no_twin_robust`.
#
# ## Trained with errors
#
# With an exact twin the network that met wrong ones in its training reaches {glue:text}`exact_robust:.2f` nats, the other {glue:text}`exact_ours:.2f`. With three degrees it has
# {glue:text}`heading_3_robust:.2f` nats instead of {glue:text}`heading_3_ours:.2f`, with the receiver a metre off {glue:text}`position_1_robust:.2f` instead of {glue:text}`position_1_ours:.2f`, and with all
# off by a metre {glue:text}`all_1_robust:.2f` instead of {glue:text}`all_1_ours:.2f`. Obstacles were never missing in its training; with one missing it has {glue:text}`missing_1_robust:.2f` instead of
# {glue:text}`missing_1_ours:.2f`. On the same snapshots, by a whole 95 % interval,
#
# - it is better with: {glue:text}`pays`.
# - it is worse with: {glue:text}`costs`.

# %% tags=["hide-input"]
error_figures.errors_frame(found, raw)

# %% [markdown]
# *L with floors and 95 % intervals over rooms, and beside it L without floors; above zero, worse than a uniform guess.*
#
# ## Is it still honest?
#
# A network cannot know that its twin is wrong, unless it learned that twins can be. So the sets that claim 90 % say more than the loss:

# %% mystnb={"image": {"alt": "Share of truths inside the sets that claim 90 %, of three networks, against eight kinds of errors of the twin"}} tags=["hide-input"]
figure = error_figures.errors_figure(found, "covered")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust")):
    for kind, label in (("none", "exact"), ("missing", "1"), ("all", "0.3 m"), ("all", "1 m")):
        glue(f"covered_{kind}_{key(label)}_{short}", 100 * at(kind, label, name, "covered"), display=False)
        if short == "ours":
            glue(f"raw_covered_{kind}_{key(label)}", 100 * at(kind, label, name, "covered", raw), display=False)

# %% [markdown]
# *The line is at 90 %: above it a network claims too little, below it too much. A floor makes sets larger.*
#
# With an exact twin LOCUS-DT's 90 % sets hold {glue:text}`covered_none_exact_ours:.0f` % of the truths, and those of the network trained with errors {glue:text}`covered_none_exact_robust:.0f` %. With all off by
# 0.3 m it is {glue:text}`covered_all_03_ours:.0f` % and {glue:text}`covered_all_03_robust:.0f` %; by a metre, the most that training prepared for,
# {glue:text}`covered_all_1_ours:.0f` % and {glue:text}`covered_all_1_robust:.0f` %; with an obstacle missing, which it did not prepare for, {glue:text}`covered_missing_1_ours:.0f` % and
# {glue:text}`covered_missing_1_robust:.0f` %. Without floors LOCUS-DT's sets hold {glue:text}`raw_covered_none_exact:.0f`, {glue:text}`raw_covered_all_03:.0f`, {glue:text}`raw_covered_all_1:.0f` and
# {glue:text}`raw_covered_missing_1:.0f` %.
#
# ## One snapshot

# %% mystnb={"image": {"alt": "Three maps of one snapshot: with the exact twin, with a wrong twin, and with the wrong twin and the network trained with errors"}} tags=["hide-input"]
example = wrong_twin.make_example(opened, 0, map_error, map_points)
figure = error_figures.example_figure(example)

# %% tags=["remove-cell"]
glue("map_error", map_error, display=False)
glue("map_degrees", 5 * map_error, display=False)
for key, title in (("exact", "exact twin"), ("wrong", "wrong twin"), ("robust", "wrong twin, trained with errors")):
    glue(f"gain_{key}", example.gains[title], display=False)

# %% [markdown]
# *The first room of Eval Random and the strongest of its snapshots, whatever they show. Dashed: where the wrong twin believes walls and receiver, off by {glue:text}`map_error:g` m and
# {glue:text}`map_degrees:g` degrees. Red star: the transmitter. Titles: how many times as probable as by a uniform guess the truth is.*
#
# ## What to take away
#
# A twin tells much, and trusts its plan and its compass. One obstacle that is missing leaves LOCUS-DT {glue:text}`missing_1_ours:.2f` nats; all obstacles moved by a metre leave {glue:text}`obstacles_1_ours:.2f`, by
# three metres {glue:text}`obstacles_3_ours:.2f`. A heading off by one degree leaves {glue:text}`heading_1_ours:.2f`, by three {glue:text}`heading_3_ours:.2f`. A floor costs
# {glue:text}`floor_cost:.2f` nats while the twin is right, and bounds the harm when it is not. Training with errors helps where the errors are those of the training, most of all against a wrong compass;
# with an exact twin the loss then differs by {glue:text}`cost:+.2f` nats. The weights are `locus_dt.robust.safetensors` beside the others, and
# `locus locate --run` takes such a file. `locus reproduce --set mismatch.heading=0.2` (radians) trains for a worse compass.

# %% tags=["remove-cell"]
glue("cost", at("none", "exact", "robust") - at("none", "exact", "locus_dt"), display=False)
glue("floor_cost", at("none", "exact", "locus_dt") - at("none", "exact", "locus_dt", given=raw), display=False)

# %% tags=["interactive"]
# Another room, and a twin that is off by more or less.
from ipywidgets import interact


def explore(room: int = 0, error: float = 1.0):
    return error_figures.example_figure(wrong_twin.make_example(opened, room, error, map_points))


interact(explore, room=(0, 20), error=(0.0, 3.0, 0.1))
