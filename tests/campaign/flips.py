"""Bit flips: a run with every kind of file in; whether a single flipped bit is noticed out."""

from __future__ import annotations

import io
import shutil
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locus
from campaign import State
from locus.book.chapters import Chapter
from locus.experiment import netcdf, report
from locus.experiment.artifact import Artifact, due, make_all
from locus.experiment.libraries import Library, Observations
from locus.experiment.rows import Rows
from locus.experiment.weights import Weights
from locus.score import train
from locus.settings.checksums import DamagedError

TINY = {
    "twin.evaluation": "image",
    "training.num_layouts": 4,
    "training.num_test_layouts": 2,
    "training.num_candidates": 30,
    "training.num_snapshots": 2,
    "training.num_epochs": 2,
    "training.num_seeds": 1,
    "training.num_baseline_seeds": 1,
    "evaluation.num_layouts": 1,
    "storage.block": 2,
}
NAME = "campaign"
_HEAD = """# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     notebook_metadata_filter: locus
#   locus:
#     needs: []
# ---

# %% tags=["parameters"]
run = "quick"

# %%
from myst_nb import glue
glue("number", 0.5, display=False)
print("a chapter of", run)
"""


def steps(run: locus.Run) -> list[Artifact]:
    """A store of each kind, weights, rows and a chapter; between them they keep every kind of file."""
    source = run.path.parent / "01_short.py"
    if not source.is_file():
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(_HEAD, encoding="utf-8")
    return [
        Library(run, "train"),
        Observations(run, "train"),
        Weights(run, "locus_dt"),
        Rows(run, "test", ("locus_dt",)),
        Chapter(run, source),
    ]


def prepare(root: Path) -> None:
    """Make the tiny run, and leave the checkpoint of a training that was interrupted after its first epoch."""
    run = locus.open_run("smoke", TINY, NAME, root)
    run.save()
    for step in due(steps(run)):
        make_all([step], done=lambda one, seconds: report.note(run, one, seconds))
    save = train._State.save

    def save_and_stop(state: Any, path: Path, identity: str) -> None:
        save(state, path, identity)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(train._State, "save", save_and_stop)
        _interrupted(run).make()


def _interrupted(run: locus.Run) -> Weights:
    return Weights(run, "gauss_polar")


def resumed(root: Path) -> dict[str, Any]:
    """Weights of the interrupted training, resumed in a copy of the run."""
    aside = root.parent / f"{root.name}-resumed"
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(root, aside)
    weights = _interrupted(locus.open_run(NAME, root=aside))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        weights.make()
    found = {}
    for path in weights.files:
        found[path.name] = {name: one.numpy() for name, one in locus.load_scorer(str(path)).state_dict().items()}
    return found


def contents(run: locus.Run) -> dict[str, Any]:
    """Everything that is read from a run; raises what its readers raise."""
    found: dict[str, Any] = {"config": run.config, "profile": run.profile}
    for store in steps(run)[:2]:
        found[store.name] = store.open().load()  # type: ignore[attr-defined]
    scorer = locus.load_scorer(str(run.models / "locus_dt.safetensors"))
    found["weights"] = {name: tensor.numpy() for name, tensor in scorer.state_dict().items()}
    found["chapter"] = steps(run)[-1].files[0].read_bytes()  # it goes into the book as it is
    for path in sorted(run.results.rglob("*.nc")):
        found[path.name] = netcdf.load(path)
    found["report"] = report.read(run)["steps"]
    if not found["report"]:
        raise ValueError("report.json is damaged: no steps")  # and so says the status page
    return found


def everything(root: Path) -> dict[str, Any]:
    """What is read from the run, and what becomes of its interrupted training."""
    return {**contents(locus.open_run(NAME, root=root)), "resumed": resumed(root)}


def same(a: Any, b: Any) -> bool:
    if hasattr(a, "identical"):
        return bool(a.identical(b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)


def kinds(folder: Path) -> dict[str, list[Path]]:
    """Files of a run by kind."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock" and path.stat().st_size:
            kind = (
                "chunk"
                if "c" in path.parts[-4:-1]
                else path.name
                if path.suffix in (".yml", ".json", "")
                else path.suffix
            )
            found.setdefault(kind, []).append(path)
    return found


def flip(root: Path, number: int, expected: dict[str, Any]) -> tuple[str, str]:
    """Flip one bit, look, and flip it back."""
    rng = np.random.default_rng([1, number])
    files = list(kinds(root / NAME).values())[number % len(kinds(root / NAME))]
    path = files[int(rng.integers(len(files)))]
    before = path.read_bytes()
    place, bit = int(rng.integers(len(before))), int(rng.integers(8))
    changed = bytearray(before)
    changed[place] ^= 1 << bit
    where = f"{path.relative_to(root / NAME)}, byte {place}, bit {bit}"
    path.write_bytes(bytes(changed))
    try:
        if path.suffix == ".checkpoint":  # read by the training that goes on only
            good = same(resumed(root), expected["resumed"])
            return ("survived", where) if good else ("wrong", f"{where}: the training ended with other weights")
        run = locus.open_run(NAME, root=root)
        stale = due(steps(run))
        if stale:
            return "found", f"{where}: {stale[0].name} is made again"
        concerned = path.parent == run.models  # checksums of a checkpoint are with those of weights
        good = same({**contents(run), "resumed": resumed(root) if concerned else expected["resumed"]}, expected)
        return ("harmless", where) if good else ("wrong", f"{where}: read as if nothing happened")
    except (ValueError, OSError, RuntimeError, DamagedError) as error:
        text = " ".join(str(error).split())
        return ("found", f"{where}: {text[:200]}") if 0 < len(text) < 500 else ("wrong", f"{where}: {text[:300]}")
    except Exception as error:
        return "wrong", f"{where}: {type(error).__name__}: {str(error)[:200]}"
    finally:
        path.write_bytes(before)


def flips(state: State, folder: Path, count: int, more: Any = lambda: True) -> None:
    """Flip ``count`` bits, one at a time."""
    if state.complete("bit flips", count):
        return
    root = folder / "flips"
    shutil.rmtree(root, ignore_errors=True)  # it takes a second, and a killed campaign may have left a flipped bit
    prepare(root)
    expected = everything(root)
    for number in range(count):
        if not more():
            return
        if not state.done("bit flips", number):
            state.note("bit flips", number, *flip(root, number, expected))
