"""A run: one configuration, and the folder of everything made with it. Only this module knows where files live."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from locus.settings.checksums import check_intact, sealing
from locus.settings.config import Config
from locus.settings.profiles import load_config, profile_names
from locus.settings.recording import watched
from locus.settings.untrusted import MAX_YAML_BYTES, parse_yaml, read_text, short

_RECORDED = (
    "locus-dt",
    "drjit",
    "mitsuba",
    "numba",
    "numpy",
    "safetensors",
    "shapely",
    "sionna",
    "sionna-rt",
    "torch",
    "xarray",
    "zarr",
)


NO_REPOSITORY = "Expected locus inside its repository, got an installed copy; clone it and `make setup`"


def versions() -> dict[str, str]:
    """Versions to record beside results."""
    return {"python": platform.python_version(), **{name: version(name) for name in _RECORDED}}


def repository() -> Path:
    """Root of the cloned repository, which holds ``notebooks`` and ``book``.

    Raises:
        FileNotFoundError: the package was installed without its repository.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "notebooks").is_dir():
        raise FileNotFoundError(NO_REPOSITORY)
    return root


def data_root() -> Path:
    """Folder of all runs: the environment variable ``LOCUS_DATA``, or ``data`` of the repository.

    Raises:
        FileNotFoundError: ``LOCUS_DATA`` is not set, and there is no repository.
    """
    if "LOCUS_DATA" in os.environ:
        return Path(os.environ["LOCUS_DATA"]).absolute()  # workers and kernels may have another working folder
    try:
        return repository() / "data"
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}, or set LOCUS_DATA to a folder for runs") from None


@dataclass(frozen=True)
class Run:
    """A named configuration and its folder."""

    name: str
    config: Config
    profile: str = ""
    """Profile that the configuration is based on."""
    root: Path | None = None
    """Folder of all runs; :func:`locus.experiment.run.data_root` if None."""

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return (self.root or data_root()) / self.name

    @property
    def notebooks(self) -> Path:
        """Folder of the executed chapters."""
        return self.path / "notebooks"

    @property
    def models(self) -> Path:
        """Folder of the trained weights."""
        return self.path / "models"

    @property
    def results(self) -> Path:
        """Folder of the result files."""
        return self.path / "results"

    def save(self) -> None:
        """Write profile, configuration and versions to ``run.yml``."""
        content = {"profile": self.profile, "config": self.config.to_dict(), "versions": versions()}
        with sealing(self.path / "run.yml") as scratch:
            scratch.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def open_run(
    name: str, changes: Mapping[str, Any] | None = None, run: str | None = None, root: Path | None = None
) -> Run:
    """Open the run of a profile, of a profile with ``changes`` (``{"section.field": value}``), or an existing run.

    Without changes, the run has the name of its profile; with changes, ``<profile>-<8 hex digits of a hash>``. ``run``
    overrides either name. ``root`` is the folder of all runs, by default :func:`locus.experiment.run.data_root`.

    Raises:
        ValueError: a setting is unknown, of the wrong type or out of range, or the run's ``run.yml`` cannot be read.
        FileNotFoundError: there is no profile or run of this name.
    """
    check_name(name)
    if run is not None:
        check_name(run)
    if name in profile_names():
        config = load_config(name, changes)
        plain_name = name if config == load_config(name) else f"{name}-{fingerprint(config.to_dict())[:8]}"
        if run in profile_names() and run != plain_name:
            raise ValueError(f"Expected 'run' other than the profiles {profile_names()}, got {run!r}")
        return Run(run or plain_name, watched(run or plain_name, config), name, root)
    if changes:
        raise ValueError(f"Expected a profile of {profile_names()} to change, got run {name!r}")
    recipe = (root or data_root()) / name / "run.yml"
    if not recipe.is_file():
        raise FileNotFoundError(
            f"Expected a profile of {profile_names()} or a run with {recipe.name}, got {name!r}; "
            "`locus reproduce` makes one"
        )
    try:
        check_intact(recipe)
        content = parse_yaml(read_text(recipe, MAX_YAML_BYTES, "settings"))
        settings, profile = content["config"], str(content.get("profile", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Expected settings in run.yml of run {name!r}, got a damaged file; "
            f"`locus reproduce --profile PROFILE --run {name}` writes it again, `locus runs --remove {name}` removes it"
        ) from error
    return Run(name, watched(name, Config.from_dict(settings)), profile, root)


def check_name(run: str) -> None:
    """Raise a ValueError unless ``run`` is a valid name of a run, not a path."""
    if not isinstance(run, str) or len(run) > 100 or not re.fullmatch(r"[\w][\w.-]*", run):
        raise ValueError(f"Expected 'run' of at most 100 letters, digits, '-', '_' and '.', got {short(run)}")


def fingerprint(recipe: Mapping[str, Any]) -> str:
    """Hash of a recipe, 16 hex digits: equal recipes give the same results."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]
