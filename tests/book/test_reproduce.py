"""The whole pipeline at tiny size: a change makes exactly the right steps due again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import locus
from locus.book import reproduce, runs
from locus.cli import main
from locus.experiment import artifact, inventory, witness
from locus.experiment.journal import StoreError, exclusive
from locus.experiment.libraries import Observations
from locus.experiment.other_twin import OtherTwin
from locus.experiment.rows import Rows
from locus.experiment.table import SCORER_TITLES, Table
from locus.receiver import fit_numpy, observation
from locus.room.materials import permittivity
from locus.score import pairwise, weight_files
from locus.twin import image
from locus.twin.antenna import array_response

TINY = {
    "twin.evaluation": "image",
    "training.num_layouts": 12,
    "training.num_test_layouts": 4,
    "training.num_epochs": 2,
    "evaluation.num_layouts": 4,
    "evaluation.num_snapshots": 2,
    "evaluation.block": 2,
    "storage.block": 6,
}
HEAD = """# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     notebook_metadata_filter: locus
#   locus:
#     needs: [{needs}]
# ---

# %% tags=["parameters"]
run = "quick"

# %%
import locus
from locus.{module} import RECIPE

print(run, locus.open_run(run).config.{setting})
"""
KEPT = [
    "models/locus_dt",
    "models/gauss_cart",
    "models/gauss_polar",
    "models/gmm_cart",
    "models/locus_dt.robust",
    "results/temperature",
    "models/path_set",
    "results/test",
    "results/eval_random",
    "results/eval_grid",
    "models/locus_dt.seed1",
    "results/seeds",
    "results/table",
    "results/other_twin",
    "results/raw_iq",
    "results/phase_free",
    "results/nats",
    "results/moved",
    "results/any_radio",
    "results/floors",
    "results/robustness",
    "results/reachable",
    "results/walk",
    "results/searches",
    "results/mapped",
    "results/witness",
]
SEEDS = ["results/eval_grid.seeds", "results/eval_random.seeds"]
WITH_SEEDS = [*KEPT[:11], *SEEDS, *KEPT[11:]]
EVERYTHING = ["candidates/train", "observations/train", *KEPT[:4], "wrong_candidates/train", *WITH_SEEDS[4:]]
ROWS = ["results/eval_random", "results/eval_grid"]
AVERAGED = [*SEEDS, "results/seeds"]
SUMMARISED = ["results/table", "results/other_twin", "results/raw_iq", "results/phase_free", "results/nats"]
ROBUST = ["models/locus_dt.robust", "results/floors", "results/robustness", "results/walk", "results/mapped"]
WRONG = ["results/robustness", "results/reachable", "results/walk"]
PATH_SETS = ["results/nats", "results/any_radio", "results/floors", *WRONG, "results/searches", "results/mapped"]
"""Results of the path set, beside rows and table."""
LATER = (
    *("results/seeds", "results/other_twin", "results/phase_free", "results/nats", "results/moved"),
    *("results/any_radio", "results/reachable", "results/walk", "results/searches"),
)
OWN = ("models/locus_dt.robust", "models/locus_dt.seed1", "results/temperature", "models/path_set")
NO_TWIN = [name for name in KEPT[1:] if name not in (*OWN, *LATER)]
"""Steps that depend on the baselines."""
UNTRAINED = ("models/path_set", "results/reachable", "results/searches")
NO_SAMPLES = [name for name in WITH_SEEDS if name not in ("results/raw_iq", *UNTRAINED)]
"""Steps that depend on estimated paths as networks see them."""
TRAINED = [name for name in WITH_SEEDS if name not in ("results/temperature", *UNTRAINED)]
"""Steps that depend on networks."""
ON_LOCUS_DT = [name for name in TRAINED[4:] if name != "results/raw_iq"]
RADIOS = ["results/moved", "results/any_radio"]
LISTED = len(KEPT) + 2  # with two chapters
ALL = len(EVERYTHING) + 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with two synthetic chapters."""
    folder = tmp_path_factory.mktemp("made")
    notebooks = folder / "notebooks"
    notebooks.mkdir()
    (notebooks / "01_room.py").write_text(HEAD.format(needs="", setting="room", module="room.layout"))
    (notebooks / "02_score.py").write_text(
        HEAD.format(needs="models/locus_dt", setting="features", module="score.method")
    )
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as bars:
        _enter(patch, folder)
        reproduce.reproduce(run())
    (folder / "bars").write_text(bars.getvalue())
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    _enter(monkeypatch, folder)
    return folder


def _enter(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("LOCUS_DATA", str(folder / "data"))
    sources = sorted((folder / "notebooks").glob("*.py"))
    patch.setattr(
        reproduce, "chapters", lambda only=None: [s for s in sources if only is None or s.stem.startswith(only)]
    )


def run(**changes: object) -> locus.Run:
    return locus.open_run("smoke", {**TINY, **{k.replace("__", "."): v for k, v in changes.items()}}, "tiny")


def due(one: locus.Run) -> list[str]:
    kept = [step for step in reproduce.all_steps(one) if not step.is_store]
    return [step.name for step in artifact.due(kept)]


def test_a_finished_run_is_fresh_throughout_and_writes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert due(run()) == []
    before = {path: path.stat().st_mtime_ns for path in (copy / "data").rglob("*") if path.is_file()}
    reproduce.reproduce(run())
    printed = capsys.readouterr().out
    assert printed.count(": fresh") == len(KEPT) + 2
    assert printed.count(": not needed") == 3 + len(SEEDS)
    assert {path: path.stat().st_mtime_ns for path in (copy / "data").rglob("*") if path.is_file()} == before


def test_every_bar_says_what_it_does(made: Path) -> None:
    bars = re.findall(r"([^\r\n]+?): +\d+%", (made / "bars").read_text())
    assert list(dict.fromkeys(bars)) == [
        "candidates of train",
        "snapshots of train",
        "training locus_dt",
        *(f"training {name}, {code}" for name in weight_files.METHODS[1:] for code in weight_files.encodings(name)),
        "candidates of train, with errors",
        "training locus_dt with errors",
        "fitting the fingerprint",
        "drawing rooms for the path set",
        "fitting the path set",
        "evaluating test",
        "evaluating eval_random",
        "evaluating eval_grid",
        "training locus_dt, seed 1",
        "evaluating eval_grid.seeds",
        "evaluating eval_random.seeds",
        "drawing snapshots of train",
        *(f"training {name} on raw IQ" for name in weight_files.METHODS[1:]),
        "evaluating raw IQ on eval_random",
        "evaluating raw IQ on eval_grid",
        "sampling unknown phases",
        "looking for the nats",
        "moving transmitters",
        "trying other radios",
        "fitting floors",
        "evaluating with wrong twins",
        "sampling worlds",
        "fitting walks",
        "walking",
        "searching",
        "mapping rooms",
        "01_room",
        "02_score",
    ]


def test_it_begins_with_what_it_takes_and_ends_with_what_came_out(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "data" / "tiny" / "results" / "table.nc").unlink()
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    assert main(["reproduce", "--profile", "smoke", "--run", "tiny", *settings]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = rf"tiny: 1 of {ALL} steps to make, about [\d.]+ s on \d+ workers, at most [\d.]+ kB"
    assert re.fullmatch(expected, lines[0])
    ends = lines[-len(SCORER_TITLES) - 2 :]
    assert ends[0].split() == ["Eval", "Grid", "Eval", "Random"]
    table = Table(run()).open()
    for line, name in zip(ends[1:-1], table.method.values, strict=True):
        assert line.startswith(SCORER_TITLES[name])
        for value in table.ratio.sel({"method": name, "evaluation": ["grid", "random"]}).values:
            assert f"{100 * float(value):.1f} [" in line
    assert ends[-1].endswith("`locus book --run tiny` makes a book of them.")


def test_evaluate_says_what_it_makes_first(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A single method needs only its own weights; all methods need those of all."""
    command = ["evaluate", "--profile", "smoke", "--run", "fresh", "--workers", "2"]
    command += [f"--set={name}={value}" for name, value in TINY.items()]
    assert main([*command, "--method", "gauss_cart"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = ["candidates/train", "observations/train", "models/gauss_cart", "results/test.gauss_cart"]
    assert [line.partition(": to make, about ")[0] for line in lines[:4]] == expected
    assert lines[4].startswith("fresh: 4 steps to make, about ")
    assert [line.split()[0] for line in lines[-2:]] == ["test", "gauss_cart"]
    assert not list((copy / "data" / "fresh" / "models").glob("locus_dt*"))
    assert main([*command, "--method", "gauss_cart"]) == 0
    assert "to make" not in capsys.readouterr().out
    whole = locus.open_run("smoke", TINY, "fresh")
    left = artifact.due([Rows(whole, "test")])
    assert [step.name for step in left] == [
        *("models/locus_dt", "models/gauss_polar", "models/gmm_cart"),
        "results/test",
    ]
    assert main([*command, "--method", "magic"]) == 2
    assert "Expected 'method' in" in capsys.readouterr().err


class TestRemove:
    def test_a_run_goes_with_all_that_was_made(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        other = copy / "data" / "other"
        shutil.copytree(copy / "data" / "tiny", other)
        own = sum(file.stat().st_size for file in other.rglob("*") if file.is_file()) / 2**20
        half = copy / "data" / ".removed" / "killed"
        half.mkdir(parents=True)
        assert main(["runs", "--remove", "other"]) == 0
        assert capsys.readouterr().out == f"Removed run other: {own:.1f} MiB freed\n"
        assert [path.name for path in (copy / "data").iterdir()] == ["tiny"]

    def test_a_kill_leaves_a_run_or_none(self, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The run is moved as a whole before anything is deleted; its stores cannot be reused from there."""
        remove = shutil.rmtree

        def killed(path: Path, **options: bool) -> None:
            if path.exists():
                raise KeyboardInterrupt
            remove(path, **options)

        monkeypatch.setattr(runs.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            runs.remove_run("tiny")
        monkeypatch.undo()
        _enter(monkeypatch, copy)
        assert len(list(runs.list_runs())) == 1, "the header alone"
        assert not Observations(run(), "train").adopt()

    @pytest.mark.parametrize("name", ["../data/tiny", "..", ".", "/", "a/b", ".removed", ""])
    def test_paths_are_refused(self, copy: Path, name: str) -> None:
        with pytest.raises(ValueError, match=r"Expected 'run' of at most 100 letters"):
            runs.remove_run(name)
        assert (copy / "data" / "tiny" / "run.yml").is_file()

    def test_other_folders_are_refused(self, copy: Path) -> None:
        (copy / "data" / "sweeps").mkdir()
        with pytest.raises(ValueError, match=r"Expected a run that `locus runs` lists, got 'sweeps'"):
            runs.remove_run("sweeps")

    def test_a_run_under_construction_is_refused(self, copy: Path) -> None:
        store = Observations(run(), "train")
        with exclusive(store.path), pytest.raises(StoreError, match=rf"held by process {os.getpid()}"):
            runs.remove_run("tiny")
        assert due(run()) == []

    def test_what_git_keeps_is_refused(self, copy: Path) -> None:
        for command in (["init", "--quiet"], ["add", "data/tiny/run.yml"]):
            subprocess.run(["git", *command], cwd=copy, check=True)
        with pytest.raises(ValueError, match=r"Expected a run that git does not track, got 'tiny'"):
            runs.remove_run("tiny")
        assert due(run()) == []


def test_a_setting_makes_due_what_reads_it_and_what_follows(copy: Path) -> None:
    assert due(run(training__learning_rate=1e-3)) == ["models/locus_dt", *ON_LOCUS_DT, "notebooks/02_score"]
    assert due(run(training__baseline_learning_rate=1e-3)) == NO_TWIN
    assert due(run(estimator__false_alarm=0.1)) == ["observations/train", *NO_SAMPLES, "notebooks/02_score"]
    assert due(run(room__clearance=0.6)) == [*EVERYTHING, "notebooks/01_room", "notebooks/02_score"]
    assert due(run(evaluation__num_layouts=6)) == [*ROWS, *AVERAGED, *SUMMARISED, *RADIOS, *WRONG]
    fitted = ["models/path_set", *ROWS, "results/table", *PATH_SETS]
    assert due(run(mismatch__walls=0.5)) == ["wrong_candidates/train", "models/locus_dt.robust", *fitted]
    assert due(run(training__num_test_layouts=5)) == ["results/test"]
    assert due(run(twin_check__num_layouts=7, estimator_check__num_layouts=3)) == [], "no step here reads these"


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("judge.metrics", ["results/test", *ROWS, *AVERAGED, *SUMMARISED, "results/floors", *WRONG, "results/mapped"]),
        (
            "room.errors",
            ["wrong_candidates/train", "models/locus_dt.robust", "models/path_set", *ROWS, "results/table", *PATH_SETS],
        ),
        ("score.densities", NO_TWIN),
        ("score.raw_iq", ["results/raw_iq"]),
        ("score.method", [*TRAINED, "notebooks/02_score"]),
        ("score.limits", [*ROWS, "results/table", "results/phase_free", "results/nats", *RADIOS]),
        ("score.phase_free", ["results/phase_free", "results/nats"]),
        ("score.path_set", ["models/path_set", *ROWS, "results/table", *PATH_SETS]),
        ("score.angle_strength", [*ROWS, "results/table", "results/nats"]),
        ("score.fingerprint", ["results/temperature", *ROWS, "results/table"]),
        ("receiver.observation", ["observations/train", *WITH_SEEDS, "notebooks/02_score"]),
        ("room.layout", [*EVERYTHING, "notebooks/01_room", "notebooks/02_score"]),
    ],
)
def test_a_raised_recipe_makes_due_what_it_computes(
    copy: Path, monkeypatch: pytest.MonkeyPatch, module: str, expected: list[str]
) -> None:
    monkeypatch.setattr(f"locus.{module}.RECIPE", 99)
    assert due(run()) == expected


def test_a_word_in_a_chapter_makes_that_chapter_due(copy: Path) -> None:
    source = copy / "notebooks" / "01_room.py"
    source.write_text(source.read_text() + "\n# %% [markdown]\n# A word.\n")
    assert due(run()) == ["notebooks/01_room"]


def test_results_stand_although_their_stores_are_gone(copy: Path) -> None:
    """As in a clone, which contains the results of a run but not its stores."""
    for folder in ("candidates", "observations"):
        shutil.rmtree(copy / "data" / "tiny" / folder)
    assert due(run()) == []
    (copy / "data" / "tiny" / "models" / "gmm_cart.safetensors").unlink()
    assert due(run()) == ["candidates/train", "observations/train", "models/gmm_cart"]


class TestDamage:
    @pytest.mark.parametrize("name", ["results/table.nc", "results/random/bayes.nc", "models/locus_dt.safetensors"])
    def test_every_flipped_bit_makes_its_file_due(self, copy: Path, name: str) -> None:
        victim = copy / "data" / "tiny" / name
        (owner,) = [one for one in inventory.kept(run()) if victim in one.files]
        good = victim.read_bytes()
        assert owner.fresh()
        for bit in np.random.default_rng(0).integers(8 * len(good), size=30):
            damaged = bytearray(good)
            damaged[bit // 8] ^= 1 << (bit % 8)
            victim.write_bytes(damaged)
            assert owner.damaged() == [victim.name]
            assert not owner.fresh()

    @pytest.mark.parametrize("name", ["results/test/locus_dt.nc", "results/witness.nc", "models/gmm_cart.safetensors"])
    def test_what_was_cut_short_counts_as_absent(self, copy: Path, name: str) -> None:
        victim = copy / "data" / "tiny" / name
        (owner,) = [one for one in inventory.kept(run()) if victim in one.files]
        good = victim.read_bytes()
        victim.write_bytes(good[: len(good) // 2])
        assert due(run()) == [owner.name]
        reproduce.reproduce(run())
        assert due(run()) == []

    def test_lost_checksums_make_a_folder_due(self, copy: Path) -> None:
        (copy / "data" / "tiny" / "results" / "test" / "SHA256SUMS").unlink()
        assert due(run()) == ["results/test"]

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"steps": 1}', "\udcff"])
    def test_a_damaged_report_is_begun_anew(self, copy: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
        (copy / "data" / "tiny" / "report.json").write_text(content, errors="surrogateescape")
        assert main(["runs"]) == 0
        assert f" {LISTED} of {LISTED} steps " in capsys.readouterr().out
        reproduce.reproduce(run(), "01", force=True)
        assert _report(copy)["steps"]["notebooks/01_room"]["state"] == "computed"

    @pytest.mark.parametrize("content", ["", "config: {", "config", "- 1", "profile: smoke", "\udcff"])
    def test_a_damaged_run_is_named_and_can_be_removed(
        self, copy: Path, content: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (copy / "data" / "tiny" / "run.yml").write_text(content, errors="surrogateescape")
        assert main(["runs"]) == 0
        (line,) = capsys.readouterr().out.splitlines()[1:]
        assert line.startswith("tiny ")
        assert "Expected settings in run.yml of run 'tiny', got a damaged file" in line
        assert main(["runs", "--remove", "tiny"]) == 0


def test_an_interrupted_run_goes_on_where_it_was(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a chapter fails, the next call runs that chapter and nothing else."""
    source = copy / "notebooks" / "01_room.py"
    good = source.read_text()
    source.write_text(good + "\n# %%\nraise ValueError('no such wall')\n")
    with pytest.raises(RuntimeError, match=r"Chapter 01_room failed in cell \d: ValueError: no such wall"):
        reproduce.reproduce(run())
    source.write_text(good + "\n# %%\nprint('mended')\n")
    assert due(run()) == ["notebooks/01_room"]
    reproduce.reproduce(run())
    assert due(run()) == []


def test_a_stale_store_is_made_anew(copy: Path) -> None:
    changed = run(training__num_layouts=8)
    assert not Observations(changed, "train").fresh()
    reproduce.reproduce(changed, "02")
    assert Observations(changed, "train").fresh()
    assert "models/locus_dt" not in due(changed)


def test_force_makes_all_but_stores_again(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(reproduce.dry_run(run(), force=True))
    assert sum(": to make" in line for line in lines) == len(WITH_SEEDS) + 2
    assert sum(line.endswith("train: fresh") for line in lines) == 3, "stores exist and are reused"
    reproduce.reproduce(run(), "01", force=True)
    assert "notebooks/01_room: computed" in capsys.readouterr().out


def test_a_dry_run_says_what_it_would_do_and_does_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((copy / "data").rglob("*"))
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    assert main(["reproduce", "--profile", "smoke", "--run", "other", "--dry-run", *settings]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("candidates/train: to make, about ")
    assert re.search(r"at most [\d.,]+ [kMG]B", printed[0])
    assert printed[-1].startswith(f"other: {ALL} of {ALL} steps to make, about ")
    assert sorted((copy / "data").rglob("*")) == before


def test_the_report_says_what_was_made_from_what(copy: Path) -> None:
    report = json.loads((copy / "data" / "tiny" / "report.json").read_text())
    assert report["profile"] == "smoke"
    step = report["steps"]["models/locus_dt"]
    assert step["state"] == "computed"
    assert step["seconds"] >= 0
    assert set(step["inputs"]) == {"candidates/train", "observations/train"}
    assert len(step["outputs"]["models/locus_dt.safetensors"]) == 64
    assert step["machine"].keys() == {"cores", "memory_gib", "system"}
    assert "torch" in step["versions"]
    source = copy / "notebooks" / "01_room.py"
    source.write_text(source.read_text() + "\n")
    reproduce.reproduce(run())
    states = {name: entry["state"] for name, entry in _report(copy)["steps"].items()}
    assert [name for name, state in states.items() if state == "computed"] == ["notebooks/01_room"]
    assert states["models/locus_dt"] == "fresh"


def _report(folder: Path) -> dict:
    return json.loads((folder / "data" / "tiny" / "report.json").read_text())


def test_runs_are_listed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["run", "profile", "size", "fresh", "changes"]
    assert line.split()[:2] == ["tiny", "smoke"]
    before, changes = line.split(f" of {LISTED} steps  ")
    assert before.endswith(f" {LISTED}")
    assert set(changes.split()) == {f"{name}={value}" for name, value in TINY.items()}


def test_a_run_may_not_take_a_profiles_name(copy: Path) -> None:
    with pytest.raises(ValueError, match=r"Expected 'run' other than the profiles .*, got 'quick'"):
        locus.open_run("smoke", None, "quick")
    with pytest.raises(ValueError, match=r"Expected 'run' of at most 100 letters, .* got '\.\./x'"):
        locus.open_run("smoke", None, "../x")


def test_the_other_twin_is_compared_on_the_same_snapshots(copy: Path) -> None:
    """The twins agree path by path, so nearly every snapshot has the same posterior with both."""
    other = OtherTwin(run())
    data = other.open()
    assert set(other.twins) == {"image", "sionna"}
    assert list(data.method.values) == list(other.twins)
    stored = Rows(run(), "eval_random").open("random").log_posterior.sel({"method": "locus_dt"})
    np.testing.assert_array_equal(data.random.sel({"method": other.twins[0]}), stored)
    for name in ("random", "grid"):
        own, theirs = data[name].values.T
        assert np.median(np.abs(own - theirs)) < 1e-3
        assert (own != theirs).any(), "traced by the other twin, hence slightly different"
        assert float(other.difference(name).difference) == pytest.approx((own - theirs).mean(), abs=1e-6)


class TestWitness:
    def test_what_is_computed_now_is_what_was_stored(self, copy: Path) -> None:
        assert witness.Witness(run()).differences() == []

    @pytest.mark.parametrize("module", witness.STAGES)
    def test_a_small_change_of_a_stage_is_found_there_and_only_there(
        self, copy: Path, monkeypatch: pytest.MonkeyPatch, module: str
    ) -> None:
        """Change one stage at a time slightly, without raising its RECIPE."""
        sample, refine, features = locus.Layout.sample, fit_numpy.refine, pairwise.features
        mutations: dict[str, tuple[object, str, Callable[..., object]]] = {
            "layout": (locus.Layout, "sample", lambda self, *given: sample(self, *given) + 1e-6),
            "twin": (image, "permittivity", lambda *given: 1.0001 * permittivity(*given)),
            "observation": (observation, "array_response", lambda aoa, count: array_response(aoa + 1e-4, count)),
            "estimator": (fit_numpy, "refine", lambda channel, state, _: refine(channel, state, 2)),
            "features, score or baselines": (
                pairwise,
                "features",
                lambda paths, *given: features(paths.assign(snr_db=paths.snr_db + 0.1), *given),
            ),
        }
        monkeypatch.setattr(*mutations[module])
        found = witness.Witness(run()).differences()
        assert len(found) == 1
        assert found[0].startswith(f"{module} no longer reproduces ")
