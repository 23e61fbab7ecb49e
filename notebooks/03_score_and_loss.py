# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   locus:
#     needs:
#     - models/locus_dt
#     - results/test
# ---

# %% [markdown]
# # 3. Score and loss
#
# *Sections II-D, II-E and II-F of the paper.*
#
# The twin says what would be heard from every place; the estimator says what was heard. We want a map,
#
# (eq-2)=
# $$
# p(\boldsymbol x^t \mid \mathcal L, \boldsymbol p, \boldsymbol y): \tag{2}
# $$
#
# the probability of each place given the room, the receiver's pose and the samples. How do two lists of paths become a probability, and
# how can a network learn that from rooms that it will never see again?

# %% tags=["parameters"]
run = "quick"
room = 1  # test room of the figures
num_pool = 20_000  # candidates that approximate the integral
num_rooms = 20  # test rooms re-estimated at other false-alarm rates

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
paths = locus.make_twin("image").trace(layout, pose, layout.sample(500, rng))
observed = locus.estimate(locus.observe(paths.isel(candidate=7), rng))
posterior = locus.load_scorer(run).posterior(paths, observed)
gain = float(posterior[7]) * posterior.size
print(f"The truth is {gain:.1f} times as probable as under a uniform guess")

# %% tags=["hide-input"]
import torch
from myst_nb import glue

from locus.book.figures import score_figures, style
from locus.book.studies import score_behaviour
from locus.experiment.case import Case
from locus.experiment.rows import Rows
from locus.experiment.weights import load_scorer
from locus.judge import metrics

this_run = locus.open_run(run)
config = this_run.config
style.use()

# %% [markdown]
# ## What the network sees
#
# A *score* says how well the paths that the twin predicts for a candidate fit the paths that were observed,
#
# (eq-8)=
# $$
# g_{\boldsymbol\omega}(\boldsymbol x^t, \mathcal L, \boldsymbol p, \boldsymbol y)
# = G_{\boldsymbol\omega}\!\left[\{\boldsymbol\psi_k^{\mathsf{DT}}(\boldsymbol x^t)\}, \{\boldsymbol\psi_k^{\mathsf{obs}}\}\right]. \tag{8}
# $$
#
# The room and the pose enter through the twin's paths alone. That is why one network serves all rooms: it never sees a wall or a coordinate.
#
# Below is the strongest snapshot of one test room. Its observed paths are the same in all three panels, next to what the twin predicts for the true candidate, for the best-scoring wrong candidate, and for a middling one.

# %% mystnb={"image": {"alt": "Angle against SNR of the observed paths and of the twin's paths, for the true candidate, the best wrong one and a middling one"}} tags=["hide-input"]
scorer = load_scorer(run)
case = Case(config, "test", room)
paths, observed, truth = case.paths, case.observed, case.truth
by_strength = np.argsort(paths.snr_db.isel(path=0).values[truth])
strongest = int(by_strength[-1])
score = score_behaviour.scores(scorer, paths, observed)[strongest]
ranked = [int(candidate) for candidate in np.argsort(-score) if candidate != truth[strongest]]
place = np.stack([paths.x, paths.y], axis=1)
shown = {"true candidate": truth[strongest], "best wrong one": ranked[0], "middling one": ranked[len(ranked) // 2]}
away = {title: np.linalg.norm(place[index] - place[truth[strongest]]) for title, index in shown.items()}
top_paths = paths.isel(path=slice(config.estimator.num_paths))
pairs = {
    f"{title}{f', {away[title]:.0f} m off' if away[title] else ''}: score {score[index]:.1f}".replace("-", "−"): (
        top_paths.isel(candidate=index)
    )
    for title, index in shown.items()
}
figure = score_figures.matching_figure(observed.isel(snapshot=strongest), pairs, config.features.snr_range)

# %% tags=["remove-cell"]
glue("score_true", float(score[truth[strongest]]), display=False)
glue("score_middling", float(score[shown["middling one"]]), display=False)
glue("score_best_wrong", float(score[ranked[0]]), display=False)
glue("best_wrong_metres", float(away["best wrong one"]), display=False)
glue("rank_of_truth", int((score > score[truth[strongest]]).sum()) + 1, display=False)
glue("num_candidates", int(score.size), display=False)
glue("num_side_paths", scorer.options.num_paths, display=False)
glue("num_pair", 2 * scorer.options.num_features, display=False)
for name, end in zip(("low", "high"), config.features.snr_range, strict=True):
    glue(f"snr_{name}", float(end), display=False)

# %% [markdown]
# *Top: crosses lie near circles, or on the dotted lines that mark paths from behind (grey), which a linear array hears mirrored to the front. The weakest paths are not
# heard, and paths that arrive close together disturb each other's strengths. Middle and bottom: wrong candidates, with other angles or strengths. Circles at {glue:text}`snr_low:.0f` dB are weaker still: the network clips there. Only differences of scores matter: the exponential of a difference is a ratio of probabilities.*
#
# Of {glue:text}`num_candidates` candidates, the true one has rank {glue:text}`rank_of_truth`. It scores {glue:text}`score_true:.1f`; the best wrong one,
# {glue:text}`best_wrong_metres:.0f` m away, {glue:text}`score_best_wrong:.1f`; a middling one, {glue:text}`score_middling:.1f`. Nobody tells the network about mirrored angles: it has to learn them.
#
# Each path becomes three numbers: cosine and sine of its angle, and its SNR, clipped to the range from {glue:text}`snr_low:.0f` to {glue:text}`snr_high:.0f` dB and scaled to [0, 1]. The paper drops the delays, because
# transmitter and receiver are not synchronised; [chapter 6](06_path_set.ipynb) uses their differences, which are known all the same. With {glue:text}`num_side_paths` paths on each side there are {glue:text}`num_pair` numbers; a missing path is three zeros. For the true candidate:

# %%
twin_numbers = scorer.candidates(paths)
seen_numbers = scorer.conditions(paths, observed)
both = twin_numbers[truth[strongest]], seen_numbers[strongest]
score_figures.feature_table(*both)

# %% [markdown]
# *What the network sees of the true candidate: three numbers for each path, strongest first.*
#
# ## The network, and a first layer in two halves
#
# Two hidden layers, 64 and 16 wide, turn these numbers into one. Before its ReLU the first layer is linear, so it is a sum of two terms, one from the twin's
# numbers $\boldsymbol t$ and one from the observation's $\boldsymbol o$,
#
# $$
# g = \boldsymbol w^{\mathsf T} \operatorname{relu}\!\big(\mathbf C \operatorname{relu}(\mathbf A \boldsymbol t + \mathbf B \boldsymbol o + \boldsymbol b) + \boldsymbol c\big) + d,
# $$
#
# and each half is computed once per candidate or once per snapshot, instead of once for every pair.

# %%
joined = torch.cat([scorer.twin, scorer.observation], dim=1)
pair = torch.from_numpy(np.concatenate(both))
first = torch.relu(joined @ pair + scorer.bias)
by_hand = scorer.last(torch.relu(scorer.hidden(first)))
num_parameters = sum(parameter.numel() for parameter in scorer.parameters())
in_halves = score[truth[strongest]]
print(f"{num_parameters:,} parameters")
print(f"in one piece {float(by_hand):.4f}, in two halves {in_halves:.4f}")

# %% tags=["remove-cell"]
num_snapshots, width = len(truth), scorer.twin.shape[1]
glue("num_parameters", num_parameters, display=False)
glue("kilobytes", 4 * num_parameters / 1000, display=False)
glue("halves_differ", abs(float(by_hand) - float(score[truth[strongest]])), display=False)
saving = 2 * width * score.size * num_snapshots / (width * (score.size + num_snapshots))
glue("first_layer_saving", float(saving), display=False)
glue("num_snapshots", num_snapshots, display=False)

# %% [markdown]
# Both ways give the same number, and the split needs {glue:text}`first_layer_saving:.0f` times fewer multiplications in the first layer for {glue:text}`num_candidates` candidates and
# {glue:text}`num_snapshots` snapshots. The {glue:text}`num_parameters` parameters fit into {glue:text}`kilobytes:.0f` kB. One of them, $d$, shifts all scores alike and so changes no posterior.
#
# ## From scores to a posterior
#
# With a prior $p_0$, here uniform over the free space, the posterior is
#
# (eq-9)=
# $$
# \hat p_{\boldsymbol\omega}(\boldsymbol x^t \mid \mathcal L, \boldsymbol p, \boldsymbol y)
# = \frac{e^{g_{\boldsymbol\omega}(\boldsymbol x^t, \mathcal L, \boldsymbol p, \boldsymbol y)}\, p_0(\boldsymbol x^t)}{Z_{\boldsymbol\omega}(\boldsymbol y; \mathcal L, \boldsymbol p)}, \tag{9}
# $$
#
# (eq-10)=
# $$
# Z_{\boldsymbol\omega}(\boldsymbol y; \mathcal L, \boldsymbol p)
# = \int e^{g_{\boldsymbol\omega}(\boldsymbol x^t, \mathcal L, \boldsymbol p, \boldsymbol y)}\, p_0(\boldsymbol x^t)\; d\boldsymbol x^t. \tag{10}
# $$
#
# The first maps: every point of a fine grid is a candidate, and four snapshots of the room are scored on it, from the strongest to the weakest.

# %% mystnb={"image": {"alt": "Four posterior maps of the same room, for snapshots from strong to weak, with receiver, transmitter and obstacles"}} tags=["hide-input"]
count = len(truth)
four = by_strength[[-1, count // 2, count // 3, 0]]
grid = score_behaviour.trace_points(case, case.layout.grid(101))
log_maps = scorer.log_posterior(grid, observed.isel(snapshot=four))
found = observed.valid.sum("path").values
titles = [f"{paths.snr_db.values[truth[s], 0]:.0f} dB, paths found: {found[s]}".replace("-", "−") for s in four]
maps = {f"{label}: {title}": value for label, title, value in zip("ABCD", titles, log_maps, strict=True)}
figure = score_figures.posterior_figure(case.layout, case.pose, maps, [tuple(place[truth[s]]) for s in four])

# %% tags=["remove-cell"]
for name, snapshot, value in zip(("strong", "middling", "weak", "weakest"), four, log_maps, strict=True):
    areas = score_behaviour.islands(value, config.room.size / 100)
    glue(f"{name}_islands", len(areas), display=False)
    glue(f"{name}_area", float(sum(areas)), display=False)
    glue(f"{name}_found", int(found[snapshot]), display=False)
glue("free_area", float(case.layout.free_space.area), display=False)

# %% [markdown]
# *Titles give the SNR of the strongest true path. Brighter is more probable; the darkest places are less probable than the best by a factor of 20,000
# or more. White lines enclose the smallest set that holds 90 % of the probability. The transmitters do not stand on grid points.*
#
# Where paths were found, look for beams that end at shadows. Hearing little is information, too: it rules out the places from which more would be heard. The edges of the maps are those of chapter 1, the shadows of
# corners, where a path appears or disappears.
#
# The smallest set of points that holds 90 % of the probability covers {glue:text}`strong_area:.0f` m² in A, {glue:text}`middling_area:.0f` m² in B,
# {glue:text}`weak_area:.0f` m² in C and {glue:text}`weakest_area:.0f` m² in D, of {glue:text}`free_area:.0f` m² of free space. From A to D it consists of
# {glue:text}`strong_islands`, {glue:text}`middling_islands`, {glue:text}`weak_islands` and {glue:text}`weakest_islands` separate pieces. No point estimate with an error bar can describe that.
#
# ## A loss that needs no integral
#
# The training data are snapshots from many rooms, each with a list of candidates, one of which is the truth,
#
# (eq-11)=
# $$
# \mathcal D = \left\{(\mathcal L_m, \boldsymbol p_m, \mathcal C_m, \boldsymbol y_m, \boldsymbol x_m^t)\right\}_{m=1}^M, \tag{11}
# $$
#
# (eq-12)=
# $$
# \mathcal C_m = \{\bar{\boldsymbol x}_{mj}^t\}_{j=1}^{N_m} \subset \mathbb R^d, \tag{12}
# $$
#
# (eq-13)=
# $$
# \boldsymbol x_m^t = \bar{\boldsymbol x}_{m c_m^\star}^t, \tag{13}
# $$
#
# and a score for each of them,
#
# (eq-14)=
# $$
# g_{mj} = g_{\boldsymbol\omega}(\bar{\boldsymbol x}_{mj}^t, \mathcal L_m, \boldsymbol p_m, \boldsymbol y_m), \ \ j = 1, \ldots, N_m. \tag{14}
# $$
#
# The ideal objective is the cross-entropy, which is small when $\hat p_m = \hat p_{\boldsymbol\omega}(\boldsymbol x_m^t \mid \mathcal L_m, \boldsymbol p_m, \boldsymbol y_m)$, the probability of the truth, is large;
#
# (eq-15)=
# $$
# \mathcal L_{\mathrm{CE}}(\boldsymbol\omega) = -\frac1M \sum_{m=1}^M \log \hat p_m; \tag{15}
# $$
#
# its integral becomes a sum over the candidates (the factor $1/N_m$ of a mean, and the uniform prior, only add a constant to the loss),
#
# (eq-16)=
# $$
# \hat Z_{\boldsymbol\omega}(\boldsymbol y_m; \mathcal L_m, \boldsymbol p_m) = \sum_{j=1}^{N_m} e^{g_{mj}}, \tag{16}
# $$
#
# which leaves the usual loss of a classifier whose classes are the candidates,
#
# (eq-17)=
# $$
# \mathcal L(\boldsymbol\omega) = \frac1M \sum_{m=1}^M \left[-g_{m c_m^\star} + \log\!\left(\sum_{j=1}^{N_m} e^{g_{mj}}\right)\right]. \tag{17}
# $$
#
# ### How many candidates are enough?
#
# The *adjusted loss* is the loss [(17)](#eq-17) minus $\log N_m$, so that a uniform guess has 0 whatever the length of its list. A list of candidates is a random sample of the room. If the posterior is a small spot, few candidates fall into it, and the sum is a poor approximation of the
# integral. We trace very many candidates of the same room, take their mean as the integral, and draw lists of various lengths from them, for
# snapshots A, B and C.

# %% mystnb={"image": {"alt": "Left: error of the log normalising constant against the number of candidates. Right: adjusted loss against the number of candidates, with its lower bound"}} tags=["hide-input"]
rng = np.random.default_rng(config.seed)
pool = score_behaviour.trace_points(case, case.layout.sample(num_pool, rng))
three = four[:3]
pool_scores = score_behaviour.scores(scorer, pool, observed.isel(snapshot=three))
true_scores = score_behaviour.scores(scorer, paths, observed)[three, truth[three]]
sizes = [10, 20, 50, 100, 200, 500, 1000, 2000]
study = score_behaviour.sampled_normaliser(pool_scores, true_scores, sizes, rng)
figure = score_figures.normaliser_figure(study, ["A", "B", "C"])

# %% tags=["remove-cell"]
spread = abs(study.log_ratio.sel(quantile=[0.05, 0.95])).max("quantile")
for number, name in enumerate(("strong", "middling", "weak")):
    glue(f"share_{name}", 100 * float(study["share"][number]), display=False)
    glue(f"spread_500_{name}", float(spread.sel(size=500)[number]), display=False)
    glue(f"spread_20_{name}", float(spread.sel(size=20)[number]), display=False)

# %% [markdown]
# *Lines: median over many lists; bands: 90 % of them. Left: the mean of $e^g$ over a list converges to the integral [(10)](#eq-10), the more slowly the smaller the spot and the sharper its edge. Right: the adjusted
# loss. The truth is always on the list, so the loss cannot fall below the dark dotted line: a short list is an easy exam.*
#
# The effective areas of the posteriors, $(\int p)^2 / \int p^2$, are {glue:text}`share_strong:.2f`, {glue:text}`share_middling:.2f` and {glue:text}`share_weak:.1f` % of the free space for A, B and C. With
# the paper's 500 candidates, nine lists in ten give $\log Z$ to within {glue:text}`spread_500_strong:.1f`, {glue:text}`spread_500_middling:.1f` and {glue:text}`spread_500_weak:.1f` nats;
# with 20, only to within {glue:text}`spread_20_strong:.1f`, {glue:text}`spread_20_middling:.1f` and {glue:text}`spread_20_weak:.1f`. As a rule of thumb, several candidates should fall into the
# spot. Two things follow. A loss is meaningful only together with its number of candidates. And *training* gets by
# with far fewer candidates: because the truth is always on the list, the posterior that minimises [(17)](#eq-17) is the same for lists of every length; short lists only make its gradient noisier.
#
# ## Training
#
# AdamW minimises [(17)](#eq-17). Each step scores a snapshot's true candidate against {glue:text}`num_negatives` wrong ones, drawn anew.
# Some rooms are set aside for validation, and the weights of the best epoch are kept. The curves show the adjusted loss over all candidates; 0 would be a
# uniform guess.

# %% mystnb={"image": {"alt": "Training and validation loss of LOCUS-DT against the epoch"}} tags=["hide-input"]
curves = score_behaviour.learning_curves(this_run, ["locus_dt"])
figure = score_figures.learning_figure({"": curves})

# %% tags=["remove-cell"]
best = curves.sel({"method": "locus_dt"}).sel(epoch=int(curves.best_epoch[0]))
glue("num_layouts", config.training.num_layouts - config.training.num_validation_layouts, display=False)
glue("num_validation", config.training.num_validation_layouts, display=False)
glue("num_negatives", min(config.training.num_negatives, config.training.num_candidates - 1), display=False)
glue("best_epoch", int(curves.best_epoch[0]), display=False)
glue("best_train", float(best.train), display=False)
glue("best_validation", float(best.validation), display=False)

# %% [markdown]
# *Solid: validation rooms; the dot marks the weights that were kept. Dashed: as many training rooms. The gap between the lines is overfitting,
# plus how much harder one set of rooms happens to be; more rooms shrink both.*
#
# The network is trained on {glue:text}`num_layouts` rooms and validated on {glue:text}`num_validation`, with {glue:text}`num_negatives` wrong candidates per step. The best epoch is number
# {glue:text}`best_epoch`, with {glue:text}`best_validation:.2f` nats in validation and {glue:text}`best_train:.2f` in training.
#
# ## Rooms it has never seen
#
# What counts is the test split. $\mathcal L$, in the paper both a room and a loss, is here the adjusted loss. The gain $\mathcal G = e^{-\mathcal L}$ is the probability of the truth relative to a
# uniform guess, and $\mathcal R$ the share of the largest possible log gain. Brackets are 95 % intervals over rooms.

# %%
rows = Rows(this_run, "test").open("test")
rng = np.random.default_rng(config.seed)
summary = metrics.summary(rows, rows.attrs["num_candidates"], rng)
score_figures.summary_table(summary, {"locus_dt": "LOCUS-DT, test split"})

# %% tags=["remove-cell"]
test = summary.sel({"method": "locus_dt"})
for name in ("loss", "gain", "ratio"):
    for end in ("", "_low", "_high"):
        glue(f"test_{name}{end}", float(test[name + end]) * (100 if name == "ratio" else 1), display=False)
glue("test_rooms", int(summary.num_groups), display=False)
glue("test_snapshots", int(summary.num_snapshots), display=False)

# %% [markdown]
# *Loss, gain and R on the test split, with 95 % intervals over rooms.*
#
# Across the {glue:text}`test_snapshots` snapshots of {glue:text}`test_rooms` rooms, the truth is {glue:text}`test_gain:.1f` times as probable as under a uniform guess (geometric mean):
# L = {glue:text}`test_loss:.2f` nats ({glue:text}`test_loss_low:.2f` to {glue:text}`test_loss_high:.2f`), or R = {glue:text}`test_ratio:.1f` %. [Chapter 4](04_baselines.ipynb)
# asks what that is worth.
#
# ## How strict should the estimator be?
#
# The estimator's threshold is set by the false-alarm rate, the share of pure-noise snapshots in which it would find a path. We re-estimate the snapshots of the first test
# rooms at other rates and score them with the same weights. **These were trained at the run's own rate**, so the others are at a disadvantage: this
# measures how much a wrong rate costs, not which rate is best.

# %% tags=["hide-input"]
own = config.estimator.false_alarm
rates = sorted({0.001, 0.01, 0.1, 0.6, own})
again = score_behaviour.false_alarm_rows(config, scorer, rates, min(num_rooms, config.training.num_test_layouts))
losses = metrics.summary(again, config.training.num_candidates, np.random.default_rng(config.seed))
table = score_figures.summary_table(losses, {f"{rate:g}": f"{100 * rate:g} %" for rate in rates})[["L [nat]"]]
differences = [metrics.paired(again, f"{rate:g}", f"{own:g}", np.random.default_rng(config.seed)) for rate in rates]
table.insert(0, "threshold [dB]", again.threshold_db.values.round(1))
table.insert(1, "paths found", again.num_paths.mean("snapshot").values.round(2))
table["against the run’s rate [nat]"] = [score_figures.interval_text(one, "difference") for one in differences]
table.rename_axis("false-alarm rate")

# %% tags=["remove-cell"]
glue("own_rate", 100 * own, display=False)
glue("rate_rooms", int(losses.num_groups), display=False)
for name, rate in (("strict", 0.001), ("lax", 0.6)):
    one = differences[rates.index(rate)]
    glue(f"{name}_rate", 100 * rate, display=False)
    for end in ("", "_low", "_high"):
        glue(f"{name}_costs{end}", float(one[f"difference{end}"]), display=False)
    glue(f"{name}_paths", float(again.num_paths.sel({"method": f"{rate:g}"}).mean()), display=False)

# %% [markdown]
# *Paths found: mean per snapshot. Last column: loss at this rate minus the loss at the run's own rate, {glue:text}`own_rate:.0f` %, on the same snapshots of {glue:text}`rate_rooms` rooms; positive is worse.*
#
# A false-alarm rate of {glue:text}`strict_rate:.1f` % changes the loss by {glue:text}`strict_costs:+.2f` nats ({glue:text}`strict_costs_low:+.2f` to {glue:text}`strict_costs_high:+.2f`),
# one of {glue:text}`lax_rate:.0f` % by {glue:text}`lax_costs:+.2f` ({glue:text}`lax_costs_low:+.2f` to {glue:text}`lax_costs_high:+.2f`). A high threshold drops
# weak paths that the network saw in training; a low one lets in more false paths than it saw. A network trained at each rate might make up for some of this.

# %% tags=["interactive"]
# Drag the sliders: another room, another snapshot, more or fewer candidates.
from ipywidgets import interact


def explore(room: int = 1, snapshot: int = 0, points: int = 41):
    case = Case(config, "test", room)
    grid = score_behaviour.trace_points(case, case.layout.grid(points))
    posterior = load_scorer(run).log_posterior(grid, case.observed.isel(snapshot=snapshot))
    where = [tuple(case.transmitters.position[snapshot])]
    return score_figures.posterior_figure(
        case.layout, case.pose, {f"room {room}, snapshot {snapshot}": posterior}, where, 1
    )


interact(explore, room=(0, 9), snapshot=(0, 4), points=(21, 101, 20))
