"""Odd places and users: a relative data folder in every chapter, and a user without an entry in passwd."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import numpy as np
import pytest
from patience import patience

import locus
from locus.book.chapters import chapters
from locus.experiment.run import repository

HEAD = """# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     notebook_metadata_filter: locus
#   locus:
#     needs: []
# ---

# %% tags=["parameters"]
run = "quick"

"""
MAKE = """
from pathlib import Path
import locus
from locus.book.chapters import Chapter
run = locus.open_run("smoke")
run.save()
Chapter(run, Path("chapters/01_made_up.py")).make()  # whose kernel works in another folder
print(run.path)
"""
STRANGER = 12345
"""Number of a user that no machine knows."""


def opening(source: Path) -> str:
    """What a chapter imports, and how it opens its run."""
    cells = [cell for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    shown = [cell.source for cell in cells if "parameters" not in cell.metadata.get("tags", [])]
    statements = ast.parse("\n".join(shown)).body
    opens = next(node for node in statements if "open_run(" in ast.unparse(node))
    imports = [node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join(ast.unparse(node) for node in (*imports, opens))


def test_a_relative_data_folder_is_found_by_every_chapter(tmp_path: Path) -> None:
    found = "from locus.experiment.run import data_root\nprint((data_root() / run / 'run.yml').is_file())"
    cells = "\n\n# %%\n".join(f"{opening(source)}\n{found}" for source in chapters())
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "01_made_up.py").write_text(f"{HEAD}# %%\n{cells}\n")
    environment = {**os.environ, "LOCUS_DATA": "mine/data", "PYTHONPATH": str(repository())}
    done = subprocess.run(
        [sys.executable, "-c", MAKE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / "mine" / "data" / "smoke")
    notebook = nbformat.read(tmp_path / "mine" / "data" / "smoke" / "notebooks" / "01_made_up.ipynb", as_version=4)
    texts = [output.text for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "".join(texts).split() == ["True"] * len(chapters())  # one line may come in two parts


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to; those of pytest are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def as_stranger(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without name, home or entry in passwd, as containers do."""
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "USER", "LOGNAME")}
    environment |= {"LOCUS_DATA": str(folder / "data"), "PYTHONPATH": str(repository()), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            user=STRANGER,
            group=STRANGER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(300),
        )
    except PermissionError:
        pytest.skip(f"other users may not run {sys.executable}: it, or what it links to, lies in a private folder")


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_a_user_without_an_entry_in_passwd_runs_chapters_and_locates(open_folder: Path) -> None:
    (open_folder / "chapters").mkdir()
    (open_folder / "chapters" / "01_made_up.py").write_text(
        f"{HEAD}# %%\nimport locus\nprint(locus.open_run(run).name)\n"
    )
    done = as_stranger([sys.executable, "-c", MAKE], open_folder)
    assert done.returncode == 0, done.stderr
    assert (open_folder / "data" / "smoke" / "notebooks" / "01_made_up.ipynb").is_file()

    room, pose = repository() / "book" / "_static" / "room.geojson", locus.Pose(70.0, 30.0, 2.8)
    paths = locus.make_twin("image").trace(locus.Layout.from_geojson(room), pose, [[12.0, 30.0]])
    np.save(open_folder / "iq.npy", locus.observe(paths.isel(candidate=0), np.random.default_rng(0)).iq)
    command = [str(Path(sys.executable).with_name("locus")), "locate", str(room), "--pose=70,30,2.8", "--iq=iq.npy"]
    done = as_stranger([*command, "--twin=image", "--out=map.nc", "--figure=map.png"], open_folder)
    assert done.returncode == 0, done.stderr
    assert (open_folder / "map.nc").stat().st_uid == STRANGER
    assert (open_folder / "map.png").is_file()
