"""`locus.locate`: results, invariance to translation and rotation of the room, its figure and its page in the book."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray as xr
from shapely import affinity

import locus
from locus.capture import files, locate
from locus.capture.candidates import (
    MAX_CANDIDATES,
    cell_candidates,
    find_spacing,
    grid_candidates,
    nearest_distance,
    random_candidates,
)
from locus.capture.figure import location_figure
from locus.capture.words import words, words_of_truth
from locus.cli import main
from locus.experiment import netcdf
from locus.judge import metrics
from locus.score.method import MethodOptions
from locus.score.weight_files import make_method, save_method
from locus.settings.profiles import load_config

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "book/_static/room.geojson"
PAGES = [ROOT / "book" / f"{name}.md" for name in ("own_room", "room_files", "capture_files", "result_files")]
POSE = locus.Pose(70.123, 30.321, 2.8)  # no candidate at a shadow boundary, where rounding would matter
COMMAND = [sys.executable, "-c", "import sys; from locus.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def data(smoke_weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCUS_DATA", str(smoke_weights))


@pytest.fixture(scope="module")
def room() -> locus.Layout:
    """The room of the book's page, neither square nor rectangular."""
    return locus.Layout.from_geojson(ROOM)


@pytest.fixture(scope="module")
def positions(room: locus.Layout) -> np.ndarray:
    """Twelve true transmitters, off the grid."""
    return room.sample(12, np.random.default_rng(3))


@pytest.fixture(scope="module")
def snapshots(room: locus.Layout, positions: np.ndarray, image: locus.Twin) -> xr.Dataset:
    paths = image.trace(room, POSE, positions).rename(candidate="snapshot")
    return locus.observe(paths, [np.random.default_rng(i) for i in range(len(positions))])


def save_weights(path: Path, method: str, encoding: str = "plain", **changes: object) -> str:
    """Save untrained weights for a configuration."""
    config = load_config("smoke", {name.replace("__", "."): value for name, value in changes.items()})
    notes = {"hash": "none", "config": config.to_dict()}
    save_method(path, make_method(method, MethodOptions(encoding=encoding), 1), notes)
    return str(path)


@pytest.mark.parametrize("method", ["path_set", "locus_dt"])
def test_the_command_gives_what_the_python_calls_give(
    room: locus.Layout, snapshots: xr.Dataset, image: locus.Twin, method: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "capture.npy", snapshots.iq[0])
    options = ["--pose", "70.123,30.321,2.8", "--iq", "capture.npy", "--out", "posterior.nc", "--figure", "map.png"]
    options += (
        ["--tolerance", "heading=1deg,plan=0.1", "--grid", "31"] if method == "path_set" else ["--method", method]
    )
    child = subprocess.run(
        [*COMMAND, "locate", str(ROOM), *options, "--twin", "image", "--truth", "20,30"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert re.search(r"\d paths; most probable at x = [\d.]+ m, y = [\d.]+ m .*; 90 % in", child.stdout)
    assert re.search(r"truth: most probable place is [\d.]+ m away; .* smallest set that holds [\d.]+ %", child.stdout)
    found = netcdf.load(tmp_path / "posterior.nc")
    paths = image.trace(room, POSE, room.grid(31))
    if method == "path_set":
        scorer = locus.PathSet(tolerance=locus.Tolerance(heading=np.radians(1), plan=0.1))
        observed = locus.estimate(snapshots.isel(snapshot=0), scorer.estimator)
        spacing = np.sqrt(room.free_space.area / paths.sizes["candidate"])
        expected = scorer.posterior(paths, observed, spacing=spacing)
        np.testing.assert_allclose(found.twin_error, scorer.levels(paths, observed, spacing=spacing), atol=1e-4)
        assert 0.01 < float(found.twin_fit) < 1
        assert f"twin fit {100 * float(found.twin_fit):.1f} %, exact with" in child.stdout
        assert json.loads(found.attrs["tolerance"])["plan"] == 0.1
    else:
        observed = locus.estimate(snapshots.isel(snapshot=0))
        expected = locus.load_scorer("paper").posterior(paths, observed)
        assert found.attrs["weights"] == "paper"
    np.testing.assert_allclose(found.posterior, expected, rtol=1e-4, atol=1e-9)
    assert float(found.posterior.sum()) == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(np.stack([found.x, found.y], axis=1), room.grid(31))
    np.testing.assert_allclose(found.snr_db, observed.snr_db, rtol=1e-6)
    assert all({"units", "long_name"} <= set(found[name].attrs) for name in found.variables)
    assert (found.attrs["method"], found.attrs["twin"]) == (method, "image")
    assert {"locus-dt", "torch"} <= set(json.loads(found.attrs["versions"]))
    assert locus.Layout.from_geojson(json.loads(found.attrs["layout"])).walls.tolist() == room.walls.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture.npy", "map.png", "posterior.nc"]
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_transmitters_off_the_list_are_in_the_sets(
    room: locus.Layout, snapshots: xr.Dataset, positions: np.ndarray
) -> None:
    """With all defaults, 90 % sets hold the candidate nearest to the truth, and an exact twin raises no warning.

    Of 12 sets at least 8 hold it with a probability of 99.9 % if each does with 93 %, as measured in halls like this.
    """
    found = locus.locate(room, POSE, snapshots, twin="image")
    assert 5000 < found.sizes["candidate"] <= MAX_CANDIDATES
    distance = np.hypot(found.x.values - positions[:, :1], found.y.values - positions[:, 1:])
    nearest = distance.argmin(axis=1)
    assert found.credible.values[np.arange(12), nearest].sum() >= 8
    assert float(found.posterior.where(distance < 10).sum("candidate").mean()) > 0.8
    assert float(found.attrs["spacing"]) == pytest.approx(np.sqrt(room.free_space.area / len(found.x)), rel=0.1)
    lines = words_of_truth(found, tuple(positions[0]))
    assert len(lines) == 12
    error = np.hypot(found.map_x[0] - positions[0, 0], found.map_y[0] - positions[0, 1])
    stated = re.fullmatch(r"truth: most probable place is ([\d.]+) m away; .* set that holds ([\d.]+) %", lines[0])
    assert stated
    assert float(stated[1]) == pytest.approx(float(error), abs=0.06)
    inside = float(found.posterior[0].where(found.posterior[0] >= found.posterior[0, nearest[0]]).sum())
    assert float(stated[2]) == pytest.approx(100 * inside, abs=0.06)


@pytest.mark.parametrize(
    ("changes", "side", "spacing"),
    [
        ({}, 100.0, 1.0),  # as fine as the number of candidates allows
        ({}, 30.0, 0.375),  # a quarter of c / bandwidth
        ({}, 6.0, 0.2),  # 30 steps
        ({"bandwidth": 50e6}, 100.0, 1.5),
        ({"bandwidth": 20e6}, 60.0, 2.0),
    ],
)
def test_the_grid_follows_radio_and_room(changes: dict[str, float], side: float, spacing: float) -> None:
    layout, pose = locus.Layout(shapely.box(0, 0, side, side)), locus.Pose(side / 3, side / 4, 0.0)
    found = find_spacing(layout, locus.Radio(**changes))  # type: ignore[arg-type]
    assert found == pytest.approx(spacing, rel=0.01)
    xy, used = cell_candidates(layout, pose, found)
    assert used == found
    assert len(xy) <= MAX_CANDIDATES
    assert len(np.unique(xy[:, 0])) == pytest.approx((side - 1) / spacing, rel=0.1)
    coarser, used = cell_candidates(layout, pose, side / 200)
    assert len(coarser) <= MAX_CANDIDATES < 200**2 * 0.9
    assert used > side / 200


def test_a_long_thin_room_is_filled() -> None:
    """A diagonal corridor covers little of its bounding box."""
    layout = locus.Layout(shapely.LineString([(0, 0), (300, 300)]).buffer(1.5, cap_style="flat"))
    pose = locus.Pose(150.0, 150.0, 0.0)
    xy, _ = cell_candidates(layout, pose, find_spacing(layout, locus.Radio()))
    assert 300 < len(xy) <= MAX_CANDIDATES


def test_the_distance_of_given_candidates() -> None:
    x, y = np.meshgrid(np.arange(5) * 2.5, np.arange(4) * 2.5)
    assert nearest_distance(np.stack([x.ravel(), y.ravel()], axis=1)) == 2.5
    assert nearest_distance(np.zeros((1, 2))) == 0


def test_any_radio_is_located_without_weights(room: locus.Layout, positions: np.ndarray) -> None:
    """Four antennas and 50 MHz at 28 GHz."""
    radio = locus.Radio(carrier=28e9, bandwidth=50e6, num_antennas=4, num_subcarriers=64)
    paths = locus.make_twin("image", radio).trace(room, POSE, positions).rename(candidate="snapshot")
    iq = locus.observe(paths, [np.random.default_rng(i) for i in range(12)], radio)
    found = locus.locate(room, POSE, iq, grid_candidates(room, POSE), twin="image")
    distance = np.hypot(found.x.values - positions[:, :1], found.y.values - positions[:, 1:])
    near = float(found.posterior.where(distance < 10).sum("candidate").mean())
    assert near > 2 * (distance < 10).mean()
    assert json.loads(found.attrs["radio"])["num_antennas"] == 4


@pytest.mark.parametrize("wrong", ["pose", "plan", "scale"])
def test_a_wrong_twin_does_not_pass_in_silence(
    room: locus.Layout, snapshots: xr.Dataset, positions: np.ndarray, wrong: str
) -> None:
    """Compass off by 0.6 rad, plan too small by a tenth, capture 15 dB too strong."""
    layout, pose, iq = room, POSE, snapshots.iq.values
    if wrong == "pose":
        pose = dataclasses.replace(POSE, heading=POSE.heading - 0.6)
    elif wrong == "plan":
        parts = [affinity.scale(one, 0.9, 0.9, origin=(0, 0)) for one in (room.room, *room.obstacles)]
        layout = dataclasses.replace(room, room=parts[0], obstacles=tuple(parts[1:]))
    else:
        iq = iq * 10 ** (15 / 20)
    given = grid_candidates(layout, pose)
    with pytest.warns(UserWarning, match=r"\d+ of 12 snapshots fit the twin worse than 99%.*check the plan"):
        found = locus.locate(layout, pose, iq, given, twin="image")
    assert (found.twin_fit < 0.01).sum() >= 2
    exact = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), twin="image")
    assert float(found.twin_error.sel(level=0).mean()) < float(exact.twin_error.sel(level=0).mean())


def test_two_calls_give_the_same(room: locus.Layout, snapshots: xr.Dataset) -> None:
    given = grid_candidates(room, POSE, 16)
    one, other = (locus.locate(room, POSE, snapshots, given, twin="image") for _ in range(2))
    xr.testing.assert_identical(one, other)


def test_mass_gathers_near_the_transmitter(room: locus.Layout, snapshots: xr.Dataset, positions: np.ndarray) -> None:
    found = locus.locate(room, POSE, snapshots, twin="image", method="locus_dt")
    distance = np.hypot(found.x.values - positions[:, :1], found.y.values - positions[:, 1:])
    near = found.posterior.where(distance < 10).sum("candidate")
    uniform = (distance < 10).mean(axis=1)
    # Over 20 seeds of the smoke weights: 3.4 times the mass of a uniform posterior, standard deviation 0.46
    assert float(near.mean()) / uniform.mean() > 3.4 - 5 * 0.46


def test_most_probable_and_credible_set_are_the_metrics_own(room: locus.Layout, snapshots: xr.Dataset) -> None:
    found = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), twin="image")
    nowhere = np.zeros(12, dtype=int)
    rows = metrics.measure(np.log(found.posterior), nowhere, room.free_space.area, np.random.default_rng(0))
    np.testing.assert_allclose(found.credible_area, rows.area)
    best = found.posterior.argmax("candidate")
    np.testing.assert_array_equal(found.map_x, found.x[best])
    mass = found.posterior.where(found.credible).sum("candidate")
    assert ((mass >= 0.9 - 1e-5) & (mass - found.posterior.where(found.credible).min("candidate") < 0.9)).all()


@pytest.mark.parametrize("method", ["path_set", "locus_dt", "gauss_cart", "gauss_polar", "gmm_cart"])
@pytest.mark.parametrize("shift", [(-200.0, 35.0), (500_000.0, 5_600_000.0)], ids=["near", "map coordinates"])
def test_posterior_moves_with_the_room(
    room: locus.Layout, snapshots: xr.Dataset, method: str, shift: tuple[float, float], tmp_path: Path
) -> None:
    choice: dict[str, str] = {"twin": "image"}
    if method != "path_set":
        own = method != "locus_dt"
        choice["weights"] = save_weights(tmp_path / "weights.safetensors", method) if own else "paper"
    before = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), **choice)
    moved = locus.Pose(POSE.x + shift[0], POSE.y + shift[1], POSE.heading)
    after = locus.locate(room.moved(*shift), moved, snapshots, before_moved(before, shift), **choice)
    np.testing.assert_allclose(after.posterior, before.posterior, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(after.map_x - shift[0], before.map_x, atol=1e-6)
    assert float(after.rx_y) == moved.y


def before_moved(data: xr.Dataset, shift: tuple[float, float]) -> np.ndarray:
    """Translated candidates of ``data``."""
    return np.stack([data.x.values + shift[0], data.y.values + shift[1]], axis=1)


def test_a_file_keeps_map_coordinates(room: locus.Layout, snapshots: xr.Dataset, tmp_path: Path) -> None:
    """Positions are exact: in single precision, a northing would be off by up to half a metre."""
    shift = (500_000.0, 5_600_000.0)
    pose = locus.Pose(POSE.x + shift[0], POSE.y + shift[1], POSE.heading)
    found = locus.locate(room.moved(*shift), pose, snapshots, room.moved(*shift).grid(16), twin="image")
    files.save(found, tmp_path / "posterior.nc")
    read = netcdf.load(tmp_path / "posterior.nc")
    for name in ("map_x", "map_y", "x", "y", "rx_x", "rx_y"):
        assert read[name].dtype == found[name].dtype == np.float64
        np.testing.assert_array_equal(read[name], found[name])
    assert read.posterior.dtype == np.float32


def test_sionna_locates_in_map_coordinates(room: locus.Layout, snapshots: xr.Dataset) -> None:
    """In single precision, coordinates of millions of metres have a resolution of half a metre."""
    shift = (500_000.0, 5_600_000.0)
    exact = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), twin="image")
    far = locus.Pose(POSE.x + shift[0], POSE.y + shift[1], POSE.heading)
    found = locus.locate(room.moved(*shift), far, snapshots, before_moved(exact, shift), twin="sionna")
    assert float(abs(found.posterior.values - exact.posterior.values).sum(axis=-1).max()) < 0.1


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_posterior_turns_with_the_room(room: locus.Layout, snapshots: xr.Dataset, turns: int) -> None:
    before = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), twin="image")
    cosine, sine = [(0, 1), (-1, 0), (0, -1)][turns - 1]
    turn = np.array([[cosine, sine], [-sine, cosine]])
    room_turned, *obstacles = (
        affinity.affine_transform(one, [cosine, -sine, sine, cosine, 0, 0]) for one in (room.room, *room.obstacles)
    )
    turned = dataclasses.replace(room, room=room_turned, obstacles=tuple(obstacles))
    x, y = np.array([POSE.x, POSE.y]) @ turn
    heading = (POSE.heading + turns * np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
    candidates = np.stack([before.x, before.y], axis=1) @ turn
    after = locus.locate(turned, locus.Pose(x, y, heading), snapshots, candidates, twin="image")
    np.testing.assert_allclose(after.posterior, before.posterior, rtol=1e-3, atol=1e-7)


def test_captures_in_other_units_are_scaled_by_their_noise(room: locus.Layout, snapshots: xr.Dataset) -> None:
    grid = grid_candidates(room, POSE)
    expected = locus.locate(room, POSE, snapshots, grid, twin="image")
    counts = (2.0e7 * snapshots.iq.values).astype(np.complex64)
    power = locus.Radio().noise_power * 4e14
    found = locus.locate(room, POSE, counts, grid, twin="image", noise_power=power)
    np.testing.assert_allclose(found.posterior, expected.posterior, rtol=1e-2, atol=1e-5)
    with pytest.warns(UserWarning, match=r"SNR of 1\d\d dB, but at most \d+ dB is possible .* \('noise_power'\)"):
        locus.locate(room, POSE, counts, grid, twin="image", method="locus_dt", check_power=False)
    with pytest.raises(ValueError, match=r"^Expected a strongest path of at most \d+ dB SNR, .* got 1\d\d dB; check"):
        locus.locate(room, POSE, counts, grid, twin="image", method="locus_dt")
    with pytest.raises(ValueError, match=r"Expected 'iq' of at least the noise power, 4.01e-12 W .*'noise_power'"):
        locus.locate(room, POSE, 1e-3 * snapshots.iq.values, twin="image")


@pytest.mark.parametrize("side", [8.0, 400.0])
def test_unusual_rooms_are_located_with_a_warning(side: float, image: locus.Twin) -> None:
    layout, pose = locus.Layout(shapely.box(0, 0, side, side / 2)), locus.Pose(side / 4, side / 4, 0.0)
    iq = locus.observe(image.trace(layout, pose, [[side / 2, side / 3]]).isel(candidate=0), np.random.default_rng(0))
    with pytest.warns(
        UserWarning, match=rf"trained on rooms of 100 m x 100 m, this one is {side:g} m x {side / 2:g} m"
    ):
        locus.locate(layout, pose, iq, twin="image", method="locus_dt")
    with warnings.catch_warnings():
        if side < 10:  # paths overlap within such a room, and the estimator errs more than the likelihood expects
            warnings.filterwarnings("ignore", "The capture fits the twin worse")
        found = locus.locate(layout, pose, iq, twin="image")
    assert float(found.posterior.sum()) == pytest.approx(1)
    (said,) = re.findall(r"90 % in ([\d.,]+) m\^2", words(found)[0])
    assert float(said.replace(",", "")) == pytest.approx(float(found.credible_area), rel=0.06)


def test_weights_of_another_radio_are_refused_and_named(
    room: locus.Layout, snapshots: xr.Dataset, tmp_path: Path
) -> None:
    changes = {"radio__carrier": 28e9, "radio__num_antennas": 4}
    weights = save_weights(tmp_path / "other.safetensors", "locus_dt", **changes)
    wanted = (
        r"Expected a radio like that of the weights '.*' \(carrier 2.8e\+10, num_antennas 4\), "
        r"got carrier 1.2e\+10, num_antennas 8; `locus train locus_dt --set radio.carrier=12000000000.0 --set"
    )
    with pytest.raises(ValueError, match=wanted):
        locus.locate(room, POSE, snapshots, weights=weights, twin="image")
    for link_budget in ({"tx_power_dbm": 10.0}, {"noise_figure_db": 5.0}, {"sync_window": 0.0}):
        radio = locus.Radio(carrier=28e9, num_antennas=4, **link_budget)
        found = locus.locate(room, POSE, snapshots.iq.values[..., :4], weights=weights, twin="image", radio=radio)
        assert json.loads(found.attrs["radio"])["num_antennas"] == 4


def test_figure_shows_a_star_only_where_the_truth_is_known(room: locus.Layout, snapshots: xr.Dataset) -> None:
    found = locus.locate(room, POSE, snapshots, grid_candidates(room, POSE), twin="image", method="locus_dt")
    assert "transmitter" in location_figure(found, 3, (12.0, 30.0)).axes[0].get_legend_handles_labels()[1]
    (axes, bar) = location_figure(found, 3).axes
    assert axes.get_legend_handles_labels()[1] == ["90 % set", "receiver", "most probable"]
    assert axes.get_title().endswith(" m²\nsnapshot 4 of 12")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    assert bar.get_ylabel() == "relative log posterior [nat]"
    random = random_candidates(room, POSE, 200, np.random.default_rng(0))
    scattered = location_figure(locus.locate(room, POSE, snapshots.isel(snapshot=0), random, twin="image")).axes[0]
    assert "; 90 % in " in scattered.get_title()
    assert len(scattered.collections[0].get_offsets()) == 200


def test_the_page_lists_the_papers_radio() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d.e-]+) \|", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: float(value) for name, value in rows} == dataclasses.asdict(locus.Radio())


def test_the_pages_on_your_own_room_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "room.geojson").write_bytes(ROOM.read_bytes())
    page = "".join(path.read_text() for path in PAGES)
    names: dict[str, object] = {}
    ran = []
    for language, code in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        if language == "python":
            exec(code, names)
        elif language == "sh":
            words = shlex.split(code.replace("\\\n", " "))
            assert words[0] == ".venv/bin/locus"
            assert main(words[1:]) == 0
        ran.append(language)
    assert ran.count("python") >= 3
    assert "sh" in ran
    shell, python = netcdf.load(tmp_path / "posterior.nc"), names["result"]
    np.testing.assert_allclose(shell.posterior, python.posterior, rtol=1e-3, atol=1e-7)  # type: ignore[attr-defined]
    check_conversion(names["convert"])  # type: ignore[arg-type]


def check_conversion(convert: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """A path with a fractional delay, sent with another pilot on subcarriers -64 to 63, is estimated correctly."""
    own = np.exp(-5j * np.pi * np.arange(128) ** 2 / 128)
    aoa, delay, spacing = 0.6, 123.456e-9, 200e6 / 128
    subcarrier = np.arange(-64, 64)
    sent = np.fft.fft(own)[subcarrier] / 128
    received = np.exp(2j * np.pi * np.outer(np.arange(128), subcarrier) / 128) @ (
        sent * np.exp(-2j * np.pi * subcarrier * spacing * delay)
    )
    samples = 1e-4 * received[:, np.newaxis] * np.exp(-1j * np.pi * np.arange(8) * np.sin(aoa))
    found = locus.estimate(convert(samples, own))
    assert float(found.aoa[0]) == pytest.approx(aoa, abs=1e-6)
    assert float(found.delay[0]) == pytest.approx(delay, abs=1e-14)
    assert float(abs(found.gain[0])) == pytest.approx(1e-4 / np.sqrt(1e-3), rel=1e-6)


def test_the_page_states_the_limits() -> None:
    page = " ".join(PAGES[0].read_text().split())
    walls, places, snapshots = locate.MAX_WALLS, MAX_CANDIDATES, locate.MAX_SNAPSHOTS
    size, text = files.MAX_IQ_BYTES // 2**20, files.MAX_TEXT_BYTES // 2**20
    assert f"Limits: {walls} walls, {places:,} candidates, {snapshots} snapshots, {size} MiB of IQ" in page
    assert f", {text} MiB of GeoJSON or poses" in page
