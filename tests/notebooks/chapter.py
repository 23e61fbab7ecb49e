"""Helpers shared by the tests of all chapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from smoke import smoke_run

import locus
from locus.book import reproduce
from locus.book.chapters import Chapter, chapters, glued
from locus.experiment.run import Run


def glued_numbers(number: str, smoke_folder: Path) -> dict[str, float]:
    """Run a chapter at smoke size and return all numbers that it glues into its prose. It must print no warning."""
    with smoke_run(smoke_folder, lambda run: reproduce.reproduce(run, number)) as run:
        executed = Chapter(run, *chapters(number)).path
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output.text
    return {name: float(text) for name, text in glued(executed).items() if not text.startswith("'")}


def stays_fresh(number: str, smoke_folder: Path, changes: dict[str, Any]) -> bool:
    """Whether a chapter that was run at smoke size needs not run again when its run has these settings."""
    run = Run("smoke", locus.load_config("smoke", changes), root=smoke_folder)
    return Chapter(run, *chapters(number)).fresh()
