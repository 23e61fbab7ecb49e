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
# ---

# %% [markdown]
# # 9. The explorer
#
# *Figure 1 of the paper, live.* Drag the transmitter, the receiver, its heading or an obstacle, and the map follows: it shows where the transmitter may be.

# %% tags=["parameters"]
run = "quick"

# %% tags=["remove-cell"]
from IPython.display import HTML
from myst_nb import glue

import locus
from locus import explorer

config = locus.open_run(run).config
explorer.settings(locus.open_run(run))  # says what is missing, if something is
glue("grid_points", config.room.grid_points, display=False)
glue("num_paths", config.estimator.num_paths, display=False)
glue("max_depth", config.twin.max_depth, display=False)
glue("tx_power", config.radio.tx_power_dbm, display=False)
glue("first_room", explorer.FIRST_ROOM_CHOICE, display=False)

# %% tags=["remove-input", "full-width"]
HTML(explorer.page())

# %% [markdown]
# ## What to try
#
# - **Walk the transmitter around a corner.** In line of sight the map is a beam: one angle, and a strength that says roughly how far. Behind an obstacle the beam breaks up into several places that
#   reflections make look alike; the entropy says how many.
# - **Point at a place**, or tap it. The path plot compares the paths that the twin predicts there with the observed ones, and the map shows its rays.
# - **Turn the receiver away.** Its elements hear little from behind, the estimator finds fewer paths, and the map grows wide. It should: a map that stayed sharp would be wrong.
# - **Look for the mirror image.** A linear array cannot tell front from back: all observed angles lie between -90° and 90°. For a single path, only its strength tells front from back, through the element's pattern; several echoes together usually tell, too.
# - **Compare methods.** Gauss-Cart, Gauss-Polar and GMM-Cart see the same paths and the pose, but not the room. Move an obstacle, and see whether their maps change.
# - **Choose the Bayes limit.** It knows every candidate's signal to a fraction of a wavelength and usually finds the true one. Where even its map is wide, no method could do better. But it trusts the twin without reserve, so it is a limit only while *Wrong twin* is 0 m. (It answers an easier question,
#   *which of these places?*, not *where?*; see the [results](05_results.ipynb).)
# - **Make the twin wrong.** *Wrong twin* moves the walls, the obstacles and the receiver that the twin believes in, and turns its compass: dashed is what it believes, solid is what the signal meets.
#   With LOCUS-DT as the method, tick the path set under *Compare methods* and slide: LOCUS-DT, trained with an exact twin, becomes confidently wrong, and the path set only less certain. [Chapter 7](07_wrong_twin.ipynb) measures this.
# - **Walk.** Press *Walk* and drop the receiver somewhere else, or turn it: each time it listens once more, and the map shows what all snapshots say together. Do it with a twin that is wrong by half a metre or more. The errors are the same at every
#   step, so a few snapshots reveal the compass error; the small plot shows its interval and the truth. If the error is small, the walk may take the twin for exact, and the interval then shrinks to 0° beside the truth. [Chapter 8](08_walk.ipynb) is about such walks, and says how often the interval holds the truth.
# - **Raise the transmit power.** LOCUS-DT was trained at {glue:text}`tx_power:.0f` dBm only, and can be confidently wrong above it. The path set holds for any power.
#
# ## What it shows
#
# Nothing here is a recording. Your browser traces the rays, adds noise, estimates the paths from the samples and scores every place, as [the other chapters](05_results.ipynb) do in Python. A test sends random scenes through
# this page's code and through the package, and compares paths, estimates and the maps of every method.
#
# Candidates are the free points of a grid of {glue:text}`grid_points` by {glue:text}`grid_points`. As on Eval Grid, the truth is one of them: the transmitter replaces the point nearest to it. Twin and world are the same image method,
# line of sight and at most {glue:text}`max_depth` reflections, so the twin is exact unless you make it wrong. Its errors are those of *all at once* in [chapter 7](07_wrong_twin.ipynb): obstacles, walls, receiver and compass. Their directions are
# drawn once, and the slider scales them. The snapshots of a walk are fused by the path set, which needs no retraining; methods shown beside it see only the last snapshot. Twin and receiver both know the transmit power. *Number of paths* takes paths away from both sides; the network was trained with
# {glue:text}`num_paths` and sees the others as missing. The white line encloses 90 % of the probability; where that is too small to see, the corner shows the white square magnified.
#
# {glue:text}`first_room` *New room* draws others, good and bad, as the paper draws them.
#
# The address of this page always holds the scene, with its walk and its wrong twin: send it to somebody, or come back to it with your browser's Back button.
#
# ## Your own room
#
# Drop [a GeoJSON file](../own_room.md) on the map, or open the explorer in a notebook:
#
# ```python
# locus.explore(locus.Layout.from_geojson("my_room.geojson"), run="paper")
# ```

# %% tags=["interactive"]
# Random rooms, as the run draws them; give a layout of your own instead.
locus.explore(run=run)
