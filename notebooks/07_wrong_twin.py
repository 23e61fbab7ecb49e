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
#     - results/reachable
# ---

# %% [markdown]
# # A wrong twin
#
# *What the paper's conclusion leaves for later: greater mismatch of the digital twin.*
#
# So far the twin was right: its room was the room, and the receiver stood where it said. A plan is never that good. Walls are off by a hand's breadth, a cupboard is
# not on it, a compass errs by some degrees. How wrong may a twin be before one is better off without it? Which errors hurt? And who is led astray less easily: a network that was
# **trained with wrong twins**, or a likelihood that **knows how wrong a twin may be**?

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
from locus.experiment import reachable, wrong_twin
from locus.experiment.conditions import conditions
from locus.experiment.floors import Floors
from locus.experiment.reachable import Reachable
from locus.experiment.wrong_twin import Robustness
from locus.room.materials import permittivity

opened = locus.open_run(run)
config = opened.config
raw_rows = Robustness(opened).open()
rows = wrong_twin.floored(raw_rows)
found, raw, noticed = wrong_twin.summary(rows), wrong_twin.summary(raw_rows), wrong_twin.noticed(rows)
reached = reachable.summary(Reachable(opened).open(), rows)
floors = Floors(opened).open()
plt.rcParams["figure.dpi"] = 150


# %% tags=["remove-cell"]
def at(kind: str, label: str, method: str, measure: str = "loss", given=found) -> float:
    """A number of the summary; NaN of an error that the run's rooms cannot have."""
    one = given[measure].sel({"method": method}).where((given.kind == kind) & (given.label == label))
    return float(one.max())


def key(label: str) -> str:
    """A label as part of a name."""
    return label.removesuffix(" m").removesuffix(" %").removesuffix("°").replace(".", "").replace(" ", "_")


walls = rows.isel(condition=np.flatnonzero((rows.kind == "walls") & (rows.label == "3 m"))[0])
glue("lost_walls", 100 * float(walls.lost.mean()), display=False)
glue("material", config.room.material, display=False)
glue("num_layouts", len(np.unique(rows.group)), display=False)
glue("per_room", wrong_twin.NUM_FITTED, display=False)
glue("num_fitted", int(rows.p_value.notnull().any("condition").sum()), display=False)
glue("num_snapshots", rows.sizes["snapshot"], display=False)
glue("num_candidates", int(rows.attrs["num_candidates"]), display=False)
turns = (
    np.sqrt(permittivity(config.room.material, config.radio.carrier))
    * config.twin.wall_thickness
    / config.radio.wavelength
)
glue("wall_loss", float(40 * np.pi * np.log10(np.e) * abs(turns.imag)), display=False)
glue("wall_thickness", 100 * config.twin.wall_thickness, display=False)
for kind in ("obstacles", "walls", "position"):
    glue(f"trained_{kind}", getattr(config.mismatch, kind), display=False)
glue("trained_heading", float(np.degrees(config.mismatch.heading)), display=False)
glue("floor_layouts", len(np.unique(floors.group)), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart"), ("path", "path_set")):
    share = float(floors.share.sel({"method": name}))
    glue(f"floor_{short}", 100 * share, display=False)
    glue(f"raw_exact_{short}", at("none", "exact", name, given=raw), display=False)
    glue(f"raw_missing_1_{short}", at("missing", "1", name, given=raw), display=False)
    glue(f"raw_all_1_{short}", at("all", "1 m", name, given=raw), display=False)

# %% [markdown]
# ## Eleven ways to be wrong
#
# The receiver hears the true room, in the same noise whatever the twin. The candidates are traced in what the twin believes:
#
# - **a wrong plan**: each obstacle moved in a direction of its own; each outer wall moved in or out; obstacles missing; all of it taken for another
#   material than the {glue:text}`material` that it is; the whole plan too large or too small, about its centre;
# - **a wrong pose**: the receiver elsewhere, or turned;
# - **a coarse list**: the twin is right, but the transmitter stands off its candidate, and the one nearest to it counts as the truth;
# - **all at once**: obstacles, walls and receiver off by so much, and the heading by five degrees a metre;
# - **physics left out**: the world reflects more often than the twin traces ("2 of 3": the twin traces two of three reflections), diffracts waves at corners, or lets them through walls.
#
# A candidate that the twin believes inside a wall has no path: with walls off by three metres that happens to {glue:text}`lost_walls:.1f` % of the truths. Rooms are the first {glue:text}`num_layouts` of Eval Random, with {glue:text}`num_snapshots` snapshots in all and
# {glue:text}`num_candidates` candidates each. Both sides are traced by the exact image twin, so that nothing else is wrong; only a world with diffraction or refraction is traced by Sionna.
#
# Four methods are compared:
#
# - **LOCUS-DT**, the network of the chapters before: in its training the twin was always right.
# - **LOCUS-DT, trained with errors**: the same network, rooms and snapshots, but the twin was wrong in every room: obstacles by up to {glue:text}`trained_obstacles:g` m, walls by up to {glue:text}`trained_walls:g` m,
#   the position by up to {glue:text}`trained_position:g` m, the heading by up to {glue:text}`trained_heading:.0f` degrees. Nobody tells it by how much.
# - **The path set**, the likelihood of the chapter before, with its default tolerance: anything from an exact twin to one that is off by about 1 m and 5 degrees. Nobody tells it by how much, either.
# - **GMM-Cart**, the strongest baseline: it knows no twin, so no plan can mislead it, but it is told the pose, and was trained with right ones.
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
# and then no truth costs more than $-\log\varepsilon$ over the guess. Each method gets one share $\varepsilon$, by the same rule: the one of least loss on the {glue:text}`floor_layouts` rooms that
# validated its training, half of them with exact twins and half with errors as above. It is {glue:text}`floor_ours:.2g` % for LOCUS-DT, {glue:text}`floor_robust:.2g` % for the one trained with errors,
# {glue:text}`floor_gmm:.2g` % for GMM-Cart, and {glue:text}`floor_path:.2g` % for the path set, which has a small floor of its own. With an exact twin the floor changes LOCUS-DT's loss from {glue:text}`raw_exact_ours:.2f` to {glue:text}`exact_ours:.2f` nats; with one obstacle missing
# from {glue:text}`raw_missing_1_ours:.2f` to {glue:text}`missing_1_ours:.2f`. **All that follows is with floors**; the table has the bare values beside them.

# %% mystnb={"image": {"alt": "Adjusted loss of four methods against eleven kinds of errors of the twin, one panel each"}} tags=["hide-input"]
figure = error_figures.errors_figure(found, "loss")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart"), ("path", "path_set")):
    glue(f"exact_{short}", at("none", "exact", name), display=False)
    for kind, label in (
        ("walls", "0.3 m"), ("walls", "1 m"), ("obstacles", "1 m"), ("obstacles", "3 m"), ("position", "0.3 m"), ("position", "1 m"), ("heading", "1°"),
        ("heading", "3°"), ("heading", "5°"), ("missing", "1"), ("missing", "2"), ("material", "glass"), ("material", "metal"), ("all", "0.3 m"), ("all", "1 m"),
        ("scale", "2 %"), ("physics", "diffraction"), ("physics", "refraction"), ("depth", "2 of 3"), ("depth", "3 of 5"),
    ):  # fmt: skip
        glue(f"{kind}_{key(label)}_{short}", at(kind, label, name), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("path", "path_set")):
    better = error_figures.listed(wrong_twin.compared(rows, "gmm_cart", name), better=True)
    glue(f"no_twin_{short}", better, display=False)
training = wrong_twin.compared(rows, "robust", "locus_dt")
glue("pays", error_figures.listed(training, better=True), display=False)
glue("costs", error_figures.listed(training, better=False), display=False)
behind = wrong_twin.behind(rows, "path_set", ("locus_dt", "robust"))
glue("path_ahead", error_figures.listed(behind, better=True), display=False)
glue("path_behind", error_figures.named(behind.isel(condition=np.flatnonzero(behind.worse))), display=False)
glue("slack", wrong_twin.SLACK, display=False)
foreseen = [one.small or one.errors == {"missing": 1} for one in conditions(config)]
promised = found.sel({"method": "path_set"}).isel(condition=np.flatnonzero(foreseen))
glue("promised_worst", float(promised.loss.max()), display=False)
glue("promised_least", 100 * float(promised.covered.min()), display=False)
for name, missed in (("above_3", promised.loss > -3.0), ("below_85", promised.covered < 0.85)):
    glue(f"promised_{name}", error_figures.named(promised.isel(condition=np.flatnonzero(missed))), display=False)

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
# **Physics** that the twin leaves out: with diffraction in the world LOCUS-DT has {glue:text}`physics_diffraction_ours:.2f` nats, with five reflections instead of three
# {glue:text}`depth_3_of_5_ours:.2f`. Refraction leaves {glue:text}`physics_refraction_ours:.2f`: {glue:text}`wall_thickness:g` cm of {glue:text}`material` take {glue:text}`wall_loss:.0f` dB. A twin that traces only two reflections
# leaves candidates without any path, and LOCUS-DT at {glue:text}`depth_2_of_3_ours:.2f`. A plan scaled by 2 %, a metre at the outer walls, leaves {glue:text}`scale_2_ours:.2f`.
#
# ### When is no twin better?
#
# Where GMM-Cart, on the same snapshots, is ahead by a whole 95 % interval:
#
# - of LOCUS-DT: {glue:text}`no_twin_ours`.
# - of LOCUS-DT, trained with errors: {glue:text}`no_twin_robust`.
# - of the path set: {glue:text}`no_twin_path`.
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
#
# ## Knowing how wrong a twin may be
#
# The path set has {glue:text}`exact_path:.2f` nats with an exact twin, {glue:text}`heading_5_path:.2f` with five degrees, {glue:text}`missing_1_path:.2f` with an obstacle missing,
# {glue:text}`all_1_path:.2f` with all off by a metre, and {glue:text}`scale_2_path:.2f` with a plan scaled by 2 %. Within its tolerance, and with one obstacle missing, its loss is {glue:text}`promised_worst:.2f` at worst; above -3 nats: {glue:text}`promised_above_3`.
# Beside the better of both networks in each row, on the same snapshots, by a whole 95 % interval,
#
# - it is better with: {glue:text}`path_ahead`.
# - it is worse, by more than {glue:text}`slack:g` nats, with: {glue:text}`path_behind`.

# %% tags=["hide-input"]
error_figures.behind_frame(behind)

# %% [markdown]
# *Rows in which the path set is worse than the better network by a whole interval above {glue:text}`slack:g` nats.*

# %% tags=["hide-input"]
error_figures.errors_frame(found, raw)

# %% [markdown]
# *L with floors and 95 % intervals over rooms, and beside it L without floors; above zero, worse than a uniform guess.*
#
# ## What could be reached
#
# How much of the loss is the error's, and how much the method's? Two answers, both with the path set:
#
# - **The true world is given**, and nothing is tolerated: the price of the error is gone.
# - **Worlds are sampled**: we draw {glue:text}`num_worlds` plans and poses around the believed one, with errors of the same kinds and sizes, trace the candidates in each, and average the likelihoods. This takes as many tracings as worlds, and somebody who knows
#   how large the errors are, but not in which direction.

# %% tags=["hide-input"]
error_figures.reachable_frame(reached)

# %% tags=["remove-cell"]
glue("num_worlds", reachable.NUM_WORLDS, display=False)
glue("reached_layouts", int(reached.num_groups.max()), display=False)
for name in ("path_set", "sampled_worlds", "true_world"):
    glue(f"reached_{name}", at("all", "1 m", name, given=reached), display=False)

# %% [markdown]
# *L on the first {glue:text}`reached_layouts` rooms. Worlds are sampled for errors of plan and pose up to 1 m and 5 degrees, and for the scale.*
#
# With all off by a metre the path set has {glue:text}`reached_path_set:.2f` nats in these rooms, {glue:text}`reached_sampled_worlds:.2f` with sampled worlds, and {glue:text}`reached_true_world:.2f` if it were told the true one.
#
# ## Is it still honest?
#
# A method cannot know that its twin is wrong, unless it was taught that twins can be. So the sets that claim 90 % say more than the loss:

# %% mystnb={"image": {"alt": "Share of truths inside the sets that claim 90 %, of four methods, against eleven kinds of errors of the twin"}} tags=["hide-input"]
figure = error_figures.errors_figure(found, "covered")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("path", "path_set")):
    for kind, label in (("none", "exact"), ("missing", "1"), ("all", "0.3 m"), ("all", "1 m")):
        glue(f"covered_{kind}_{key(label)}_{short}", 100 * at(kind, label, name, "covered"), display=False)
        if short == "ours":
            glue(f"raw_covered_{kind}_{key(label)}", 100 * at(kind, label, name, "covered", raw), display=False)
for kind, label in (
    ("none", "exact"),
    ("heading", "5°"),
    ("missing", "1"),
    ("scale", "2 %"),
    ("all", "0.3 m"),
    ("all", "1 m"),
):
    share = noticed.noticed.where((noticed.kind == kind) & (noticed.label == label)).max()
    glue(f"noticed_{kind}_{key(label)}", 100 * float(share), display=False)

# %% [markdown]
# *The line is at 90 %: above it a method claims too little, below it too much. A floor makes sets larger.*
#
# With an exact twin the 90 % sets of LOCUS-DT, of the network trained with errors and of the path set hold {glue:text}`covered_none_exact_ours:.0f`, {glue:text}`covered_none_exact_robust:.0f` and
# {glue:text}`covered_none_exact_path:.0f` % of the truths. With all off by 0.3 m it is {glue:text}`covered_all_03_ours:.0f`, {glue:text}`covered_all_03_robust:.0f` and {glue:text}`covered_all_03_path:.0f` %; by a metre, the most that training or tolerance prepared for,
# {glue:text}`covered_all_1_ours:.0f`, {glue:text}`covered_all_1_robust:.0f` and {glue:text}`covered_all_1_path:.0f` %; with an obstacle missing, which training did not prepare for, {glue:text}`covered_missing_1_ours:.0f`,
# {glue:text}`covered_missing_1_robust:.0f` and {glue:text}`covered_missing_1_path:.0f` %. Within its tolerance, and with one obstacle missing, the path set's sets hold {glue:text}`promised_least:.0f` % at least; fewer than 85 %: {glue:text}`promised_below_85`. Without
# floors LOCUS-DT's sets hold {glue:text}`raw_covered_none_exact:.0f`, {glue:text}`raw_covered_all_03:.0f`, {glue:text}`raw_covered_all_1:.0f` and {glue:text}`raw_covered_missing_1:.0f` %.
#
# ### Is the error noticed?
#
# A snapshot whose paths no candidate of the twin explains tells that something is wrong. Its p-value is uniform while the twin is exact; of {glue:text}`num_fitted` snapshots, {glue:text}`per_room` per room, we count those below 1 %. That is {glue:text}`noticed_none_exact:.1f` % with an exact twin,
# {glue:text}`noticed_heading_5:.0f` % with five degrees, {glue:text}`noticed_missing_1:.0f` % with an obstacle missing, {glue:text}`noticed_scale_2:.0f` % with a plan scaled by 2 %, and {glue:text}`noticed_all_1:.0f` % with all off by a metre.
# What few paths cannot contradict goes unnoticed.

# %% tags=["hide-input"]
error_figures.coverage_frame(found, noticed)

# %% [markdown]
# *Truths inside the 90 % sets, with floors, and snapshots with a p-value below 1 % [%]; 95 % intervals over rooms.*
#
# ## One snapshot

# %% mystnb={"image": {"alt": "Four maps of one snapshot: with the exact twin, with a wrong twin, and with the wrong twin the network trained with errors and the path set"}} tags=["hide-input"]
example = wrong_twin.make_example(opened, 0, map_error, map_points)
figure = error_figures.example_figure(example)

# %% tags=["remove-cell"]
glue("map_error", map_error, display=False)
glue("map_degrees", 5 * map_error, display=False)
for key, title in (
    ("exact", "exact twin"),
    ("wrong", "wrong twin"),
    ("robust", "wrong twin, trained with errors"),
    ("path", "wrong twin, path set"),
):
    glue(f"gain_{key}", example.gains[title], display=False)

# %% [markdown]
# *The first room of Eval Random and the strongest of its snapshots, whatever they show. Dashed: where the wrong twin believes walls and receiver, off by {glue:text}`map_error:g` m and
# {glue:text}`map_degrees:g` degrees. Red star: the transmitter. Titles: how many times as probable as by a uniform guess the truth is.*
#
# ## What to take away
#
# A twin tells much, and LOCUS-DT trusts its plan and its compass. One obstacle that is missing leaves it {glue:text}`missing_1_ours:.2f` nats; all obstacles moved by a metre leave {glue:text}`obstacles_1_ours:.2f`, by
# three metres {glue:text}`obstacles_3_ours:.2f`. A heading off by one degree leaves {glue:text}`heading_1_ours:.2f`, by three {glue:text}`heading_3_ours:.2f`. A floor costs
# {glue:text}`floor_cost:.2f` nats while the twin is right, and bounds the harm when it is not. Training with errors helps where the errors are those of the training, most of all against a wrong compass;
# with an exact twin the loss then differs by {glue:text}`cost:+.2f` nats. The path set needs no such training: it is told in metres and degrees how wrong a twin may be, and differs from LOCUS-DT by {glue:text}`path_exact:+.2f` nats with an exact twin and by
# {glue:text}`path_all:+.2f` with all off by a metre. A user who knows better says so: `locus locate --tolerance heading=1deg,plan=0.1`. The weights of the network trained with errors are `locus_dt.robust.safetensors` beside the others;
# `locus reproduce --set mismatch.heading=0.2` (radians) trains for a worse compass.

# %% tags=["remove-cell"]
glue("cost", at("none", "exact", "robust") - at("none", "exact", "locus_dt"), display=False)
glue("path_exact", at("none", "exact", "path_set") - at("none", "exact", "locus_dt"), display=False)
glue("path_all", at("all", "1 m", "path_set") - at("all", "1 m", "locus_dt"), display=False)
glue("floor_cost", at("none", "exact", "locus_dt") - at("none", "exact", "locus_dt", given=raw), display=False)

# %% tags=["interactive"]
# Another room, and a twin that is off by more or less.
from ipywidgets import interact


def explore(room: int = 0, error: float = 1.0):
    return error_figures.example_figure(wrong_twin.make_example(opened, room, error, map_points))


interact(explore, room=(0, 20), error=(0.0, 3.0, 0.1))
