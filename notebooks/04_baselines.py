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
#     - results/test
#     - results/table
#     - results/raw_iq
# ---

# %% [markdown]
# # 4. The baselines
#
# *Section III-C of the paper.*
#
# Is the twin worth the trouble? A network could also look at the observed paths alone and predict a position with an uncertainty. The
# paper compares LOCUS-DT with three such networks. What can they express, how well do they do, and what limits them?

# %% tags=["parameters"]
run = "quick"
room = 1  # test room of the maps
map_points = 101  # points per axis of the maps

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
paths = locus.make_twin("image").trace(layout, pose, layout.sample(500, rng))
observed = locus.estimate(locus.observe(paths.isel(candidate=7), rng))
for name in ("locus_dt", "gmm_cart"):  # with the twin, and without
    posterior = locus.load_scorer(run, name).posterior(paths, observed)
    gain = float(posterior[7]) * posterior.size
    print(f"{name}: {gain:.1f} times as probable as under a uniform guess")

# %% tags=["hide-input"]
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue

from locus.book import paper, tables, words
from locus.book.figures import score_figures, style
from locus.book.studies import score_behaviour
from locus.experiment.case import Case
from locus.experiment.iq_baselines import IqBaselines
from locus.experiment.rows import Rows
from locus.experiment.table import Table
from locus.experiment.weights import load_scorer
from locus.judge import metrics
from locus.score.weight_files import METHOD_TITLES, METHODS

this_run = locus.open_run(run)
config = this_run.config
style.use()

# %% [markdown]
# ## What they see
#
# All three see the same features of the observed paths as LOCUS-DT, plus the receiver's pose as four numbers: its position, and cosine and sine of its heading.
# Two hidden layers of the same widths, 64 and 16, turn them into the parameters of a density over the plane. The baselines see neither walls nor twin: two
# rooms in which the same paths are heard at the same pose get the same answer.
#
# The encoding of the inputs matters to a small network, so each baseline is trained with two:
#
# - **plain**: angles relative to the heading, as the array measures them; the mean in the coordinates of the room (Gauss-Polar: direction relative to the heading);
# - **turned**: angles turned by the heading to the axes of the room; the mean relative to the receiver (Gauss-Polar: direction relative to the axes of the room).
#
# With *plain*, the network has to learn to rotate and to add. This chapter shows both; elsewhere in this book each baseline uses the one with the lower validation loss.
#
# ## Three densities
#
# **Gauss-Cart** is a Gaussian with mean $\boldsymbol\mu$ and covariance $\mathbf Q$, for which the network outputs the Cholesky factor,
#
# $$
# p(\boldsymbol x) = \frac{1}{2\pi \sqrt{\det \mathbf Q}} \exp\!\left(-\tfrac12 (\boldsymbol x - \boldsymbol\mu)^{\mathsf T} \mathbf Q^{-1} (\boldsymbol x - \boldsymbol\mu)\right).
# $$
#
# **Gauss-Polar** is a Gaussian in distance $r$ and direction $\varphi$ from the receiver, truncated at zero distance ($\mathcal N_+$) and
# wrapped around the circle ($\mathcal N_\circ$), with a mean direction that may drift with distance. The factor $1/r$ makes it a density over the plane,
#
# $$
# p(\boldsymbol x) = \frac1r\; \mathcal N_+(r;\, \rho, s^2)\; \mathcal N_\circ\!\left(\varphi;\, m + k\,\frac{r - \rho}{s},\, \sigma^2\right).
# $$
#
# The network outputs the distance $\rho$ and its width $s$, the direction $m$ at that distance, the drift $k$ for each width $s$ farther out, and the width $\sigma$ of the direction.
#
# **GMM-Cart** is a mixture of three Gaussians with weights $\pi_i$,
#
# $$
# p(\boldsymbol x) = \sum_{i=1}^{3} \pi_i\, \mathcal N(\boldsymbol x;\, \boldsymbol\mu_i, \mathbf Q_i), \qquad \sum_i \pi_i = 1.
# $$
#
# Each is evaluated on the candidates and normalised there, like LOCUS-DT's scores, so that all losses are comparable. No candidate is inside an obstacle, so probability that a density
# puts there costs nothing.

# %%
scorers = {name: load_scorer(run, name) for name in METHODS}
table = pd.DataFrame(index=pd.Index(METHOD_TITLES.values(), name="method"))
for name, scorer in scorers.items():
    size = sum(weights.numel() for weights in scorer.parameters())
    table.loc[METHOD_TITLES[name], "parameters"] = f"{size}"
    kept = scorer.options.encoding if name != "locus_dt" else ""
    table.loc[METHOD_TITLES[name], "encoding kept"] = kept
table

# %% [markdown]
# *Number of trained parameters and, for the baselines, the encoding that was better on validation rooms.*
#
# ## The same snapshot, four posteriors
#
# The test room of chapter 3, its snapshot B, and a fine grid of candidates.

# %% mystnb={"image": {"alt": "Four posterior maps of the same room and snapshot: LOCUS-DT, Gauss-Cart, Gauss-Polar and GMM-Cart"}} tags=["hide-input"]
case = Case(config, "test", room)
paths, observed, truth = case.paths, case.observed, case.truth
by_strength = np.argsort(paths.snr_db.isel(path=0).values[truth])
heard, faint = by_strength[len(truth) // 2], by_strength[len(truth) // 3]
grid = score_behaviour.trace_points(case, case.layout.grid(map_points))
maps = {name: scorer.log_posterior(grid, observed) for name, scorer in scorers.items()}
logs = {name: scorer.log_posterior(paths, observed).values for name, scorer in scorers.items()}
gains = {name: np.exp(log[range(len(truth)), truth]) * log.shape[1] for name, log in logs.items()}


def draw_four(snapshot):
    titles = {
        f"{METHOD_TITLES[name]}: truth {words.times(gains[name][snapshot])} uniform": maps[name][snapshot]
        for name in METHODS
    }
    transmitter = (float(paths.x[truth[snapshot]]), float(paths.y[truth[snapshot]]))
    return score_figures.posterior_figure(case.layout, case.pose, titles, [transmitter] * len(titles))


figure = draw_four(heard)

# %% [markdown]
# *One colour scale, each map relative to its own maximum: a map that is bright all over says little. Titles: probability of the truth relative to
# a uniform guess, on the room's own list of candidates.*
#
# And snapshot C, in which little was heard:

# %% mystnb={"image": {"alt": "Four posterior maps of the same room for a faint snapshot: LOCUS-DT, Gauss-Cart, Gauss-Polar and GMM-Cart"}} tags=["hide-input"]
figure = draw_four(faint)

# %% tags=["remove-cell"]
step = config.room.size / (map_points - 1)
for name in METHODS:
    for kind, snapshot in (("heard", heard), ("faint", faint)):
        areas = score_behaviour.islands(maps[name][snapshot], step)
        glue(f"{name}_{kind}_area", float(sum(areas)), display=False)
        glue(f"{name}_{kind}_islands", len(areas), display=False)
        glue(f"{name}_{kind}_gain", float(gains[name][snapshot]), display=False)
islands = [len(score_behaviour.islands(maps[name][faint], step)) for name in METHODS if name != "locus_dt"]
glue("faint_pieces", words.pieces(islands), display=False)
glue("free_area", float(case.layout.free_space.area), display=False)

# %% [markdown]
# *The baselines' smooth hills run through obstacles and across shadows; LOCUS-DT's map ends at them. When little is heard, the baselines can only fall back on what is true in most rooms. LOCUS-DT asks the twin from which places in this room so little would be
# heard.*
#
# The smallest set that holds 90 % of the first snapshot's posterior covers {glue:text}`locus_dt_heard_area:.0f` m² with LOCUS-DT,
# {glue:text}`gauss_cart_heard_area:.0f` m² with Gauss-Cart, {glue:text}`gauss_polar_heard_area:.0f` m² with Gauss-Polar and {glue:text}`gmm_cart_heard_area:.0f` m² with
# GMM-Cart, out of {glue:text}`free_area:.0f` m² of free space. For the second snapshot, LOCUS-DT's set covers {glue:text}`locus_dt_faint_area:.0f` m² in {glue:text}`locus_dt_faint_islands` pieces, and the
# baselines' sets cover {glue:text}`gauss_cart_faint_area:.0f`, {glue:text}`gauss_polar_faint_area:.0f` and {glue:text}`gmm_cart_faint_area:.0f` m²,
# {glue:text}`faint_pieces`.
#
# ## Learning
#
# Loss [(17)](#eq-17), rooms and optimiser are the same as for LOCUS-DT; the learning rate is the paper's for the baselines.

# %% mystnb={"image": {"alt": "Training and validation losses of the three baselines in both encodings against the epoch"}} tags=["hide-input"]
baselines = [name for name in METHODS if name != "locus_dt"]
curves = {
    encoding: score_behaviour.learning_curves(this_run, [f"{name}.{encoding}" for name in baselines])
    for encoding in ("plain", "turned")
}
figure = score_figures.learning_figure(curves)

# %% [markdown]
# *Solid: validation rooms; dots: weights that were kept; dashed: as many training rooms. Zero is a uniform guess. Where a dashed line keeps falling while the solid one
# has stopped or rises, the network overfits. A constant distance only says that one set of rooms is harder.*
#
# ## What they reach
#
# Test rooms, baselines in both encodings, with 95 % intervals over rooms. On the right, **for reference, the values that the paper prints**. Those are for its
# evaluation sets, which have more candidates (1000 random positions, or 696 points of a grid) than the test split, and for its authors' encoding, which
# the paper does not specify. Our results on these sets are in chapter 5.

# %% tags=["hide-input"]
rows = Rows(this_run, "test").open("test")
summary = metrics.summary(rows, rows.attrs["num_candidates"], np.random.default_rng(config.seed))
labels = {"locus_dt": "LOCUS-DT"} | {
    f"{name}.{encoding}": f"{METHOD_TITLES[name]}, {encoding}" for name in baselines for encoding in ("plain", "turned")
}
printed = paper.printed()
score_figures.comparison_table(summary, labels, printed)

# %% tags=["remove-cell"]
for name in METHODS:
    one, theirs = summary.sel({"method": name}), printed.sel({"method": name, "evaluation": "random"})
    for end in ("", "_low", "_high"):
        glue(f"{name}_loss{end}", float(one[f"loss{end}"]), display=False)
    glue(f"{name}_ratio", 100 * float(one.ratio), display=False)
    glue(f"{name}_area", float(rows.area.sel({"method": name}).median()), display=False)
    glue(f"{name}_behind_paper", float(one.loss - theirs.loss), display=False)
    if name != "locus_dt":
        turning = metrics.paired(rows, f"{name}.turned", f"{name}.plain", np.random.default_rng(config.seed))
        lead = metrics.paired(rows, name, "locus_dt", np.random.default_rng(config.seed))
        for end in ("", "_low", "_high"):
            glue(f"{name}_turning{end}", float(turning[f"difference{end}"]), display=False)
            glue(f"{name}_lead{end}", float(lead[f"difference{end}"]), display=False)
glue("test_rooms", int(summary.num_groups), display=False)
glue("test_candidates", int(rows.attrs["num_candidates"]), display=False)

# %% [markdown]
# *Loss and R of LOCUS-DT, and of every baseline in both encodings, and what the paper prints for each method.*
#
# On the same snapshots of {glue:text}`test_rooms` rooms, LOCUS-DT is ahead of Gauss-Cart by {glue:text}`gauss_cart_lead:.2f` nats
# ({glue:text}`gauss_cart_lead_low:.2f` to {glue:text}`gauss_cart_lead_high:.2f`), of Gauss-Polar by {glue:text}`gauss_polar_lead:.2f`
# ({glue:text}`gauss_polar_lead_low:.2f` to {glue:text}`gauss_polar_lead_high:.2f`), of GMM-Cart by {glue:text}`gmm_cart_lead:.2f` ({glue:text}`gmm_cart_lead_low:.2f` to
# {glue:text}`gmm_cart_lead_high:.2f`), each in the encoding that was kept. Turning the angles changes the loss of Gauss-Cart by {glue:text}`gauss_cart_turning:+.2f`
# nats ({glue:text}`gauss_cart_turning_low:+.2f` to {glue:text}`gauss_cart_turning_high:+.2f`), of Gauss-Polar by {glue:text}`gauss_polar_turning:+.2f`
# ({glue:text}`gauss_polar_turning_low:+.2f` to {glue:text}`gauss_polar_turning_high:+.2f`) and of GMM-Cart by {glue:text}`gmm_cart_turning:+.2f`
# ({glue:text}`gmm_cart_turning_low:+.2f` to {glue:text}`gmm_cart_turning_high:+.2f`); negative is better.
#
# Are our baselines weaker than the paper's? A baseline would count as weaker if its loss were more than 0.1 nats higher on the paper's evaluation sets.

# %% tags=["hide-input"]
table = Table(this_run).open()
Markdown(score_figures.fairness(table, curves, printed, config.training))

# %% [markdown]
# ## Samples instead of paths
#
# What do the paper's baselines see? Sec. III-C says "the same full inputs as the LOCUS-DT estimator", Sec. III-D "the receiver pose and IQ observation". The first may mean the
# estimated paths, which are all that LOCUS-DT sees of a snapshot; the baselines above follow that reading. The second, taken literally, means the samples themselves:
# {glue:text}`raw_numbers` real numbers, plus the four of the pose.
#
# So we also train the three densities on samples and pose. Hidden layers, rooms, snapshots, loss, learning rate and the choice of the best epoch are the same. A sample keeps its phase, and
# a magnitude of $r$ times the noise amplitude becomes $\log(1 + r)$, which brings faint and strong snapshots to a common scale. Samples cannot be rotated, so the encoding is *plain*.

# %% mystnb={"image": {"alt": "Training and validation losses of the three baselines against the epoch: with estimated paths, and with samples"}} tags=["hide-input"]
raw = IqBaselines(this_run)
raw_curves, raw_summary = raw.open(), raw.summary()
figure = score_figures.learning_figure({"estimated paths, plain": curves["plain"], "samples": raw_curves})
top = figure.axes[0].set_ylim(top=0.5)

# %% [markdown]
# *As above, cut off at 0.5 nats. Training ends when the validation loss has not improved for {glue:text}`patience` epochs.*

# %% tags=["hide-input"]
tables.inputs_frame(table, raw_summary, printed)

# %% tags=["remove-cell"]
glue("patience", config.training.patience, display=False)
glue("raw_numbers", 2 * config.radio.num_subcarriers * config.radio.num_antennas, display=False)
for name in baselines:
    one = raw_curves.sel({"method": name})
    glue(f"{name}_raw_best", int(one.best_epoch), display=False)
    glue(f"{name}_raw_epochs", int(one.validation.notnull().sum()), display=False)
    for kind in ("train", "validation"):
        last = one[kind].dropna("epoch").values[-1]
        glue(f"{name}_raw_{kind}", float(last), display=False)
    for evaluation in printed.evaluation.values:
        ratio = raw_summary.ratio.sel({"method": name, "evaluation": evaluation})
        glue(f"{name}_raw_{evaluation}", 100 * float(ratio), display=False)
glue("intervals_hold", tables.intervals_hold(table, baselines=True), display=False)

# %% [markdown]
# *R on the paper's evaluation sets with 95 % intervals. Estimated paths: the encoding that was kept, mean of all trainings as in chapter 5, intervals over {glue:text}`intervals_hold`. Samples: one training, intervals over rooms.*
#
# From samples, the networks learn next to nothing that carries over to other rooms. The best epoch of Gauss-Cart is number {glue:text}`gauss_cart_raw_best` of {glue:text}`gauss_cart_raw_epochs`, that of Gauss-Polar {glue:text}`gauss_polar_raw_best` of
# {glue:text}`gauss_polar_raw_epochs`, and that of GMM-Cart {glue:text}`gmm_cart_raw_best` of {glue:text}`gmm_cart_raw_epochs`. After the last epoch, their losses are {glue:text}`gauss_cart_raw_train:.2f`,
# {glue:text}`gauss_polar_raw_train:.2f` and {glue:text}`gmm_cart_raw_train:.2f` nats in training rooms, and {glue:text}`gauss_cart_raw_validation:.2f`,
# {glue:text}`gauss_polar_raw_validation:.2f` and {glue:text}`gmm_cart_raw_validation:.2f` in validation rooms. Start time and
# phase differ in every snapshot, and a network on samples has to learn to ignore them; estimated angles and powers depend on neither.

# %% tags=["hide-input"]
Markdown(tables.which_reading(table, raw_summary, printed))

# %% [markdown]
# ## Where each one falls short
#
# **Gauss-Cart** has one ellipse. If the transmitter may be in front *or* behind, in this bay *or* that one, the mean lies
# between them, where it cannot be, and the ellipse grows until it covers both. On the test rooms its median 90 % set covers {glue:text}`gauss_cart_area:.0f` m²;
# LOCUS-DT's, {glue:text}`locus_dt_area:.0f` m².
#
# **Gauss-Polar** has one sector of a ring. That suits a line of sight, whose direction is known well and whose distance is not. But it has one direction where the
# array leaves two, front and back, and an echo's direction points to a wall, not to the transmitter.
# Its median set covers {glue:text}`gauss_polar_area:.0f` m².
#
# **GMM-Cart** has three ellipses, so it can say "here or there". On the test rooms its loss is {glue:text}`gmm_cart_loss:.2f` nats, against {glue:text}`gauss_cart_loss:.2f` and
# {glue:text}`gauss_polar_loss:.2f` for the other two. But its hills stay smooth, and their places can depend only on observation and pose. The edge of a shadow, or the mirror image of a
# transmitter in a wall, is somewhere else in every room, and nobody tells the network where the walls are.
#
# So two things are missing: a flexible shape and a map of the room. More components would help with the first; the second is what the twin is for.

# %% tags=["interactive"]
# Choose a method, a room and a snapshot.
from ipywidgets import interact


def explore(method: str = "gmm_cart", room: int = 1, snapshot: int = 0):
    case = Case(config, "test", room)
    grid = score_behaviour.trace_points(case, case.layout.grid(41))
    posterior = load_scorer(run, method).log_posterior(grid, case.observed.isel(snapshot=snapshot))
    where = [tuple(case.transmitters.position[snapshot])]
    return score_figures.posterior_figure(case.layout, case.pose, {METHOD_TITLES[method]: posterior}, where, 1)


interact(explore, method=list(METHODS), room=(0, 9), snapshot=(0, 4))
