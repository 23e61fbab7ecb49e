"""A network for another radio: the commands of its page, at smoke size, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import locus
from locus.book import own_radio, pages
from locus.cli import main

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).parent / "files"


def test_the_page_runs_from_a_radio_to_a_located_transmitter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path / "data"))
    for name in ("radio.yml", "room.geojson"):
        shutil.copy(ROOT / "book/_static" / name, tmp_path)
    for path in FILES.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    page = (ROOT / "book/templates/own_radio.md").read_text()
    commands = [shlex.split(code.replace("\\\n", " ")) for code in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    assert [command[:2] for command in commands] == [[".venv/bin/locus", "train"], [".venv/bin/locus", "locate"]]
    small = ["--set", "training.num_layouts=20", "--set", "training.num_epochs=3"]
    assert main([*commands[0][1:], "--profile", "smoke", *small, "--workers", "1"]) == 0
    assert locus.open_run("my6ghz").config.radio == locus.Radio(
        carrier=6e9, bandwidth=100e6, num_subcarriers=64, num_antennas=4, tx_power_dbm=10.0
    )
    assert main(commands[1][1:]) == 0
    found = xr.open_dataset(tmp_path / "posterior.nc", engine="h5netcdf")
    assert found.attrs["weights"] == "my6ghz"
    assert found.attrs["method"] == "locus_dt"
    assert json.loads(found.attrs["radio"])["num_antennas"] == 4
    assert float(found.posterior.sum()) == pytest.approx(1.0, abs=1e-5)
    np.save("capture.npy", 2e-6 * (np.random.default_rng(0).standard_normal((64, 4, 2)) @ np.array([1, 1j])))
    plain = ["--pose=70,30,2.8", "--iq=capture.npy", "--out=plain.nc", "--run=my6ghz", "--twin=image"]
    assert main(["locate", "room.geojson", *plain]) == 0
    capfd.readouterr()
    Path("other.yml").write_text("{carrier: 5e9, bandwidth: 100e6, num_subcarriers: 64, num_antennas: 4}")
    assert main(["locate", "room.geojson", *plain, "--radio=other.yml"]) == 2
    assert "Expected a radio like that of the weights 'my6ghz' (carrier 6e+09), got carrier" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "carrier: 6e9",
            ["--set", "radio.carrier=5e9"],
            "Expected 'radio.carrier' in radio.yml or with --set, got it in",
        ),
        ("carier: 6e9", [], "got radio.carier"),
        ("carrier: fast", [], "Expected 'radio.carrier' of type float, got 'fast'"),
        (None, [], "Expected a file radio.yml, got none"),
    ],
)
def test_bad_radios(
    text: str | None,
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCUS_DATA", str(tmp_path / "data"))
    if text is not None:
        (tmp_path / "radio.yml").write_text(text)
    assert main(["train", "locus_dt", "--radio", "radio.yml", "--run", "mine", *options]) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "data").exists()


def test_the_page_shows_what_was_measured() -> None:
    numbers = own_radio.numbers()
    text = pages.render("own_radio.md", numbers)
    for row in numbers["rows"]:
        assert f"| {row['rooms']} | {row['loss']:.2f} [" in text
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert f"| path set, no training | {numbers['path_set']['loss']:.2f} [" in text
