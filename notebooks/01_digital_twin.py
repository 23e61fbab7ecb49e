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
# # 1. The digital twin
#
# *Sections II-A, II-B and III-A of the paper.*
#
# A radio transmitter is somewhere in a room, and a receiver hears it once. Where may it be? Walls reflect radio waves, so the
# receiver hears the transmitter from several directions at once, and the pattern of directions and strengths differs from
# place to place. If the room is known, that pattern can be **predicted** for every place. A model that does so is a *digital twin*.
# This chapter builds one, draws what it predicts, and checks how many paths are missing.

# %% tags=["parameters"]
run = "quick"
map_points = 101  # points per axis of the maps

# %%
import numpy as np

import locus

rng = np.random.default_rng(0)
layout = locus.Layout.random(rng)  # a room with obstacles
pose = locus.Pose.random(layout, rng)  # the receiver's place and heading
candidates = layout.sample(500, rng)  # where the transmitter may be
# What would be heard from each of them:
paths = locus.make_twin("image").trace(layout, pose, candidates)
found = int(paths.valid.sum())
print(f"{found:,} paths from {len(candidates)} candidates")

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd
from myst_nb import glue

from locus.book import words
from locus.book.figures import stage_figures, style
from locus.experiment.case import Case
from locus.experiment.twin_agreement import compare_on_random_rooms, time_group
from locus.receiver.estimator import threshold

config = locus.open_run(run).config
style.use()

# %% [markdown]
# ## A room, a receiver, and places where the transmitter may be
#
# The lines above are the chapter in short; the rest looks at each of them. The receiver is given a map of the room $\mathcal L$ and its own pose, a position and the direction that its antennas face (equations have the numbers of the paper):
#
# (eq-1)=
# $$
# (\mathcal L, \boldsymbol p), \qquad \boldsymbol p = (\boldsymbol x^r, \phi^r). \tag{1}
# $$
#
# Rooms are drawn at random, as in Sec. III-A: 100 m by 100 m, with three obstacles, each a rectangle, an L or a T. *Candidates* are
# positions where the transmitter may be, here drawn uniformly from the free space.

# %% mystnb={"image": {"alt": "Plan of a random room with three obstacles, the receiver with its heading, and 500 candidate positions"}} tags=["hide-input"]
case = Case(config, "test", 0)
layout, pose, candidates = case.layout, case.pose, case.candidates
figure = stage_figures.room_figure(layout, pose, candidates)
# %% [markdown]
# *The first test room, not picked for what it shows. The receiver's arrow is the broadside of its array, the direction in which it hears best.*
#
# ## What the twin predicts
#
# For a candidate $\boldsymbol x^t$ the twin returns the strongest paths, each with an angle of arrival $\theta$, counter-clockwise from the heading, a delay $\tau$,
# a complex gain $\alpha$ and a signal-to-noise ratio $\gamma$ per sample and antenna:
#
# (eq-3)=
# $$
# \boldsymbol\psi = (\theta, \tau, \alpha, \gamma) \tag{3}
# $$
#
# (eq-4)=
# $$
# \Psi(\mathcal L, \boldsymbol p, \boldsymbol x^t) = \{\boldsymbol\psi_k^{\mathsf{DT}},\ k = 1, \ldots, K\}. \tag{4}
# $$
#
# Any ray tracer will do. We use two that share no code: NVIDIA's Sionna, as in the paper, and an exact image method in two dimensions.
# Below, one candidate as both see it: the one whose six strongest paths are best separated in angle. Wide pale lines are the image twin's rays, thin
# dashed ones Sionna's.

# %%
names = ("image", "sionna")
radio, options = config.radio, config.twin
twins = {name: locus.make_twin(name, radio, options) for name in names}
room = (layout, pose, candidates)
paths = {name: twin.trace(*room) for name, twin in twins.items()}
candidate = stage_figures.most_spread(paths["image"], 6)
strongest = paths["image"].isel(candidate=candidate, path=slice(6))
stage_figures.path_table(strongest)

# %% mystnb={"image": {"alt": "Left: rays from one candidate to the receiver, found by both twins. Right: angle of arrival against SNR of the same paths"}} tags=["hide-input"]
titles = {"image": "image twin", "sionna": "Sionna twin"}
one = {titles[name]: data.isel(candidate=candidate) for name, data in paths.items()}
figure = stage_figures.ray_figure(layout, pose, one)
# %% [markdown]
# *Table: the six strongest paths of this candidate, as the image twin traces them. Left: the candidate (star) and the receiver (blue). Every ray leaves a wall at the angle at which it arrived. Right: a cross inside a circle is a path that both twins
# found, at the same angle and strength. Colours count bounces. Paths from behind the array (beyond ±90 degrees) are up to 30 dB weaker, because the antenna element of 3GPP TR 38.901, which
# the paper uses, faces forward.*
#
# ## The whole room at once
#
# Now a fine grid of candidates. Strength alone says little: large parts of the room have the same colour. The
# combination of several paths tells places apart; the right-hand map shows how many there are.

# %% mystnb={"image": {"alt": "Two maps of the room: SNR of the strongest path, and number of paths"}} tags=["hide-input"]
uncut = replace(config.twin, max_paths=max(64, config.twin.max_paths))
grid = locus.make_twin("image", config.radio, uncut).trace(layout, pose, layout.grid(map_points))
strongest = grid.snr_db.isel(path=0).where(grid.valid.isel(path=0))
strongest = strongest.assign_attrs(units="dB", long_name="SNR of the strongest path")
count = grid.valid.sum("path").assign_attrs(units="1", long_name="number of paths")
figure = stage_figures.map_figure(layout, pose, [strongest, count], ["viridis", "cividis"])
# %% tags=["remove-cell"]
glue("noise_dbm", config.radio.noise_power_dbm, display=False)
size = config.radio.num_subcarriers * config.radio.num_antennas
least = threshold(config.estimator, config.radio)
glue("samples", config.radio.num_subcarriers, display=False)
glue("antennas", config.radio.num_antennas, display=False)
glue("combined_db", float(10 * np.log10(size)), display=False)
glue("needed_db", float(10 * np.log10(least * size)), display=False)
glue("least_db", float(10 * np.log10(least)), display=False)
glue("silent", 100 * float((~grid.valid.any("path")).mean()), display=False)
glue("above_noise", 100 * float((strongest > 0).mean()), display=False)

# %% [markdown]
# *Left: the strongest path follows the pattern of an antenna element, weaker behind the array, where echoes remain, and far weaker behind obstacles. White areas: no path arrives at all; the narrow rims of obstacles are too close to a wall for a candidate. Right:
# sharp edges follow the shadows of corners, where a path appears or disappears. Later on, only the 16 strongest are kept, and the six strongest compared.*
#
# The transmitter sends 0 dBm at 12 GHz; the noise in 200 MHz, at a noise figure of 7 dB, is {glue:text}`noise_dbm:.1f` dBm. In this room
# {glue:text}`above_noise:.0f` % of the grid has a path above the noise of a single sample, and {glue:text}`silent:.1f` % has no path at all.
# Combining {glue:text}`samples` samples of {glue:text}`antennas` antennas gains {glue:text}`combined_db:.0f` dB, of which {glue:text}`needed_db:.0f` dB are needed to tell a path from noise, so paths down to {glue:text}`least_db:.0f` dB can be found ([chapter 2](02_estimator.ipynb)).
#
# ## Is the twin complete?
#
# If the twin misses a path, it makes a false statement about a place: "from here you would not hear this echo". Ray
# launchers can miss paths. So we compare both twins path by path in random rooms. Paths within 1 cm of a corner, where
# rounding decides, are counted separately. So are the gains of paths with a segment shorter than 5 cm, for which Sionna's single precision is too coarse.

# %%
contenders = {name: locus.make_twin(name, radio, uncut) for name in names}
check = compare_on_random_rooms(contenders["sionna"], config)
print(check.summary())

# %% tags=["remove-cell"]
glue("check_layouts", config.twin_check.num_layouts, display=False)
glue("check_paths", check.num_paths, display=False)
glue("missing_percent", 100 * check.missing_share, display=False)
glue("extra", check.extra, display=False)
glue("found_text", words.all_but(check.missing, check.num_paths), display=False)
glue("extra_text", words.count(check.extra), display=False)

# %% [markdown]
# In {glue:text}`check_layouts` rooms, apart from paths at corners, Sionna as we use it finds {glue:text}`found_text` paths of the exact twin and invents {glue:text}`extra_text`.
#
# ## Faster than the obvious way
#
# The obvious way to use Sionna, with one receiver object per candidate and default settings, is slow without a graphics
# card, and it misses paths. We count those in the same {glue:text}`check_layouts` rooms, with the same {glue:text}`timed_candidates` candidates each, as a share of the exact twin's paths. Times are for one of these
# rooms; the obvious way uses all cores, each of our twins only one.

# %% tags=["hide-input"]
from locus.twin.straightforward import StraightforwardTwin

contenders["straightforward"] = StraightforwardTwin(config.radio, uncut)
obvious = compare_on_random_rooms(contenders["straightforward"], config)
missing = {"sionna": 100 * check.missing_share, "straightforward": 100 * obvious.missing_share}
times = pd.DataFrame({"seconds": {name: time_group(twin, config) for name, twin in contenders.items()}})
times["missing [%]"] = pd.Series({"image": 0.0, **missing})
titles = {"image": "image twin", "sionna": "Sionna, our way", "straightforward": "Sionna, the obvious way"}
times.map(lambda value: f"{value:.2g}").rename(index=titles)

# %% tags=["remove-cell"]
glue("timed_candidates", config.twin_check.num_candidates, display=False)
for name in ("sionna", "image"):
    glue(f"{name}_speedup", float(times.seconds["straightforward"] / times.seconds[name]), display=False)
glue("straightforward_missing", missing["straightforward"], display=False)

# %% [markdown]
# *Time to trace one room, and share of paths missing. The exact image twin is the reference.* With {glue:text}`timed_candidates` candidates our Sionna twin is {glue:text}`sionna_speedup:.0f` times as fast as the obvious way, and the image twin
# {glue:text}`image_speedup:.0f` times as fast. The obvious way misses {glue:text}`straightforward_missing:.1f` % of the paths. Three things make most of
# the difference: rays are shot only in the plane of the problem; positions are data, not constants compiled into the kernel; and Sionna's table of
# reflection chains is indexed by the chain itself instead of by a hash, so that no chain is mistaken for another.
# `make bench` measures times in several rooms and on all cores, and `make check-twin` compares both twins in 50 rooms.

# %% tags=["interactive"]
# Drag the sliders: another room, another candidate, another number of reflections. Traced with the image twin, which is instant.
from dataclasses import replace

from ipywidgets import interact

from locus.book.figures import stage_figures
from locus.experiment.case import Case


def explore(room: int = 0, candidate: int = 7, depth: int = 3):
    config = locus.open_run(run).config
    twin = locus.make_twin("image", config.radio, replace(config.twin, max_depth=depth))
    case = Case(config, "train", room, twin)
    paths = case.paths.isel(candidate=candidate)
    return stage_figures.ray_figure(case.layout, case.pose, {"image": paths, "again": paths})


interact(explore, room=(0, 30), candidate=(0, 49), depth=(0, 4))
