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
#     - results/table
#     - results/nats
#     - results/any_radio
# ---

# %% [markdown]
# # 6. Path sets
#
# *Beyond the paper: a likelihood from theory, with a few fitted constants.*
#
# LOCUS-DT's network learned to compare two lists of six paths, for one radio, one transmit power and exact floor plans. Another array needs another training. But theory already says how observed paths
# follow from true ones: how often a path of a given strength is found, how accurate its estimated angle and delay are, and how many
# false paths noise adds. This chapter turns that into a likelihood, and shows what it gains and where.

# %% tags=["parameters"]
run = "quick"
room = 0  # of Eval Random
snr = -15.0  # per sample, of the strongest path of the snapshot shown [dB]

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
paths = locus.make_twin("image").trace(layout, pose, layout.sample(500, rng))
scorer = locus.PathSet()  # no weights, any radio
iq = locus.observe(paths.isel(candidate=7), rng)
observed = locus.estimate(iq, scorer.estimator, residual=True)
posterior = scorer.posterior(paths, observed)
gain = float(posterior[7]) * posterior.size
print(f"The truth is {gain:.1f} times as probable as under a uniform guess")

# %% tags=["hide-input"]
import dataclasses
import json

import pandas as pd
from myst_nb import glue

from locus.book.figures import style
from locus.book.figures.nats_figures import nats_figure
from locus.book.figures.path_set_figures import pairs_figure
from locus.book.figures.radio_figures import radio_figure, radio_frame
from locus.book.tables import calibration_frame, number_with_interval
from locus.experiment import any_radio, nats, path_set_fit, scorers
from locus.experiment.any_radio import AnyRadio
from locus.experiment.case import Case
from locus.experiment.nats import Nats
from locus.experiment.path_set_fit import PathSetFit
from locus.experiment.rows import Rows
from locus.experiment.run import repository
from locus.experiment.table import EVALUATION_TITLES, SCORER_TITLES, Table
from locus.judge.credible import CREDIBLE_MASS
from locus.score.weight_files import read_tensors
from locus.settings import listing

opened = locus.open_run(run)
config = opened.config
path_set = scorers.load(opened, "path_set")
style.use()

# %% tags=["remove-cell"]
case = Case(config, "eval_random", room)
strongest = case.transmitters.paths.snr_db.isel(path=0).values
snapshot = int(np.abs(strongest - snr).argmin())
truth = int(case.truth[snapshot])
observed = case.seen_by(path_set).isel(snapshot=snapshot)
ours = path_set.log_posterior(case.paths, observed).values
network = locus.load_scorer(run).log_posterior(case.paths, case.observed.isel(snapshot=snapshot)).values
others = np.where(np.arange(len(network)) == truth, -np.inf, network)
rival = int(others.argmax())
glue("snr", float(strongest[snapshot]), display=False)
for name, logs in (("ours", ours), ("network", network)):
    glue(f"odds_{name}", float(np.exp(logs[truth] - logs[rival])), display=False)
glue("false_alarm", 100 * path_set.estimator.false_alarm, display=False)
glue("usual_false_alarm", 100 * config.estimator.false_alarm, display=False)
distance = np.hypot(*(case.candidates[truth] - case.candidates[rival]))
glue("rival_distance", float(distance), display=False)

# %% [markdown]
# ## What the network does not see
#
# The paper's network sees angles and strengths. It ignores delays, because the receiver does not know when the transmitter sent: all delays of a snapshot share one unknown offset. But their
# differences are known. And the estimator reports a path only above a threshold, which noise alone exceeds in {glue:text}`usual_false_alarm:g` % of snapshots, so the information in weaker paths is lost.
#
# Below is one snapshot of Eval Random whose strongest path has {glue:text}`snr:.0f` dB per sample, as points in the plane of angle and delay. On the left are the paths that the twin traces for the true candidate, on the
# right those of LOCUS-DT's favourite among the others, {glue:text}`rival_distance:.0f` m away. The unknown offset moves all crosses up or down together; each panel uses the one that fits best.

# %% mystnb={"image": {"alt": "Traced and observed paths of one snapshot in the plane of angle and delay, for the true candidate and a wrong one"}} tags=["hide-input"]
titles = {"true candidate": truth, "LOCUS-DT’s favourite among the others": rival}
figure = pairs_figure(case.paths, observed, titles, config.radio)

# %% [markdown]
# *Circles: traced paths; those with less than half the energy of the noise are not drawn. Crosses: observed paths, estimated with a low threshold, so that some are false. Larger circles are stronger.*
#
# LOCUS-DT makes the truth {glue:text}`odds_network:.2g` times as probable as the other candidate; the path set makes it {glue:text}`odds_ours:.2g` times as probable.
#
# ## How sets of paths are compared
#
# With $E$ and $x$ the energies of a traced and an observed path after integration over all $N$ subcarriers and $M$ antennas, in units of the noise:
#
# - **Found or not.** The estimator takes the highest peak over angle and delay, so $2x$ is noncentral chi-square with four degrees of freedom and noncentrality $2E$. A path is reported if $x$ exceeds the threshold and it is among
#   the six strongest.
# - **Where.** The sine of its angle and its delay have the variances of the Cramér-Rao bound, plus what estimator and twin add, which is fitted. A share of the estimates is disturbed by other paths and has larger errors.
# - **False paths** occur at the rate that the threshold implies, and paths unknown to the twin at a small rate of their own; together they are the *clutter*.
# - **The offset** is integrated out, not guessed, and any path may be missed.
# - **Merged paths.** Two paths that the twin puts side by side may be reported as one: at a distance of $d$ resolution cells with probability $\exp(-d^2 / d_0^2)$, with $d_0$ fitted. A cell is $2/M$ in the sine of the angle and one sample in delay.
# - **Left over.** An unreported path below the threshold still leaves its energy. If the twin knows where to look, the matched filter's power $P$ there, with all reported paths subtracted, replaces "not reported": a path makes it
#   $\mathrm{e}^{-E} I_0(2 \sqrt{E P})$ times as probable as noise alone (*soft detection*).
# - **A wrong twin.** The likelihood is averaged over twins from exact up to a tolerance: by default, the plan off by up to {glue:text}`tolerance_plan:g` m, the position by up to {glue:text}`tolerance_position:g` m, the compass by up to {glue:text}`tolerance_heading:.0f` degrees and each reflection by up to {glue:text}`tolerance_material:g` dB. Errors of position and compass are common to all
#   paths of a snapshot, through the exact derivatives of lengths and angles. One component keeps all walls in place, but obstacles are gone or new: each path is missing with a probability of {glue:text}`changed_miss:.0f` %.
# - **A floor.** {glue:text}`floor:.1f` % of the probability is reserved for whatever the model does not know, spread evenly over all candidates, so no place gets more than {glue:text}`most:.1f` %.
# - **Doubt.** Errors of walls that several paths share are taken to be independent. So where a snapshot suggests a wrong twin, the logarithm of the likelihood is divided by up to {glue:text}`most_doubt:.1f`.
#
# The module `locus.score.path_set` has the formulas. The likelihood multiplies, over the observed paths $q$, what clutter and all traced paths $j$ may contribute:
#
# $$
# \begin{aligned}
# p(&\text{observed paths} \mid \boldsymbol x^t) \\
# &\propto \int \mathrm{d}t\, \prod_j m_j\, \prod_q \Big[ c_q + \sum_j \frac{f_{jq}(t)}{m_j} \Big],
# \end{aligned}
# $$
#
# where $f_{jq}$ is the density of observing $q$ from $j$ at offset $t$, $m_j$ the probability of missing $j$, and $c_q$ the density of clutter. For each $j$, $f$ and $m$ sum to one over all possible observations. One traced path may explain several observed ones: the exact sum over assignments is
# slower and hardly differs.
#
# ### What is fitted
#
# Theory leaves a few constants open. They do not depend on the radio, and were fitted by L-BFGS to the paper's own loss on {glue:text}`fit_rooms` training rooms, half of them with wrong twins:

# %% tags=["hide-input"]
header = read_tensors(PathSetFit(opened).path)[1]
columns = {"guessed": type(path_set.constants)(), "fitted": path_set.constants}
fitted = pd.DataFrame(
    {
        title: {
            name: ", ".join(f"{one:.3g}" for one in np.atleast_1d(value))
            for name, value in dataclasses.asdict(part).items()
            if name not in path_set_fit.CHOSEN
        }
        for title, part in columns.items()
    }
)
meanings = pd.Series(listing.meanings(type(path_set.constants)), name="meaning").str.split().str.join(" ")
meanings.str.rstrip(".").to_frame().join(fitted, how="right")

# %% tags=["remove-cell"]
measured = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))
glue("fit_rooms", header["recipe"]["groups"][0], display=False)
glue("fit_candidates", path_set_fit.NUM_CANDIDATES, display=False)
glue("validation_rooms", header["recipe"]["groups"][1], display=False)
chosen = header["validation"][f"{path_set.constants.false_alarm:g}"]
usual = header["validation"]["0.3"]
for kind in ("exact", "wrong"):
    if chosen[kind] is not None:  # a small run has no rooms of one kind
        glue(f"fit_gain_{kind}", chosen[kind] - header["unfitted"][kind], display=False)
        glue(f"hard_cost_{kind}", usual[kind] - chosen[kind], display=False)
    residual = measured["residual_network"]
    glue(f"residual_{kind}", residual[f"{kind}_after"] - residual[f"{kind}_before"], display=False)
parts = measured["path_set_parts"]
glue("part_rooms", parts["num_rooms"], display=False)
glue("floor", 100 * path_set.constants.floor, display=False)
glue("most", 100 - 100 * path_set.constants.floor, display=False)
glue("changed_miss", 100 * path_set.constants.changed_miss, display=False)
for name, value in dataclasses.asdict(locus.Tolerance()).items():
    glue(
        f"tolerance_{name.removesuffix('_db')}", float(np.degrees(value)) if name == "heading" else value, display=False
    )
glue("most_doubt", 1 + path_set.constants.doubt, display=False)
glue("milliseconds", measured["path_set"]["milliseconds"]["path_set"]["alone"], display=False)
glue("milliseconds_network", measured["path_set"]["milliseconds"]["locus_dt"]["alone"], display=False)

# %% [markdown]
# *The constants as guessed beforehand and as fitted.* The floor, doubt, the false-alarm rate, and what concerns displaced and changed obstacles are not among them: they were set by hand, or chosen on held-out rooms. On {glue:text}`validation_rooms` held-out rooms, with {glue:text}`fit_candidates` candidates each, the fit changes the loss by {glue:text}`fit_gain_exact:+.3f` nats with exact twins and by
# {glue:text}`fit_gain_wrong:+.3f` with wrong ones: the guesses were already good. The false-alarm rate, the share of pure-noise snapshots in which a path is found, is
# {glue:text}`false_alarm:g` % here; the {glue:text}`usual_false_alarm:g` % of the other chapters changes the loss by {glue:text}`hard_cost_exact:+.3f` and {glue:text}`hard_cost_wrong:+.3f`: what a higher threshold hides is found in what is left over.
#
# A *small network on top*, which corrects the score of each pair of paths, changes the loss by {glue:text}`residual_exact:+.2f` and {glue:text}`residual_wrong:+.2f`, and was dropped. Leaving out one part of what was kept changes the loss by:

# %% tags=["hide-input"]
names = {"exact": "exact twins", "wrong": "wrong twins", "missing": "one obstacle missing"}
pd.DataFrame(
    {
        (title, what): {
            name: f"{one['change']:+.3f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{one['error']:.3f}"
            if what == "change of loss [nat]"
            else f"{100 * one['covered']:.1f}"
            for name, one in parts[kind].items()
            if name != "nothing" or what != "change of loss [nat]"
        }
        for kind, title in names.items()
        for what in ("change of loss [nat]", "in 90 % sets [%]")
    }
).reindex(list(parts["exact"])).rename_axis("left out").fillna("")

# %% [markdown]
# *Change of the loss with its standard error, and share of truths in 90 % sets, on {glue:text}`part_rooms` validation rooms. With exact twins soft detection matters most; merged paths hardly matter. Changed obstacles and doubt cost a little elsewhere; they pay off where an obstacle is missing, with a lower loss and sets that hold more of the truths.*
#
# A thousand candidates and one snapshot take {glue:text}`milliseconds:.0f` ms on one core; LOCUS-DT takes {glue:text}`milliseconds_network:.1f` ms, from traced paths to the posterior.
#
# ## Results

# %% tags=["hide-input"]
table = Table(opened).open()
shown = ["locus_dt", "fingerprint", "angle_strength", "path_set", "phase_blind", "bayes"]
pd.DataFrame(
    {
        EVALUATION_TITLES[str(name)]: {
            SCORER_TITLES[method]: f"{100 * one.ratio:.1f} [{100 * one.ratio_low:.1f}, {100 * one.ratio_high:.1f}]"
            for method in shown
            for one in [table.sel({"evaluation": name, "method": method})]
            if np.isfinite(one.ratio)
        }
        for name in table.evaluation.values
    }
).rename_axis(index="method", columns="R [%]").fillna("")

# %% tags=["remove-cell"]
for name in ("grid", "random", "grid_offlist"):
    for short, method in (
        ("ours", "path_set"),
        ("network", "locus_dt"),
        ("fingerprint", "fingerprint"),
        ("angles", "angle_strength"),
        ("blind", "phase_blind"),
    ):
        glue(f"r_{short}_{name}", 100 * float(table.ratio.sel({"evaluation": name, "method": method})), display=False)

# %% [markdown]
# *R with 95 % intervals: how far from a uniform guess (0 %) to certainty (100 %) on a logarithmic scale; LOCUS-DT is the mean of all trainings, as in chapter 5. Ideal receivers assume that every transmitter stands on a candidate, so off the list they have no finite value.*
#
# On Eval Random the path set reaches {glue:text}`r_ours_random:.1f` %, LOCUS-DT {glue:text}`r_network_random:.1f` %, and the phase-blind receiver, which knows angle, delay and mean power of each path but not its gain,
# {glue:text}`r_blind_random:.1f` %. Two rows show what a practitioner might use instead, with the same twin: the **nearest fingerprint**, by the distance between path lists, with one fitted temperature
# ({glue:text}`r_fingerprint_random:.1f` %), and a likelihood of **angles and strengths** without delays ({glue:text}`r_angles_random:.1f` %). If transmitters do not stand on candidates, the path set reaches
# {glue:text}`r_ours_grid_offlist:.1f` % and LOCUS-DT {glue:text}`r_network_grid_offlist:.1f` %.
#
# ### Where the nats come from

# %% mystnb={"image": {"alt": "Loss of nine receivers from LOCUS-DT to the Bayes limit, each with what the step to it is worth"}} tags=["hide-input"]
steps = nats.summary(Nats(opened).open())
figure = nats_figure(steps)

# %% tags=["remove-cell"]
nats_rows = Nats(opened).open()
glue("nats_rooms", f"The first {len(np.unique(nats_rows.group)):,}", display=False)
glue("nats_snapshots", nats_rows.sizes["snapshot"], display=False)
for name in ("set", "delays", "soft"):
    glue(f"step_{name}", float(steps.step.sel({"method": name})), display=False)
ideal = steps.sel({"method": "ideal"})
ends = [float(ideal[f"step{end}"]) for end in ("", "_low", "_high")]
glue("step_ideal", number_with_interval(ends, "+.2f"), display=False)
loss = steps.loss
glue("gain_left", float(loss.sel({"method": "left"}) - loss.sel({"method": "soft"})), display=False)

# %% [markdown]
# *{glue:text}`nats_rooms` rooms of Eval Random with {glue:text}`nats_snapshots` snapshots in all, as for the phase-free limit in chapter 5, so losses differ from those of its first table. Each row changes how paths are compared or what the receiver knows; "the same inputs, as a set" is the likelihood of angles and strengths of the table above, and "with delays" also uses all traced paths instead of the strongest, and the path set's constants. Filled: a path set that takes the twin to be exact. Shaded, and on the right with its 95 % interval: how much that step changes the loss on the same snapshots (ideal estimates: the same transmitters, but fresh noise).*
#
# Comparing the same inputs as sets instead of lists changes the loss by {glue:text}`step_set:+.2f` nats, the path set's likelihood of all traced paths with their delays by {glue:text}`step_delays:+.2f`, and lowering the threshold by
# {glue:text}`step_soft:+.2f`. An ideal estimator, whose paths do not disturb each other, would change it by {glue:text}`step_ideal`.
# Looking for unreported paths in what the real estimates leave (soft detection) changes the loss at the lower threshold by {glue:text}`gain_left:+.2f`.
#
# ### Calibration: is it honest?

# %% tags=["hide-input"]
rows = Rows(opened, "eval_random", ("path_set", "bayes")).open("random")
calibration_frame(rows, ["path_set", "bayes"])

# %% tags=["remove-cell"]
glue("covered", 100 * float((rows.level.sel({"method": "path_set"}) <= CREDIBLE_MASS).mean()), display=False)

# %% [markdown]
# *Share of truths in the sets on Eval Random, by the SNR per sample of the strongest path; 95 % intervals over rooms. The Bayes limit shows what an exact posterior has in these bins, which are chosen by a strength that no receiver knows.*
#
# The 90 % sets of the path set hold {glue:text}`covered:.1f` % of the truths: it allows for errors that these exact twins do not have. [Chapter 7](07_wrong_twin.ipynb) has the same for wrong twins.
#
# ## Any radio
#
# The likelihood is not tied to eight antennas or 200 MHz, as long as a wave crosses the array within a fraction of a sample. So it needs no retraining for another radio. Here one factor at a time differs
# from the paper's, in {glue:text}`radio_rooms` rooms each with {glue:text}`radio_candidates` candidates, traced by the image twin:

# %% mystnb={"image": {"alt": "Loss of the path set, the phase-blind receiver and LOCUS-DT for other antennas, bandwidths, carriers, powers and rooms"}} tags=["hide-input"]
radio_rows = AnyRadio(opened).open()
radios = any_radio.summary(radio_rows)
figure = radio_figure(radios)

# %% tags=["hide-input"]
radio_frame(radios)

# %% tags=["remove-cell"]
gap = radios.difference.sel({"method": "path_set"})
rising = any_radio.rises(radio_rows)
glue("radio_rooms", len(np.unique(radio_rows.group)), display=False)
glue("radio_candidates", int(radio_rows.attrs["num_candidates"]), display=False)
glue("widest_gap", float(gap.max()), display=False)
worst = float(rising.difference.max())
falls = f"each step lowers its loss by at least {-worst:.2f} nats"
glue("power", falls if worst < 0 else f"at worst, a step changes its loss by {worst:+.2f} nats", display=False)

# %% [markdown]
# *Loss of each radio, with 95 % intervals over rooms; the grey band marks the paper's. L and R in the table are the path set's. LOCUS-DT, trained at the paper's power only, is shown where its weights can be used.*
#
# The path set stays within {glue:text}`widest_gap:.2f` nats of the phase-blind receiver of each radio. With more transmit power {glue:text}`power`. A narrower band does better
# here because the number of subcarriers stays the same: the snapshot is longer and the noise weaker. A lower carrier has less path loss.
#
# ## Use it
#
# ```python
# import locus
#
# scorer = locus.PathSet()  # for the radio that the paths were traced with
# # The paths, and what they leave:
# observed = locus.estimate(iq, scorer.estimator, residual=True)
# posterior = scorer.posterior(paths, observed)
# ```
#
# `locus locate` uses it by default. If you know the plan to ten centimetres and the compass to a degree, set the tolerance accordingly: `--tolerance plan=0.1,heading=1deg`, or `locus.Tolerance(plan=0.1, heading=0.017)`.

# %% tags=["interactive"]
# Another room and snapshot: the truth beside the most probable candidate.
from ipywidgets import interact


def explore(room: int = 0, snapshot: int = 0):
    case = Case(config, "eval_random", room)
    seen = case.seen_by(path_set).isel(snapshot=snapshot)
    best = int(path_set.log_posterior(case.paths, seen).values.argmax())
    titles = {"true candidate": int(case.truth[snapshot]), "most probable candidate": best}
    return pairs_figure(case.paths, seen, titles, config.radio)


interact(explore, room=(0, 20), snapshot=(0, 5))
