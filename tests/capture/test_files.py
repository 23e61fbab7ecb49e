"""Invalid input files of `locus locate`: a one-line error before any work."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locus
from locus.capture import files
from locus.cli import main

SQUARE = [[0, 0], [100, 0], [100, 100], [0, 100], [0, 0]]
IQ = 1.4e-6 * (np.random.default_rng(0).standard_normal((128, 8, 2)) @ [1, 1j])


def feature(ring: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": properties}


def collection(*features: Any) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features})


PILLAR = feature([[40, 40], [60, 40], [60, 60], [40, 60], [40, 40]], role="obstacle")
ROOM = collection(feature(SQUARE, role="room"), PILLAR)
BOW = [[0, 0], [100, 100], [100, 0], [0, 100], [0, 0]]


@pytest.fixture
def folder(tmp_path: Path, smoke_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCUS_DATA", str(smoke_weights))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "room.geojson").write_text(ROOM)
    np.save(tmp_path / "capture.npy", IQ)
    return tmp_path


def locate(*changes: str) -> int:
    """Run `locus locate` and return its exit code; for repeated options, the last one counts."""
    usual = ["--pose=20,35,0.4", "--iq=capture.npy", "--out=posterior.nc", "--figure=map.png", "--twin=image"]
    return main(["locate", "room.geojson", *usual, *changes])


def assert_refused(code: int, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, err = capfd.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("locus locate: ")
    assert message in err
    assert len(err) < 600
    assert not (folder / "posterior.nc").exists()
    assert not (folder / "map.png").exists()


def test_good_files_are_located(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert locate() == 0
    assert capfd.readouterr().err == ""
    assert sorted(path.name for path in folder.iterdir()) == ["capture.npy", "map.png", "posterior.nc", "room.geojson"]


def test_a_small_room_is_located_with_one_line_of_warning(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "room.geojson").write_text(collection(feature((np.array(SQUARE) / 10).tolist(), role="room")))
    assert locate("--pose=2,3.5,0.4", "--method=locus_dt") == 0
    err = capfd.readouterr().err
    assert err.startswith(
        "locus locate: warning: The weights were trained on rooms of 100 m x 100 m, this one is 10 m x"
    )
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Expected a file room.geojson, got none"),
        ("a room", "Expected GeoJSON in room.geojson, got invalid JSON: Expecting value"),
        ("[" * 100_000, "Expected GeoJSON in room.geojson, got invalid JSON: nested too deeply"),
        ("\N{POUND SIGN}".encode("latin-1"), "Expected GeoJSON in room.geojson, got bytes that are not UTF-8: 'utf-8'"),
        ("[1, 2]", "Expected a GeoJSON FeatureCollection, got JSON without a list of 'features'"),
        (collection(PILLAR), "Expected exactly one feature with role 'room', got 0"),
        (collection(feature(SQUARE, role="room"), feature(SQUARE, role="room")), "role 'room', got 2"),
        (
            collection(feature(SQUARE, role=["room"])),
            "Expected 'role' of feature 0 in ['room', 'obstacle'], got ['room",
        ),
        (
            collection({**feature(SQUARE), "properties": [1]}),
            "Expected 'properties' of feature 0 as a JSON object, got [1]",
        ),
        (collection({**PILLAR, "geometry": {"type": "Polygon"}}), "Expected rings of at least three points (x, y) in"),
        (collection(feature(BOW, role="room")), "Expected 'room' as a simple polygon, got Self-intersection[50 50]"),
        (collection(feature(SQUARE, role="room", material="jelly")), "got 'jelly'"),
        (collection(feature(SQUARE, role="room", material="wet_ground")), "defined at 12 GHz, got 'wet_ground'"),
        (
            collection(feature((np.array(SQUARE) / 1e3).tolist(), role="room")),
            "a room of 0.1 m x 0.1 m, 0.5 m from",
        ),
        (collection(feature(SQUARE, role="room"), *[PILLAR] * 100), "at most 250 walls, got 101 polygons"),
        (" " * (2**20 + 1), "Expected room.geojson of at most 1 MiB, got 1.0 MiB"),
    ],
)
def test_bad_rooms(text: str | bytes | None, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "room.geojson").unlink()
    if text is not None:
        (folder / "room.geojson").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_refused(locate(), message, folder, capfd)


def test_too_many_walls(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    angle = np.linspace(0, 2 * np.pi, 300)
    ring = (50 + 50 * np.stack([np.cos(angle), np.sin(angle)], axis=1)).tolist()
    (folder / "room.geojson").write_text(collection(feature([*ring[:-1], ring[0]], role="room")))
    assert_refused(locate(), "Expected a room of at most 250 walls, got 299", folder, capfd)


@pytest.mark.parametrize(
    ("iq", "message"),
    [
        (IQ[:100], "Expected 'iq' of shape (sample, antenna) = (128, 8) or (snapshot, sample, antenna), got (100, 8)"),
        (IQ.T, "got (8, 128)"),
        (IQ.real, "Expected complex 'iq', got float64"),
        (np.where(np.arange(8) == 3, np.nan, IQ), "Expected finite 'iq', got NaN or infinity at index [0 3]"),
        (0 * IQ, "Expected 'iq' of every antenna, got only zeros at [0]"),
        (np.where(np.arange(8) == 5, 0, IQ), "Expected 'iq' of every antenna, got only zeros at [5]"),
        (1e-3 * IQ, "Expected 'iq' of at least the noise power"),
        (np.broadcast_to(IQ, (1001, 128, 8)), "Expected at most 1000 snapshots in 'iq', got 1001"),
        (IQ.astype(object), "Expected complex samples as .npy in capture.npy, got type '|O'"),
    ],
)
def test_bad_captures(iq: np.ndarray, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "capture.npy", iq)
    assert_refused(locate(), message, folder, capfd)


def test_captures_that_are_no_arrays(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, wanted = folder / "capture.npy", "Expected complex samples as .npy in capture.npy, got "
    whole = path.read_bytes()
    lying = whole.replace(b"(128, 8)", b"(9999999999, 8)").replace(b"}" + 7 * b" ", b"}")
    for content in (b"", b"i,q\n1,2\n", whole[:60], whole[:-8], lying):
        path.write_bytes(content)
        assert_refused(locate(), wanted, folder, capfd)
    with (folder / "archive").open("wb") as file:
        np.savez(file, iq=IQ)
    assert_refused(locate("--iq=archive"), "Expected complex samples as .npy in archive", folder, capfd)
    with path.open("wb") as file:
        file.truncate(files.MAX_IQ_BYTES + 1)
    assert_refused(locate(), "Expected capture.npy of at most 64 MiB, got 64.0 MiB", folder, capfd)
    assert_refused(locate("--iq=none.npy"), "Expected a file none.npy, got none", folder, capfd)
    assert_refused(locate("--iq=."), "Expected a file ., got a folder", folder, capfd)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("carrier: 28e9", "got carrier 2.8e+10; `locus train locus_dt --set radio.carrier=28000000000.0`"),
        ("carier: 12.0e+9", "in 'radio.', got radio.carier"),
        ("carrier: fast", "Expected 'radio.carrier' of type float, got 'fast' (str)"),
        ("tx_power_dbm: .nan", "Expected 'radio.tx_power_dbm' in [-500, 500], got nan"),
        ("- 1", "Expected a mapping of settings for 'radio', got [1]"),
        ("a: [1\nb: }", "Expected the radio as YAML in radio.yml, got invalid YAML"),
        ("", "Expected a mapping of settings for 'radio', got None"),
    ],
)
def test_bad_radios(text: str, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "radio.yml").write_text(text)
    assert_refused(locate("--radio=radio.yml", "--method=locus_dt"), message, folder, capfd)


def test_radios_that_are_not_narrowband(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "radio.yml").write_text("{num_antennas: 16, bandwidth: 400e6, carrier: 3.5e9}")
    np.save(folder / "capture.npy", np.tile(IQ, 2))
    message = "Expected a narrowband array, at most 0.5 samples across, got 0.86"
    assert_refused(locate("--radio=radio.yml"), message, folder, capfd)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--pose=20,35", "Expected 'pose' as x,y,heading, e.g. 20,35,0.4 or 20,35,23deg, got '20,35'"),
        ("--pose=20,35,7.1", "Expected 'heading' in [-pi, pi), got 7.1"),
        ("--pose=20,nan,0", "Expected a finite 'y', got nan"),
        ("--pose=50,50,0", "Expected 'pose' in free space, at least 0.01 m from every wall, got [50. 50.]"),
        ("--pose=-20,35,0", "Expected 'pose' in free space"),
        ("--pose=40,50,0", "Expected 'pose' in free space"),
        ("--run=magic", "Expected a profile of"),
        ("--run=quick", "`locus train locus_dt --profile quick` makes it"),
        ("--run=none.safetensors", "Expected trained weights in none.safetensors, got no such file"),
        ("--run=room.safetensors", "Expected weights made by `locus train` in room.safetensors"),
        ("--method=magic", "Expected 'method' in"),
        ("--method=path_set --run=paper", "with weights of a run, got 'path_set'"),
        (
            "--method=locus_dt --tolerance=plan=1",
            "Expected 'tolerance' with method 'path_set' only, got it with 'locus_dt'",
        ),
        ("--tolerance=plans=1", "Expected 'tolerance' as NAME=SIZE,... with names in ['plan', 'position', 'heading'"),
        ("--tolerance=1", "Expected 'tolerance' as NAME=SIZE,... with names in ['plan', 'position', 'heading'"),
        ("--tolerance=plan=", "Expected 'tolerance.plan' as a number and a unit, got ''"),
        ("--tolerance=plan=wide", "Expected 'tolerance.plan' as a number and a unit, got 'wide'"),
        ("--tolerance=plan=1deg", "Expected 'tolerance.plan' in m or cm, got '1deg'"),
        ("--tolerance=heading=1m", "Expected 'tolerance.heading' in rad or deg, got '1m'"),
        ("--tolerance=heading=181deg", "Expected 'tolerance.heading' in [0, 3.14159], got 3.15"),
        ("--tolerance=plan=-1", "Expected 'tolerance.plan' in [0, 1000], got -1.0"),
        ("--tolerance=plan=1,plan=2", "Expected each name of 'tolerance' once, got 'plan=1,plan=2'"),
        ("--truth=20", "Expected 'truth' as x,y, e.g. 20,35, got '20'"),
        ("--truth=20,inf", "Expected a finite 'truth', got '20,inf'"),
        ("--out=posterior.zip", "Expected a file that ends in .nc or .csv or .geojson or .yaml, got posterior.zip"),
        (
            "--out=none/posterior.nc",
            "Expected a writable folder for posterior.nc, got none (No such file or directory)",
        ),
        ("--out=room.geojson/posterior.nc", "Expected a writable folder for posterior.nc, got room.geojson"),
        ("--out=folder.nc", "Expected a file to write, got the folder folder.nc"),
        ("--figure=map.gif", "Expected a file that ends in .pdf or .png or .svg, got map.gif"),
        ("--grid=0", "Expected 'grid' in [1, 100], got 0"),
        ("--grid=101", "Expected 'grid' in [1, 100], got 101"),
        ("--candidates=0", "Expected 'candidates' in [1, 10000], got 0"),
        ("--candidates=10001", "Expected 'candidates' in [1, 10000], got 10001"),
        ("--noise-power=0", "Expected 'noise_power' in (0, 1e+100], got 0.0"),
        ("--radio=none.yml", "Expected a file none.yml, got none"),
    ],
)
def test_bad_options(option: str, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "folder.nc").mkdir()
    (folder / "room.safetensors").write_text(ROOM)
    assert_refused(locate(*option.split()), message, folder, capfd)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("heading=1deg,plan=0.1", {"heading": math.pi / 180, "plan": 0.1}),
        ("heading=0.2", {"heading": 0.2}),
        ("position=20cm, material=1.5dB, plan=1e-1m", {"position": 0.2, "material_db": 1.5, "plan": 0.1}),
        ("material_db=3,heading=0rad", {"material_db": 3.0, "heading": 0.0}),
    ],
)
def test_tolerances_in_units(text: str, expected: dict[str, float]) -> None:
    found = dataclasses.asdict(files.parse_tolerance(text))
    assert found == pytest.approx(dataclasses.asdict(locus.Tolerance(**expected)), rel=1e-12)


def test_limits_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["locate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for limit in ("250 walls", "10,000 candidates", "1000 snapshots", "64 MiB", "1 MiB", "100 m x 100 m"):
        assert limit in text
