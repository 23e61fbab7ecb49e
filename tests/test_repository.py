"""The repository itself: it names no machine or registry, and its files are consistent with each other."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import jupytext
import pytest
import yaml

import locus
from locus.book.chapters import glued
from locus.book.tables import twins_table

ROOT = Path(__file__).resolve().parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
TEXTS = [
    name for name in TRACKED if Path(name).suffix not in {".pgm", ".png", ".nc", ".npy", ".safetensors", ".sigmf-data"}
]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.parametrize("name", TEXTS)
def test_no_file_names_a_machine_or_a_registry(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    homes = re.findall(r"(?<![\w.-])/(?:home|root|work|tmp|opt/wheels|opt/pypi|Users)/\w[^\s'\"]*", text)
    hosts = re.findall(r"https?://(?:[\w-]+\.)*(?:pypi|pythonhosted|npmjs|debian|anaconda|pytorch)\.\w+", text)
    assert not homes + hosts
    assert "../" + "shared" not in text


def test_lock_pins_every_package_exactly_and_nothing_else() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.]+", line) for line in lines)
    pins = dict(line.lower().replace("_", "-").split("==") for line in lines)
    for name in ("sionna-rt", "mitsuba", "drjit", "numpy", "torch", "jupyter-book", "papermill"):
        assert name in pins
    # An optional extra, but pinned in the lock as well
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, version in (package.split("==") for package in extras["device"]):
        assert pins[name] == version


def test_conda_environment_takes_its_packages_from_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    conda = [item for item in environment["dependencies"] if isinstance(item, str)]
    pip = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    assert {"python=3.11", "pip", "libllvm19"} <= set(conda)
    assert pip == ["-e .[book,dev,device] -c requirements.lock"]
    assert (ROOT / "requirements.lock").is_file()


def test_ci_calls_make_test_and_nothing_else() -> None:
    commands = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith(("#", "set", "cd"))
    ]
    assert commands == ["exec make test"]


def test_hooks_are_local() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repository["repo"] for repository in hooks["repos"]} == {"local"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapters_have_one_parameters_cell_that_is_used_and_keep_their_tags(path: Path) -> None:
    notebook = jupytext.read(path)
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    names = re.findall(r"^(\w+) =", cells[0].source, re.MULTILINE)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code" and cell is not cells[0])
    assert "run" in names
    assert all(re.search(rf"\b{name}\b", code) for name in names)
    again = jupytext.reads(jupytext.writes(notebook, "py:percent"), "py:percent")
    tags = [cell.metadata.get("tags") for cell in notebook.cells]
    assert [cell.metadata.get("tags") for cell in again.cells] == tags


def test_chapters_are_in_the_table_of_contents() -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = [chapter["file"] for chapter in toc["chapters"]]
    assert [name for name in listed if "chapters/" in name] == [f"book/chapters/{path.stem}" for path in NOTEBOOKS]


def test_readme_code_runs_as_it_stands() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec("".join(blocks), names)
    assert dict(names["paths"].sizes) == {"candidate": 500, "path": 16}  # type: ignore[attr-defined]
    assert dict(names["observed"].sizes) == {"path": 6}  # type: ignore[attr-defined]
    assert float(names["posterior"].sum()) == pytest.approx(1)  # type: ignore[attr-defined]


def test_readme_states_the_sizes_of_the_profiles() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    quick, paper = locus.load_config("quick"), locus.load_config("paper")
    assert f"{quick.training.num_layouts} training rooms and {quick.evaluation.num_layouts} evaluation rooms" in readme
    assert f"one of {paper.evaluation.num_candidates} positions drawn at random" in readme
    assert f"one of {paper.evaluation.num_grid_candidates} points of a regular grid" in readme


def test_readme_shows_what_benchmark_and_chapter_found() -> None:
    """One number for the paths that plain Sionna misses: chapter 1 of the paper's run counts, the README repeats it."""
    results = json.loads((ROOT / "benchmarks/results.json").read_text())["twin"]
    chapter = glued(ROOT / "data/paper/notebooks/01_digital_twin.ipynb")
    missing = {"straightforward": f"{float(chapter['straightforward_missing']):.1f} %"}
    missing["sionna"] = f"{float(chapter['missing_percent']):.4f} %"
    readme = (ROOT / "README.md").read_text()
    for name, share in missing.items():
        seconds, times = (results[name][key] for key in ("seconds_per_group", "times_as_fast"))
        assert f"| {name} | {seconds:.3f} | {times:.0f} | {share} |" in readme, "make readme"
    assert f"<!-- twins -->\n{twins_table(results, chapter)}\n" in readme
    check = locus.load_config("paper").twin_check
    words = " ".join(readme.split())
    assert f"over {check.num_layouts} random rooms with {check.num_candidates} candidates each" in words
    assert int(chapter["check_layouts"]) == check.num_layouts
    assert int(chapter["timed_candidates"]) == check.num_candidates
