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
# # The explorer
#
# *Figure 1 of the paper, alive.*
#
# Drag the transmitter, the receiver, its heading or an obstacle: the map of where the transmitter may be follows. Nothing here is a recording. Your browser traces the
# rays, adds the noise, estimates the paths from the samples, and lets the network score every place, as the [chapters before](05_results.ipynb) do in Python.

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

# %% tags=["remove-input", "full-width"]
HTML(explorer.page())

# %% [markdown]
# ## What to try
#
# - **Walk the transmitter around a corner.** In line of sight the map is a beam: one angle, and a strength that says roughly how far. Behind an obstacle the beam breaks up into several places that
#   reflections make alike; the entropy says how many.
# - **Turn the receiver away.** Its elements hear little from behind, the estimator finds fewer paths, and the map grows wide. It should: a map that stayed sharp would be wrong.
# - **Look for the mirror image.** A linear array cannot tell front from back: all observed angles lie between -90° and 90°, and only strengths, which differ by the element's pattern, can tell on which
#   side the transmitter is.
# - **Compare methods.** Gauss-Cart, Gauss-Polar and GMM-Cart see the same paths and the pose, but not the room: move an obstacle, and watch whether their map cares.
# - **Choose the Bayes limit.** It knows every candidate's signal to a fraction of a wavelength, and finds the one place where enough power arrives. Where its map is wide, too, no method could do better: that is
#   physics, not the network. (It answers an easier question, *which of these places*, not *where*; see the [results](05_results.ipynb).)
#
# ## What it shows
#
# Candidates are the free points of a grid of {glue:text}`grid_points` by {glue:text}`grid_points`. As in the paper the truth is one of them: the transmitter stands in for the point nearest to it. Twin and world are the same image method,
# line of sight and at most {glue:text}`max_depth` reflections, so that the twin is exact. *SNR* changes the transmit power from its {glue:text}`tx_power:.0f` dBm; twin and receiver both know it. *Number of paths* takes paths away from both sides;
# the network was trained with {glue:text}`num_paths` and sees the others as missing. A test sends 50 scenes through this page's code and through the package, and compares paths, estimates and the maps of every method.
# The first room is one in which the map tells a lot; *New room* draws others, good and bad, as the paper draws them.
#
# ## Your own room
#
# The same explorer opens in a notebook, for any room that [a GeoJSON file](01_digital_twin.ipynb) describes:
#
# ```python
# locus.explore(locus.Layout.from_geojson("my_room.geojson"), run="paper")
# ```

# %% tags=["interactive"]
# Random rooms, as the run draws them; give a layout of your own instead.
locus.explore(run=run)
