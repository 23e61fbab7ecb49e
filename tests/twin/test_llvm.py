"""A libLLVM that Dr.Jit cannot use raises a Python error and never aborts the process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import locus
from locus.twin import llvm


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No library chosen, an empty folder as the only search path, and an empty cache."""
    monkeypatch.setenv(llvm.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "lib"
    folder.mkdir()
    monkeypatch.setattr(llvm, "_PLACES", (f"{folder}/libLLVM*",))
    return folder


@pytest.fixture(scope="module")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real libLLVM that makes Dr.Jit abort: one on this machine, or Debian's, unpacked into a folder."""
    for library in llvm.find():
        if library.major in (14, 15, 16):
            return library.path
    folder = tmp_path_factory.mktemp("old")
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        for package in ("libllvm15", "libllvm14", "libllvm16"):
            if (
                subprocess.run(
                    ["apt-get", "download", package], cwd=folder, capture_output=True, check=False
                ).returncode
                == 0
            ):
                subprocess.run(["dpkg-deb", "-x", str(next(folder.glob("*.deb"))), str(folder)], check=True)
                return next(p for p in folder.rglob("libLLVM*") if p.is_file() and not p.is_symlink())
    pytest.skip("no libLLVM 14, 15 or 16 on this machine, and no way to get one")


@pytest.mark.parametrize(
    ("name", "major"),
    [
        ("lib/x86_64-linux-gnu/libLLVM-15.so.1", 15),
        ("lib/x86_64-linux-gnu/libLLVM.so.19.1", 19),
        ("lib/x86_64-linux-gnu/libLLVM-14.0.6.so.1", 14),
        ("lib/llvm-16/lib/libLLVM.so", 16),
        ("opt/llvm@19/lib/libLLVM.dylib", 19),
        ("lib/libLLVM.so", None),
    ],
)
def test_version_is_read_from_the_name(name: str, major: int | None) -> None:
    assert llvm.major_version(Path("/usr", name)) == major


def test_the_tested_version_is_preferred(unset: Path) -> None:
    for name in ("libLLVM-15.so.1", "libLLVM.so.19.1", "libLLVM.so.21.1", "libLLVMSupport.a"):
        (unset / name).touch()
    assert [library.major for library in llvm.find()] == [19, 21, 15]
    assert llvm.require().major == 19
    assert os.environ[llvm.VARIABLE] == str(unset / "libLLVM.so.19.1")


@pytest.mark.parametrize("major", [14, 15, 16])
def test_an_old_library_is_refused_when_the_twin_is_made(unset: Path, major: int) -> None:
    (unset / f"libLLVM-{major}.so.1").touch()
    with pytest.raises(
        llvm.LLVMError, match=rf"got LLVM {major} .*aborts with this version.*apt-get install libllvm19"
    ):
        locus.make_twin("sionna")


def test_no_library_at_all_says_how_to_get_one(unset: Path) -> None:
    with pytest.raises(llvm.LLVMError, match=r"got none\. To get one: as root 'apt-get install libllvm19'"):
        locus.make_twin("sionna")


def test_a_machine_without_libatomic_is_told(unset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "_LIBATOMIC", "libatomic.so.0")
    with pytest.raises(llvm.LLVMError, match=r"links against, got none; as root 'apt-get install libatomic1'"):
        locus.make_twin("sionna")


def test_the_image_twin_needs_no_library(unset: Path) -> None:
    assert locus.make_twin("image").name == "image"


def test_the_users_choice_is_obeyed_or_refused_but_never_replaced(unset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = unset / "libLLVM.so.19.1", unset / "libLLVM-15.so.1"
    good.touch()
    bad.touch()
    monkeypatch.setenv(llvm.VARIABLE, str(bad))
    with pytest.raises(llvm.LLVMError, match=r"Expected DRJIT_LIBLLVM_PATH to name LLVM 19, got LLVM 15 .*unset it or"):
        llvm.require()
    assert os.environ[llvm.VARIABLE] == str(bad)
    monkeypatch.setenv(llvm.VARIABLE, str(unset / "missing.so"))
    with pytest.raises(llvm.LLVMError, match=r"to be the path of a libLLVM, got .*missing\.so"):
        llvm.require()


def test_an_abort_in_the_trial_becomes_an_error_here_and_is_remembered(unset: Path, old_library: Path) -> None:
    """An old library whose name hides its version is probed once, in a child process, and rejected."""
    (unset / "libLLVM.so").symlink_to(old_library)
    hidden = llvm.Library(unset / "libLLVM.so", None)
    reason = llvm.why_not(hidden)
    assert "a test trace exited with code" in reason
    answers = list((unset.parent / "cache" / "locus").iterdir())
    assert len(answers) == 1
    stamp = answers[0].stat().st_mtime_ns
    assert llvm.why_not(hidden) == reason
    assert answers[0].stat().st_mtime_ns == stamp


def test_a_good_library_passes_the_trial(unset: Path, sionna: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library used by this test run, under a name that hides its version."""
    monkeypatch.undo()
    chosen = llvm.require().path
    monkeypatch.setenv("XDG_CACHE_HOME", str(unset.parent / "cache"))
    (unset / "libLLVM.so").symlink_to(chosen)
    assert llvm.why_not(llvm.Library(unset / "libLLVM.so", None)) == ""


def test_a_real_old_library_does_not_abort_python(old_library: Path) -> None:
    attempt = "try:\n    locus.make_twin('sionna')\nexcept LLVMError as error:\n    print(error)"
    program = f"import locus\nfrom locus.twin.llvm import LLVMError\n{attempt}"
    environment = {**os.environ, llvm.VARIABLE: str(old_library)}
    child = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert "aborts with this version" in child.stdout


def test_the_makefiles_check_says_which_library_or_fails(
    unset: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["llvm"])
    assert llvm.main() == 1
    assert "apt-get install libllvm19" in capsys.readouterr().err
    (unset / "libLLVM.so.19.1").touch()
    assert llvm.main() == 0
    assert "LLVM 19" in capsys.readouterr().out
