"""Pages that are written for every build: templates of ``book/templates`` and a run in, Markdown in ``book`` out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jinja2
import yaml

import locus
from locus import scaling, units
from locus.describe import Module
from locus.pipeline import read_report
from locus.run import Run, repository, write_text


def write_pages(run: Run) -> None:
    """Write every such page."""
    for name, values in (("api.md", api()), ("scaling_out.md", scaling.numbers()), ("status.md", status(run))):
        write_text(repository() / "book" / name, render(name, values))


def render(name: str, values: dict[str, Any]) -> str:
    """A template, filled in; a value that it lacks is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(repository() / "book" / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": units.duration, "count": units.count}
    return environment.get_template(name).render(values)


def api() -> dict[str, dict[str, str]]:
    """Public names, and then modules, each with its description."""
    root = repository()
    found = {}
    for path in sorted(root.glob("locus/**/*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path)
    homes = {name: next(module for module in found.values() if name in module.definitions) for name in locus.__all__}
    return {
        "names": {name: home.public(name) for name, home in homes.items()},
        "modules": {name: module.text(locus.__all__) for name, module in found.items() if name != "locus"},
    }


def status(run: Run) -> dict[str, Any]:
    """What the run's report says, and the settings that it was made with.

    Raises:
        FileNotFoundError: there is no report.
    """
    steps = read_report(run)["steps"]
    if not steps:
        raise FileNotFoundError(f"Expected report.json in run {run.name}, got none; `locus reproduce` writes it")
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
        "settings": yaml.safe_dump(run.config.to_dict(), sort_keys=False, default_flow_style=None).strip(),
    }
