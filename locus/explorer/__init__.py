"""The live explorer: a run's weights in, a web page that updates the posterior while objects are dragged out.

The JavaScript modules beside this file are ports of :mod:`locus.twin.image`, :mod:`locus.receiver.observation`,
:mod:`locus.receiver.estimator`, :mod:`locus.score.pairwise`, :mod:`locus.score.densities`,
:mod:`locus.score.path_set` and :mod:`locus.score.limits`.
"""

from __future__ import annotations

import dataclasses
import graphlib
import html
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapely import Polygon

from locus import draw
from locus.experiment.run import Run, open_run
from locus.experiment.weights import find_weights
from locus.receiver import fit, fit_cpu
from locus.receiver.estimator import threshold
from locus.room.layout import MIN_DISTANCE, SHAPES_PER_OBSTACLE, Layout
from locus.room.materials import material_names, permittivity
from locus.score import densities, path_arrays, path_set_cpu, strength, sync_offset
from locus.score.method import Method
from locus.score.path_set import PathSet
from locus.score.tolerance import components
from locus.score.weight_files import METHOD_TITLES, METHODS, load_method
from locus.settings.atomic import write_text
from locus.settings.checks import plain
from locus.settings.config import BOLTZMANN, SPEED_OF_LIGHT, Config, EstimatorOptions, Radio
from locus.twin import antenna, image

HOME = Path(__file__).parent
SETTINGS = "settings.json"
"""Name of the file with weights and settings, beside the modules."""

CONSTANTS: dict[str, Any] = {
    "speed_of_light": SPEED_OF_LIGHT,
    "boltzmann": BOLTZMANN,
    "room": {"min_distance": MIN_DISTANCE, "shapes_per_obstacle": SHAPES_PER_OBSTACLE},
    "twin": {
        "slack": image.SLACK,
        "element_gain_db": antenna.ELEMENT_GAIN_DB,
        "most_loss_db": antenna.MOST_LOSS_DB,
        "half_power_width": float(antenna.HALF_POWER_WIDTH),
    },
    "fit": {
        "proposed": fit.PROPOSED,
        "bound_margin": fit_cpu.BOUND_MARGIN,
        "damping": fit_cpu.DAMPING,
        "least_damping": fit_cpu.LEAST_DAMPING,
        "most_damping": fit_cpu.MOST_DAMPING,
        "damping_factor": fit_cpu.DAMPING_FACTOR,
        "regular": fit_cpu.REGULAR,
        "converged": fit_cpu.CONVERGED,
        "rounding": fit_cpu.ROUNDING,
    },
    "density": {
        "least_width": densities.LEAST_WIDTH,
        "least_distance": densities.LEAST_DISTANCE,
        "wraps": densities.WRAPS,
    },
    "sync_offset": {
        "bins": sync_offset.BINS,
        "smooth": sync_offset.SMOOTH,
        "kept": sync_offset.KEPT,
        "cells": sync_offset.CELLS,
        "steep": sync_offset.STEEP,
        "hopeless": sync_offset.HOPELESS,
        "nodes": sync_offset.NODES.tolist(),
        "node_weights": sync_offset.WEIGHTS.tolist(),
    },
    "path_set": {
        "weakest": path_arrays.WEAKEST,
        "strongest": path_arrays.STRONGEST,
        "lowest_level": path_arrays._LOWEST_LEVEL,
        "most_seen": path_set_cpu.MOST_SEEN,
        "least_height": path_set_cpu.LEAST_HEIGHT,
        "least_share": path_set_cpu.LEAST_SHARE,
        "negligible": path_set_cpu.NEGLIGIBLE,
        "scale": path_set_cpu.SCALE,
        "nodes": path_set_cpu.NODES.tolist(),
        "node_weights": path_set_cpu.NODE_WEIGHTS.tolist(),
        "close": path_set_cpu._NEAR,
        "similar": path_set_cpu._SIMILAR,
        "far": path_set_cpu._FAR,
        "least_root": path_set_cpu._LEAST_ROOT,
        "most_sine": path_set_cpu._MOST_SINE,
        "no_angle": path_set_cpu._NO_ANGLE,
        "overlap": path_set_cpu._OVERLAP,
        "table": {
            "bend": strength._BEND,
            "rows": strength._ROWS,
            "tabulated": strength._REACH,
            "steps": strength._STEPS,
            "fine": strength._FINE,
        },
    },
    "near": 5.0,  # [m], radius around the transmitter whose posterior mass the page shows
    "floor": draw.FLOOR,
    "colours": {"receiver": draw.RECEIVER, "transmitter": draw.TRANSMITTER},
}
"""Constants of the package that the JavaScript modules read from the settings file instead of copying them."""


def export(run: Run, folder: Path) -> None:
    """Write the explorer into ``folder``: its modules, and the weights and settings of ``run``.

    Raises:
        FileNotFoundError: the run has no trained weights.
        ValueError: the explorer does not support its settings.
    """
    content = json.dumps(settings(run), separators=(",", ":"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in assets():
        shutil.copyfile(path, folder / path.name)
    write_text(folder / SETTINGS, content + "\n")


def assets() -> list[Path]:
    """JavaScript modules and style sheet."""
    return sorted(path for path in HOME.iterdir() if path.suffix in {".js", ".css"})


def settings(run: Run) -> dict[str, Any]:
    """Everything that the page needs from a run: settings, constants and weights."""
    common = common_settings(run.config)
    methods = {name: load_method(find_weights(run.name, name))[0] for name in METHODS}
    return {"run": run.name, **common, "methods": {name: describe(method) for name, method in methods.items()}}


def common_settings(config: Config) -> dict[str, Any]:
    """Settings shared by all methods, values derived from them, and the constants."""
    if config.radio.num_subcarriers & (config.radio.num_subcarriers - 1):
        raise ValueError(
            f"Expected 'radio.num_subcarriers' a power of two for the explorer, got {config.radio.num_subcarriers}"
        )
    return {
        "room": plain(dataclasses.asdict(config.room)),
        "radio": plain(dataclasses.asdict(config.radio)),
        "estimator": _describe_estimator(config.estimator, config.radio),
        "twin": {name: getattr(config.twin, name) for name in ("max_depth", "max_paths", "wall_thickness")},
        "materials": permittivities(config.radio),
        "path_set": describe_path_set(PathSet(config.radio), config.radio),
        "constants": CONSTANTS,
    }


def describe(method: Method) -> dict[str, Any]:
    """Options and weights of a method as plain numbers, with the fewest digits that keep single precision."""
    weights = {
        name: {"shape": list(tensor.shape), "values": [float(str(value)) for value in tensor.cpu().numpy().ravel()]}
        for name, tensor in method.state_dict().items()
    }
    return {
        "title": METHOD_TITLES[method.name],
        "options": {**plain(dataclasses.asdict(method.options)), "num_features": method.options.num_features},
        "weights": weights,
    }


def describe_path_set(scorer: PathSet, radio: Radio) -> dict[str, Any]:
    """Estimator, fitted constants and mixture of the likelihood of path sets as plain numbers."""
    mixture = components(scorer.tolerance, scorer.constants)
    return {
        "title": "Path set",
        "estimator": _describe_estimator(scorer.estimator, radio),
        "fitted": plain(dataclasses.asdict(scorer.constants)),
        "components": {name: column.tolist() for name, column in mixture._asdict().items()},
    }


def _describe_estimator(options: EstimatorOptions, radio: Radio) -> dict[str, Any]:
    return {**plain(dataclasses.asdict(options)), "threshold": threshold(options, radio)}


def permittivities(radio: Radio) -> dict[str, list[float]]:
    """Complex relative permittivity [real, imaginary] of every material defined at the carrier frequency."""
    found = {}
    for name in material_names():
        try:
            value = permittivity(name, radio.carrier)
        except ValueError:  # not defined at this frequency
            continue
        found[name] = [value.real, value.imag]
    return found


def page(folder: str = "../../_static/explorer") -> str:
    """HTML of the explorer for a page of the book; ``folder`` is the address of what :func:`export` wrote."""
    return (
        f'<link rel="stylesheet" href="{folder}/explorer.css">\n'
        '<div id="explorer"><noscript>The explorer computes in your browser and needs JavaScript.</noscript></div>\n'
        f'<script type="module">import {{ mount }} from "{folder}/explorer.js"; '
        'mount(document.getElementById("explorer"));</script>'
    )


def explore(layout: Layout | None = None, run: str = "paper") -> Explorer:
    """Show the live explorer in a notebook, with your own room if you like.

    Args:
        layout: the room; by default random rooms drawn with the run's settings.
        run: run whose weights and radio to use.

    Raises:
        FileNotFoundError: the run has no trained weights; the message names the command that trains them.
        ValueError: a material of the room is not defined at the run's carrier.
    """
    opened = open_run(run)
    for material in layout.materials if layout else ():
        permittivity(material, opened.config.radio.carrier)
    return Explorer(settings(opened), layout)


@dataclass(frozen=True)
class Explorer:
    """Result of :func:`locus.explore`; a notebook shows it as a self-contained frame."""

    settings: dict[str, Any]
    layout: Layout | None

    def to_html(self) -> str:
        """Standalone HTML page that needs no other file."""
        room = json.dumps(_room(self.layout) if self.layout else None)
        style = (HOME / "explorer.css").read_text(encoding="utf-8")
        script = _LOADER % (_embed(_modules()), _embed(self.settings), room)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>LOCUS-DT explorer</title>\n'
            '<meta name="viewport" content="width=device-width">\n'
            "<style>:root { color-scheme: light dark; font-family: system-ui, sans-serif; } "
            f"body {{ margin: 0 0.5rem; }}\n{style}</style></head>\n"
            f'<body><div id="explorer"></div><script>{script}</script></body></html>\n'
        )

    def _repr_html_(self) -> str:
        frame = "border: 0; height: 900px; width: 100%"
        return f'<iframe title="LOCUS-DT explorer" style="{frame}" srcdoc="{html.escape(self.to_html())}"></iframe>'


# Modules import each other by blob addresses, so that each blob is created after those that it imports.
_LOADER = r"""
const addresses = {};
for (const [name, source] of %s) {
  const linked = source.replace(/from "\.\/(.+?)"/g, (_, other) => `from "${addresses[other]}"`);
  addresses[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
const root = document.getElementById("explorer");
const options = { settings: %s, room: %s, worker: addresses["worker.js"] };
import(addresses["explorer.js"]).then(({ mount }) => mount(root, options));
new ResizeObserver(() => {
  if (frameElement) frameElement.style.height = `${document.documentElement.offsetHeight + 24}px`;
}).observe(document.body);
"""


def _modules() -> list[tuple[str, str]]:
    """Names and sources of the modules, each after those that it imports."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in assets() if path.suffix == ".js"}
    imports = {name: re.findall(r'from "\./(.+?)"', source) for name, source in sources.items()}
    return [(name, sources[name]) for name in graphlib.TopologicalSorter(imports).static_order()]


def _room(layout: Layout) -> dict[str, Any]:
    """A layout in the form that the modules use."""

    def shape(polygon: Polygon, material: str) -> dict[str, Any]:
        return {"corners": [list(corner) for corner in polygon.exterior.coords[:-1]], "material": material}

    outline, *obstacles = (
        shape(polygon, name) for polygon, name in zip((layout.room, *layout.obstacles), layout.materials, strict=True)
    )
    return {"outline": outline, "obstacles": obstacles, "clearance": layout.clearance}


def _embed(content: object) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(content, separators=(",", ":")).replace("</", "<\\/")
