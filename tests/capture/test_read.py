"""`locus.read_capture`: from files to the snapshot that `locate` takes, against simulations that took no file."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sigmf
import xarray as xr

import locus
from locus.capture import periods, sigmf_array, sigmf_metadata
from locus.capture.read import find_pose, read_with_pose
from locus.capture.sigmf_files import read_recording
from locus.capture.sigmf_writer import write_sigmf
from locus.capture.simulated import record
from locus.cli import main

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).parent / "files"
ROOM = ROOT / "book/_static/room.geojson"
POSE = locus.Pose(70.0, 30.0, 2.8)


@pytest.fixture(scope="module")
def made() -> Any:
    """The script that makes the files in this folder."""
    spec = importlib.util.spec_from_file_location("make_captures", FILES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def paths(image: locus.Twin) -> xr.Dataset:
    return image.trace(locus.Layout.from_geojson(ROOM), POSE, [[30.0, 40.0], [12.0, 30.0], [60.0, 20.0]])


@pytest.mark.parametrize("suffix", ["sigmf-meta", "sigmf", "sigmf-collection"])
def test_a_snapshot_through_a_file_is_the_same(suffix: str, paths: xr.Dataset, tmp_path: Path) -> None:
    """In double precision, what went through a file differs by rounding of 1e-15 and gives the same estimates."""
    for candidate in range(3):
        direct = locus.observe(paths.isel(candidate=candidate), np.random.default_rng(candidate))
        path = tmp_path / f"{candidate}.{suffix}"
        write_sigmf(path, direct, heading=POSE.heading, datatype="cf64_le")
        found = locus.read_capture(path)
        np.testing.assert_allclose(found.iq, direct.iq, rtol=1e-9, atol=1e-12 * float(abs(direct.iq).max()))
        assert found.attrs["noise_power"] == pytest.approx(direct.attrs["noise_power"], rel=1e-12)
        assert json.loads(found.attrs["radio"]) == json.loads(direct.attrs["radio"])
        expected, estimated = locus.estimate(direct), locus.estimate(found)
        np.testing.assert_array_equal(estimated.valid, expected.valid)
        np.testing.assert_allclose(estimated.aoa, expected.aoa, atol=1e-6)
        np.testing.assert_allclose(estimated.delay, expected.delay, atol=1e-14)


def test_a_long_recording_has_less_noise_and_says_so(paths: xr.Dataset, tmp_path: Path) -> None:
    """64 periods: the noise figure falls by 18 dB, and paths keep the strength that the twin gives them."""
    one = paths.isel(candidate=2)
    path = tmp_path / "a.sigmf-meta"
    write_sigmf(path, record(one, np.random.default_rng(0), num_periods=64, frequency_offset=-3e5))
    found = locus.read_capture(path)
    radio = locus.Radio.carried_by(found)
    assert radio is not None
    assert radio.noise_figure_db == pytest.approx(7.0 - 10 * np.log10(64))
    assert found.attrs["noise_power"] == pytest.approx(locus.Radio().noise_power / 64)
    assert found.attrs["frequency_offset"] == pytest.approx(-3e5, abs=500.0)
    assert found.attrs["num_periods"] == 64
    strongest = locus.estimate(found).isel(path=0)
    expected = float(one.snr_db[0]) + 10 * np.log10(64)
    spread_db = 4.343 * np.sqrt(2 / (1024 * 10 ** (expected / 10)))
    assert float(strongest.snr_db) == pytest.approx(expected, abs=5 * spread_db + 0.3)  # 0.3 dB: other paths overlap
    assert float(strongest.aoa) == pytest.approx(float(np.arcsin(np.sin(one.aoa[0]))), abs=0.01)


def plane_wave(azimuth: float, points: np.ndarray, radio: locus.Radio, frequency: float) -> np.ndarray:
    """Two periods of the contract's pilot from an azimuth [degrees clockwise of the boresight], by elements' places."""
    towards = np.array([np.cos(np.radians(azimuth)), -np.sin(np.radians(azimuth)), 0.0])
    earlier = points @ towards / 299792458.0  # an element nearer to the transmitter hears it earlier
    n = np.arange(2 * radio.num_subcarriers)
    from locus.receiver.observation import pilot

    sent = np.tile(pilot(radio), 2) * (-1.0) ** n
    return 1e-3 * sent[:, np.newaxis] * np.exp(2j * np.pi * frequency * earlier)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_a_wave_from_the_right_is_on_the_right(order: list[int], tmp_path: Path) -> None:
    """Signal azimuths turn clockwise, our angles counter-clockwise; channels may be wired in any order."""
    radio, frequency = locus.Radio(num_antennas=4, carrier=6e9, bandwidth=50e6), 6.025e9
    step = 299792458.0 / frequency / 2
    points = np.array([[0.0, (1.5 - i) * step, 0.0] for i in order])
    samples = plane_wave(35.0, points, radio, frequency).astype(np.complex64)
    path = tmp_path / "a.sigmf-meta"
    file = sigmf.SigMFFile(global_info={"core:datatype": "cf32_le", "core:sample_rate": 50e6, "core:num_channels": 4})
    geometry = [{"point": point.tolist()} for point in points]
    file.add_capture(0, {"core:frequency": frequency, "spatial:element_geometry": geometry})
    path.with_suffix(".sigmf-data").write_bytes(samples.tobytes())
    file.tofile(path, skip_validate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no noise at all
        found = locus.estimate(locus.read_capture(path))
    assert float(found.aoa[0]) == pytest.approx(-np.radians(35.0), abs=1e-4)


def test_the_files_are_what_their_script_makes(made: Any, tmp_path: Path) -> None:
    made.main(tmp_path)
    for name in ("recording.sigmf-meta", "noise.sigmf-meta"):
        fresh, kept = read_recording(tmp_path / name), read_recording(FILES / name)
        assert np.abs(fresh.samples - kept.samples).max() <= 1.5 * 2**-15  # rounding of 16 bits, per part
        assert (fresh.radio, fresh.heading, fresh.frequency) == (kept.radio, kept.heading, kept.frequency)
    np.testing.assert_allclose(np.load(tmp_path / "pilot.npy"), np.load(FILES / "pilot.npy"), atol=1e-8)
    assert sum(path.stat().st_size for path in FILES.iterdir() if path.is_file() and path.suffix != ".py") < 24_000


def test_the_files_hold_their_offset_and_their_noise(made: Any) -> None:
    found = locus.read_capture(
        FILES / "recording.sigmf-meta", pilot=FILES / "pilot.npy", noise=FILES / "noise.sigmf-meta"
    )
    assert found.attrs["frequency_offset"] == pytest.approx(made.OFFSET, abs=3000.0)
    assert found.attrs["heading"] == pytest.approx(made.POSE.heading)
    power = float((np.abs(read_recording(FILES / "noise.sigmf-meta").samples) ** 2).mean())
    told = locus.read_capture(FILES / "recording.sigmf-meta", pilot=FILES / "pilot.npy", noise_power=power)
    # measured through the pilot's division, or told and multiplied: 2048 samples of noise, weighted within 3 dB
    np.testing.assert_allclose(told.iq, found.iq, rtol=0.02)


def run_locate(folder: Path, *changes: str) -> int:
    usual = [f"--iq={FILES / 'recording.sigmf-meta'}", f"--pilot={FILES / 'pilot.npy'}", "--pose=70,30"]
    usual += [f"--noise={FILES / 'noise.sigmf-meta'}", f"--out={folder / 'map.nc'}", "--twin=image", "--grid=20"]
    return main(["locate", str(ROOM), *usual, *changes])


def test_the_shell_locates_the_recording(made: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = made.TRUTH
    command = [sys.executable, "-c", "import sys; from locus.cli import main; sys.exit(main())", "locate", str(ROOM)]
    command += ["--iq", str(FILES / "recording.sigmf-meta"), "--pilot", str(FILES / "pilot.npy"), "--pose", "70,30"]
    command += ["--noise", str(FILES / "noise.sigmf-meta"), "--out", str(tmp_path / "map.nc"), "--twin", "image"]
    done = subprocess.run([*command, "--truth", f"{x},{y}"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found = xr.open_dataset(tmp_path / "map.nc", engine="h5netcdf")
    assert np.hypot(float(found.map_x) - x, float(found.map_y) - y) < 1.0  # cells of 0.75 m
    assert float(found.rx_heading) == pytest.approx(2.8)
    assert json.loads(found.attrs["radio"])["carrier"] == 6e9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--pose=70,30,2.7"], "Expected 'heading' within 1 degree of the aperture's azimuth in"),
        (["--pose=70"], "Expected 'pose' as x,y,heading, e.g. 20,35,0.4 or 20,35,23deg, got '70'"),
        (["--noise-power=1"], "Expected 'noise' or 'noise_power', got both"),
        (["--radio=radio.yml", "carrier: 12e9"], "Expected 'radio.carrier' 6000000000, core:frequency of"),
        (["--radio=radio.yml", "bandwidth: 20e6"], "Expected 'radio.bandwidth' 100000000, core:sample_rate of"),
        (["--radio=radio.yml", "num_antennas: 8"], "Expected 'radio.num_antennas' 4, the channels of"),
        (
            ["--radio=radio.yml", "num_subcarriers: 128"],
            "Expected 'radio.num_subcarriers' 64, locus:num_subcarriers of",
        ),
        (["--radio=radio.yml", "tx_power_dbm: 0"], "Expected 'radio.tx_power_dbm' 10, locus:tx_power_dbm of"),
        (["--pilot=long.npy"], "got 32, the length of the pilot"),
        (["--noise=few.npy"], "Expected noise in few.npy of at least 64 samples x 4 antennas, got (63, 4)"),
        (["--noise=real.npy"], "Expected finite complex noise (sample, antenna) in real.npy, got float64"),
        (["--noise=zero.npy"], "Expected noise in zero.npy, got only zeros"),
        (["--noise=none.sigmf-meta"], "Expected a file none.sigmf-meta, got none"),
        (
            ["--iq=few.npy"],
            "Expected 'pilot' with a SigMF recording, which says what it is tuned to, got it with few.npy",
        ),
    ],
)
def test_contradictions_are_named(
    changes: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [change for change in changes if change.startswith("--")]
    (tmp_path / "radio.yml").write_text("\n".join(change for change in changes if not change.startswith("--")))
    np.save(tmp_path / "long.npy", np.exp(-1j * np.pi * np.arange(32) ** 2 / 32))
    np.save(tmp_path / "few.npy", np.ones((63, 4), complex))
    np.save(tmp_path / "zero.npy", np.zeros((64, 4), complex))
    np.save(tmp_path / "real.npy", np.ones((64, 4)))
    assert run_locate(tmp_path, *options) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert len(err) < 500
    assert not (tmp_path / "map.nc").exists()


def test_what_agrees_is_taken(tmp_path: Path) -> None:
    radio = tmp_path / "radio.yml"
    radio.write_text("{carrier: 6.0e+9, bandwidth: 100e6, num_antennas: 4, tx_power_dbm: 10, noise_figure_db: 7}")
    given = {"pilot": FILES / "pilot.npy", "noise": FILES / "noise.sigmf-meta"}
    found = read_with_pose(FILES / "recording.sigmf-meta", "70,30,2.81", radio=radio, **given)
    assert found.pose == locus.Pose(70.0, 30.0, 2.81)
    assert found.noise_power is None
    np.testing.assert_array_equal(found.iq.iq, locus.read_capture(FILES / "recording.sigmf-meta", **given).iq)


def test_integers_need_their_noise() -> None:
    with pytest.raises(ValueError, match=r"Expected 'noise' or 'noise_power' with integers \(ci16_le\)"):
        locus.read_capture(FILES / "recording.sigmf-meta", pilot=FILES / "pilot.npy")


def bare(path: Path, samples: np.ndarray, **values: Any) -> Path:
    """A recording with nothing but what SigMF demands."""
    file = sigmf.SigMFFile(global_info={"core:datatype": "cf64_le", "core:num_channels": samples.shape[1]})
    file.set_global_info({key.replace("__", ":"): value for key, value in values.items() if key != "frequency"})
    file.add_capture(0, {"core:frequency": values["frequency"]} if "frequency" in values else {})
    path.with_suffix(".sigmf-data").write_bytes(samples.astype("<c16").tobytes())
    file.tofile(path, overwrite=True, skip_validate=True)
    return path


def test_what_the_recording_lacks_is_asked_for(tmp_path: Path, rng: np.random.Generator) -> None:
    samples = 1.4e-6 * (rng.standard_normal((128, 8, 2)) @ np.array([1, 1j]))
    path = bare(tmp_path / "a.sigmf-meta", samples)
    with pytest.raises(ValueError, match="Expected 'core:sample_rate', got none; give 'bandwidth' in the radio"):
        locus.read_capture(path)
    with pytest.raises(ValueError, match="Expected 'core:frequency', got none; give 'carrier' in the radio"):
        locus.read_capture(path, radio={"bandwidth": 200e6})
    found = locus.Radio.carried_by(locus.read_capture(path, radio={"bandwidth": 200e6, "carrier": 5e9}))
    assert found == locus.Radio(carrier=5e9)
    bare(path, samples, core__sample_rate=200e6, frequency=50e6)
    with pytest.raises(ValueError, match="less half of the band' in"):
        locus.read_capture(path)
    bare(path, samples, core__sample_rate=200e6, frequency=1e9, locus__tx_power="high")
    with pytest.raises(ValueError, match="in 'locus:', got locus:tx_power"):
        locus.read_capture(path)
    bare(path, samples[:127], core__sample_rate=200e6, frequency=1e9)
    with pytest.raises(ValueError, match="Expected 1 to 262144 pilot periods of 128 samples, got 127 samples"):
        locus.read_capture(path)


def test_a_wrong_noise_power_and_a_lost_signal_are_noticed(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    samples = np.sqrt(locus.Radio().noise_power / 2) * (rng.standard_normal((640, 8, 2)) @ np.array([1, 1j]))
    path = bare(tmp_path / "a.sigmf-meta", samples, core__sample_rate=200e6, frequency=12.1e9)
    with pytest.warns(UserWarning, match="The frequency offset cannot be told from the noise"):
        found = locus.read_capture(path)
    assert float((np.abs(found.iq) ** 2).mean()) == pytest.approx(locus.Radio().noise_power / 5, rel=5 / 32)
    with (
        pytest.warns(UserWarning, match=r"Pilot periods differ from each other by \+10.0 dB compared with the noise"),
        pytest.warns(UserWarning, match="The frequency offset cannot be told"),
    ):
        locus.read_capture(path, noise_power=locus.Radio().noise_power / 10)


def test_noise_of_a_plain_capture(tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "iq.npy", rng.standard_normal((128, 8, 2)) @ np.array([1, 1j]))
    np.save(tmp_path / "noise.npy", np.full((50, 8), 3 + 4j))
    found = read_with_pose(tmp_path / "iq.npy", "1,2,3", noise=tmp_path / "noise.npy")
    assert found.noise_power == pytest.approx(25.0)
    with pytest.raises(ValueError, match=r"Expected noise as .npy with a capture as .npy"):
        read_with_pose(tmp_path / "iq.npy", "1,2,3", noise=FILES / "noise.sigmf-meta")


def test_poses_with_and_without_heading() -> None:
    assert find_pose("1,2", 0.5, Path("a")) == locus.Pose(1.0, 2.0, 0.5)
    assert find_pose("1,2,0.51", 0.5, Path("a")) == locus.Pose(1.0, 2.0, 0.51)
    assert find_pose("1,2,-3.14", 3.141, Path("a")).heading == -3.14
    with pytest.raises(ValueError, match="Expected 'pose' as x,y,heading"):
        find_pose("1,2", None, Path("a"))


def test_plain_captures_do_not_load_sigmf() -> None:
    program = "import sys, locus.cli, locus.capture.read; print('sigmf' in sys.modules, 'jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_page_states_limits_and_tolerances() -> None:
    page = " ".join((ROOT / "book/capture_files.md").read_text().split())
    size, text = sigmf_metadata.MAX_RECORDING_BYTES, sigmf_metadata.MAX_METADATA_BYTES
    assert (
        f"At most {size // 2**20} MiB of samples as complex numbers ({size // 8 // 10**6} million in single precision"
        in page
    )
    assert f"and {text // 2**20} MiB of metadata" in page
    assert "differs from the azimuth by more than 1 degree" in page
    assert math.degrees(sigmf_array.HEADING_TOLERANCE) == pytest.approx(1.0)
    assert "within a twentieth of a wavelength" in page
    assert sigmf_array.PLACE_TOLERANCE == 1 / 20
    assert f"{periods.MAX_PERIODS:,} periods" in page
    assert "equally strong within 3 dB" in page
    assert periods.FLAT_DB == 3.0
