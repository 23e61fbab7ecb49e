"""SigMF files in and out: what is written comes back, arrays are put in order, bad files are refused in one line."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sigmf
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import locus
from locus.capture import sigmf_metadata
from locus.capture.sigmf_files import read_recording
from locus.capture.sigmf_writer import DATATYPES, write_sigmf
from locus.capture.simulated import record

RADIO = locus.Radio(num_antennas=3, num_subcarriers=8, tx_power_dbm=3.0)
FILES = {".sigmf-meta": "a.sigmf-meta", ".sigmf": "b.sigmf", ".sigmf-collection": "c.sigmf-collection"}


@pytest.fixture(scope="module")
def simulated() -> xr.Dataset:
    """Five periods of one path, well above the noise."""
    path = {"aoa": ("path", [0.5]), "delay": ("path", [1e-8]), "gain": ("path", [1e-3 + 0j]), "valid": ("path", [True])}
    return record(xr.Dataset(path), np.random.default_rng(0), RADIO, num_periods=5, frequency_offset=1e5)


def middle(data: xr.Dataset) -> np.ndarray:
    """Samples as a receiver in the middle of the band has them."""
    return data.iq.values * np.exp(-1j * np.pi * np.arange(len(data.iq)))[:, np.newaxis]


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("datatype", DATATYPES)
def test_what_is_written_comes_back(suffix: str, datatype: str, simulated: xr.Dataset, tmp_path: Path) -> None:
    written = write_sigmf(tmp_path / FILES[suffix], simulated, heading=-3.0, datatype=datatype)
    assert all(path.is_file() for path in written)
    assert len(list(tmp_path.iterdir())) == len(written)
    found = read_recording(written[0])
    expected = middle(simulated)
    if found.is_integer:
        expected = expected * 0.9 / max(np.abs(expected.real).max(), np.abs(expected.imag).max())
    step = {"cf64_le": 1e-15, "cf32_le": 1e-7, "ci16_le": 0.8 * 2**-15, "ci8": 0.8 * 2**-7}[datatype]
    assert np.abs(found.samples - expected).max() <= step * (1 if found.is_integer else np.abs(expected).max())
    assert found.frequency == RADIO.carrier + RADIO.bandwidth / 2
    assert found.sample_rate == RADIO.bandwidth
    assert found.heading == pytest.approx(-3.0, abs=1e-12)
    assert found.radio["tx_power_dbm"] == 3.0


@pytest.mark.parametrize("suffix", [".sigmf-meta", ".sigmf"])
def test_the_library_reads_what_we_write(suffix: str, simulated: xr.Dataset, tmp_path: Path) -> None:
    (path, *_) = write_sigmf(tmp_path / FILES[suffix], simulated)
    theirs = sigmf.fromfile(path)
    theirs.validate()
    np.testing.assert_allclose(theirs.read_samples(), middle(simulated), rtol=1e-6)
    assert theirs.num_channels == 3


def test_the_library_reads_our_collection(simulated: xr.Dataset, tmp_path: Path) -> None:
    (path, *_) = write_sigmf(tmp_path / FILES[".sigmf-collection"], simulated)
    theirs = sigmf.fromfile(path)
    assert len(theirs) == 3
    third = theirs.get_SigMFFile(stream_index=2)
    np.testing.assert_allclose(third.read_samples(), middle(simulated)[:, 2], rtol=1e-6)


@pytest.mark.parametrize(("azimuth", "heading"), [(0.0, np.pi / 2), (90.0, 0.0), (180.0, -np.pi / 2), (270.0, -np.pi)])
def test_north_is_up_and_azimuths_turn_clockwise(
    azimuth: float, heading: float, simulated: xr.Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.sigmf-meta"
    write_sigmf(path, simulated)
    for key, value in (("spatial:aperture_azimuth", azimuth + 360), ("spatial:aperture_bearing", {"azimuth": azimuth})):
        change(path, lambda data, key=key, value=value: data["captures"][0].update({key: value}))
        found = read_recording(path).heading
        assert found is not None
        assert np.exp(1j * found) == pytest.approx(np.exp(1j * heading))


def change(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit the metadata in a file."""
    metadata = json.loads(path.read_text())
    edit(metadata)
    path.write_text(json.dumps(metadata))


def test_antennas_are_ordered_from_the_left_by_their_places(simulated: xr.Dataset, tmp_path: Path) -> None:
    """y points to the left of the boresight: with the places reversed, the last channel is the leftmost."""
    path = tmp_path / "a.sigmf-meta"
    write_sigmf(path, simulated)
    before = read_recording(path).samples
    change(path, lambda data: data["captures"][0]["spatial:element_geometry"].reverse())
    np.testing.assert_array_equal(read_recording(path).samples, before[:, ::-1])
    change(path, lambda data: data["captures"][0].pop("spatial:element_geometry"))
    np.testing.assert_array_equal(read_recording(path).samples, before)
    unknown = [{"unknown": True}] * 3
    change(path, lambda data: data["captures"][0].update({"spatial:element_geometry": unknown}))
    np.testing.assert_array_equal(read_recording(path).samples, before)


def test_a_collection_is_ordered_by_channel_and_turned_by_its_phases(simulated: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "c.sigmf-collection"
    write_sigmf(path, simulated, heading=1.0)
    before = read_recording(path).samples
    change(path, lambda data: data["collection"]["core:streams"].reverse())
    np.testing.assert_array_equal(read_recording(path).samples, before)
    turned = tmp_path / "c-1.sigmf-meta"
    change(turned, lambda data: data["captures"][0].update({"spatial:phase_offset": 90.0}))
    change(path, lambda data: [stream.pop("hash") for stream in data["collection"]["core:streams"]])
    np.testing.assert_allclose(read_recording(path).samples, before * np.array([1, -1j, 1]), rtol=1e-6)
    change(path, lambda data: data["collection"].update({"core:streams": [[f"c-{i}"] for i in range(3)]}))
    np.testing.assert_allclose(read_recording(path).samples, before * np.array([1, -1j, 1]), rtol=1e-6)


def of_all(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["global"].update({key.replace("__", ":"): value for key, value in values.items()})


def of_capture(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["captures"][0].update({key.replace("__", ":"): value for key, value in values.items()})


def place(index: int, axis: int, by: float) -> Callable[[dict[str, Any]], None]:
    def edit(data: dict[str, Any]) -> None:
        data["captures"][0]["spatial:element_geometry"][index]["point"][axis] += by

    return edit


HALF = 0.5 * 299792458.0 / (RADIO.carrier + RADIO.bandwidth / 2)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            of_all(core__datatype="rf32_le"),
            "Expected complex samples, e.g. 'core:datatype' cf32_le or ci16_le, got 'rf32",
        ),
        (of_all(core__datatype="cf32_lexicon"), "Expected complex samples, .* got 'cf32_lexicon'"),
        (of_all(core__datatype="cf128_le"), r"got at \$\.global\['core:datatype'\]: 'cf128_le' does not match"),
        (of_all(core__num_channels=7), r"samples of 56 bytes \(cf32_le, 7 channels\), got 960 bytes"),
        (of_all(core__num_channels=2**62), "channels., got 960 bytes, which is no whole number of them"),
        (of_all(core__num_channels=0), "0 is less than the minimum of 1"),
        (of_all(core__sha512="0" * 128), "Expected samples with the hash in 'core:sha512', got others"),
        (of_all(core__sample_rate=-1), "got at .*core:sample_rate.*: -1 is less than or equal to the minimum of 0"),
        (of_all(core__dataset="/etc/passwd"), "does not match|got 'core:dataset', which is not supported"),
        (of_all(core__dataset="other.bin"), "got 'core:dataset', which is not supported"),
        (of_all(core__trailing_bytes=8), "got 'core:trailing_bytes', which is not supported"),
        (of_all(spatial__num_elements=4), "Expected 'spatial:num_elements' 3, as there are channels, got 4"),
        (of_all(spatial__channel_index=1), "Expected 'spatial:channel_index' 0, as there are channels, got 1"),
        (of_all(spatial__num_elements="3"), "Expected 'spatial:num_elements' as a finite number, got '3'"),
        (of_all(spatial__num_elements=2.5), "Expected 'spatial:num_elements' as a whole number from 0, got 2.5"),
        (
            of_all(core__extensions=[{"name": "modulation", "version": "1.0.0", "optional": False}]),
            "Expected no required extension but spatial and locus, got 'modulation'",
        ),
        (of_capture(core__header_bytes=4), "got 'core:header_bytes', which is not supported"),
        (of_capture(core__sample_start=3), "Expected 'captures' from the first sample, got 'core:sample_start' 3"),
        (of_capture(spatial__calibration={"caltype": "tone"}), "Expected a capture, got a calibration"),
        (
            of_capture(spatial__aperture_azimuth="north"),
            "Expected 'spatial:aperture_azimuth' as a finite number, got 'no",
        ),
        (of_capture(spatial__aperture_bearing=3), "Expected 'spatial:aperture_bearing' as an object, got 3"),
        (of_capture(spatial__aperture_bearing={"elevation": 30}), "Expected an upright array .* got 'elevation' 30"),
        (
            of_capture(spatial__aperture_rotation=180),
            "Expected an upright array .* got 'spatial:aperture_rotation' 180",
        ),
        (
            of_capture(spatial__aperture_azimuth=0, spatial__aperture_bearing={"azimuth": 2}),
            "Expected one azimuth of the aperture, within 1 degree, got headings of 1.571 and 1.536 rad",
        ),
        (
            of_capture(spatial__phase_offset=[0, 1, 2]),
            r"Expected 'spatial:phase_offset' as a finite number, got \[0, 1, 2",
        ),
        (
            place(2, 1, 0.2 * HALF),
            r"uniform line along y, half a wavelength \(12.39 mm\) apart, got an antenna 1.6\d* mm",
        ),
        (place(1, 0, HALF), "uniform line along y"),
        (place(0, 2, 1e3), "uniform line along y"),
        (of_capture(spatial__element_geometry=[{"point": [0, 0, 0]}]), "of 3 antennas, got 1"),
        (of_capture(spatial__element_geometry={}), "Expected 'spatial:element_geometry' as a list of objects"),
        (
            of_capture(spatial__element_geometry=[{"point": [0, 0]}] * 3),
            "Expected 'point' 0 .* as .x, y, z., got .0, 0",
        ),
        (of_capture(core__frequency=0), "Expected 'core:frequency' with 'spatial:element_geometry', got 0"),
        (lambda data: data.update(captures=[]), "Expected one segment in 'captures', got 0"),
        (lambda data: data["captures"].append({"core:sample_start": 8}), "Expected one segment in 'captures', got 2"),
        (lambda data: data.pop("annotations"), "got at .: 'annotations' is a required property"),
        (lambda data: data.update(captures=[[1]]), "Expected metadata as SigMF defines it"),
    ],
)
def test_bad_metadata(
    edit: Callable[[dict[str, Any]], Any], message: str, simulated: xr.Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.sigmf-meta"
    write_sigmf(path, simulated, heading=None)
    change(path, edit)
    with pytest.raises(ValueError, match=message) as caught:
        read_recording(path)
    assert str(caught.value).startswith(str(path)) or str(path) in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got invalid JSON: Expecting value"),
        (b"[1]", "got JSON without sections"),
        (b'{"a":' * 100_000, "got invalid JSON: maximum recursion"),
        (b'{"a":' * 400 + b"1" + b"}" * 400, "Expected metadata as SigMF defines it"),
        (b'{"global": {"core:sample_rate": NaN}}', "got invalid JSON: NaN is not a number of JSON"),
        (b"\xff\xfe", "got invalid JSON: 'utf-8'"),
        (b" " * (2**20 + 1), "of at most 1 MiB, got 1.0 MiB"),
    ],
)
def test_metadata_that_is_no_metadata(content: bytes, message: str, simulated: xr.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "a.sigmf-meta"
    write_sigmf(path, simulated)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_recording(path)


def test_samples_that_do_not_fit(simulated: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = tmp_path / "a.sigmf-meta", tmp_path / "a.sigmf-data"
    write_sigmf(path, simulated)
    change(path, lambda metadata: metadata["global"].pop("core:sha512"))
    whole = data.read_bytes()
    data.write_bytes(whole[:-5])
    with pytest.raises(ValueError, match="got 955 bytes, which is no whole number of them"):
        read_recording(path)
    data.write_bytes(b"")
    with pytest.raises(ValueError, match="got 0 bytes"):
        read_recording(path)
    data.write_bytes(np.full(3, np.nan, dtype="<c8").tobytes() + whole)
    with pytest.raises(ValueError, match=r"Expected finite samples, below 1e\+30, got another at \(0, 0\)"):
        read_recording(path)
    data.write_bytes(whole + np.full(3, 1e31 + 0j, dtype="<c8").tobytes())
    with pytest.raises(ValueError, match=r"Expected finite samples, below 1e\+30, got another at \(40, 0\)"):
        read_recording(path)
    with data.open("wb") as file:
        file.truncate(12 * 30_000_000)  # a hole on disk: 15 million samples of three antennas, in single precision
    with pytest.raises(ValueError, match=r"Expected samples of at most 256 MiB as complex numbers, got 343.3 MiB; cut"):
        read_recording(path)
    data.unlink()
    with pytest.raises(FileNotFoundError, match=r"Expected a file .*a.sigmf-data, got none"):
        read_recording(path)
    with pytest.raises(ValueError, match=r"Expected a file that ends in .sigmf-meta"):
        read_recording(tmp_path / "a.wav")


def test_bad_collections(simulated: xr.Dataset, tmp_path: Path) -> None:
    path, second = tmp_path / "c.sigmf-collection", tmp_path / "c-1.sigmf-meta"
    (tmp_path / "far").mkdir()
    write_sigmf(tmp_path / "far" / "c.sigmf-collection", simulated)

    def refused(message: str) -> None:
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            read_recording(path)
        write_sigmf(path, simulated)

    def streams(*names: Any) -> None:
        change(path, lambda data: data["collection"].update({"core:streams": list(names)}))

    write_sigmf(path, simulated)
    change(path, lambda data: data["collection"]["core:streams"][1].update(hash="0" * 128))
    refused("Expected c-1.sigmf-meta with the hash in 'core:streams', got another")
    for name in ("../far/c-0", "far/c-0", "/etc/passwd", "", "a" * 300, "a\x00b", 3, None, [], {}):
        streams({"name": name, "hash": ""})
        refused("Expected names of files in this folder in 'core:streams'|Expected a file .* got none")
    streams(["c-0"], ["c-0"])
    refused("Expected different recordings in 'core:streams', got 2")
    streams()
    refused("Expected different recordings in 'core:streams', got 0")
    streams(["c-9"])
    refused("Expected a file .*c-9.sigmf-meta, got none")
    streams(["c-0"], ["c-1"])
    refused("Expected 'spatial:num_elements' 2, as there are channels, got 3")
    change(path, lambda data: data.pop("collection"))
    refused("Expected 'collection' with a list 'core:streams', got none")
    for edit, message in (
        (of_capture(core__frequency=11e9), "Expected 'core:frequency' as in c-0.sigmf-meta, 12100000000.0, got 110000"),
        (of_all(core__sample_rate=1e8), "Expected 'core:sample_rate' as in c-0.sigmf-meta, 200000000.0, got 1000000"),
        (of_capture(core__datetime="2026-01-01T00:00:00Z"), "Expected 'core:datetime' as in c-0.sigmf-meta, None, got"),
        (of_all(spatial__channel_index=0), "Expected 'spatial:channel_index' 0 to 2, each once, got .0, 0, 2"),
        (of_capture(spatial__aperture_azimuth=5.0), ""),
        (of_all(core__num_channels=2), "Expected one channel per recording of a collection, got 2"),
    ):
        change(second, edit)
        change(path, lambda data: [stream.pop("hash", "") for stream in data["collection"]["core:streams"]])
        if message:
            refused(message)
    second.with_suffix(".sigmf-data").write_bytes(b"\0" * 8)
    change(second, lambda data: data["global"].pop("core:sha512"))
    change(path, lambda data: [stream.pop("hash") for stream in data["collection"]["core:streams"]])
    refused("Expected as many samples as c-0.sigmf-meta, got another length")
    second.unlink()
    second.symlink_to(tmp_path / "far" / "c-1.sigmf-meta")
    with pytest.raises(ValueError, match="Expected recordings in the same folder, got a link to another, 'c-1'"):
        read_recording(path)


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def member(name: str, size: int, **values: Any) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size = size
    for key, value in values.items():
        setattr(found, key, value)
    return found


def test_bad_archives(simulated: xr.Dataset, tmp_path: Path) -> None:
    write_sigmf(tmp_path / "a.sigmf-meta", simulated)
    meta, data = ((tmp_path / f"a.sigmf-{kind}").read_bytes() for kind in ("meta", "data"))
    good = [(member("x/x.sigmf-meta", len(meta)), meta), (member("x/x.sigmf-data", len(data)), data)]
    path = tmp_path / "b.sigmf"
    path.write_bytes(tar(*good))
    np.testing.assert_array_equal(read_recording(path).samples, read_recording(tmp_path / "a.sigmf-meta").samples)
    link = (member("x/y.sigmf-data", 0, type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")
    compressed = io.BytesIO()
    with tarfile.open(fileobj=compressed, mode="w:gz") as archive:
        archive.addfile(good[0][0], io.BytesIO(meta))
    for content, message in (
        (b"", "got: empty file"),
        (compressed.getvalue(), "Expected an uncompressed SigMF archive of one recording"),
        (tar(good[0]), "one in .sigmf-data, got not both"),
        (tar(*good, good[1]), "Expected one whole file that ends in .sigmf-data"),
        (tar(good[0], link), "Expected one whole file that ends in .sigmf-data, got 'x/y.sigmf-data'"),
        (tar(*good)[:-10_000], "Expected one whole file that ends in .sigmf-data|got: truncated header"),
        (tar(*[(member(f"{i}", 0), b"") for i in range(101)], *good), "Expected at most 100 files, got more"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_recording(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_metadata_with_anything_in_one_place(data: st.DataObject, simulated: xr.Dataset, tmp_path: Path) -> None:
    """Whatever stands in a field: an error in one line of bounded length, or samples that fit the radio's array."""
    path, good = tmp_path / "a.sigmf-meta", tmp_path / "good.json"
    if not good.is_file():
        write_sigmf(path, simulated, heading=0.3)
        good.write_bytes(path.read_bytes())
    metadata = json.loads(good.read_text())
    section = data.draw(st.sampled_from([metadata, metadata["global"], metadata["captures"][0]]))
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    )
    section[data.draw(st.sampled_from(sorted(section)))] = data.draw(values)
    path.write_text(json.dumps(metadata))
    refused = ""
    try:
        found = read_recording(path)
    except ValueError as error:
        refused = str(error).replace(str(path), "")
    assert len(refused) < 500
    assert "\n" not in refused
    assert refused or (found.samples.ndim == 2 and np.isfinite(found.samples).all())


def test_writing_checks_its_arguments(simulated: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Expected a file that ends in .sigmf-meta, .sigmf or .sigmf-collection, got"):
        write_sigmf(tmp_path / "a.npy", simulated)
    with pytest.raises(ValueError, match=r"Expected 'datatype' in .'cf32_le', .*, got 'ri8'"):
        write_sigmf(tmp_path / "a.sigmf", simulated, datatype="ri8")
    with pytest.raises(ValueError, match=r"of whole pilot periods, got .39, 3"):
        write_sigmf(tmp_path / "a.sigmf", simulated.isel(sample=slice(1, None)))
    assert not list(tmp_path.iterdir())


def test_limits_are_those_of_the_help() -> None:
    assert sigmf_metadata.MAX_RECORDING_BYTES == 256 * 2**20
    assert sigmf_metadata.MAX_METADATA_BYTES == 2**20
