# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   locus:
#     needs: []
# ---

# %% [markdown]
# # 2. What the receiver hears
#
# *Sections II-C, III-A and III-B of the paper.*
#
# The twin of chapter 1 says what *would* be heard from each place. This chapter is about what *is* heard: a short burst of
# noisy samples from eight antennas, which begins at an unknown time. From it the estimator extracts a handful of paths, each with an angle
# and a strength, to compare with the twin's. How accurate can such an estimate be, and how close do we come?

# %% tags=["parameters"]
run = "quick"
num_trials = 200  # snapshots for each point of the error curve

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
paths = locus.make_twin("image").trace(layout, pose, layout.sample(500, rng))
iq = locus.observe(paths.isel(candidate=7), rng)  # candidate 7 transmits
observed = locus.estimate(iq)  # the paths that the receiver finds in it
found = int(observed.valid.sum())
strongest = np.degrees(float(observed.aoa[0]))
print(f"{found} paths found, the strongest at {strongest:.1f} degrees")

# %% tags=["hide-input"]
from myst_nb import glue

from locus.book.figures import stage_figures, style
from locus.experiment.case import Case
from locus.experiment.libraries import strongest_pairs
from locus.receiver.crlb import error_against_snr

config = locus.open_run(run).config
radio = config.radio
style.use()

# %% [markdown]
# ## A snapshot
#
# The transmitter repeats a known pilot: 128 subcarriers over 200 MHz, so one period lasts 0.64 µs. The receiver cuts out one period,
#
# (eq-5)=
# $$
# \boldsymbol y \in \mathbb C^{N \times N_{\mathsf{rx}}}, \tag{5}
# $$
#
# $N = 128$ samples of $N_{\mathsf{rx}} = 8$ antennas. It does not know when the pilot began, and its oscillator has a phase of its own, so
# delays are known only relative to each other and modulo the period, and gains only up to a common phase. Here is the strongest of the ten snapshots of the
# first test room.

# %% mystnb={"image": {"alt": "Left: magnitude of the received samples of eight antennas. Right: matched filter over angle and delay with true and estimated paths marked"}} tags=["hide-input"]
case = Case(config, "test", 0)
true_paths = case.transmitters.paths
strongest = int(true_paths.snr_db.isel(path=0).values.argmax())
chosen, truth = case.snapshots.isel(snapshot=strongest), true_paths.isel(snapshot=strongest)
observed = locus.estimate(chosen, config.estimator)
figure = stage_figures.snapshot_figure(chosen, truth, observed)

# %% [markdown]
# *Left: the raw samples. Right: the same after correlation with the pilot and with the array. The strongest
# path is the bright spot; circles are the twin's true paths, crosses what the estimator found. Weaker paths lie near or below the bottom of the colour scale, or in
# the side lobes of stronger ones.*
#
# ## Maximum likelihood
#
# The channel of subcarrier $n$ and antenna $m$ is a sum of $K$ products of two basis functions, one over the $M_{\mathrm F} = N$ subcarriers, $f_0$ apart, and one over the $M_{\mathrm R} = N_{\mathsf{rx}}$ antennas,
#
# (eq-18)=
# $$
# \mathbf b_{\mathrm F}(\tau) = \left(e^{-j 2\pi f_0 \tau\, n}\right)_{n=0}^{M_{\mathrm F}-1}, \tag{18}
# $$
#
# (eq-19)=
# $$
# \mathbf b_{\mathrm R}(\theta) = \left(e^{-j \pi \sin\theta\, m}\right)_{m=0}^{M_{\mathrm R}-1}, \tag{19}
# $$
#
# (eq-20)=
# $$
# \boldsymbol s(\Psi) = \sum_{k=1}^K \mathbf b_{\mathrm R}(\theta_k) \otimes \mathbf b_{\mathrm F}(\tau_k)\, \alpha_k, \tag{20}
# $$
#
# and in white noise the most likely parameters are those with the least squared misfit,
#
# (eq-23)=
# $$
# \widehat\Psi = \arg\max_\Psi\, p(\boldsymbol y \mid \Psi). \tag{23}
# $$
#
# The matched filter proposes the strongest path. Levenberg-Marquardt then refines angle, delay and gain of all paths found so far, jointly,
# until they converge. What they explain is subtracted, and the next path is sought in the residual. The search ends at a path that explains no more
# than noise would; the threshold follows from the false-alarm rate.

# %% tags=["hide-input"]
stage_figures.path_table(observed)

# %% [markdown]
# *The estimated paths, strongest first. Delays count from the start of the snapshot and wrap around after one period, {glue:text}`period_ns:.0f` ns.*
#
# ## As good as it can be
#
# No unbiased estimator has a smaller error than the Cramér-Rao bound. We compare: first with a single path of varying strength, then with two paths of equal strength that the receiver can resolve, then with two that it
# cannot. A *resolution cell* is {glue:text}`cell_sine` in the sine of the angle (two over the number of antennas) and {glue:text}`cell_delay:.0f` ns in delay (one over the bandwidth); paths closer than that merge in the matched filter.

# %% mystnb={"image": {"alt": "Errors of angle and delay against SNR with the Cramer-Rao bound, for one path, for two resolvable paths and for two unresolved paths; shading shows how often not all are found"}} tags=["hide-input"]
cell = 2 / radio.num_antennas, 1 / radio.bandwidth
first, apart, close = np.radians(20.0), np.radians(-20.0), np.arcsin(np.sin(np.radians(20.0)) + cell[0] / 4)
sent = {
    "one path": ([first], [0.0]),
    "two resolvable paths": ([first, apart], [0.0, 4 * cell[1]]),
    "two unresolved paths": ([first, close], [0.0, cell[1] / 4]),
}
snr_db = np.arange(-30.0, 21.0, 2.5)
curves = {
    title: error_against_snr(radio, config.estimator, snr_db, aoa, delay, num_trials, config.seed)
    for title, (aoa, delay) in sent.items()
}
figure = stage_figures.error_figure(curves)

# %% tags=["remove-cell"]
one, two, merged = curves.values()
glue("cell_sine", cell[0], display=False)
glue("cell_delay", 1e9 * cell[1], display=False)
glue("apart_delay", 4e9 * cell[1], display=False)
glue("close_angle", float(np.degrees(close - first)), display=False)
glue("close_delay", 1e9 * cell[1] / 4, display=False)
for prefix, curve in (("", one), ("two_", two)):
    high = curve.sel(snr_db=slice(-10, None))
    for name in ("angle", "delay"):
        glue(f"{prefix}{name}_over_bound", float((high[f"{name}_error"] / high[f"{name}_bound"]).mean()), display=False)
for name, curve in (("two", two), ("close", merged)):
    glue(f"{name}_bound_ratio", float((curve.angle_bound / one.angle_bound).mean()), display=False)
always = merged.found >= 0.99
glue("close_always", float(merged.snr_db.where(always).min()), display=False)
for name in ("angle", "delay"):
    ratio = merged[f"{name}_error"] / merged[f"{name}_bound"]
    glue(f"close_{name}_over_bound", float(ratio.where(always).mean()), display=False)
    glue(f"close_{name}_below", float(ratio.sel(snr_db=-5.0)), display=False)
for name, level in (("low", -10.0), ("middle", -5.0), ("high", 0.0)):
    glue(f"close_found_{name}", 100 * float(merged.found.sel(snr_db=level)), display=False)
glue("false_alarm", 100 * config.estimator.false_alarm, display=False)
glue("threshold_snr", float(one.attrs["threshold_db"]), display=False)
glue("found_low", 100 * float(one.found.sel(snr_db=-25.0)), display=False)
glue("found_high", 100 * float(one.found.sel(snr_db=-15.0)), display=False)

# %% [markdown]
# *Left: a path at 20 degrees. Middle: a second one at -20 degrees, {glue:text}`apart_delay:.0f` ns later. Right: the second one is only a quarter of a resolution cell away in both angle and delay, {glue:text}`close_angle:.1f` degrees and
# {glue:text}`close_delay:.2f` ns. A path counts as found if an estimate of its own lies within one resolution cell of it. Points: root-mean-square error in those snapshots in which all paths are found, unless these are
# fewer than one in twenty. Lines: the bound with all parameters of all paths unknown. The phase between two paths takes all values, for points and bound alike.*
#
# **One path.** Above -10 dB per sample the errors are at the bound, to within the accuracy of a finite number of snapshots: the angle's error is {glue:text}`angle_over_bound:.3f` times the bound and the delay's
# {glue:text}`delay_over_bound:.3f` times. The threshold, {glue:text}`threshold_snr:.1f` dB, lets {glue:text}`false_alarm:.0f` % of pure-noise snapshots through. A path at -25 dB is found in
# {glue:text}`found_low:.0f` % of the snapshots; at -15 dB, in {glue:text}`found_high:.0f` %.
#
# **Two resolvable paths.** The bound on the angle is {glue:text}`two_bound_ratio:.2f` times that of one path, and above -10 dB the errors are {glue:text}`two_angle_over_bound:.3f` and {glue:text}`two_delay_over_bound:.3f` times the bounds. The paths do not disturb
# each other.
#
# **Two unresolved paths.** The bound is {glue:text}`close_bound_ratio:.1f` times that of one path, because the two signatures are nearly collinear. Both are found in {glue:text}`close_found_low:.0f` % of the snapshots at -10 dB, in
# {glue:text}`close_found_high:.0f` % at 0 dB, and in practically all from {glue:text}`close_always:g` dB on; there the errors are {glue:text}`close_angle_over_bound:.2f` (angle) and {glue:text}`close_delay_over_bound:.2f` (delay) times the bound. At -5 dB they are
# {glue:text}`close_angle_below:.2f` and {glue:text}`close_delay_below:.2f` times, but that means little: it counts only the {glue:text}`close_found_middle:.0f` % of the snapshots in which both are found, while the bound averages over all.
#
# ## Over many rooms
#
# Now realistic channels: the strongest estimated path of each snapshot in many test rooms, against the strongest traced path of its
# transmitter.

# %% mystnb={"image": {"alt": "Estimated against traced angle and SNR of the strongest path over many rooms"}} tags=["hide-input"]
pairs = strongest_pairs(config, "test", config.estimator_check.num_layouts)
figure = stage_figures.pairs_figure(pairs)

# %% tags=["remove-cell"]
found = pairs.where(pairs.valid, drop=True)
front = abs(found.true_aoa) < np.pi / 2
error = abs(found.aoa - np.arcsin(np.sin(found.true_aoa)))
glue("period_ns", 1e9 * radio.num_subcarriers / radio.bandwidth, display=False)
glue("num_pairs", int(pairs.sizes["snapshot"]), display=False)
glue("share_found", 100 * float(pairs.valid.mean()), display=False)
glue("share_behind", 100 * float((~front & (error < np.radians(2))).mean()), display=False)
glue("folded_within", 100 * float((error < np.radians(2)).mean()), display=False)

# %% [markdown]
# *Left: most estimates lie on the diagonal, a few on its mirror images, where the path arrives from behind the array. Scattered points are mostly false alarms; those near ±90 degrees with the wrong sign are
# paths along the array, which half-wavelength spacing cannot tell apart. Right: strengths agree down to the threshold (dashed). Points along it are false alarms; most points off the diagonal are snapshots in which several paths overlap.*
#
# Of {glue:text}`num_pairs` snapshots, {glue:text}`share_found:.0f` % yield a path, false alarms included; in most others the strongest path is below the threshold. Of the strongest angles found,
# {glue:text}`folded_within:.0f` % are right to within 2 degrees, with front and back folded together.
#
# ## Front or back?
#
# The phases along a linear array depend on $\sin\theta$ alone. The array cannot tell a wave at $\theta$ from one at $180° - \theta$:

# %% mystnb={"image": {"alt": "A linear array with two waves from mirrored directions that give the same phases"}} tags=["hide-input"]
figure = stage_figures.ambiguity_figure(np.radians(35.0), radio.num_antennas)

# %% [markdown]
# *A wave from the front and its mirror image from behind the array reach each antenna with the same phase. The estimator reports
# 35 degrees for both.*
#
# Only strength tells them apart, because the element hears less from behind. The twin knows from which side a candidate's
# path would arrive, but whatever compares twin and observation has to learn that a path from behind shows up in front. In {glue:text}`share_behind:.1f` % of this chapter's snapshots that yield a path, the strongest estimate is the mirror image of a path from behind, to within 2 degrees.

# %% tags=["interactive"]
# Drag the sliders: a stronger or weaker transmitter, more or fewer paths to look for, another snapshot.
from dataclasses import replace

from ipywidgets import interact


def explore(tx_power_dbm: float = 20.0, num_paths: int = 6, snapshot: int = 0):
    radio = replace(config.radio, tx_power_dbm=tx_power_dbm)
    case = Case(replace(config, radio=radio), "test", 0)
    one, truth = (part.isel(snapshot=snapshot) for part in (case.snapshots, case.transmitters.paths))
    observed = locus.estimate(one, replace(config.estimator, num_paths=num_paths), radio)
    return stage_figures.snapshot_figure(one, truth, observed)


interact(explore, tx_power_dbm=(-20.0, 40.0), num_paths=(1, 10), snapshot=(0, 4))
