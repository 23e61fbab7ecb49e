# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   locus:
#     needs:
#     - models/locus_dt
#     - models/gauss_cart
#     - models/gauss_polar
#     - models/gmm_cart
#     - results/eval_random
#     - results/eval_grid
#     - results/table
#     - results/other_twin
#     - results/phase_free
#     - results/moved
#     - results/floors
# ---

# %% [markdown]
# # 5. Results
#
# *Sections III-D and III-E of the paper.*
#
# How much can a map made from one snapshot tell? Is it honest about what it cannot
# tell? What is it good for, where does it fail, and how much better could any method be? No network was trained on any of the rooms in this chapter.

# %% tags=["parameters"]
run = "quick"
map_points = 61  # points per axis of the maps

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
candidates = layout.sample(1000, rng)
paths = locus.make_twin("image").trace(layout, pose, candidates)
observed = locus.estimate(locus.observe(paths.isel(candidate=7), rng))
posterior = locus.load_scorer(run).posterior(paths, observed)
# Adjusted loss of this snapshot, and R; the table has the means:
loss = -np.log(float(posterior[7])) - np.log(posterior.size)
ratio = -loss / np.log(posterior.size)
print(f"L = {loss:.2f} nats, {100 * ratio:.0f} % of the way to certainty")

# %% tags=["hide-input"]
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue

from locus.book import words
from locus.book.figures import result_figures, style
from locus.book.paper import printed
from locus.book.studies import posterior_maps
from locus.book.tables import (
    calibration_frame,
    intervals_hold,
    moved_frame,
    number_with_interval,
    paired_frame,
    paired_losses,
    phases_frame,
    quantiles_frame,
    results_frame,
    strata_frame,
    three_digits,
    trainings_frame,
)
from locus.experiment import moved, unknown_phases
from locus.experiment.floors import Floors
from locus.experiment.moved import MovedTransmitters
from locus.experiment.other_twin import OtherTwin
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.scorers import UNTRAINED_TITLES
from locus.experiment.seeds import Seeds
from locus.experiment.table import SCORER_TITLES, Table
from locus.experiment.unknown_phases import UnknownPhases
from locus.experiment.weights import further_weights, load_scorer
from locus.judge import metrics
from locus.judge.floor import floored
from locus.receiver.estimator import threshold
from locus.score import weight_files
from locus.score.limits import RECEIVERS

opened = locus.open_run(run)
config = opened.config
table = Table(opened).open()
rows = {name: Rows(opened, EVALUATIONS[name]).open(name) for name in Table.evaluations}
style.use()

# %% [markdown]
# ## The table
#
# A method is judged by the probability $\hat p_{m c_m^\star}$ that it gives to the true candidate among the $N_m$ of snapshot $m$. The *adjusted loss*
#
# (eq-24)=
# $$
# \mathcal L = \frac1M \sum_{m=1}^M \left(-\log \hat p_{m c_m^\star} - \log N_m\right) \tag{24}
# $$
#
# is 0 for a uniform guess and negative for a method that knows more. Two other ways to write the same number are
#
# (eq-25)=
# $$
# \mathcal G = e^{-\mathcal L}, \qquad \mathcal R = -\frac{\mathcal L}{\log N_{\mathrm{cand}}}: \tag{25}
# $$
#
# the factor by which the truth is more probable than under a uniform guess (geometric mean), and how much of the way to certainty that is. A method with 100 % is
# always sure and always right.
#
# On **Eval Random** the transmitter is one of {glue:text}`candidates_random` places drawn at random, on **Eval Grid** one of {glue:text}`candidates_grid` points of a regular grid. **Off the list**, it may be anywhere in the free space, and the nearest
# point of that grid counts as the truth. In all three, at least one path reaches the receiver from the transmitter; the lists also contain places from which none does.

# %% tags=["hide-input"]
results_frame(table, printed())

# %% tags=["remove-cell"]
ours = table.sel({"method": "locus_dt"})
for name in Table.evaluations:
    one = ours.sel(evaluation=name)
    for measure, scale in (("loss", 1), ("gain", 1), ("ratio", 100)):
        glue(f"{measure}_{name}", scale * float(one[measure]), display=False)
    glue(f"snapshots_{name}", int(one.num_snapshots), display=False)
    glue(f"layouts_{name}", int(one.num_groups), display=False)
    glue(f"candidates_{name}", int(one.num_candidates), display=False)
for name in (*UNTRAINED_TITLES, *RECEIVERS):
    glue(f"{name}_ratio", 100 * float(table.ratio.sel({"method": name, "evaluation": "random"})), display=False)
    glue(f"{name}_loss", float(table.loss.sel({"method": name, "evaluation": "random"})), display=False)
share = float(Floors(opened).open().share.sel({"method": "locus_dt"}))
off_list = rows["grid_offlist"].log_posterior.sel({"method": "locus_dt"}).values
places = int(table.num_candidates.sel(evaluation="grid_offlist"))
adjusted = -off_list - np.log(places)
worst = adjusted > np.log(1000)


def floored_ratio(given: float) -> float:
    return 100 * float(1 + floored(off_list, places, given).mean() / np.log(places))


floors = [floored_ratio(one) for one in np.linspace(0.01, 0.1, 10)]
glue("offlist_worst", int(worst.sum()), display=False)
glue("offlist_carried", float(adjusted[worst].sum() / len(adjusted)), display=False)
glue("floor_share", 100 * share, display=False)
glue("offlist_floored", floored_ratio(share), display=False)
glue("offlist_least", min(floors), display=False)
glue("offlist_most", max(floors), display=False)
glue("printed_grid", 100 * float(printed().ratio.sel({"method": "locus_dt", "evaluation": "grid"})), display=False)
glue("room_size", config.room.size, display=False)
glue("intervals_hold", intervals_hold(table), display=False)
glue("training_layouts", words.trained_on(config.training.num_layouts, 8000), display=False)
glue("printed_ratio", 100 * float(printed().ratio.sel({"method": "locus_dt", "evaluation": "random"})), display=False)

# %% [markdown]
# *Brackets are 95 % intervals over {glue:text}`intervals_hold`. Snapshots of one room share its walls and its receiver, so whole rooms are resampled, not snapshots. On the right, for
# reference, the paper's values; {glue:text}`training_layouts`.*

# %% tags=["hide-input"]
trainings_frame(Seeds(opened).open(), table) if further_weights(opened) else None

# %% [markdown]
# *Lowest and highest R among the trainings of each network; the table above has their mean. Numbers on these evaluations are such means wherever they appear in the book; maps, paired differences and all other studies use the weights of the first training.*
#
# **LOCUS-DT** makes the truth {glue:text}`gain_random:.1f` times as probable as
# a uniform guess on Eval Random, or $\mathcal R$ = {glue:text}`ratio_random:.1f` % (the paper: {glue:text}`printed_ratio:.1f` %), from {glue:text}`snapshots_random` snapshots in
# {glue:text}`layouts_random` rooms. On the grid it is {glue:text}`ratio_grid:.1f` %; off the list, {glue:text}`ratio_grid_offlist:.1f` %.
#
# **Off the list** a few snapshots dominate. In {glue:text}`offlist_worst` of {glue:text}`snapshots_grid_offlist` the truth has less than a thousandth of the probability of a uniform guess; these carry
# {glue:text}`offlist_carried:.2f` nats of the mean loss. Mixing in some uniform guessing limits their weight: with the share fitted on validation rooms ({glue:text}`floor_share:.1f` %, chapter 7)
# $\mathcal R$ is {glue:text}`offlist_floored:.1f` %, and with shares of 1 to 10 % it is {glue:text}`offlist_least:.1f` to {glue:text}`offlist_most:.1f` %. The paper prints
# {glue:text}`printed_grid:.1f` % for Eval Grid, and says only of its training data, in Eq. (13), that the truth is among the candidates. Our numbers on and off the list bracket the paper's; they do not explain it.
#
# Three methods use the twin but compare paths **without a network**; a practitioner would try them first. The *nearest fingerprint* turns the distance between the lists of observed and traced paths,
# in angle, relative delay and strength, into a probability, with one temperature fitted on validation rooms ({glue:text}`fingerprint_ratio:.1f` % on Eval Random). *Angles and strengths* is a likelihood of
# what LOCUS-DT sees, with widths from theory ({glue:text}`angle_strength_ratio:.1f` %). The *path set* of chapter 6 is a likelihood of everything that the estimator reports, delays included, and allows for errors of the twin
# ({glue:text}`path_set_ratio:.1f` %).
#
# The last two lines of each block of the table are not methods but **ideal receivers**. Both apply Bayes' rule to all samples, not to a handful of estimated
# paths, and take the twin to be exact. The *Bayes limit* knows each candidate's signal except for one phase and the time at which it
# began; nothing can do better. The *phase-blind receiver* knows angle, delay and mean power of each path, but neither amplitude nor phase. It is not a limit; the limit for unknown phases is in the last section. On Eval Random they reach
# {glue:text}`bayes_ratio:.1f` % and {glue:text}`phase_blind_ratio:.1f` %. That even they stay below 100 % is physics: many transmitters are too far away, behind
# the array or in deep shadow. Off the list the twin is no longer exact, and the Bayes limit no longer a limit: both lines show what it costs to
# trust a twin too much. Where the twin says that nothing arrives from the nearest grid point, that cost is infinite.
#
# Two methods may have overlapping intervals and still differ clearly, because what is hard for one is hard for the other. So we also compare them snapshot by snapshot.

# %% tags=["hide-input"]
baselines = [name for name in weight_files.METHODS if name != "locus_dt"]
pairs = [("locus_dt", name) for name in baselines]
pairs += [(name, "locus_dt") for name in UNTRAINED_TITLES]
pairs += [(name, "bayes") for name in SCORER_TITLES if name != "bayes"]
pairs.append(("locus_dt", "phase_blind"))
compared = {name: paired_losses(rows[name], pairs) for name in ("grid", "random")}
paired_frame(compared)

# %% tags=["remove-cell"]
against_limit = pd.concat([frame.xs(SCORER_TITLES["bayes"], level="less") for frame in compared.values()])
against_baselines = pd.concat([frame.iloc[: len(baselines)] for frame in compared.values()])
above, below = int((against_limit.low > 0).sum()), int((against_limit.high < 0).sum())
glue("limit_above", above, display=False)
glue("limit_beaten", below, display=False)
every = len(against_limit)
verdict = f"All {every} differences from it are significantly positive"
if above < every:
    verdict = f"Of the {every} differences from it, {above} are significantly positive"
    verdict += f", and {words.count(below)} significantly negative"
glue("limit_verdict", verdict, display=False)
glue("baseline_comparisons", len(against_baselines), display=False)
glue("baselines_beaten", int((against_baselines.high < 0).sum()), display=False)
difference = compared["random"].difference
for name in UNTRAINED_TITLES:
    glue(f"to_{name}", float(difference[SCORER_TITLES[name], SCORER_TITLES["locus_dt"]]), display=False)
glue("to_limit", float(difference[SCORER_TITLES["locus_dt"], SCORER_TITLES["bayes"]]), display=False)
glue("to_blind", float(difference[SCORER_TITLES["locus_dt"], SCORER_TITLES["phase_blind"]]), display=False)
glue("between_receivers", float(difference[SCORER_TITLES["phase_blind"], SCORER_TITLES["bayes"]]), display=False)
twins = OtherTwin(opened)
titles = {"image": "image", "sionna": "Sionna"}
glue("train_twin", titles[config.twin.train], display=False)
for key, name in zip(("evaluation_twin", "other_twin"), twins.twins, strict=True):
    glue(key, titles[name], display=False)
glue("twin_layouts", len(np.unique(twins.open().group)), display=False)
for name in ("random", "grid"):
    change = twins.difference(name)
    ends = [float(change[f"difference{end}"]) for end in ("", "_low", "_high")]
    glue(f"twin_{name}", number_with_interval(ends, "+.3f"), display=False)

# %% [markdown]
# *Loss of the first method minus that of the second, in nats: negative where the first is better. The same rooms are resampled for both. Networks with the weights of their first training.*
#
# LOCUS-DT is significantly better than a baseline in {glue:text}`baselines_beaten` of {glue:text}`baseline_comparisons` comparisons. On Eval Random, the losses of the methods without a network differ from LOCUS-DT's by {glue:text}`to_fingerprint:+.2f` nats (nearest fingerprint), {glue:text}`to_angle_strength:+.2f` (angles and strengths, which sees the same inputs)
# and {glue:text}`to_path_set:+.2f` (path set). Nothing can beat the Bayes limit
# where its assumptions hold; if something did, our computation of the limit would be wrong. {glue:text}`limit_verdict`. LOCUS-DT is {glue:text}`to_limit:.2f` nats from the Bayes limit on Eval Random, and {glue:text}`to_blind:.2f` from the phase-blind receiver.
#
# Does the ray tracer matter? The {glue:text}`train_twin` twin traced the training rooms, the {glue:text}`evaluation_twin` twin the rooms of this chapter. If the {glue:text}`other_twin` twin traces these instead, with the same weights, rooms and noise,
# LOCUS-DT's loss on the first {glue:text}`twin_layouts` rooms changes by {glue:text}`twin_random` nats on Eval Random and by {glue:text}`twin_grid` on Eval Grid.
#
# ## Maps
#
# The paper's Fig. 2. A task is a room with its receiver, and several transmitters in it, one at a time. These are the first three rooms of
# Eval Random and the first three snapshots of each, whatever they show. The twin traces a fine grid of places, and LOCUS-DT scores each of them.

# %% mystnb={"image": {"alt": "Three rows of three maps, one row per room: posteriors of LOCUS-DT, with the true transmitter marked by the outline of a red star"}} tags=["hide-input"]
twin = posterior_maps.evaluation_twin(config)
tasks = [posterior_maps.make_task(opened, index, map_points, twin) for index in range(3)]
figure = result_figures.tasks_figure(tasks)

# %% [markdown]
# *Rooms are {glue:text}`room_size:.0f` m wide and deep. Red star: true transmitter; blue dot and arrow: receiver and its heading; grey: obstacles. Yellow is the most probable place of
# a map, and one nat less is a factor of 2.7. The white line encloses the smallest set that holds 90 % of the probability; where it is too small to see, the inset magnifies the white square.*
#
# Three things to look for: small bright spots, where several paths agree on one place; a beam or fan, where one path gives a direction and little more; and large bright areas behind the
# receiver and in the shadow of obstacles, if nothing was heard. That is information, too: a transmitter in front would have been heard.
#
# The paper's Fig. 3: its methods on the same snapshots. The baselines do not use the twin. The last row is the Bayes limit, which is defined on the candidates only, so
# each place has the colour of the nearest candidate.

# %% mystnb={"image": {"alt": "Task 1: three posterior maps of each of LOCUS-DT, Gauss-Cart, Gauss-Polar, GMM-Cart and the Bayes limit"}} tags=["hide-input"]
figure = result_figures.methods_figure(tasks[0])

# %% [markdown]
# *Task 1: four methods and the Bayes limit on the same three snapshots. The first row repeats that of the figure of all tasks.*

# %% mystnb={"image": {"alt": "Task 2: three posterior maps of each of LOCUS-DT, Gauss-Cart, Gauss-Polar, GMM-Cart and the Bayes limit"}} tags=["hide-input"]
figure = result_figures.methods_figure(tasks[1])

# %% [markdown]
# *The same for task 2.*

# %% mystnb={"image": {"alt": "Task 3: three posterior maps of each of LOCUS-DT, Gauss-Cart, Gauss-Polar, GMM-Cart and the Bayes limit"}} tags=["hide-input"]
figure = result_figures.methods_figure(tasks[2])

# %% [markdown]
# *Task 3. In all tasks, Gaussians are smooth by construction: they neither stop at a wall nor follow the edge of a shadow. LOCUS-DT's maps do both, as
# the twin's paths do. The Bayes limit often singles out one candidate.*
#
# ## Calibration: is it honest?
#
# A set that claims 90 % should contain the truth nine times out of ten. For each snapshot we compute the *credible level* of the truth: the probability
# of all places that are more probable than it, plus a random fraction of its own. On a finite list of places, only such randomised levels are uniform for a calibrated method. Its curve below would be zero throughout, but for chance (the grey band).

# %% mystnb={"image": {"alt": "By how much the share of truths inside credible sets differs from the nominal level, one panel for each method and ideal receiver, each with a band about zero"}} tags=["hide-input"]
curves = {
    name: metrics.coverage(rows["random"].level.sel({"method": name}), rows["random"].group, np.random.default_rng(0))
    for name in SCORER_TITLES
}
figure = result_figures.coverage_figure(curves)

# %% tags=["remove-cell"]
curve = curves["locus_dt"]
glue("covered_50", 100 * float(curve.coverage.sel(nominal=0.5)), display=False)
glue("covered_90", 100 * float(curve.coverage.sel(nominal=0.9)), display=False)
glue("band_50", 100 * float(curve.high.sel(nominal=0.5) - 0.5), display=False)
inside = [SCORER_TITLES[name] for name, one in curves.items() if one.calibrated]
glue("inside_band", words.inside_band(inside, len(curves)), display=False)
glue("limit_calibrated", int(curves["bayes"].calibrated), display=False)

# %% [markdown]
# *Eval Random. Grey: simultaneous 95 % band of a calibrated method. A method whose curve lies below the band claims too much, one above it too
# little; the scales differ. The Bayes limit must be calibrated, because its model generated the data; it checks the check. The phase-blind receiver need not be: it takes the strength of a path to be
# random about the twin's, while here the two are equal.*
#
# LOCUS-DT's 50 % sets contain {glue:text}`covered_50:.1f` % of the truths and its 90 % sets {glue:text}`covered_90:.1f` %; at 50 % the band reaches {glue:text}`band_50:.1f` points to
# either side. {glue:text}`inside_band`
#
# An average over all snapshots can hide what its parts do. Here is the same by the strength of the strongest path:

# %% tags=["hide-input"]
calibration_frame(rows["random"], ["locus_dt", "bayes"])

# %% tags=["remove-cell"]
by_snr = metrics.binned(rows["random"].sel({"method": ["locus_dt"]}), "snr_db")
halves = {
    name: metrics.covered(part, 0.5, np.random.default_rng(0)) for name, part in by_snr.items() if len(part.group)
}
shares = {name: 100 * float(one.covered[0]) for name, one in halves.items()}
glue("half_least", min(shares.values()), display=False)
glue("half_least_bin", min(shares, key=lambda name: shares[name]), display=False)
glue("half_most", max(shares.values()), display=False)
glue("half_most_bin", max(shares, key=lambda name: shares[name]), display=False)

# %% [markdown]
# *Eval Random; 95 % intervals over rooms. Sets are randomised at their edge, as above, so that over all snapshots an exact posterior would hold exactly 50 and 90 % of the truths.* LOCUS-DT's 50 % sets contain between {glue:text}`half_least:.0f` % of the truths ({glue:text}`half_least_bin`) and {glue:text}`half_most:.0f` %
# ({glue:text}`half_most_bin`). Even the exact posterior, the Bayes limit, need not be at 50 and 90 % here: the bins are chosen by a strength that no receiver knows, and calibration holds on average over what the receiver may hear. So compare with the columns of the Bayes limit.
#
# ## What it is good for
#
# To go and find the transmitter, one wants to know how far off the best guess is, and how large an area to search.

# %% mystnb={"image": {"alt": "Left: cumulative distribution of the position error of each method. Right: of the area of its 90 percent set"}} tags=["hide-input"]
figure = result_figures.use_figure(rows["random"])

# %% tags=["hide-input"]
quantiles = {
    key: metrics.distribution(rows["random"][key], rows["random"].group, np.random.default_rng(0))
    for key in ("map_error", "mean_error", "area")
}
labels = {"map_error": "error of the most probable candidate [m]", "area": "area of the 90 % set [m²]"}
quantiles_frame({label: quantiles[key] for key, label in labels.items()})

# %% tags=["remove-cell"]
half = {key: data.value.sel({"quantile": 0.5, "method": "locus_dt"}) for key, data in quantiles.items()}
glue("median_error", float(half["map_error"]), display=False)
glue("median_mean_error", float(half["mean_error"]), display=False)
glue("median_area", float(half["area"]), display=False)
glue("exact_hits", 100 * float((rows["random"].map_error.sel({"method": "locus_dt"}) == 0).mean()), display=False)
for name in ("locus_dt", "bayes"):
    ninth = quantiles["map_error"].value.sel({"quantile": 0.9, "method": name})
    glue(f"far_{name}", float(ninth), display=False)
glue("limit_hits", 100 * float((rows["random"].map_error.sel({"method": "bayes"}) == 0).mean()), display=False)

# %% [markdown]
# *Medians and 90th percentiles, with 95 % intervals over rooms. In the figure, exact hits are on the left edge of the logarithmic axis, so a curve begins at
# their share. The smallest possible area is that of one candidate.*
#
# LOCUS-DT's most probable candidate is the true one in {glue:text}`exact_hits:.0f` % of the snapshots, the Bayes limit's in {glue:text}`limit_hits:.0f` %. In the tail they are alike: the 90th percentile of the error is {glue:text}`far_locus_dt:.0f` m with LOCUS-DT and
# {glue:text}`far_bayes:.0f` m at the Bayes limit, because where little is heard, many places are nearly as probable as the best. LOCUS-DT's median error
# is {glue:text}`median_error:.1f` m ({glue:text}`median_mean_error:.1f` m if the map's mean is the guess), and its median 90 % set covers {glue:text}`median_area:.0f` m².
#
# ## Where it fails, and why
#
# We sort the snapshots by what reaches the receiver: line of sight, otherwise a single bounce, otherwise more than one; or, *near outage*, no path as strong as the
# estimator's threshold. Then by the strength of the strongest path.

# %% mystnb={"image": {"alt": "Adjusted loss of every method and ideal receiver with intervals, by kind of channel and by SNR of the strongest path"}} tags=["hide-input"]
count = int(rows["random"].attrs["num_candidates"])
strata = metrics.by(rows["random"], "stratum", count, np.random.default_rng(0))
snr = metrics.by(rows["random"], "snr_db", count, np.random.default_rng(0))
figure = result_figures.strata_figure(strata, snr)

# %% tags=["hide-input"]
strata_frame(rows["random"], "locus_dt")

# %% tags=["remove-cell"]
worst_tenth = rows["random"].log_posterior.sel({"method": "locus_dt"})
worst_tenth = worst_tenth <= worst_tenth.quantile(0.1)
outage = rows["random"].stratum == metrics.STRATA.index("near outage")
glue("outage_share", 100 * float(outage.mean()), display=False)
glue("outage_share_worst", 100 * float(outage[worst_tenth.values].mean()), display=False)
for short, kind in (("outage", "near outage"), ("sight", "line of sight")):
    for name, method in (("loss", "locus_dt"), ("limit", "bayes")):
        glue(f"{short}_{name}", float(strata.loss.sel({"bin": kind, "method": method})), display=False)

# %% [markdown]
# *Table: LOCUS-DT alone, how often its 90 % sets contain the truth (randomised at the edge, as above), how far off its best guess is, and how large an area its 90 % set covers (the whole set, which holds at least 90 % and so contains the truth more often). In the figure, zero is a uniform guess and lower is better. The star is the Bayes limit. Over all snapshots nothing does better; within a bin, which no receiver knows, its distance from a method is only a guide to what could still be gained, and part of that needs exact phases (last section). Bins with few rooms
# have wide intervals.*
#
# Of all snapshots, {glue:text}`outage_share:.0f` % are near outage; of the tenth on which LOCUS-DT does worst, {glue:text}`outage_share_worst:.0f` %. Near
# outage its loss is {glue:text}`outage_loss:.2f` nats and the Bayes limit's {glue:text}`outage_limit:.2f`: silence, too, rules out places. With line of sight they are {glue:text}`sight_loss:.2f` and {glue:text}`sight_limit:.2f`.
#
# One failure, chosen by a rule: the lowest probability of the truth among the first 200 snapshots of Eval Random.

# %% mystnb={"image": {"alt": "Top: posterior map of the worst snapshot. Bottom: angle and SNR of the observed paths, of the true candidate's and of the most probable candidate's"}} tags=["hide-input"]
row, group, snapshot = posterior_maps.worst(rows["random"], "locus_dt", 200)
task = tasks[group] if group < len(tasks) else posterior_maps.make_task(opened, group, map_points, twin)
on_list = load_scorer(run).log_posterior(task.case.paths, task.case.observed.isel(snapshot=snapshot))
most_probable = int(on_list.argmax("candidate"))
threshold_db = 10 * np.log10(threshold(config.estimator, config.radio))
figure = result_figures.failure_figure(task, snapshot, most_probable, threshold_db)

# %% tags=["hide-input"]
posterior_maps.strongest(task, snapshot, most_probable)

# %% tags=["remove-cell"]
truth = int(task.case.truth[snapshot])
stored = rows["random"].isel(snapshot=row)
true_paths = task.case.paths.isel(candidate=truth)
glue("failure_group", group, display=False)
glue("failure_snapshot", snapshot, display=False)
glue("failure_log_posterior", float(on_list[truth]), display=False)
glue("failure_again", abs(float(on_list[truth] - stored.log_posterior.sel({"method": "locus_dt"}))), display=False)
glue("failure_uniform_guess", -float(np.log(count)), display=False)
glue("failure_map_error", float(stored.map_error.sel({"method": "locus_dt"})), display=False)
glue("failure_limit", float(stored.log_posterior.sel({"method": "bayes"})), display=False)
glue("failure_snr", float(stored.snr_db), display=False)
glue("threshold_snr", float(threshold_db), display=False)

# %% [markdown]
# *Room {glue:text}`failure_group`, snapshot {glue:text}`failure_snapshot`, counted from zero. Table: number of paths, and angle and SNR of the strongest. In the figure, top: the star is the truth, the plus LOCUS-DT's favourite; white lines enclose 90 % of the probability. Bottom: what the estimator found, and the six strongest paths that the twin predicts for each. Angles
# beyond the dotted lines come from behind the array, which mirrors them to the front: 150 degrees look like 30.*
#
# LOCUS-DT gives the truth a log probability of {glue:text}`failure_log_posterior:.1f`; a uniform guess gives {glue:text}`failure_uniform_guess:.1f` and the Bayes limit
# {glue:text}`failure_limit:.1f`. Its favourite is {glue:text}`failure_map_error:.0f` m off. The strongest path at the receiver is at {glue:text}`failure_snr:.1f` dB; the estimator's threshold is {glue:text}`threshold_snr:.1f` dB. The diagnosis,
# by rule from the table above:

# %% tags=["hide-input"]
Markdown(posterior_maps.diagnosis(task, snapshot, most_probable, threshold_db))

# %% [markdown]
# ## The limit, and what it means
#
# A limit is only as good as its arithmetic. The unknown starting time is integrated locally around every peak of the likelihood, however narrow, and tests compare the result
# with brute force at SNRs up to 40 dB.
#
# **What are the phases worth?** The phase-blind receiver in the table does not answer this, because it ignores more than phases: it knows the mean power of a path but not its amplitude.
# The receiver in between, the *phase-free limit*, knows angle, delay and amplitude of every path and takes the phases to be independent and uniform. No method that ignores the
# twin's phases does better on average, as long as those phases are as good as random. Its integral over all phases has no closed form, so it is sampled,
# for {glue:text}`free_snapshots` snapshots in the first {glue:text}`free_layouts` rooms of Eval Random.

# %% tags=["hide-input"]
free_rows = UnknownPhases(opened).open()
phases_frame(free_rows)

# %% tags=["remove-cell"]
glue("free_snapshots", free_rows.sizes["snapshot"], display=False)
glue("free_layouts", len(np.unique(free_rows.group)), display=False)
glue("free_error", unknown_phases.standard_error(free_rows), display=False)
for key, first, second in (
    ("phases_worth", "phase_free", "bayes"),
    ("amplitudes_worth", "phase_blind", "phase_free"),
    ("to_free", "locus_dt", "phase_free"),
):
    worth = metrics.paired(free_rows, first, second, np.random.default_rng(0))
    ends = [float(worth[f"difference{end}"]) for end in ("", "_low", "_high")]
    glue(key, ends[0], display=False)
    glue(f"{key}_interval", number_with_interval(ends, ".2f"), display=False)

# %% [markdown]
# *L with 95 % intervals over rooms, and differences on the same snapshots. Sampling adds a standard error of {glue:text}`free_error:.4f` nats to the phase-free limit.*
#
# Knowing the phases on top of everything else is worth {glue:text}`phases_worth_interval` nats; knowing amplitudes instead of mean powers, {glue:text}`amplitudes_worth_interval`.
# LOCUS-DT, which sees a few estimated paths instead of the samples, lies {glue:text}`to_free_interval` nats above the phase-free limit.
#
# **What if the transmitter is not on the list?** The limit assumes that the twin is exact and that the transmitter is *one of the candidates*. So it answers "which of these
# {glue:text}`candidates_random` places is it?", and may use the phases between paths, which turn once per wavelength of {glue:text}`wavelength:.0f` mm. Nobody has a list that
# contains the transmitter's position to the millimetre. So we move the transmitter a little off its candidate and leave list, twin and noise as they were. (Image
# twin on both sides, the first {glue:text}`moved_layouts` rooms of Eval Random, and, for speed, lists of {glue:text}`moved_candidates`, so these losses cannot be compared with the table's.)

# %% mystnb={"image": {"alt": "Adjusted loss of LOCUS-DT, phase-blind receiver and Bayes limit against the distance of the transmitter from its candidate, with intervals"}} tags=["hide-input"]
moved_rows = MovedTransmitters(opened).open()
off_candidate = moved.summary(moved_rows)
figure = result_figures.moved_figure(off_candidate)

# %% tags=["hide-input"]
moved_frame(off_candidate).droplevel(0, axis=1).T.rename_axis("distance")

# %% tags=["remove-cell"]
glue("moved_layouts", len(np.unique(moved_rows.group)), display=False)
glue("wavelength", 1000 * config.radio.wavelength, display=False)
glue("moved_candidates", int(moved_rows.attrs["num_candidates"]), display=False)
for distance in (0.005, 0.02, 0.4):
    costs = moved.cost(moved_rows, distance)
    for name in costs.method.values:
        ends = [float(costs[f"difference{end}"].sel({"method": name})) for end in ("", "_low", "_high")]
        glue(
            f"cost_{name}_{round(1000 * distance)}", number_with_interval(ends, f"+{three_digits(ends)}"), display=False
        )
blind = moved_rows.log_posterior.sel({"method": "phase_blind", "distance": 0.4})
losses = -blind.values - np.log(moved_rows.attrs["num_candidates"])
glue("moved_median", float(np.median(losses)), display=False)
glue("moved_costly", int((losses > 10).sum()), display=False)
glue("moved_snapshots", losses.size, display=False)
for name in off_candidate.method.values:
    for distance in off_candidate.distance.values:
        loss = float(off_candidate.loss.sel({"method": name, "distance": distance}))
        glue(f"moved_{name}_{round(1000 * distance)}", loss, display=False)

# %% [markdown]
# *Adjusted loss [nat] by distance of the transmitter from its candidate; bars and brackets are 95 % intervals over rooms. The figure is linear up to 5 nats and logarithmic beyond. Above zero, a method is worse than a uniform guess: it is sure of a wrong place.*
#
# A transmitter that is 5 mm off changes the loss of the Bayes limit by {glue:text}`cost_bayes_5` nats, 20 mm by {glue:text}`cost_bayes_20`. At 20 mm the phase-blind receiver's loss changes
# by {glue:text}`cost_phase_blind_20` and LOCUS-DT's by {glue:text}`cost_locus_dt_20`; at 400 mm, by {glue:text}`cost_phase_blind_400` and {glue:text}`cost_locus_dt_400`. A few snapshots dominate such
# means: at 400 mm the phase-blind receiver's median loss is {glue:text}`moved_median:.2f` nats, and {glue:text}`moved_costly` of {glue:text}`moved_snapshots` snapshots cost more than 10 nats. It, too, trusts the twin without reserve: it takes a strong path that is a little off its predicted
# delay or angle to be impossible. The path set of chapter 6 allows for that.
#
# The benefit of exact phases is lost within millimetres, so it is out of reach for anyone who does not know room and transmitter to a small fraction of a wavelength. Of the {glue:text}`to_limit:.2f` nats between LOCUS-DT and the Bayes limit on Eval Random,
# {glue:text}`between_receivers:.2f` need phases and amplitudes that nobody knows in practice. [Chapter 6](06_path_set.ipynb) asks where the other {glue:text}`to_blind:.2f` nats, from LOCUS-DT to the phase-blind receiver, come from.

# %% tags=["interactive"]
# Another room, another transmitter, another method.
from functools import cache

from ipywidgets import interact

task_of = cache(lambda room: posterior_maps.make_task(opened, room, map_points))


def explore(room: int = 0, snapshot: int = 0, method: str = "locus_dt"):
    return result_figures.posterior_figure(task_of(room), method, snapshot)


interact(explore, room=(0, 20), snapshot=(0, 5), method=[*weight_files.METHODS, "bayes"])
