"""Generated pages: the API from docstrings, the status from the report, costs from measurements."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import jinja2
import numpy as np
import pytest

import locus
from locus.book import architecture, device, pages, reading_page, scaling
from locus.book.api import Module
from locus.experiment.run import repository
from locus.score.pairwise import PairNetwork
from locus.settings import units


def test_api_describes_every_public_name_with_its_docstring() -> None:
    values = pages.api()
    assert values["names"].keys() == values["summaries"].keys() == set(locus.__all__)
    for name, text in values["names"].items():
        docstring = inspect.getdoc(getattr(locus, name))
        assert docstring
        assert values["summaries"][name] == docstring.splitlines()[0]
        assert values["summaries"][name] in text


def test_every_section_of_a_docstring_is_recognised() -> None:
    for folder in pages.api_folders().values():
        for name, text in folder.items():
            assert not re.search(r"\b(Args|Raises|Returns|Yields):", text), name


def test_the_api_follows_the_order_of_the_paper() -> None:
    values = pages.api()
    assert list(values["folders"]) == list(architecture.FLOW)
    names = list(values["names"])
    assert names.index("Layout") < names.index("make_twin") < names.index("estimate") < names.index("PathSet")


def test_api_describes_every_module() -> None:
    root = Path(locus.__file__).parent
    files = {".".join(("locus", *p.relative_to(root).with_suffix("").parts)) for p in root.rglob("*.py")}
    modules = {name: text for folder in pages.api_folders().values() for name, text in folder.items()}
    listed = {name: text for folder in pages.api()["folders"].values() for name, text in folder.items()}
    assert listed.keys() == modules.keys()
    assert all(listed.values()), "each module says what it turns into what"
    assert modules.keys() == {name.removesuffix(".__init__") for name in files} - {"locus"}
    assert ".. py:class:: SionnaTwin" in modules["locus.twin.sionna"]


def test_api_lists_constants_however_they_are_assigned() -> None:
    found = pages.api_folders()
    assert ".. py:data:: RECEIVER\n             TRANSMITTER" in found["draw"]["locus.draw"]
    assert ".. py:data:: CONSTANTS" in found["explorer"]["locus.explorer.constants"]


def test_pages_need_neither_sionna_nor_its_compiler() -> None:
    program = (
        "import sys; from locus.book import pages, scaling; pages.api(); pages.api_folders(); scaling.numbers();"
        "print([m for m in ('sionna', 'drjit', 'mitsuba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_module_in_words(tmp_path: Path) -> None:
    source = tmp_path / "shapes.py"
    source.write_text(
        '"""Shapes: sizes in, areas out."""\n'
        "class Square:\n"
        '    """A square."""\n'
        "    side: float = 2.0\n"
        '    """Length of a side [m]."""\n'
        "    parts: list[int] = field(default_factory=list)\n"
        "    kind: ClassVar[str]\n"
        "    @classmethod\n"
        "    def read(cls, path: str, *, strict: bool = True) -> Square:\n"
        '        """From a file.\n\n        Raises:\n            ValueError: it is not square.\n        """\n'
        "    def _hidden(self) -> None: ...\n"
        "def _private() -> None: ...\n"
    )
    text = Module("shapes", source).text()
    assert "Shapes: sizes in, areas out." in text
    assert "- ``side: float = 2.0`` – Length of a side [m]." in text
    assert "- ``parts: list[int]``" in text
    assert ".. py:method:: read(path, *, strict=True)\n      :classmethod:" in text
    assert ":raises ValueError: it is not square." in text
    assert "kind" not in text
    assert "hidden" not in text
    assert "private" not in text


def test_status_tells_what_the_report_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    run = locus.open_run("smoke")
    with pytest.raises(FileNotFoundError, match=r"report\.json in run smoke"):
        pages.status(run)
    machine = {"cores": 2, "memory_gib": 8.0, "system": "Linux"}
    step = {"state": "computed", "seconds": 3.0, "hash": "ab", "machine": machine}
    steps = {
        "models/a": {**step, "versions": {"numpy": "1"}, "finished": "2026-01-02 03:04"},
        "models/b": {**step, "versions": {"numpy": "2"}, "seconds": None},
    }
    run.path.mkdir()
    (run.path / "report.json").write_text(json.dumps({"steps": steps}))
    told = pages.status(run)
    assert told["versions"] == {"numpy": ["1", "2"]}
    assert told["machines"] == {("Linux", 2, 8.0): 2}
    text = pages.render("status.md", told)
    assert "| `models/a` | computed | 3.0 s | 2026-01-02 03:04 | `ab` |" in text
    assert "| `models/b` | computed | – | – | `ab` |" in text
    assert str(tmp_path) not in text
    assert "## Training" not in text


def test_status_counts_the_trials_of_the_campaign() -> None:
    told = pages.status(locus.open_run("paper"))
    recorded = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))["campaign"]
    names = ("planned", "done", "survived", "found", "refused", "accepted", "harmless", "wrong")
    text = pages.render("status.md", told)
    for part in ("kills", "bit flips", "hostile inputs", "lost workers", "full disks"):
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {part} |"))
        shown = [int(cell.strip().replace(",", "").replace("\u202f", "")) for cell in line.strip("| ").split("|")[1:]]
        assert shown == [recorded["parts"][part][name] for name in names]
        assert recorded["parts"][part]["wrong"] == 0
    for one in recorded.get("mended", []):
        assert f"- {one}" in text.splitlines()


def test_status_tells_how_the_papers_networks_were_trained() -> None:
    told = pages.status(locus.open_run("paper"))["trainings"]
    assert [one["network"] for one in told] == [
        "LOCUS-DT",
        *(f"{name}, {how}" for name in ("Gauss-Cart", "Gauss-Polar", "GMM-Cart") for how in ("plain", "turned")),
        "LOCUS-DT, trained with errors",
        *(f"LOCUS-DT, seed {seed}" for seed in (1, 2, 3, 4)),
        *(f"{name}, seed {seed}" for name in ("Gauss-Cart", "Gauss-Polar", "GMM-Cart") for seed in (1, 2)),
    ]
    for one in told:
        assert one["kept"] <= one["epochs"]
        assert one["seconds"] > 0


def test_a_few_wrong_candidates_a_step_train_as_well_as_all() -> None:
    """As measured at the paper's size: they differ by less than two seeds do."""
    measured = json.loads((repository() / "benchmarks" / "results.json").read_text(encoding="utf-8"))["negatives"]
    told = reading_page.negatives(measured)
    assert (told["few"]["count"], told["all"]["count"]) == ("128", "499")
    assert abs(np.mean(measured["128"]["validation"]) - np.mean(measured["499"]["validation"])) < 0.02
    assert abs(told["few"]["loss"] - told["all"]["loss"]) < 0.02
    assert (told["gap"] < told["spread"]).all()
    np.testing.assert_allclose(
        told["few"]["covered"], [100 * np.mean(one) for one in zip(*measured["128"]["coverage"], strict=True)]
    )


def test_a_template_that_lacks_a_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="measured"):
        pages.render("scaling_out.md", {})


def test_scaling_out_follows_the_measurements() -> None:
    numbers = scaling.numbers()
    seconds = 60 * numbers["measured"]["dataset"]["sionna"]["minutes"]["train"]
    assert numbers["costs"]["trace, Sionna"] == [units.duration(seconds), units.duration(seconds * 1e6 / 8000)]
    # 8000 layouts x (500 candidates + 10 snapshots) x 18 numbers x 4 bytes
    assert numbers["costs"]["memory while training"] == ["294 MB", "37 GB"]
    text = pages.render("scaling_out.md", numbers)
    for growth in numbers["measured"]["score"]["growth"].values():
        assert f"| {growth['exponent']:.2f} |" in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.3, "0.3 s"), (119.0, "119 s"), (125.0, "2.1 min"), (9e3, "2.5 h"), (4e5, "4.6 days")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert units.duration(seconds) == words


def test_sizes_areas_and_counts_in_words() -> None:
    assert [units.size(n) for n in (5e3, 2.94e8, 3.7e10, 2e12)] == ["5.0 kB", "294 MB", "37 GB", "2.0 TB"]
    assert [units.area(n) for n in (0.41, 9.2, 4213.7)] == ["0.41", "9.2", "4,214"]
    assert [units.count(n) for n in (140_000, 1e6, 8_392_000)] == ["140,000", "1 million", "8.4 million"]


def test_a_devices_arithmetic_counts_the_networks_own_weights() -> None:
    found, network = device.score_arithmetic(18), PairNetwork()
    biases = (network.bias, network.hidden.bias, network.last.bias)
    assert found["biases"] == sum(one.numel() for one in biases)
    assert found["weights"] + found["biases"] == sum(one.numel() for one in network.parameters())
    assert found["candidate"] == network.twin.numel()
    assert found["pair"] == network.hidden.weight.numel() + network.last.weight.numel()
    assert found["snapshot_operations"] == network.observation.numel() + 1000 * found["pair"]


def test_an_estimates_arithmetic_grows_with_what_it_depends_on() -> None:
    paper = locus.load_config("paper")
    base = device.estimate_arithmetic(paper)
    one = device.estimate_arithmetic(
        locus.load_config("paper", {"estimator.num_paths": 1, "estimator.num_iterations": 1})
    )
    # 8 transforms of 256 points, 8 x 256 x 32 products; 128 x 16 and 4 x 136 products, a 4 x 4 matrix
    assert one["search_operations"] == 4 * (8 * 128 * 8 + 256 * 8 * 32)
    assert one["fit_operations"] == 4 * (128 * 16 + 4 * 136) + 10
    assert base["search_operations"] == 6 * one["search_operations"]
    assert base["operations"] == base["search_operations"] + base["fit_operations"]


def test_on_a_device_follows_the_measurements() -> None:
    numbers = device.numbers()
    methods, files = numbers["measured"]["methods"], numbers["measured"]["files"]
    assert abs(methods["float32"]["lost"][0]) < 1e-5
    assert methods["int16"]["lost"][0] < 0.05  # what is asked of a file in integers
    assert max(files[kind]["weight_bytes"] for kind in ("int8", "int16")) < 8000
    text = pages.render("on_a_device.md", numbers)
    for kind in device.KINDS:
        lost, low, high = methods[kind]["lost"]
        assert f"| {kind} | {files[kind]['bytes'] / 1000:.1f} kB |" in text
        assert f"{lost:.3f} [{low:.3f}, {high:.3f}]" in text
