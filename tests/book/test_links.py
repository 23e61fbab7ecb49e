"""Running chapters online: links lead to files in the repository, and the build configurations are well-formed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import locus
from locus.book import build, links
from locus.book.chapters import chapters

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/someone/locus-dt"
CHAPTERS = [path.stem for path in chapters()]


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_binder_opens_a_tracked_source(chapter: str) -> None:
    link = urlsplit(links.links(ADDRESS, "main", chapter)["Binder"])
    assert (link.netloc, link.path) == ("mybinder.org", "/v2/gh/someone/locus-dt/main")
    path = unquote(link.query).removeprefix("urlpath=lab/tree/")
    assert git("ls-files", path) == [path]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_colab_opens_a_notebook_of_the_run_that_git_keeps(chapter: str) -> None:
    link = urlsplit(links.links(ADDRESS, "main", chapter)["Colab"])
    path = link.path.removeprefix("/github/someone/locus-dt/blob/main/")
    assert path == f"data/paper/notebooks/{chapter}.ipynb"
    ignored = subprocess.run(["git", "check-ignore", "--quiet", "--no-index", path], cwd=ROOT, check=False)
    assert ignored.returncode == 1
    if git("ls-files", "data/paper"):
        assert git("ls-files", path) == [path]


@pytest.mark.parametrize("address", [f"{ADDRESS}/", f"{ADDRESS}.git"])
def test_address_may_be_written_in_other_ways(address: str) -> None:
    assert links.links(address, "main", CHAPTERS[0]) == links.links(ADDRESS, "main", CHAPTERS[0])


def test_branches_with_slashes_are_one_part_of_the_address() -> None:
    assert "/someone/locus-dt/try%2Fthis?" in links.links(ADDRESS, "try/this", CHAPTERS[0])["Binder"]


@pytest.mark.parametrize("address", ["github.com/someone/locus-dt", "https://example.org/a/b", "https://github.com/a"])
def test_other_addresses_are_errors(address: str) -> None:
    with pytest.raises(ValueError, match="Expected 'repository' like"):
        links.links(address, "main", CHAPTERS[0])


@pytest.mark.parametrize("address", [None, ADDRESS])
def test_chapters_link_to_where_they_run_only_if_the_address_is_known(address: str | None) -> None:
    note = build.note(locus.open_run("smoke"), CHAPTERS[0], address, "main")
    assert "This page shows the run `smoke`" in note
    for link in links.links(ADDRESS, "main", CHAPTERS[0]).values():
        assert (link in note) is (address is not None)


def test_binder_takes_llvm_from_conda_and_the_package_from_the_lock() -> None:
    environment = yaml.safe_load((ROOT / ".binder/environment.yml").read_text())
    assert {"python=3.11", "pip", "libllvm19"} <= set(environment["dependencies"])
    script = ROOT / ".binder/postBuild"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    assert "--constraint requirements.lock" in script.read_text()


def test_workflow_fits_the_published_schema(tmp_path: Path) -> None:
    workflow, broken = ROOT / ".github/workflows/book.yml", tmp_path / "broken.yml"
    broken.write_text(workflow.read_text().replace("runs-on", "runs"))
    for path, code in ((workflow, 0), (broken, 1)):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def test_workflow_tests_builds_and_publishes() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text())["jobs"]
    commands = [step["run"] for step in jobs["book"]["steps"] if "run" in step]
    assert commands.index("make test") < next(
        i for i, c in enumerate(commands) if re.match(r".*locus book --run paper", c)
    )
    assert jobs["publish"]["needs"] == "book"
    assert any("deploy-pages" in step.get("uses", "") for step in jobs["publish"]["steps"])
