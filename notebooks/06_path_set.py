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
# # Path sets
#
# *Beyond the paper: a likelihood that is derived, not trained.*
#
# LOCUS-DT's network learned to compare two lists of six paths, for one radio, one transmit power and plans that are right. Another array needs another training. But a list of paths that were traced and a
# list of paths that were observed can be compared with what theory knows about estimates: how often a path of a given strength is found, how far its estimated angle and delay lie from the true ones, how many
# false paths noise adds. This chapter does that, shows what it gains, and where.

# %% tags=["parameters"]
run = "quick"
room = 0  # of Eval Random
snr = -15.0  # the snapshot whose strongest path is nearest to this SNR per sample [dB]

# %%
import dataclasses
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from myst_nb import glue

import locus
from locus.book.figures.nats_figures import nats_figure
from locus.book.figures.path_set_figures import pairs_figure
from locus.book.figures.radio_figures import radio_figure, radio_frame
from locus.experiment import any_radio, nats, scorers
from locus.experiment.any_radio import AnyRadio
from locus.experiment.case import Case
from locus.experiment.nats import Nats
from locus.experiment.path_set_fit import PathSetFit
from locus.experiment.rows import Rows
from locus.experiment.run import repository
from locus.experiment.table import EVALUATION_TITLES, SCORER_TITLES, Table
from locus.judge.calibration import covered_by_snr
from locus.judge.credible import CREDIBLE_MASS
from locus.score.weight_files import read_tensors

opened = locus.open_run(run)
config = opened.config
path_set = scorers.load(opened, "path_set")
plt.rcParams["figure.dpi"] = 150

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
glue("false_alarm", path_set.estimator.false_alarm, display=False)
glue("usual_false_alarm", config.estimator.false_alarm, display=False)
distance = np.hypot(*(case.candidates[truth] - case.candidates[rival]))
glue("rival_distance", float(distance), display=False)

# %% [markdown]
# ## What the network does not see
#
# The features of the paper's network are angles and strengths. The delays are left out, because the receiver does not know when the transmitter sent: all delays of a snapshot share one unknown offset. Their
# differences do not. And the estimator reports a path only if noise alone would rarely look like it; weaker ones are dropped, and what they would tell with them.
#
# Below, one snapshot of Eval Random whose strongest path has {glue:text}`snr:.0f` dB per sample, as a set of points: angle and delay. On the left the paths that the twin traces for the true candidate, on the
# right those of the one that LOCUS-DT likes best among all others, {glue:text}`rival_distance:.0f` m away. The unknown offset slides all circles up or down together; each panel has the one that fits best.

# %% mystnb={"image": {"alt": "Traced and observed paths of one snapshot in the plane of angle and delay, for the true candidate and a wrong one"}} tags=["hide-input"]
titles = {"true candidate": truth, "LOCUS-DT's favourite among the others": rival}
figure = pairs_figure(case.paths, observed, titles, config.radio)

# %% [markdown]
# *Crosses: traced paths. Circles: observed ones, estimated with a low threshold, so that some are false. Larger: stronger. For LOCUS-DT the truth is {glue:text}`odds_network:.2g` times as probable as the other, for
# the path set {glue:text}`odds_ours:.2g` times.*
#
# ## How sets of paths are compared
#
# With $E$ and $x$ the energies of a traced and an observed path after integration over all $N$ subcarriers and $M$ antennas, in units of the noise:
#
# - **Found or not.** The estimator takes the highest peak over angle and delay, so $x$ is noncentral chi-square with four degrees of freedom about $E$. A path is reported if $x$ exceeds the threshold, or, if
#   all six places are taken, the weakest of those reported.
# - **Where.** The sine of its angle and its delay have the variances of the Cramér-Rao bound. What estimator and twin add is fitted. A share of the estimates is disturbed by other paths, and errs more.
# - **False paths** come at the rate that the threshold implies, and paths that the twin does not know at a small rate of their own.
# - **The offset** is integrated, not guessed, and any path may be missed.
# - **A wrong twin.** The likelihood is averaged over twins from exact to the tolerance: by default plan and position off by up to a metre, the compass by up to five degrees. Position and compass err once for all
#   paths of a snapshot, through the exact derivatives of lengths and angles.
#
# The module `locus.score.path_set` has the formulas. The likelihood multiplies, over the observed paths $q$, what clutter and all traced paths $j$ may contribute:
#
# $$
# p(\mathcal{Z} \mid x) \;\propto\; \int \mathrm{d}t\, \prod_j m_j\, \prod_q \Big[ c_q + \sum_j \frac{\psi_{jq}(t)}{m_j} \Big],
# $$
#
# where $\psi_{jq}$ is the density of observing $q$ from $j$ at the offset $t$, $m_j$ the probability to miss $j$, and $c_q$ the density of clutter. For each $j$, $\psi$ and $m$ sum to one over all that can be observed.
#
# ### What is fitted
#
# Theory leaves a few numbers open. They do not depend on the radio, and were fitted by gradient to the paper's own loss on {glue:text}`fit_rooms` training rooms, half of them with wrong twins:

# %% tags=["hide-input"]
header = read_tensors(PathSetFit(opened).path)[1]
columns = {"guessed": type(path_set.constants)(), "fitted": path_set.constants}
pd.DataFrame(
    {
        title: {
            name: ", ".join(f"{one:.3g}" for one in np.atleast_1d(value))
            for name, value in dataclasses.asdict(part).items()
        }
        for title, part in columns.items()
    }
)

# %% tags=["remove-cell"]
measured = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))
glue("fit_rooms", header["recipe"]["groups"][0], display=False)
glue("validation_rooms", header["recipe"]["groups"][1], display=False)
chosen = header["validation"][f"{path_set.constants.false_alarm:g}"]
usual = header["validation"]["0.3"]
for kind in ("exact", "wrong"):
    glue(f"unfitted_{kind}", header["unfitted"][kind], display=False)
    glue(f"fitted_{kind}", chosen[kind], display=False)
    glue(f"hard_{kind}", usual[kind], display=False)
    soft = [measured["soft_detection"][f"{kind} {share}"] for share in ("0", "0.25", "0.5", "1")]
    glue(f"soft_{kind}_before", soft[0], display=False)
    glue(f"soft_{kind}_after", soft[2], display=False)
    for when in ("before", "after"):
        glue(f"residual_{kind}_{when}", measured["residual_network"][f"{kind}_{when}"], display=False)
glue("milliseconds", measured["path_set"]["milliseconds"]["path_set"]["alone"], display=False)
glue("milliseconds_network", measured["path_set"]["milliseconds"]["locus_dt"]["alone"], display=False)

# %% [markdown]
# On {glue:text}`validation_rooms` held-out rooms the fit moves the loss from {glue:text}`unfitted_exact:.2f` to {glue:text}`fitted_exact:.2f` nats with exact twins and from {glue:text}`unfitted_wrong:.2f` to
# {glue:text}`fitted_wrong:.2f` with wrong ones: the guesses were nearly as good. The threshold matters more: with the paper's false-alarm rate of {glue:text}`usual_false_alarm:g` instead of
# {glue:text}`false_alarm:g` it is {glue:text}`hard_exact:.2f` and {glue:text}`hard_wrong:.2f`.
#
# Two extensions were tried and left out. *Soft detection* looks at the energy that is left over where a candidate's missing paths should be; with half its weight the loss goes from {glue:text}`soft_exact_before:.2f` to
# {glue:text}`soft_exact_after:.2f` with exact twins, and from {glue:text}`soft_wrong_before:.2f` to {glue:text}`soft_wrong_after:.2f` with wrong ones. A *small network on top*, pairs of paths in and a correction out, changes it from
# {glue:text}`residual_exact_before:.2f` to {glue:text}`residual_exact_after:.2f` and from {glue:text}`residual_wrong_before:.2f` to {glue:text}`residual_wrong_after:.2f`.
#
# A thousand candidates and one snapshot take {glue:text}`milliseconds:.0f` ms on one core, where LOCUS-DT takes {glue:text}`milliseconds_network:.1f`.
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
).fillna("")

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
# *R with 95 % intervals: the share of the distance from a uniform guess to certainty, in nats. Off the list the ideal receivers, for which every transmitter stands on a candidate, are lost.*
#
# On Eval Random the path set reaches {glue:text}`r_ours_random:.1f` %, LOCUS-DT {glue:text}`r_network_random:.1f` %, and a receiver that knows everything but the phases of the paths
# {glue:text}`r_blind_random:.1f` %. Two rows are what a practitioner might use instead, with the same twin: the **nearest fingerprint**, by the distance between path lists, with one fitted temperature
# ({glue:text}`r_fingerprint_random:.1f` %), and a likelihood of **angles and strengths** without delays ({glue:text}`r_angles_random:.1f` %). With transmitters that stand on no candidate, the path set has
# {glue:text}`r_ours_grid_offlist:.1f` % and LOCUS-DT {glue:text}`r_network_grid_offlist:.1f` %.
#
# ### Where the nats are

# %% mystnb={"image": {"alt": "Loss of eight receivers from LOCUS-DT to the Bayes limit, each with what the step to it is worth"}} tags=["hide-input"]
steps = nats.summary(Nats(opened).open())
figure = nats_figure(steps)

# %% tags=["remove-cell"]
for name in ("set", "delays", "soft", "ideal", "phase_blind"):
    glue(f"step_{name}", float(steps.step.sel({"method": name})), display=False)

# %% [markdown]
# *From top to bottom each receiver knows more than the one above. Right: what the step changes in the loss, paired over snapshots, with its 95 % interval.*
#
# The same inputs, compared as a set instead of two lists of features, change the loss by {glue:text}`step_set:+.2f` nats; delays by {glue:text}`step_delays:+.2f`; the lower threshold by
# {glue:text}`step_soft:+.2f`. Ideal estimates would change it by another {glue:text}`step_ideal:+.2f`.
#
# ### Is it honest?

# %% tags=["hide-input"]
rows = Rows(opened, "eval_random", ("path_set",)).open("random")
bands = covered_by_snr(rows, CREDIBLE_MASS, np.random.default_rng(0)).sel({"method": "path_set"})
pd.DataFrame(
    {
        "snapshots": bands.num_snapshots.values,
        "truths in 90 % sets [%]": [
            f"{100 * one.covered:.1f} [{100 * one.covered_low:.1f}, {100 * one.covered_high:.1f}]"
            if one.num_snapshots > 0
            else "-"
            for one in (bands.isel(band=i) for i in range(bands.sizes["band"]))
        ],
    },
    index=pd.Index(bands.band.values, name="SNR of the strongest path [dB]"),
)

# %% [markdown]
# *Eval Random, by the SNR per sample of the strongest path. {doc}`07_wrong_twin` has the same for wrong twins.*
#
# ## Any radio
#
# Nothing in the likelihood is bound to eight antennas or 200 MHz, as long as a path crosses the array within a fraction of a sample. So it needs no training for another radio. One factor at a time differs
# from the paper's; {glue:text}`radio_rooms` rooms each, traced by the image twin:

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
glue("widest_gap", float(gap.max()), display=False)
glue("worst_rise", float(rising.difference.max()), display=False)

# %% [markdown]
# *Grey: the paper's own. LOCUS-DT is shown where its weights can be used.*
#
# The path set stays within {glue:text}`widest_gap:.2f` nats of the phase-blind receiver of each radio. From one transmit power to the next higher one its loss changes by {glue:text}`worst_rise:+.2f` nats at most, so more power
# does no harm.
#
# ## Use it
#
# ```python
# import locus
#
# scorer = locus.PathSet()  # for the radio that the paths were traced with
# observed = locus.estimate(iq, scorer.estimator)
# posterior = scorer.posterior(paths, observed)
# ```
#
# `locus locate` uses it by default. Who knows the plan to ten centimetres and the compass to a degree says so: `--tolerance plan=0.1,heading=1deg`, or `locus.Tolerance(plan=0.1, heading=0.017)`.

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
