"""The paper's run in the repository: complete, up to date, small, and equal to what this code computes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import locus
from locus.book import chapters, reproduce
from locus.book.paper import printed
from locus.book.tables import headline, intervals_hold
from locus.experiment import artifact, netcdf, solver, witness
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.run import repository
from locus.experiment.sensitivity import Sensitivity
from locus.experiment.solver import Call, SolverCheck
from locus.experiment.table import Table
from locus.experiment.unknown_phases import UnknownPhases, standard_error
from locus.score import weight_files

DATA = repository() / "data"


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> locus.Run:
    monkeypatch.setenv("LOCUS_DATA", str(DATA))
    return locus.open_run("paper")


def _due(run: locus.Run) -> list[str]:
    return [step.name for step in artifact.due(step for step in reproduce.all_steps(run) if not step.is_store)]


def test_nothing_is_left_to_compute_and_every_step_says_so(
    paper: locus.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _due(paper) == []  # otherwise the test would take an hour to fail
    before = {path: path.stat().st_mtime_ns for path in paper.path.rglob("*") if path.is_file()}
    reproduce.reproduce(paper)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(reproduce.all_steps(paper))
    assert all(line.endswith((": fresh", "as everything made from it is fresh")) for line in lines)
    assert {path: path.stat().st_mtime_ns for path in paper.path.rglob("*") if path.is_file()} == before


def test_a_word_in_a_chapter_makes_that_chapter_due(
    paper: locus.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [Path(shutil.copy(source, tmp_path)) for source in chapters.chapters()]
    monkeypatch.setattr(reproduce, "chapters", lambda _=None: sources)
    assert _due(paper) == []
    sources[2].write_text(
        sources[2].read_text(encoding="utf-8").replace("# The twin says what", "# The twin tells what")
    )
    assert _due(paper) == ["notebooks/03_score_and_loss"]


def test_the_witness_is_what_this_code_computes(paper: locus.Run) -> None:
    one = witness.Witness(paper)
    assert one.fresh()
    assert one.differences() == []


def test_how_much_readings_matter_is_what_this_code_would_measure(paper: locus.Run) -> None:
    assert Sensitivity(paper).fresh()


def test_the_solver_misses_paths_as_the_page_says(paper: locus.Run) -> None:
    """Fewer with fewer receivers per call, hardly fewer with more rays, and as many if it is deterministic."""
    check = SolverCheck(paper)
    assert check.fresh()
    found = solver.summary(check.open())

    def of(call: Call, end: str = "") -> float:
        return float(found[f"missing_share{end}"].sel(call=call.name))

    usual = Call(1_000_000, 500)
    assert of(usual, "_low") > of(Call(1_000_000, 50), "_high") >= of(Call(1_000_000, 5))
    assert of(Call(10_000_000, 500)) > of(usual) / 2
    plain, repeated = Call(100_000, 500), Call(100_000, 500, deterministic=True)
    assert of(plain, "_low") <= of(repeated) <= of(plain, "_high")
    assert float(found.missing_share.sel(call=solver.OURS)) <= 0.001
    assert int(found.extra.sel(call=solver.OURS)) == 0


def test_it_is_small() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "data/paper"], cwd=repository(), capture_output=True, text=True, check=True
    )
    assert sum((repository() / name).stat().st_size for name in tracked.stdout.split()) < 30e6


def test_locus_dt_is_ahead_of_every_baseline_with_intervals_apart(paper: locus.Run) -> None:
    table = Table(paper).open()
    for evaluation in ("grid", "random"):
        one = table.sel(evaluation=evaluation)
        others = one.ratio_high.sel({"method": [name for name in weight_files.METHODS if name != "locus_dt"]})
        assert float(one.ratio_low.sel({"method": "locus_dt"})) > float(others.max())


@pytest.mark.parametrize("evaluation", ["random", "grid"])
@pytest.mark.parametrize("method", ["bayes", "phase_blind", "locus_dt"])
def test_no_posterior_is_surer_of_a_wrong_place_than_a_calibrated_one_would_be(
    paper: locus.Run, evaluation: str, method: str
) -> None:
    """Under a calibrated posterior the adjusted loss exceeds x with probability exp(-x) at most."""
    rows = netcdf.load(Rows(paper, EVALUATIONS[evaluation]).path(evaluation, method))
    loss = -rows.log_posterior - np.log(rows.attrs["num_candidates"])
    assert rows.sizes["snapshot"] == 20_000
    assert float(loss.max()) <= 15


def test_to_know_more_of_the_paths_is_never_worse(paper: locus.Run) -> None:
    rows = UnknownPhases(paper).open()
    assert rows.sizes["snapshot"] == 200
    assert standard_error(rows) <= 0.05
    loss = -rows.log_posterior.mean("snapshot")
    blind, free, known = (float(loss.sel({"method": name})) for name in ("phase_blind", "phase_free", "bayes"))
    assert known <= free <= blind


def test_the_readme_shows_its_table(paper: locus.Run) -> None:
    readme = (repository() / "README.md").read_text(encoding="utf-8")
    table = Table(paper).open()
    assert f"<!-- table -->\n{headline(table, printed())}\n" in readme
    assert f"with 95 % intervals over {intervals_hold(table)}." in readme
