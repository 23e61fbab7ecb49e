"""The live explorer: a run's weights in, a page that draws the posterior while things are dragged out.

The modules beside this file compute in the browser what :mod:`locus.twin.image`, :mod:`locus.observation`,
:mod:`locus.estimator`, :mod:`locus.score`, :mod:`locus.baselines` and :mod:`locus.limit` compute here.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

from locus.checks import plain
from locus.config import Radio
from locus.materials import material_names, permittivity
from locus.methods import METHODS, TITLES, load_scorer
from locus.run import Run, write_text
from locus.score import Method

HOME = Path(__file__).parent
SETTINGS = "settings.json"
"""File of the weights and settings beside the modules."""


def export(run: Run, folder: Path) -> None:
    """Write the explorer into ``folder``: its modules, and weights and settings of ``run``.

    Raises:
        FileNotFoundError: the run has no trained weights.
        ValueError: its settings are none that a page can compute with.
    """
    content = json.dumps(settings(run), separators=(",", ":"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in assets():
        shutil.copyfile(path, folder / path.name)
    write_text(folder / SETTINGS, content + "\n")


def assets() -> list[Path]:
    """Modules and style sheet."""
    return sorted(path for path in HOME.iterdir() if path.suffix in {".js", ".css"})


def settings(run: Run) -> dict[str, Any]:
    """All that a page must know of a run."""
    config = run.config
    if config.radio.num_subcarriers & (config.radio.num_subcarriers - 1):
        raise ValueError(
            f"Expected 'radio.num_subcarriers' a power of two for the explorer, got {config.radio.num_subcarriers}"
        )
    sections = {name: plain(dataclasses.asdict(getattr(config, name))) for name in ("room", "radio", "estimator")}
    twin = {name: getattr(config.twin, name) for name in ("max_depth", "max_paths", "wall_thickness")}
    methods = {name: describe(load_scorer(run.name, name)) for name in METHODS}
    return {"run": run.name, **sections, "twin": twin, "materials": permittivities(config.radio), "methods": methods}


def describe(method: Method) -> dict[str, Any]:
    """Options and weights of a method as plain numbers; of single precision, as short as they can be told apart."""
    weights = {
        name: {"shape": list(tensor.shape), "values": [float(str(value)) for value in tensor.cpu().numpy().ravel()]}
        for name, tensor in method.state_dict().items()
    }
    return {
        "title": TITLES[method.name],
        "options": plain(dataclasses.asdict(method.options)),
        "weights": weights,
    }


def permittivities(radio: Radio) -> dict[str, list[float]]:
    """Complex relative permittivity of every material that is defined at the carrier."""
    found = {}
    for name in material_names():
        try:
            value = permittivity(name, radio.carrier)
        except ValueError:  # not defined at this frequency
            continue
        found[name] = [value.real, value.imag]
    return found
