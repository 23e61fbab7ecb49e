"""Generated pages: templates from ``book/templates`` and a run in, Markdown in ``book`` out; written at every build."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import jinja2
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
import yaml
from matplotlib.figure import Figure

import locus
from locus import explorer
from locus.book import architecture, citation, device, own_radio, reading_page, scaling
from locus.book.api import Module
from locus.book.chapters import Chapter, chapters, glued
from locus.book.diagram import diagram
from locus.book.figures import style
from locus.book.figures.headline_figure import headline_figure
from locus.book.paper import printed
from locus.book.reproduce import all_steps
from locus.book.tables import intervals_hold
from locus.experiment import netcdf, report, sensitivity
from locus.experiment.iq_baselines import IqBaselines
from locus.experiment.rows import Rows
from locus.experiment.run import Run, open_run, repository
from locus.experiment.weights import Weights, further_weights
from locus.judge import metrics
from locus.judge.floor import floored
from locus.score import weight_files
from locus.score.pairwise import PairNetwork
from locus.settings import units
from locus.settings.atomic import write_text
from locus.settings.profiles import load_config


def write_pages(run: Run) -> None:
    """Write all generated pages. ``intro`` and ``reading_the_paper`` always show the paper's run."""
    pages = {
        "intro.md": intro(),
        "reading_the_paper.md": readings(),
        "architecture.md": architecture_page(),
        "api.md": api(),
        "on_a_device.md": device.numbers(),
        "own_radio.md": own_radio.numbers(),
        "scaling_out.md": scaling.numbers(),
        "status.md": status(run),
    }
    for name, values in pages.items():
        write_text(repository() / "book" / name, render(name, values))
    for folder, modules in api_folders().items():
        text = render("api_folder.md", {"folder": folder, "modules": modules})
        write_text(repository() / "book" / "api" / f"{folder}.md", text)


def render(name: str, values: dict[str, Any]) -> str:
    """Fill in a template; a missing value is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(repository() / "book" / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": units.duration, "count": units.count}
    return environment.get_template(name).render(values)


def intro() -> dict[str, Any]:
    """Values for the first page: headline results of the paper's run. Also writes its figure."""
    table, config, theirs = _paper("table"), load_config("paper"), printed()
    _draw("headline", lambda: headline_figure(table, theirs))
    _draw("headline_narrow", lambda: headline_figure(table, theirs, narrow=True))

    def ratio(method: str) -> str:
        return f"{100 * float(table.ratio.sel({'method': method, 'evaluation': 'random'})):.0f}"

    baselines = [name for name in weight_files.METHODS if name != "locus_dt"]
    return {
        "explorer": explorer.page("../_static/explorer"),
        "first_room": explorer.FIRST_ROOM_CHOICE,
        "diagram": diagram(),
        "num_weights": sum(weights.numel() for weights in PairNetwork().parameters()),
        "num_layouts": int(table.num_groups.sel(evaluation="random")),
        "num_random": int(table.num_candidates.sel(evaluation="random")),
        "num_grid": int(table.num_candidates.sel(evaluation="grid")),
        "intervals_hold": intervals_hold(table),
        "gain": f"{float(table.gain.sel({'method': 'locus_dt', 'evaluation': 'random'})):.0f}",
        "ratio": ratio("locus_dt"),
        "printed": f"{100 * float(theirs.ratio.sel({'method': 'locus_dt', 'evaluation': 'random'})):.0f}",
        "best_baseline": max((ratio(name) for name in baselines), key=float),
        "path_set": ratio("path_set"),
        "limit": ratio("bayes"),
        "training_layouts": config.training.num_layouts,
        "bibtex_paper": citation.paper(),
        "bibtex_companion": citation.companion(),
    }


def readings() -> dict[str, Any]:
    """Values for the page of readings: their effect on R, and differences from the paper. Also writes its figure."""
    run = open_run("paper", root=repository() / "data")
    tests, data = Rows(run, "test").open("test"), _paper("sensitivity")
    _draw("sensitivity", lambda: reading_page.sensitivity_figure(data))
    _draw("sensitivity_narrow", lambda: reading_page.sensitivity_figure(data, narrow=True))
    encodings = metrics.summary(tests, tests.attrs["num_candidates"], np.random.default_rng(0))
    measured = _measured()
    twins = glued(Chapter(run, *chapters("01")).path)
    return {
        **reading_page.values(data),
        **reading_page.differences(_paper("table"), printed(), encodings, IqBaselines(run).summary()),
        "off_list_floored": _off_list_ratio(run),
        "negatives": reading_page.negatives(measured["negatives"]),
        "solver": reading_page.solver_values(_paper("solver")),
        "missing_percent": float(twins["straightforward_missing"]),
        "missing_layouts": int(twins["check_layouts"]),
        "sizes": load_config(sensitivity.PROFILE),
        "paper_layouts": load_config("paper").training.num_layouts,
        "training": load_config("paper").training,
        "room": load_config("paper").room,
        "sionna_rays": load_config("paper").twin.num_rays,
    }


def _off_list_ratio(run: Run) -> str:
    """R [%] of LOCUS-DT off the list of Eval Grid, with its floor."""
    rows, name = Rows(run, "eval_grid", ("locus_dt",)).open("grid_offlist"), {"method": "locus_dt"}
    share, count = float(_paper("floors").share.sel(name)), int(rows.attrs["num_candidates"])
    logs = floored(rows.log_posterior.sel(name), count, share)
    return f"{100 * (1 + logs.mean() / np.log(count)):.1f}"


def architecture_page() -> dict[str, Any]:
    """Values for the architecture page: the folders of the package. Also writes the figure of imports."""
    _draw("imports", architecture.imports_figure)
    return architecture.values()


def _draw(name: str, make: Callable[[], Figure]) -> None:
    """Write a figure into the folder that pages load figures from, the same bytes whatever was drawn before."""
    target = repository() / "book" / "_static" / "generated" / f"{name}.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context():
        plt.rcdefaults()
        style.use()
        figure = make()
        figure.savefig(target, dpi=150, metadata={"Date": None})
    plt.close(figure)


def _paper(name: str) -> xr.Dataset:
    """Load a result of the paper's run, which is part of the repository."""
    return netcdf.load(repository() / "data" / "paper" / "results" / f"{name}.nc")


def api() -> dict[str, Any]:
    """Values for the API page: summaries and descriptions of the public names, and the purpose of every module.

    All in the order of the paper.
    """
    modules = _modules()
    homes: dict[str, Module] = {}
    for module in modules.values():  # a folder may hand on a name of one of its modules
        for name in module.definitions:
            if f"{module.name}.".startswith(f"{locus.HOMES.get(name)}."):
                homes.setdefault(name, module)
    folders: dict[str, dict[str, str]] = {}
    for name, module in modules.items():
        if name != "locus":
            folders.setdefault(name.split(".")[1], {})[name] = module.purpose
    return {
        "summaries": {name: home.summary(name) for name, home in homes.items()},
        "names": {name: home.public(name) for name, home in homes.items()},
        "folders": folders,
    }


def api_folders() -> dict[str, dict[str, str]]:
    """Descriptions of all modules, by folder and name."""
    found: dict[str, dict[str, str]] = {}
    for name, module in _modules().items():
        if name != "locus":
            own = [one for one, home in locus.HOMES.items() if f"{name}.".startswith(f"{home}.")]
            found.setdefault(name.split(".")[1], {})[name] = module.text(own)
    return found


def _modules() -> dict[str, Module]:
    """All modules of the package, parsed, by name, folders in the order of the paper."""
    root, found = repository(), {}
    for path in root.glob("locus/**/*.py"):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path)
    return {name: found[name] for name in sorted(found, key=lambda name: (_place(name), name))}


def _place(name: str) -> int:
    """Place of a module's folder in the order of the paper; the package itself comes first."""
    _, *folder = name.split(".")
    return 1 + architecture.FLOW.index(folder[0]) if folder else 0


def status(run: Run) -> dict[str, Any]:
    """Values for the status page: the report of a run, its trainings and its settings.

    Raises:
        FileNotFoundError: there is no report.
    """
    made = report.read(run)["steps"]
    if not made:
        raise FileNotFoundError(f"Expected report.json in run {run.name}, got none; `locus reproduce` writes it")
    order = [step.name for step in all_steps(run)]
    steps = dict(sorted(made.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))
    versions: dict[str, list[str]] = {}
    for step in steps.values():
        for name, version in step["versions"].items():
            if version not in versions.setdefault(name, []):
                versions[name].append(version)
    machines = Counter((m["system"], m["cores"], m["memory_gib"]) for m in (step["machine"] for step in steps.values()))
    return {
        "run": run,
        "steps": steps,
        "versions": versions,
        "machines": machines,
        "trainings": trainings(run),
        "settings": yaml.safe_dump(run.config.to_dict(), sort_keys=False).strip(),
        "campaign": _measured().get("campaign"),
    }


def _measured() -> dict[str, Any]:
    """Sections of benchmarks/results.json."""
    found: dict[str, Any] = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    return found


def trainings(run: Run) -> list[dict[str, Any]]:
    """Training of each network of a run, from the headers of its weights; empty if the run has no weights."""
    found = []
    networks = {title: Weights(run, method) for method, title in weight_files.METHOD_TITLES.items()}
    networks[f"{weight_files.METHOD_TITLES['locus_dt']}, trained with errors"] = Weights(run, "locus_dt", robust=True)
    for weights in further_weights(run).values():
        networks[f"{weight_files.METHOD_TITLES[weights.method]}, seed {weights.seed}"] = weights
    for title, weights in networks.items():
        encodings = weights.encodings if weights.path.is_file() else ()
        apart = len(encodings) > 1
        for encoding in encodings:
            training = weight_files.read_tensors(weights.path_of(encoding if apart else None))[1]["training"]
            history = training["history"]
            found.append(
                {
                    "network": f"{title}, {encoding}" if apart else title,
                    "epochs": len(history["seconds"]),
                    "kept": training["best_epoch"] + 1,
                    "validation": min(history["validation"]),
                    "reason": training["reason"],
                    "seconds": sum(history["seconds"]),
                }
            )
    return found
