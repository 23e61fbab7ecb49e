"""The live explorer: a run's weights in, a web page whose posterior follows dragged objects, out.

The JavaScript modules beside this file are ports of :mod:`locus.twin.image`, :mod:`locus.receiver.observation`,
:mod:`locus.receiver.estimator`, :mod:`locus.score.pairwise`, :mod:`locus.score.densities`,
:mod:`locus.score.path_set`, :mod:`locus.score.walk` and :mod:`locus.score.limits`.
"""

from __future__ import annotations

import dataclasses
import html
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapely import Polygon

from locus.experiment.run import Run, open_run
from locus.experiment.weights import find_weights
from locus.explorer.constants import CONSTANTS
from locus.explorer.link import link
from locus.receiver.estimator import threshold
from locus.room.layout import Layout
from locus.room.materials import material_names, permittivity
from locus.score.method import Method
from locus.score.path_set import PathSet
from locus.score.tolerance import components
from locus.score.weight_files import METHOD_TITLES, METHODS, load_method
from locus.settings.atomic import write_text
from locus.settings.checks import plain
from locus.settings.config import Config, EstimatorOptions, Radio

HOME = Path(__file__).parent
SETTINGS = "settings.json"
"""Name of the file with weights and settings, beside the modules."""
FROM_DISK = "from_disk.js"
"""Name of the file with all of it as one plain script, for pages that were opened from disk."""

FIRST_ROOM_CHOICE = (
    "The room that it opens with is typical: of 101 random rooms it is the one in which LOCUS-DT gives the median "
    "probability to the places near the transmitter."
)


def export(run: Run, folder: Path) -> None:
    """Write the explorer into ``folder``: its modules, and the weights and settings of ``run``.

    Raises:
        FileNotFoundError: the run has no trained weights.
        ValueError: the explorer does not support its settings.
    """
    content = settings(run)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in assets():
        shutil.copyfile(path, folder / path.name)
    write_text(folder / SETTINGS, json.dumps(content, separators=(",", ":")) + "\n")
    write_text(folder / FROM_DISK, _loader({"settings": content, "addressable": True}))


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
        f'<script src="{folder}/start.js"></script>'
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
        style = (HOME / "explorer.css").read_text(encoding="utf-8")
        script = _loader({"settings": self.settings, "room": _room(self.layout) if self.layout else None}) + _FIT
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


_LOADER = r"""
((page, worker, options) => {
  const address = (source) => URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const root = document.getElementById("explorer");
  import(address(page)).then(({ mount }) => mount(root, { ...options, worker: address(worker) }));
})(%s, %s, %s);
"""

# The frame in a notebook is as high as its content.
_FIT = r"""
new ResizeObserver(() => {
  if (frameElement) frameElement.style.height = `${document.documentElement.offsetHeight + 24}px`;
}).observe(document.body);
"""


def _loader(options: dict[str, Any]) -> str:
    """Script that holds all modules and mounts the explorer with ``options``."""
    page_script = link(HOME / "explorer.js") + "export const mount = $_explorer.mount;\n"
    return _LOADER % (_embed(page_script), _embed(link(HOME / "worker.js")), _embed(options))


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
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
