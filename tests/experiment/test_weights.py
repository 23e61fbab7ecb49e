"""Weight files: header, loading, and errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from smoke import smoke_run

import locus
from locus.cli import main
from locus.experiment import report
from locus.experiment.artifact import due, make_all
from locus.experiment.case import Case
from locus.experiment.weights import Weights
from locus.score import weight_files
from locus.settings.checksums import DamagedError

TRAIN = ["train", "--profile", "smoke", "--workers", "2"]


@pytest.fixture(scope="module")
def trained(smoke_folder: Path) -> Path:
    with smoke_run(smoke_folder, lambda _: main(TRAIN)) as made:
        assert all(Weights(made, name).fresh() for name in weight_files.METHODS)
        return made.path


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> locus.Run:
    """A copy of the smoke run's weights and of what they were trained on."""
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    copy = locus.open_run("smoke")
    for name in ("candidates", "observations", "models"):
        shutil.copytree(trained / name, copy.path / name)
    return copy


@pytest.mark.parametrize("name", weight_files.METHODS)
def test_a_file_says_what_it_is_and_how_it_came_about(run: locus.Run, name: str) -> None:
    _, header = weight_files.read_tensors(Weights(run, name).path)
    assert header["method"] == name
    assert header["hash"] == Weights(run, name).hash()
    assert header["config"] == run.config.to_dict()
    assert len(header["training"]["history"]["validation"]) == run.config.training.num_epochs
    assert f"schedule of {run.config.training.num_epochs} epochs ended" in header["training"]["reason"]
    assert "torch" in header["versions"]
    assert Weights(run, name).fresh()
    assert not list(run.models.glob("*checkpoint*"))


def test_the_command_notes_what_it_made(run: locus.Run) -> None:
    Weights(run, "gauss_cart").path.unlink()
    assert main(["train", "gauss_cart", *TRAIN[1:]]) == 0
    noted = report.read(run)["steps"]["models/gauss_cart"]
    assert noted["state"] == "computed"
    assert noted["seconds"] >= 0
    assert noted["finished"]
    assert noted["hash"] == Weights(run, "gauss_cart").hash()
    assert noted["inputs"].keys() == {"candidates/train", "observations/train"}


@pytest.mark.parametrize("name", weight_files.METHODS)
def test_loaded_weights_give_posteriors(run: locus.Run, name: str) -> None:
    case = Case(run.config, "test", 0)
    paths, observed = case.paths, case.observed
    scorer = locus.load_scorer(run.name, name)
    posterior = scorer.posterior(paths, observed)
    np.testing.assert_allclose(posterior.sum("candidate"), 1)
    again = locus.load_scorer(str(run.models / f"{name}.safetensors")).posterior(paths, observed)
    np.testing.assert_array_equal(posterior, again)
    assert not any(parameter.requires_grad for parameter in scorer.parameters())


@pytest.mark.parametrize("name", weight_files.METHODS[1:])
def test_the_stronger_encoding_is_the_headline(run: locus.Run, name: str) -> None:
    losses = {}
    for encoding in ("plain", "turned"):
        _, header = weight_files.read_tensors(Weights(run, name).path_of(encoding))
        assert header["options"]["encoding"] == encoding
        losses[encoding] = min(header["training"]["history"]["validation"])
    _, header = weight_files.read_tensors(Weights(run, name).path)
    assert header["options"]["encoding"] == min(losses, key=lambda key: losses[key])


def test_missing_weights_name_the_file_and_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"smoke/models/locus_dt.safetensors.*`locus train locus_dt --profile smoke`"
    ):
        locus.load_scorer("smoke")
    with pytest.raises(FileNotFoundError, match=r"Expected trained weights in mine.safetensors, got no such file"):
        locus.load_scorer("mine.safetensors")
    with pytest.raises(ValueError, match=r"Expected 'method' in \['locus_dt', .*\], got 'magic'"):
        locus.load_scorer("smoke", "magic")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(b"not weights")
    with pytest.raises(ValueError, match=r"Expected weights made by `locus train` in .*other.safetensors"):
        locus.load_scorer(str(path))


def test_training_again_gives_the_same_weights(run: locus.Run) -> None:
    before, _ = weight_files.read_tensors(Weights(run, "locus_dt").path)
    Weights(run, "locus_dt").path.unlink()
    assert not Weights(run, "locus_dt").fresh()
    Weights(run, "locus_dt").make()
    after, _ = weight_files.read_tensors(Weights(run, "locus_dt").path)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_every_flipped_bit_is_found_and_its_file_alone_is_made_again(
    run: locus.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = Weights(run, "gmm_cart")
    victim = weights.path_of("plain")
    good = victim.read_bytes()
    for bit in np.random.default_rng(0).integers(8 * len(good), size=200):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << (bit % 8)
        victim.write_bytes(damaged)
        assert not weights.fresh()
        with pytest.raises(
            DamagedError, match=r"gmm_cart\.plain\.safetensors to match SHA256SUMS beside it, got another"
        ):
            locus.load_scorer(run.name, "gmm_cart.plain")
    stamp = weights.path_of("turned").stat().st_mtime_ns
    make_all(due([weights]))
    assert "models/gmm_cart: gmm_cart.plain.safetensors is damaged; computing it again" in capsys.readouterr().out
    assert weights.fresh()
    assert weights.path_of("turned").stat().st_mtime_ns == stamp


def test_fresh_weights_are_not_trained_again(run: locus.Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "gmm_cart", *TRAIN[1:]]) == 0
    assert f"models/gmm_cart of run {run.name}: fresh" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "magic"], "Expected 'method' in"),
        (["evaluate", "magic"], "Expected 'evaluations' in"),
        (["train", "--set", "training.batch=0"], "Expected 'training.batch' in [1, 1e+07], got 0"),
        (
            ["train", "--set", "training.validation_share=0.9"],
            "Expected 'training.validation_share' in (0, 0.5], got 0.9",
        ),
        (
            ["train", "--set", "features.snr_range=[30,-30]"],
            "Expected 'features.snr_range[1]' in (30, 1000], got -30.0",
        ),
    ],
)
def test_bad_commands_fail_before_any_work(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path))
    assert main([*arguments, "--profile", "smoke"]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
