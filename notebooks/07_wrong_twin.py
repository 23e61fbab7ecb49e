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
# # 7. A wrong twin
#
# *The paper's conclusion leaves this for later: greater mismatch of the digital twin.*
#
# So far the twin was exact: its room was the room, and the receiver stood where it said. A real plan is never that good. Walls are off by a hand's breadth, a cupboard is
# missing, the compass is off by a few degrees. How wrong may a twin be before one is better off without it? Which errors hurt? And what is more robust: a network
# **trained with wrong twins**, or a likelihood that **knows how wrong a twin may be**?

# %% tags=["parameters"]
run = "quick"
map_points = 61  # points per axis of the maps
map_error = 1.0  # how far the twin of the maps is off [m]

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
twin, candidates = locus.make_twin("image"), layout.sample(500, rng)
paths = twin.trace(layout, pose, candidates)
iq = locus.observe(paths.isel(candidate=7), rng)
# The compass is off by three degrees, and the scorer tolerates five:
turned = locus.Pose(pose.x, pose.y, pose.heading + np.radians(3))
scorer = locus.PathSet(tolerance=locus.Tolerance(heading=np.radians(5)))
observed = locus.estimate(iq, scorer.estimator, residual=True)
believed = twin.trace(layout, turned, candidates)
posterior = scorer.posterior(believed, observed)
gain = float(posterior[7]) * posterior.size
print(f"The truth is {gain:.1f} times as probable as under a uniform guess")

# %% tags=["hide-input"]
from myst_nb import glue

from locus.book.figures import error_figures, style
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
style.use()


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
tolerance = locus.Tolerance()
glue("tolerance_plan", tolerance.plan, display=False)
glue("tolerance_heading", float(np.degrees(tolerance.heading)), display=False)
glue("tolerance_material", tolerance.material_db, display=False)
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
# The receiver hears the true room, with the same noise whatever the twin. The candidates are traced in the room that the twin believes in:
#
# - **a wrong plan**: each obstacle moved in a random direction; each outer wall moved in or out; obstacles missing; a material other than
#   {glue:text}`material` assumed for everything; the whole plan scaled about its centre;
# - **a wrong pose**: the receiver elsewhere, or turned;
# - **a coarse list**: the twin is exact, but the transmitter stands off its candidate, and the nearest one counts as the truth;
# - **all at once**: obstacles, walls and receiver off by the given distance, and the heading by five degrees per metre;
# - **physics left out**: the world has more reflections than the twin traces ("2 of 3": the twin traces two of three), diffraction at corners, or refraction through walls.
#
# A candidate that lies outside the twin's room, or inside one of its obstacles, has no path; with walls off by three metres, that is so for {glue:text}`lost_walls:.1f` % of the truths. We use the first {glue:text}`num_layouts` rooms of Eval Random, with {glue:text}`num_snapshots` snapshots in all and
# {glue:text}`num_candidates` candidates each. The exact image twin traces both sides, so that nothing else is wrong; only worlds with diffraction or refraction are traced by Sionna.
#
# Four methods are compared:
#
# - **LOCUS-DT**, the network of the previous chapters, trained with exact twins.
# - **LOCUS-DT, trained with errors**: the same network, rooms and snapshots, but with wrong twins. Each room draws its own errors uniformly from zero up to {glue:text}`trained_obstacles:g` m for obstacles, {glue:text}`trained_walls:g` m for walls,
#   {glue:text}`trained_position:g` m for the position and {glue:text}`trained_heading:.0f` degrees for the heading. The network is not told how large they are.
# - **The path set**, the likelihood of chapter 6 with its default tolerance: anything from an exact twin to one whose plan is off by about {glue:text}`tolerance_plan:g` m and whose compass by {glue:text}`tolerance_heading:.0f` degrees, with reflections off by {glue:text}`tolerance_material:g` dB. It is not told how large the errors of a room are, either.
# - **GMM-Cart**, the strongest of the paper's baselines: it uses no twin, so no plan can mislead it, but it is given the pose, and was trained with exact poses.
#
# ### A floor
#
# The loss of a wrong map is unbounded: a few snapshots in which the truth gets a millionth of the probability that it deserves can dominate a mean. Since
# the twin may be wrong, we mix the posterior $p$ with a uniform guess over all $N$ candidates,
#
# $$
# (1 - \varepsilon)\, p + \varepsilon / N,
# $$
#
# so that no truth costs more than $-\log\varepsilon$ nats over a uniform guess. Each method has its own share $\varepsilon$, the one with the lowest loss on the {glue:text}`floor_layouts` validation rooms of
# the training split, on which no network was trained, half of them with exact twins and half with errors as above: {glue:text}`floor_ours:.2g` % for LOCUS-DT, {glue:text}`floor_robust:.2g` % for the one trained with errors,
# {glue:text}`floor_gmm:.2g` % for GMM-Cart, and {glue:text}`floor_path:.2g` % for the path set, which has a small floor of its own. With an exact twin the floor changes LOCUS-DT's loss from {glue:text}`raw_exact_ours:.2f` to {glue:text}`exact_ours:.2f` nats; with one obstacle missing,
# from {glue:text}`raw_missing_1_ours:.2f` to {glue:text}`missing_1_ours:.2f`. **Everything below is with floors**; a table below also has the losses without them.

# %% mystnb={"image": {"alt": "Adjusted loss of four methods against eleven kinds of errors of the twin, one panel each"}} tags=["hide-input"]
figure = error_figures.errors_figure(found, "loss")

# %% tags=["remove-cell"]
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("gmm", "gmm_cart"), ("path", "path_set")):
    glue(f"exact_{short}", at("none", "exact", name), display=False)
    for kind, label in (
        ("walls", "0.3 m"), ("walls", "1 m"), ("obstacles", "0.3 m"), ("obstacles", "1 m"), ("obstacles", "3 m"), ("position", "0.3 m"), ("position", "1 m"), ("heading", "1°"),
        ("heading", "3°"), ("heading", "5°"), ("missing", "1"), ("missing", "2"), ("material", "glass"), ("material", "metal"), ("all", "0.3 m"), ("all", "1 m"),
        ("scale", "2 %"), ("physics", "diffraction"), ("physics", "refraction"), ("depth", "2 of 3"), ("depth", "3 of 5"),
    ):  # fmt: skip
        glue(f"{kind}_{key(label)}_{short}", at(kind, label, name), display=False)
        if short == "ours":
            glue(f"cost_{kind}_{key(label)}", at(kind, label, name) - at("none", "exact", name), display=False)
training = wrong_twin.compared(rows, "robust", "locus_dt")
behind = wrong_twin.behind(rows, "path_set", ("locus_dt", "robust"))
no_twin = {name: wrong_twin.compared(rows, "gmm_cart", name) for name in ("locus_dt", "robust", "path_set")}
glue("path_behind", error_figures.only_if(behind.isel(condition=np.flatnonzero(behind.worse))), display=False)
glue("slack", wrong_twin.SLACK, display=False)
foreseen = [one.small or one.errors == {"missing": 1} for one in conditions(config)]
promised = found.sel({"method": "path_set"}).isel(condition=np.flatnonzero(foreseen))
glue("promised_worst", float(promised.loss.max()), display=False)
glue("promised_least", 100 * float(promised.covered.min()), display=False)
above = promised.isel(condition=np.flatnonzero(promised.loss > -3.0))
glue("promised_above_3", error_figures.only_if(above), display=False)
for name, verdict in no_twin.items():
    better = verdict.isel(condition=np.flatnonzero(verdict.difference_high < 0))
    glue(f"no_twin_{name}", error_figures.only_if(better), display=False)

# %% [markdown]
# *Adjusted loss: lower is better. Above zero it is worse than a uniform guess, so it would be better to know nothing. Bars: 95 % intervals over rooms.*
#
# **Small errors of plan and position cost little; a few degrees of compass error cost much more.** With an exact twin LOCUS-DT's loss is {glue:text}`exact_ours:.2f` nats. An error of 0.3 m changes it by {glue:text}`cost_walls_03:+.2f` if walls are off, by {glue:text}`cost_obstacles_03:+.2f` if obstacles are, by
# {glue:text}`cost_position_03:+.2f` if the receiver is, and by {glue:text}`cost_all_03:+.2f` if everything is, which includes a compass off by 1.5 degrees. One metre changes it by {glue:text}`cost_walls_1:+.2f` (walls),
# {glue:text}`cost_obstacles_1:+.2f` (obstacles), {glue:text}`cost_position_1:+.2f` (receiver) and {glue:text}`cost_all_1:+.2f` (everything).
#
# Three errors deserve a closer look:
#
# - **The heading** turns every angle of every candidate at once. One degree changes the loss by {glue:text}`cost_heading_1:+.1f` nats, three by {glue:text}`cost_heading_3:+.1f`, five by {glue:text}`cost_heading_5:+.1f`.
# - **A missing obstacle**: the twin expects paths straight through it, and no echo from it. One missing changes the loss by {glue:text}`cost_missing_1:+.1f`, two by {glue:text}`cost_missing_2:+.1f`.
# - **The material** changes the strength of every echo. If the twin assumes glass, the loss changes by {glue:text}`cost_material_glass:+.1f`; metal, by {glue:text}`cost_material_metal:+.1f`.
#
# **Physics** that the twin leaves out: with diffraction in the world LOCUS-DT's loss is {glue:text}`physics_diffraction_ours:.2f` nats, and with five reflections instead of three
# {glue:text}`depth_3_of_5_ours:.2f`. Refraction through walls leaves it at {glue:text}`physics_refraction_ours:.2f`, because {glue:text}`wall_thickness:g` cm of {glue:text}`material` attenuates by {glue:text}`wall_loss:.0f` dB. A twin that traces only two reflections
# leaves some candidates without any path; LOCUS-DT's loss is then {glue:text}`depth_2_of_3_ours:.2f`. A plan scaled by 2 %, one metre at the outer walls, gives {glue:text}`scale_2_ours:.2f`.
#
# ## Which method, when?

# %% tags=["hide-input"]
error_figures.verdicts_frame(
    {
        "no twin − LOCUS-DT": no_twin["locus_dt"],
        "no twin − trained with errors": no_twin["robust"],
        "no twin − path set": no_twin["path_set"],
        "trained with errors − LOCUS-DT": training,
        "path set − better network": behind,
    }
)

# %% [markdown]
# *Differences of losses on the same snapshots, first minus second, in nats. Blue: the whole 95 % interval is below zero, so the first is better; orange: above zero, so the second is. "No twin" is GMM-Cart; "better network" is whichever of the two LOCUS-DT networks has the lower loss in that row.*
#
# **Doing without a twin** is significantly better than LOCUS-DT {glue:text}`no_twin_locus_dt`; it beats the path set {glue:text}`no_twin_path_set`.
#
# **Training with errors** costs a little while the twin is exact: the loss is {glue:text}`exact_robust:.2f` nats instead of {glue:text}`exact_ours:.2f`. It pays off when the compass is wrong: with three degrees of heading error the loss is
# {glue:text}`heading_3_robust:.2f` nats instead of {glue:text}`heading_3_ours:.2f`, and with everything
# off by a metre {glue:text}`all_1_robust:.2f` instead of {glue:text}`all_1_ours:.2f`. With only the receiver a metre off it is {glue:text}`position_1_robust:.2f` instead of {glue:text}`position_1_ours:.2f`. With only the obstacles a metre off it is {glue:text}`obstacles_1_robust:.2f` instead of {glue:text}`obstacles_1_ours:.2f`,
# although the network was trained with such errors. Obstacles were never missing in its training; with one missing the loss is {glue:text}`missing_1_robust:.2f` instead of
# {glue:text}`missing_1_ours:.2f`.
#
# **The path set** has a loss of {glue:text}`exact_path:.2f` nats with an exact twin, {glue:text}`heading_5_path:.2f` with five degrees of heading error, {glue:text}`missing_1_path:.2f` with an obstacle missing,
# {glue:text}`all_1_path:.2f` with everything off by a metre, and {glue:text}`scale_2_path:.2f` with a plan scaled by 2 %. Under any error of plan or pose within its tolerance, or with one obstacle missing, its loss is {glue:text}`promised_worst:.2f` nats at worst; of these conditions, it is above -3 nats {glue:text}`promised_above_3`.
# It is significantly worse than the better network, by more than {glue:text}`slack:g` nats, {glue:text}`path_behind`.

# %% tags=["hide-input"]
error_figures.errors_frame(found, raw)

# %% [markdown]
# *L in nats, with floors and without (bare). The first figure of the chapter has the intervals.*
#
# ## What could be reached
#
# How much of the loss is due to the error, and how much to the method? Two answers, both with the path set:
#
# - **The true world is given**: the path set with the true room and pose, and no tolerance; what a perfect twin would give.
# - **Worlds are sampled**: we draw {glue:text}`num_worlds` worlds around the believed one, trace the candidates in each, and average the likelihoods. Walls, obstacles and poses err by the same amount in random directions, missing obstacles are added at random, the material is any of those in the table,
#   and candidates move by as much as the transmitter. This needs {glue:text}`num_worlds` tracings, and the size of the errors must be known, though not their direction. A turned receiver or a scaled plan then has only two possible worlds, a material a few, and moved walls sixteen, so the true one is often among those drawn.

# %% tags=["hide-input"]
error_figures.reachable_frame(reached)

# %% tags=["remove-cell"]
glue("num_worlds", reachable.NUM_WORLDS, display=False)
glue("reached_layouts", int(reached.num_groups.max()), display=False)
for name in ("path_set", "sampled_worlds", "true_world"):
    glue(f"reached_{name}", at("all", "1 m", name, given=reached), display=False)

# %% [markdown]
# *L on the first {glue:text}`reached_layouts` rooms, with 95 % intervals over rooms. Where only the physics differs, there is nothing to sample; a transmitter off the list has no true world. Sampled worlds can have a higher loss than the tolerance where few of them come close to the truth, as with a transmitter far off its candidate or several obstacles missing.*
#
# With everything off by a metre the path set's loss in these rooms is {glue:text}`reached_path_set:.2f` nats, {glue:text}`reached_sampled_worlds:.2f` with sampled worlds, and {glue:text}`reached_true_world:.2f` if it is given the true one.
#
# ## Calibration: is it still honest?
#
# A method cannot know that its twin is wrong unless it was taught that twins can be. So coverage tells more than the loss:

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
    glue(f"noticed_{kind}_{key(label)}", round(100 * float(share), 1), display=False)

# %% [markdown]
# *Share of truths inside the 90 % sets, with 95 % intervals over rooms. Above the line a method claims too little, below it too much. Floors make sets larger.*
#
# With an exact twin the 90 % sets of LOCUS-DT, of the network trained with errors and of the path set contain {glue:text}`covered_none_exact_ours:.0f`, {glue:text}`covered_none_exact_robust:.0f` and
# {glue:text}`covered_none_exact_path:.0f` % of the truths. With everything off by 0.3 m they contain {glue:text}`covered_all_03_ours:.0f`, {glue:text}`covered_all_03_robust:.0f` and {glue:text}`covered_all_03_path:.0f` %; by a metre, the limit of training and tolerance,
# {glue:text}`covered_all_1_ours:.0f`, {glue:text}`covered_all_1_robust:.0f` and {glue:text}`covered_all_1_path:.0f` %; with an obstacle missing, which was not in the training, {glue:text}`covered_missing_1_ours:.0f`,
# {glue:text}`covered_missing_1_robust:.0f` and {glue:text}`covered_missing_1_path:.0f` %. Under errors of plan and pose within its tolerance, or with one obstacle missing, the path set's sets contain {glue:text}`promised_least:.0f` % or more in these rooms. Without
# floors LOCUS-DT's sets contain {glue:text}`raw_covered_none_exact:.0f`, {glue:text}`raw_covered_all_03:.0f`, {glue:text}`raw_covered_all_1:.0f` and {glue:text}`raw_covered_missing_1:.0f` %.
#
# ### Is the error noticed?
#
# If no candidate explains the paths of a snapshot, something is wrong with the twin. To test that, we draw a candidate from the posterior, simulate path sets for it,
# and rank the observed one among them by its likelihood relative to pure clutter. That rank, as a p-value, is uniform while the twin is exact. Of {glue:text}`num_fitted` snapshots, {glue:text}`per_room` per room, we count those below 1 %. That is {glue:text}`noticed_none_exact:g` % with an exact twin, where 1 % is expected,
# {glue:text}`noticed_heading_5:.0f` % with five degrees of heading error, {glue:text}`noticed_missing_1:.0f` % with an obstacle missing, {glue:text}`noticed_scale_2:.0f` % with a plan scaled by 2 %, and {glue:text}`noticed_all_1:.0f` % with everything off by a metre.
# A few paths cannot reveal every error.

# %% tags=["hide-input"]
error_figures.coverage_frame(found, noticed)

# %% [markdown]
# *Truths inside the 90 % sets, with floors; "noticed": snapshots that the test rejects at 1 %. All in per cent, with 95 % intervals over rooms; where no snapshot is rejected, the upper end is the binomial one.*
#
# ## One snapshot

# %% mystnb={"image": {"alt": "Four maps of one snapshot: with the exact twin, with a wrong twin, and with the wrong twin the network trained with errors and the path set"}} tags=["hide-input"]
example = wrong_twin.make_example(opened, 0, map_error, map_points)
figure = error_figures.example_figure(example)

# %% tags=["remove-cell"]
glue("map_error", map_error, display=False)
glue("map_points", map_points, display=False)
glue("map_degrees", 5 * map_error, display=False)

# %% [markdown]
# *The first room of Eval Random and the strongest of its snapshots, whatever it shows. Dashed: walls, obstacles and heading as the wrong twin believes them; the ray starts where it places the receiver. Lengths are off by {glue:text}`map_error:g` m, the heading by
# {glue:text}`map_degrees:g` degrees. Red star: the transmitter; white lines enclose 90 % of the probability, and insets magnify the white squares. Titles: probability of the true candidate among the room's {glue:text}`num_candidates`, relative to a uniform guess, so {glue:text}`num_candidates` is certainty; the maps score a grid of {glue:text}`map_points` by {glue:text}`map_points` points instead. Both are without floors, except the path set's own.*
#
# ## What to take away
#
# - **LOCUS-DT trusts its plan and its compass.** With one obstacle missing its loss is {glue:text}`missing_1_ours:.2f` nats instead of {glue:text}`exact_ours:.2f`, with all obstacles moved by a metre {glue:text}`obstacles_1_ours:.2f`, by
#   three metres {glue:text}`obstacles_3_ours:.2f`; with the heading off by one degree {glue:text}`heading_1_ours:.2f`, by three {glue:text}`heading_3_ours:.2f`.
# - **A floor is cheap insurance.** It costs {glue:text}`floor_cost:.2f` nats while the twin is exact, and bounds the harm when it is not.
# - **Training with errors helps against a wrong compass**; against walls and obstacles off by up to a metre it does not pay off. With an exact twin it changes the loss by {glue:text}`cost:+.2f` nats.
# - **The path set needs no retraining.** It is told in metres and degrees how wrong a twin may be. Its loss differs from LOCUS-DT's by {glue:text}`path_exact:+.2f` nats with an exact twin and by
#   {glue:text}`path_all:+.2f` with everything off by a metre.
#
# If you know your errors better, set the tolerance: `locus locate --tolerance heading=1deg,plan=0.1`. The weights of the network trained with errors are in `locus_dt.robust.safetensors`;
# `locus reproduce --set mismatch.heading=0.2` (radians) trains for a worse compass.

# %% tags=["remove-cell"]
glue("cost", at("none", "exact", "robust") - at("none", "exact", "locus_dt"), display=False)
glue("path_exact", at("none", "exact", "path_set") - at("none", "exact", "locus_dt"), display=False)
glue("path_all", at("all", "1 m", "path_set") - at("all", "1 m", "locus_dt"), display=False)
floored, bare = (round(at("none", "exact", "locus_dt", given=one), 2) for one in (found, raw))  # as the tables say
glue("floor_cost", floored - bare, display=False)

# %% tags=["interactive"]
# Another room, and a twin that is off by more or less.
from ipywidgets import interact


def explore(room: int = 0, error: float = 1.0):
    return error_figures.example_figure(wrong_twin.make_example(opened, room, error, map_points))


interact(explore, room=(0, 20), error=(0.0, 3.0, 0.1))
