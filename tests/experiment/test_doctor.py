from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from locus.cli import main
from locus.experiment import doctor
from locus.twin import llvm

NEEDS = ["Python", "torch", "Sionna", "Mitsuba/Dr.Jit", "libLLVM", "cores", "memory", "free disk", "GPU"]


def test_a_healthy_machine_has_one_ok_line_a_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(NEEDS)
    assert all(line.startswith("OK") and need in line for line, need in zip(lines, NEEDS, strict=True))


def test_what_is_missing_fails_with_the_command_that_mends_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_sionna(name: str) -> str:
        if name == "sionna":
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(doctor, "version", no_sionna)
    monkeypatch.setenv(llvm.VARIABLE, "")
    monkeypatch.setattr(llvm, "_PLACES", (f"{tmp_path}/libLLVM*",))
    monkeypatch.setattr(doctor, "_MIN_DISK", 1e9)
    assert main(["doctor"]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL")]
    assert [
        "sionna is not installed: make setup" in failed[0],
        "libllvm19" in failed[1],
        "make clean" in failed[2],
    ] == [True] * 3
    assert len(failed) == 3
