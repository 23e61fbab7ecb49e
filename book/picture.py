"""Draws the README's picture: `make picture`."""

from pathlib import Path

import locus
from locus import figures
from locus.groups import draw

if __name__ == "__main__":
    config = locus.open_run("quick").config
    layout, pose, _ = draw(config, "test", 0)
    paths = locus.make_twin("image", config.radio, config.twin).trace(layout, pose, layout.grid(201))
    strongest = paths.snr_db.isel(path=0).where(paths.valid.isel(path=0))
    strongest = strongest.assign_attrs(units="dB", long_name="SNR of the strongest path")
    figure = figures.map_figure(layout, pose, [strongest], ["viridis"])
    figure.savefig(Path(__file__).parent / "_static" / "snr_map.png", dpi=150)
