# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   locus:
#     needs:
#     - models/locus_dt
#     - models/path_set
#     - results/mapped
#     - results/searches
#     - results/walk
# ---

# %% [markdown]
# # 8. A walk
#
# *A use that the paper's introduction names: a robot that searches for a transmitter.*
#
# One snapshot is often ambiguous, and some carry almost nothing: the receiver looks the other way, or all paths are too weak. A robot does not stop there. It drives on and listens again, and what was
# ambiguous from one place is not from the next. How much does each snapshot add? And what happens if plan and compass are a little wrong, so that every snapshot repeats the same error?

# %% tags=["parameters"]
run = "quick"
condition = "1 m"  # of the twin of the maps: exact, 0.3 m or 1 m
unclear = 0.5  # maps: the first room whose truth has less after one snapshot

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout, twin = locus.Layout.random(rng), locus.make_twin("image")
transmitter = layout.sample(1, rng)
poses = [locus.Pose.random(layout, rng) for _ in range(3)]
heard = [twin.trace(layout, pose, transmitter) for pose in poses]
iq = [locus.observe(paths.isel(candidate=0), rng).iq for paths in heard]
located = locus.locate(layout, poses, np.stack(iq), twin="image")
areas = located.credible_area.values  # after 1, 2 and 3 snapshots
print("90 % in", ", ".join(f"{area:.1f} m²" for area in areas))

# %% tags=["hide-input"]
import json

from myst_nb import glue

from locus.book.figures import mapped_figures, search_figures, style, walk_figures
from locus.book.studies.mapped_room import make_example
from locus.book.studies.walk_maps import map_walk
from locus.experiment import mapped, searches, walk
from locus.experiment.mapped import Mapped
from locus.experiment.run import repository
from locus.experiment.searches import Searches
from locus.experiment.walk import Walks
from locus.experiment.walk_scene import STEP
from locus.score.walk import CORRELATION

opened = locus.open_run(run)
rows = Walks(opened).open()
found = walk.summary(rows)
style.use()

# %% tags=["remove-cell"]
glue("correlation", CORRELATION, display=False)
tried = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))["walk_correlation"]
worst = tried["1 m"]
glue("tried_rooms", tried["num_rooms"], display=False)
glue("correlation_change", worst[f"{CORRELATION:g}"]["change"], display=False)
glue("correlation_error", worst[f"{CORRELATION:g}"]["error"], display=False)
for name, value in (("with", CORRELATION), ("without", 0.0)):
    glue(f"covered_{name}", 100 * worst[f"{value:g}"]["covered"], display=False)
glue("num_rooms", len(np.unique(rows.group)), display=False)
glue("num_steps", rows.sizes["step"], display=False)
glue("step_length", STEP, display=False)
glue("num_candidates", float(rows.num_candidates.mean()), display=False)
glue("certainty", float(np.log(rows.num_candidates).mean()), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("path", "path_set"), ("bearings", "bearings")):
    glue(f"temperature_{short}", float(rows.option.sel({"method": name})), display=False)
    glue(f"share_{short}", 100 * float(rows.share.sel({"method": name})), display=False)
for short, name in (("ours", "locus_dt"), ("robust", "robust"), ("path", "path_set"), ("bearings", "bearings"), ("walk", "walk")):  # fmt: skip
    for key, kind in (("exact", "exact"), ("03", "0.3 m"), ("1", "1 m")):
        one = found.sel({"condition": kind, "method": name})
        glue(f"first_{short}_{key}", float(one.loss[0]), display=False)
        glue(f"last_{short}_{key}", float(one.loss[-1]), display=False)
        glue(f"covered_{short}_{key}", 100 * float(one.covered[-1]), display=False)
own = found.sel({"method": "walk"})
glue("worst_rise", float(own.rise.max()), display=False)
for end in ("low", "high"):
    glue(f"worst_rise_{end}", float(own[f"rise_{end}"].where(own.rise == own.rise.max()).max()), display=False)

chosen = rows.log_posterior.sel({"condition": condition, "method": "walk"}).isel(step=0)
number = int(np.argmax(chosen.values < np.log(unclear)))
turn = float(np.degrees(rows.compass.sel({"condition": condition}).isel(snapshot=number)))
glue("unclear", 100 * unclear, display=False)
glue("map_turn", abs(turn), display=False)
glue("map_first", 100 * float(np.exp(chosen[number])), display=False)

# %% [markdown]
# ## One walk
#
# This is the first room of Eval Grid in which the path set gives the truth less than {glue:text}`unclear:.0f` % after one snapshot: here, {glue:text}`map_first:.1f` %. The robot faces the way it drives, turns where it is blocked, and listens every {glue:text}`step_length:.0f` m. Its twin is wrong, by the same amounts all along the route: the dashed walls are what it believes, and its
# compass is off by {glue:text}`map_turn:.1f` degrees. On the left, LOCUS-DT's log posteriors are added (that is, its posteriors multiplied), with the temperature and the floor that suit walks with all three twins best (see below); on the right are path sets whose errors are
# shared by the whole walk.

# %% mystnb={"image": {"alt": "Posterior maps of one walk after 1, 2, 4 and 8 snapshots: LOCUS-DT with scores added on the left, path sets with shared errors on the right"}} tags=["hide-input"]
maps = map_walk(opened, int(rows.group[number]), condition, rows)
figure = walk_figures.strip_figure(maps, [1, 2, 4, 8])

# %% tags=["remove-cell"]
last = maps.compass[-1]
glue("compass_mean", float(np.degrees(last.mean)), display=False)
glue("compass_low", float(np.degrees(last.low)), display=False)
glue("compass_high", float(np.degrees(last.high)), display=False)
glue("compass_true", turn, display=False)

# %% [markdown]
# *Blue: the route so far, and the receiver with its true heading. Red star: the transmitter. Orange, dashed: the walls of the twin. White lines enclose 90 % of the probability; insets magnify the white squares. Above each map: the probability of the true candidate.*
#
# The walk also tells how wrong the compass is. After the last snapshot the estimate of its error (true heading less the believed one) is {glue:text}`compass_mean:.1f` degrees, with a 90 % interval from {glue:text}`compass_low:.1f` to
# {glue:text}`compass_high:.1f`; the truth is {glue:text}`compass_true:.1f`.
#
# ## Why not simply multiply?
#
# If the errors of the snapshots were independent, their likelihoods could simply be multiplied. They are not. A wall that is misplaced by a metre is misplaced in every snapshot, and so is the compass: what looks like eight
# witnesses against a place may be one error, eight times. So **the shared errors are unknowns of the whole walk**, estimated along the way: the error of the compass, the displacement of each obstacle and of each
# side of the room, the offset of all poses, and where in its cell the transmitter stands. For each candidate and each component of the path set's mixture, the filter tracks a Gaussian over these unknowns. Its
# mean predicts the paths of the next snapshot: each seems to come from an image of the transmitter in the displaced walls, which moves linearly with them; the residuals of the paths that are found then correct it. Sync offset and noise are
# new each time. So each candidate is penalised once for a misplaced wall, not eight times: what the first snapshot taught about the walls, the second already expects.
#
# The module `locus.score.walk` has the formulas; [chapter 7](07_wrong_twin.ipynb) shows what each error costs in a single snapshot.
#
# ## What each snapshot adds
#
# We use {glue:text}`num_rooms` rooms of Eval Grid. In each, the robot takes {glue:text}`num_steps` snapshots of one fixed transmitter on the list. The candidates are all free points of the 31 × 31 grid, {glue:text}`num_candidates:.0f` on average, so certainty would
# be a loss of −{glue:text}`certainty:.2f` nats. There are three twins: plan and compass are exact; each wall and obstacle is off by 0.3 m and the compass by 1.5 degrees; or they are off by 1 m and 5 degrees, each in a random direction. We compare:
#
# - **LOCUS-DT, added**, and **LOCUS-DT trained with errors, added**: sums of log posteriors, divided by a temperature ({glue:text}`temperature_ours:.1f` and {glue:text}`temperature_robust:.1f`), with a floor of
#   uniform guessing ({glue:text}`share_ours:.2g` % and {glue:text}`share_robust:.2g` %). A robot does not know how wrong its twin is, so each network has one temperature and one floor for all three twins, fitted on walks through validation rooms, a third of them with each twin. With an exact twin the high temperature costs LOCUS-DT: after one snapshot its loss is
#   {glue:text}`first_ours_exact:.2f` nats, worse than in [chapter 5](05_results.ipynb);
# - **path sets, added**: the same with the likelihood of [chapter 6](06_path_set) (temperature {glue:text}`temperature_path:.1f`, floor {glue:text}`share_path:.2g` %);
# - **bearings, without a twin**: the strongest path's angle from each pose, as if it came straight from the transmitter, with outliers and a floor ({glue:text}`share_bearings:.0f` %) fitted in the same way;
# - **path sets, shared errors**: as above. Some errors, such as paths that the twin does not trace, are in none of these unknowns but repeat from pose to pose. For a twin that is off by as much as the tolerance allows, we give
#   them a correlation of {glue:text}`correlation:.1f` between snapshots. On {glue:text}`tried_rooms` walks through validation rooms this changes the loss with the worst twin by {glue:text}`correlation_change:+.2f` ± {glue:text}`correlation_error:.2f` nats, and the 90 % sets hold
#   {glue:text}`covered_with:.0f` instead of {glue:text}`covered_without:.0f` % of the transmitters. We added it after a first look at the evaluation rooms, where without it the 90 % sets
#   of the worst twin were too small.

# %% mystnb={"image": {"alt": "Adjusted loss and coverage of the 90 % sets against the number of snapshots, for five ways to fuse them and three twins"}} tags=["hide-input"]
figure = walk_figures.curves_figure(found)

# %% [markdown]
# *Mean over rooms with 95 % intervals from resampled rooms. Left: lower is better; zero is a uniform guess. Right: 90 % sets should hold 90 % of the truths.*

# %% tags=["hide-input"]
walk_figures.losses_frame(found)

# %% [markdown]
# *After {glue:text}`num_steps` snapshots, with 95 % intervals from resampled rooms.*
#
# With shared errors the loss goes from {glue:text}`first_walk_exact:.2f` to {glue:text}`last_walk_exact:.2f` nats with an exact twin, from {glue:text}`first_walk_03:.2f` to {glue:text}`last_walk_03:.2f` with 0.3 m and from
# {glue:text}`first_walk_1:.2f` to {glue:text}`last_walk_1:.2f` with 1 m; adding path sets ends at {glue:text}`last_path_exact:.2f`, {glue:text}`last_path_03:.2f` and {glue:text}`last_path_1:.2f`, LOCUS-DT at
# {glue:text}`last_ours_exact:.2f`, {glue:text}`last_ours_03:.2f` and {glue:text}`last_ours_1:.2f`, and the one trained with errors at {glue:text}`last_robust_exact:.2f`, {glue:text}`last_robust_03:.2f` and
# {glue:text}`last_robust_1:.2f`. With shared errors and any of the three twins, the step that helps least changes the mean loss by {glue:text}`worst_rise:+.2f` nats (95 % interval from {glue:text}`worst_rise_low:+.2f` to {glue:text}`worst_rise_high:+.2f`).
#
# With shared errors, the 90 % sets hold {glue:text}`covered_walk_exact:.0f`, {glue:text}`covered_walk_03:.0f` and {glue:text}`covered_walk_1:.0f` % of the truths at the end.
#
# ### The compass

# %% mystnb={"image": {"alt": "Share of compass errors inside their 90 % intervals, and the width of these, against the number of snapshots"}} tags=["hide-input"]
figure = walk_figures.compass_figure(rows)

# %% tags=["remove-cell"]
compass = walk_figures.compass_summary(rows)
for key, kind in (("exact", "exact"), ("03", "0.3 m"), ("1", "1 m")):
    one = compass.sel({"condition": kind})
    glue(f"turn_inside_{key}", 100 * float(one.inside[-1]), display=False)
    glue(f"turn_width_first_{key}", float(one.width[0]), display=False)
    glue(f"turn_width_last_{key}", float(one.width[-1]), display=False)

# %% [markdown]
# *The compass error as the walk estimates it. Left: how often its 90 % interval holds the true error; the grey line is at 90 %. Right: the median width of the interval. With an exact twin the walk soon settles on the part of the mixture without errors, so the interval shrinks to zero width, at the true value.*
#
# With a twin off by 1 m and 5 degrees, the median width shrinks from {glue:text}`turn_width_first_1:.1f` to {glue:text}`turn_width_last_1:.1f` degrees, and the interval holds the error in {glue:text}`turn_inside_1:.0f` % of the rooms at the end;
# off by 0.3 m and 1.5 degrees, from {glue:text}`turn_width_first_03:.1f` to {glue:text}`turn_width_last_03:.1f` degrees, and in {glue:text}`turn_inside_03:.0f` %. Where that is below 90 %, the interval is too narrow.
#
# ## Where to listen next
#
# A robot can choose where to go. The twin tells it what it would hear from each probable candidate at each pose within reach, and so how much a snapshot there would tell, before it goes there. Let $p_i$ be the posterior,
# $L_i$ the likelihood of candidate $i$, and $y_i$ the noise-free path set that the twin predicts for it. The information to be expected from a snapshot is then approximately
#
# $$
# \begin{aligned}
# I &\approx -\sum_i p_i \log \sum_j p_j \, e^{-D_{ij}}, \\
# D_{ij} &= \log L_i(y_i) - \log L_j(y_i).
# \end{aligned}
# $$
#
# The robot steps {glue:text}`search_step:.0f` m in one of eight directions, or turns on the spot, whichever makes $I$ largest. We compare that with random steps, driving straight on, and turning on the spot, in {glue:text}`search_rooms` rooms. The twin is exact, the
# transmitter may be anywhere, candidates are {glue:text}`search_spacing:.0f` m apart, and path sets are drawn as an ideal estimator would report them. A search ends when the 90 % set is smaller than {glue:text}`search_found:.0f` m², or after
# {glue:text}`search_steps` snapshots.

# %% mystnb={"image": {"alt": "Share of searches that have found the transmitter, over snapshots and over metres, for four ways of walking"}} tags=["hide-input"]
sought = Searches(opened).open()
every, open_ones = searches.summary(sought), searches.summary(searches.unclear(sought))
figure = search_figures.search_figure(sought)

# %% tags=["hide-input"]
search_figures.search_frame(every, open_ones)

# %% tags=["remove-cell"]
glue("search_rooms", sought.sizes["snapshot"], display=False)
glue("search_step", searches.STEP, display=False)
glue("search_spacing", searches.SPACING, display=False)
glue("search_found", searches.FOUND, display=False)
glue("search_steps", searches.NUM_STEPS, display=False)
glue("search_unclear", open_ones.attrs["num_rooms"], display=False)
for name in searches.STRATEGIES:
    glue(f"found_{name}", 100 * float(every.found.sel(strategy=name)), display=False)
    glue(f"right_{name}", 100 * float(every.right.sel(strategy=name)), display=False)

# %% [markdown]
# *Figure: share of searches that have ended with a small set. Table: medians with 95 % intervals from resampled rooms; an abandoned search counts as longer than any other. Found: searches that end with a small set; right: the share of these whose set holds the transmitter. Unclear: rooms in which the first snapshot, which all four share, does not suffice.*
#
# In {glue:text}`search_unclear` of the {glue:text}`search_rooms` rooms one snapshot is not enough, and there it matters where the robot goes. When the robot asks the twin, {glue:text}`found_informed:.0f` % of all searches end with a small set; with random steps
# {glue:text}`found_random:.0f` %, straight on {glue:text}`found_straight:.0f` %, and turning on the spot {glue:text}`found_turning:.0f` %. A small set is not always right: {glue:text}`right_informed:.0f`, {glue:text}`right_random:.0f`, {glue:text}`right_straight:.0f` and {glue:text}`right_turning:.0f` % of these sets hold the transmitter.
#
# ## A room that the robot mapped
#
# *The paper's future work, "measured rooms reconstructed using SLAM", in simulation.*
#
# Until now we had a floor plan. Here the robot has to make its own: the room holds {glue:text}`num_pieces` pieces of furniture that are in no plan, and the robot drives through it with a laser scanner and draws an occupancy grid, as ROS does. Its walls are straightened to polygons
# (`locus.Layout.from_ros_map`), which become the twin. The scanner's ranges are noisy, the grid is not aligned with the walls, and the robot's estimate of its own pose drifts as it drives: a drift of 1 % is a random walk with a standard deviation of 1 cm and 0.01 degrees after a metre, ten times that after 100 m.

# %% mystnb={"image": {"alt": "The true room with furniture and the robot's route; the occupancy grid with the polygons that became of it; a posterior of their twin"}} tags=["hide-input"]
example = make_example(opened, 0, resolution=0.05, drift=0.01, num_points=61)
figure = mapped_figures.mapped_room_figure(example)

# %% [markdown]
# *A room with its furniture and the robot's route (blue); its occupancy grid (white: free, black: occupied, grey: unknown), with 5 cm cells and a drift of 1 %; over it the walls extracted from it (orange); the posterior of their twin for one snapshot.*

# %% tags=["hide-input"]
maps_rows = Mapped(opened).open()
costs = mapped.summary(maps_rows)
mapped_figures.cost_frame(costs)

# %% mystnb={"image": {"alt": "Cost of a map over the true plan against the side of its cells, for three drifts, of the path set and LOCUS-DT"}} tags=["hide-input"]
figure = mapped_figures.cost_figure(costs)

# %% tags=["remove-cell"]
glue("num_pieces", mapped.NUM_PIECES, display=False)
glue("mapped_candidates", int(maps_rows.attrs["num_candidates"]), display=False)
glue("mapped_rooms", len(np.unique(maps_rows.group)), display=False)
for key, label in (("bare", "true plan without furniture"), ("fine", "map, 5 cm, drift 0 %"), ("coarse", "map, 20 cm, drift 0 %"), ("drifted", "map, 5 cm, drift 3 %")):  # fmt: skip
    one = costs.isel(plan=int(np.flatnonzero(costs.label == label)[0]))
    glue(f"cost_{key}", float(one.cost.sel({"method": "path_set"})), display=False)
    glue(f"off_{key}", 100 * float(one.wall_error), display=False)

# %% [markdown]
# *{glue:text}`mapped_rooms` rooms of Eval Random with ten snapshots each, and lists of {glue:text}`mapped_candidates` candidates, so L cannot be compared with that of chapter 5. L, cost and sets are the path set's; cost, with 95 % intervals, is the loss minus that with the true plan and its furniture, on the same snapshots. LOCUS-DT's posterior is mixed with a small share of uniform guessing, as in chapter 7. Walls: how many the twin has on average. Walls off by: mean distance of these from the true ones. Grey band: the interval of the true plan without furniture.*
#
# A map of 5 cm cells without drift costs the path set {glue:text}`cost_fine:.2f` nats, one of 20 cm {glue:text}`cost_coarse:.2f`; the true plan without its furniture costs {glue:text}`cost_bare:.2f`. With 5 cm cells and a drift of 3 % the walls are {glue:text}`off_drifted:.0f` cm off on average, and the cost is
# {glue:text}`cost_drifted:.2f` nats.
#
# ## Use it
#
# ```python
# import locus
#
# result = locus.locate(layout, poses, iq)  # one pose per snapshot
# result.posterior  # (step, candidate)
# result.heading_error  # (step), to add to the given heading
# result.heading_error_low, result.heading_error_high  # its 90 % interval
# ```
#
# From the shell: `locus locate room.geojson --poses walk.tum --iq captures.npy --out walk.nc`; [Your own room](../own_room.md) has an example. **Several receivers that hear one transmitter at the same time are handled the same way**: one pose each. A
# moving transmitter (`speed=`) is tracked by a grid filter, in which it walks around walls, not through them.

# %% tags=["interactive"]
# Another room and twin.
from ipywidgets import interact


def explore(room: int = 0, condition: str = "1 m"):
    return walk_figures.strip_figure(map_walk(opened, room, condition, rows), [1, 2, 4, 8])


interact(explore, room=(0, 20), condition=["exact", "0.3 m", "1 m"])
