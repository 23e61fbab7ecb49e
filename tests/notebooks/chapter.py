"""Helpers shared by the tests of all chapters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nbformat
import pytest

import locus
from locus.book import reproduce
from locus.book.chapters import Chapter, chapters
from locus.experiment.run import Run


@contextmanager
def _entered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUS_DATA", str(tmp_path_factory.getbasetemp() / "chapters"))
        yield


def glued_numbers(number: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Run a chapter at smoke size and return all numbers that it glues into its prose. It must print no warning.

    All chapters share a data folder, so that common inputs are computed once.
    """
    with _entered(tmp_path_factory):
        chapter = Chapter(locus.open_run("smoke"), *chapters(number))
        reproduce.reproduce(chapter.run, number)
        executed = chapter.path
    values = {}
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output.text
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name:
                text = output.data["application/papermill.record/text/plain"]
                if not text.startswith("'"):  # strings are glued, too
                    values[name] = float(text)
    return values


def stays_fresh(number: str, tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]) -> bool:
    """Whether a chapter that was run at smoke size needs not run again when its run has these settings."""
    with _entered(tmp_path_factory):
        return Chapter(Run("smoke", locus.load_config("smoke", changes)), *chapters(number)).fresh()
