"""`locus.locate` along a walk: fused posteriors, the compass, transmitters that move, the command, and bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
import xarray as xr
from PIL import Image
from scipy import stats

import locus
from locus.capture.candidates import grid_candidates
from locus.capture.figure import location_figure
from locus.capture.words import words, words_of_truth
from locus.cli import main
from locus.experiment import netcdf
from locus.experiment.walk_scene import draw_walk
from locus.score.method import MethodOptions
from locus.score.moving import MAX_CANDIDATES, Moving
from locus.score.walk import Walk
from locus.score.weight_files import make_method, save_method
from locus.settings.profiles import load_config

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "import sys; from locus.cli import main; sys.exit(main())"]
ROOM = locus.Layout(shapely.box(0, 0, 40, 30), (shapely.box(12, 10, 16, 22), shapely.box(26, 4, 34, 8)))
POSES = [locus.Pose(4.2, 5.1, 0.4), locus.Pose(9.7, 7.6, 0.5), locus.Pose(18.1, 8.3, 1.2), locus.Pose(19.9, 14.4, 1.4)]
TRUTH = (32.3, 24.1)


def observe(image: locus.Twin, layout: locus.Layout, poses: list[locus.Pose], places: Any, seed: int) -> np.ndarray:
    """One snapshot (snapshot, sample, antenna) from each pose, of a transmitter that is at one of the places then."""
    rng, places = np.random.default_rng(seed), np.broadcast_to(places, (len(poses), 2))
    pairs = zip(poses, places, strict=True)
    traced = [image.trace(layout, pose, [place]).isel(candidate=0) for pose, place in pairs]
    return np.stack([locus.observe(paths, rng).iq.values for paths in traced])


@pytest.fixture(scope="module")
def iq(image: locus.Twin) -> np.ndarray:
    return observe(image, ROOM, POSES, TRUTH, 0)


@pytest.fixture(scope="module")
def result(iq: np.ndarray) -> xr.Dataset:
    return locus.locate(ROOM, POSES, iq, grid_candidates(ROOM, None), twin="image")


@pytest.fixture
def folder(iq: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Room, captures and poses of the walk as files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    ROOM.to_geojson("room.geojson")
    np.save("captures.npy", iq)
    halves = [one.heading / 2 for one in POSES]
    Path("walk.tum").write_text(
        "# time x y z qx qy qz qw\n"
        + "".join(
            f"{10 + 3 * i} {one.x} {one.y} 0.2 0 0 {np.sin(half):.12f} {np.cos(half):.12f}\n"
            for i, (one, half) in enumerate(zip(POSES, halves, strict=True))
        )
    )
    rows = "".join(f"{10 + 3 * i},{one.x},{one.y},{one.heading}\n" for i, one in enumerate(POSES))
    Path("walk.csv").write_text("time,x,y,heading\n" + rows)
    return tmp_path


def run(*changes: str) -> int:
    """Run `locus locate` on the files of the walk; for repeated options, the last one counts."""
    usual = ["--iq=captures.npy", "--out=posterior.nc", "--grid=16", "--twin=image"]
    return main(["locate", "room.geojson", *usual, *changes])


def test_a_walk_is_fused_step_by_step(result: xr.Dataset, iq: np.ndarray, image: locus.Twin) -> None:
    """The same posteriors and compass errors as those of the score itself."""
    xy = grid_candidates(ROOM, None)
    scorer = locus.PathSet()
    walk = Walk(ROOM, scorer, spacing=float(result.attrs["spacing"]))
    for step, pose in enumerate(POSES):
        walk.add(image.trace(ROOM, pose, xy), locus.estimate(iq[step], scorer.estimator))
        np.testing.assert_allclose(result.posterior[step], walk.posterior(), rtol=1e-6, atol=1e-12)
        turn = walk.heading_error()
        assert float(result.heading_error[step]) == pytest.approx(turn.mean, abs=1e-9)
        assert float(result.heading_error_low[step]) == pytest.approx(turn.low, abs=1e-9)
        assert float(result.heading_error_high[step]) == pytest.approx(turn.high, abs=1e-9)
    assert result.posterior.dims == result.credible.dims == ("step", "candidate")
    assert result.aoa.dims == ("step", "path")
    for name in ("credible_area", "map_x", "map_y", "twin_fit", "rx_x", "rx_y", "rx_heading"):
        assert result[name].dims == ("step",)
    np.testing.assert_allclose(result.posterior.sum("candidate"), 1)
    np.testing.assert_array_equal(result.rx_heading, [pose.heading for pose in POSES])
    assert all({"units", "long_name"} <= set(result[name].attrs) for name in result.variables)
    assert ((result.twin_fit > 0) & (result.twin_fit < 1)).all()


def test_one_pose_in_a_list_is_a_walk_of_one_step(iq: np.ndarray) -> None:
    xy = grid_candidates(ROOM, None, 16)
    for samples in (iq[0], iq[:1]):
        found = locus.locate(ROOM, POSES[:1], samples, xy, twin="image")
        assert found.posterior.dims == ("step", "candidate")
        assert found.sizes["step"] == 1
    alone = locus.locate(ROOM, POSES[0], iq[:1], xy, twin="image")
    assert alone.posterior.dims == ("snapshot", "candidate")
    assert "heading_error" not in alone


def test_candidates_in_the_way_of_the_receiver_stay_on_the_map(iq: np.ndarray) -> None:
    """The first three poses are candidates, too; at its own place, a receiver would hear it from right beside."""
    xy = np.array([[4.2, 5.1], [9.7, 7.6], [18.1, 8.3], [32.0, 24.0]])
    found = locus.locate(ROOM, POSES, iq, xy, twin="image", spacing=1.0)
    np.testing.assert_array_equal(found.x, xy[:, 0])
    assert int(found.posterior[-1].argmax("candidate")) == 3
    with pytest.raises(ValueError, match=r"Expected 'candidates' at least 0.01 m from the receiver"):
        locus.locate(ROOM, POSES[0], iq[0], xy, twin="image")


def test_posterior_moves_with_the_room(result: xr.Dataset, iq: np.ndarray) -> None:
    dx, dy = 500_000.0, 5_600_000.0
    poses = [locus.Pose(one.x + dx, one.y + dy, one.heading) for one in POSES]
    xy = np.stack([result.x + dx, result.y + dy], axis=1)
    found = locus.locate(ROOM.moved(dx, dy), poses, iq, xy, twin="image")
    np.testing.assert_allclose(found.posterior, result.posterior, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(found.heading_error, result.heading_error, atol=1e-5)
    assert found.rx_y.values.tolist() == [one.y for one in poses]


def test_snapshots_and_compass_become_surer_along_a_walk(image: locus.Twin) -> None:
    """Four snapshots in each of 24 of the paper's rooms, transmitters on the list, a compass that is 3 degrees off.

    In 30 other rooms, the truth gains 1.16 nats from the first to the last snapshot, with a standard deviation of 1.87:
    the mean over 24 is above zero by three standard errors. 25 of those 30 intervals of the compass hold its error.
    """
    gains, inside, narrower = [], [], []
    for seed in range(200, 224):
        rng = np.random.default_rng(seed)
        layout = locus.Layout.random(rng)
        poses, xy, turn = draw_walk(layout, 4, rng), grid_candidates(layout, None), np.radians(3) * (-1) ** seed
        truth = int(rng.integers(len(xy)))
        iq = observe(image, layout, poses, xy[truth], seed)
        given = [locus.Pose(one.x, one.y, (one.heading - turn + np.pi) % (2 * np.pi) - np.pi) for one in poses]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d of 4 snapshots fit the twin worse")  # as the compass is off
            found = locus.locate(layout, given, iq, xy, twin="image", spacing=0.0)
        logs = np.log(found.posterior.values[:, truth])
        gains.append(logs[-1] - logs[0])
        inside.append(bool(found.heading_error_low[-1] <= turn <= found.heading_error_high[-1]))
        width = found.heading_error_high - found.heading_error_low
        narrower.append(float(width[-1] / width[0]))
    assert np.mean(gains) > 0
    assert sum(inside) >= stats.binom.ppf(1e-3, 24, 0.9)
    assert np.median(narrower) < 0.8


@pytest.fixture(scope="module")
def mover(image: locus.Twin) -> tuple[list[locus.Pose], np.ndarray, np.ndarray, np.ndarray]:
    """Poses, times, places and IQ: the receiver turns in a corner, the transmitter goes 2 m every 2 s."""
    times = 2.0 * np.arange(8)
    places = np.stack([20 + 2.0 * np.arange(8), np.full(8, 25.3)], axis=1)
    poses = [locus.Pose(20.3 + 0.2 * i, 15.2, 0.6 + 0.1 * i) for i in range(8)]
    return poses, times, places, observe(image, ROOM, poses, places, 1)


@pytest.mark.parametrize("points", [16, 41])
def test_a_transmitter_that_moves_is_followed(
    mover: tuple[list[locus.Pose], np.ndarray, np.ndarray, np.ndarray], points: int
) -> None:
    """On a grid of 2.7 m by 2 m, coarser than a step of the bound, and on a finer one; as still, it is lost."""
    poses, times, places, iq = mover
    xy = grid_candidates(ROOM, None, points)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\d of 8 snapshots fit the twin worse")
        found, still = (
            locus.locate(ROOM, poses, iq, xy, twin="image", **options)
            for options in ({"speed": 1.2, "times": times}, {})
        )
    assert "heading_error" not in found
    assert float(found.attrs["speed"]) == 1.2
    np.testing.assert_array_equal(found.time, times)
    near = [np.hypot(one.x - places[-1, 0], one.y - places[-1, 1]) < 4 for one in (found, still)]
    mass, lost = (float(one.posterior[-1].where(close).sum()) for one, close in zip((found, still), near, strict=True))
    assert mass > 0.9
    assert lost < mass
    error = np.hypot(found.map_x - places[:, 0], found.map_y - places[:, 1])
    assert float(error[2:].max()) < 4


def test_the_filter_is_that_of_the_score(
    mover: tuple[list[locus.Pose], np.ndarray, np.ndarray, np.ndarray], image: locus.Twin
) -> None:
    poses, times, _, iq = mover
    xy, scorer = grid_candidates(ROOM, None, 12), locus.PathSet()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\d of 3 snapshots fit the twin worse")
        found = locus.locate(ROOM, poses[:3], iq[:3], xy, twin="image", spacing=3.0, speed=2.0, times=times[:3])
    moving = Moving(ROOM, scorer, speed=2.0, spacing=3.0)
    for step in range(3):
        moving.add(image.trace(ROOM, poses[step], xy), locus.estimate(iq[step], scorer.estimator), times[step])
        np.testing.assert_allclose(found.posterior[step], np.exp(moving.log_posterior()), rtol=1e-6, atol=1e-12)


def test_a_moving_transmitter_has_fewer_candidates(iq: np.ndarray) -> None:
    found = locus.locate(ROOM, POSES, iq, twin="image", speed=1.0, times=np.arange(4.0))
    assert 0.9 * MAX_CANDIDATES < found.sizes["candidate"] <= MAX_CANDIDATES
    assert float(found.attrs["spacing"]) == pytest.approx(np.sqrt(ROOM.free_space.area / len(found.x)), rel=0.1)
    many = ROOM.sample(3001, np.random.default_rng(0))
    with pytest.raises(ValueError, match="Expected at most 3000 candidates of a transmitter that moves, got 3001"):
        locus.locate(ROOM, POSES, iq, many, twin="image", speed=1.0, times=np.arange(4.0))


def test_growing_errors_leave_more_room(iq: np.ndarray, result: xr.Dataset) -> None:
    odometry = locus.Odometry(position_per_metre=0.3, heading_per_metre=0.02, heading_per_radian=0.1)
    found = locus.locate(ROOM, POSES, iq, grid_candidates(ROOM, None), twin="image", odometry=odometry)
    np.testing.assert_allclose(found.posterior[0], result.posterior[0], rtol=1e-9)
    width, usual = (float(one.heading_error_high[-1] - one.heading_error_low[-1]) for one in (found, result))
    assert width > usual
    assert json.loads(found.attrs["odometry"])["heading_per_metre"] == 0.02


@pytest.mark.parametrize("name", ["walk.tum", "walk.csv"])
def test_the_command_gives_what_python_gives(folder: Path, iq: np.ndarray, name: str) -> None:
    options = ["--iq", "captures.npy", "--out", "posterior.nc", "--grid", "16", "--twin", "image"]
    options += ["--figure", "map.png", "--animation", "walk.gif", "--truth", "32.3,24.1"]
    child = subprocess.run(
        [*COMMAND, "locate", "room.geojson", "--poses", name, *options, "--odometry", "position=2cm,heading=0.1deg"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
    lines = child.stdout.splitlines()
    for number, line in enumerate(lines[:4], 1):
        assert re.fullmatch(
            rf"after {number}: \d paths; most probable at x = [\d.]+ m, y = [\d.]+ m \([\d.]+ %\); "
            r"90 % in [\d.,]+ m\^2(, one candidate)?; compass off by -?[\d.]+ degrees, -?[\d.]+ to -?[\d.]+ with 90 %; "
            r"twin fit [\d.]+ %",
            line,
        )
    assert lines[4].startswith("truth: most probable place is ")
    assert lines[5:] == ["Written to posterior.nc, map.png, walk.gif"]
    xy = grid_candidates(ROOM, None, 16)
    spacing = np.sqrt(ROOM.free_space.area / len(xy))
    odometry = locus.Odometry(0.02, np.radians(0.1))
    expected = locus.locate(ROOM, POSES, iq, xy, twin="image", spacing=spacing, odometry=odometry)
    found = netcdf.load(folder / "posterior.nc")
    np.testing.assert_allclose(found.posterior, expected.posterior, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(found.heading_error, expected.heading_error, atol=1e-6)
    np.testing.assert_array_equal(found.rx_x, [one.x for one in POSES])
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    with Image.open(folder / "walk.gif") as animation:
        assert getattr(animation, "n_frames", 1) == 4
        assert animation.info["loop"] == 0
    assert not list(folder.glob(".*"))


def test_the_command_follows_a_transmitter_that_moves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--poses=walk.tum", "--speed=0.5") == 0
    out = capsys.readouterr().out
    assert "after 4: " in out
    assert "compass" not in out
    assert netcdf.load(folder / "posterior.nc").time.values.tolist() == [10, 13, 16, 19]


def test_figure_shows_the_way_and_the_last_map(result: xr.Dataset) -> None:
    (axes, bar) = location_figure(result, truth=TRUTH).axes
    assert axes.get_legend_handles_labels()[1] == ["trajectory", "90 % set", "receiver", "transmitter", "most probable"]
    assert axes.get_title().endswith("\nafter 4 of 4 snapshots")
    assert bar.get_ylabel() == "relative log posterior [nat]"
    (way,) = (line for line in axes.lines if line.get_label() == "trajectory")
    np.testing.assert_allclose(way.get_xydata(), [[one.x, one.y] for one in POSES])
    (star,) = (line for line in axes.lines if line.get_label() == "transmitter")
    assert (star.get_fillstyle(), star.get_marker()) == ("none", "*")
    first = location_figure(result, 0).axes[0]
    assert first.get_title().endswith("\nafter 1 of 4 snapshots")
    assert "transmitter" not in first.get_legend_handles_labels()[1]


def test_words_say_where_it_is_after_each_snapshot(result: xr.Dataset) -> None:
    lines = words(result)
    assert len(lines) == 4
    for number, line in enumerate(lines):
        x, y, mean = (
            float(part) for part in re.findall(r"x = ([\d.]+) m, y = ([\d.]+) m .* off by (-?[\d.]+) deg", line)[0]
        )
        assert (x, y) == pytest.approx((float(result.map_x[number]), float(result.map_y[number])), abs=0.06)
        assert mean == pytest.approx(np.degrees(float(result.heading_error[number])), abs=0.06)
    assert len(words_of_truth(result, TRUTH)) == 1


NETWORK = "posteriors of a network, multiplied, would count errors of plan and compass anew with each snapshot"


@pytest.mark.parametrize(
    ("poses", "options", "message"),
    [
        ([], {}, "Expected 1 to 1000 poses, got none"),
        (POSES[:3], {}, "Expected one pose per snapshot, got 3 poses and 4 snapshots"),
        (POSES[:1], {}, "Expected one pose per snapshot, got 1 pose and 4 snapshots"),
        (
            [*POSES[:3], (1.0, 2.0, 0.0)],
            {},
            "Expected 'pose' as a locus.Pose or a list of them, got (1.0, 2.0, 0.0) at",
        ),
        (POSES, {"times": [0, 1, 2, 3]}, "Expected 'speed' together with 'times', for a transmitter that moves"),
        (POSES, {"speed": 1.0}, "Expected 'times' together with 'speed', for a transmitter that moves, got none"),
        (POSES, {"speed": 0.0, "times": [0, 1, 2, 3]}, "Expected 'speed' in (0, inf), got 0.0"),
        (POSES, {"speed": 1.0, "times": [0, 1, 2]}, "Expected 'times' of shape (4,), one per pose, got (3,)"),
        (POSES, {"speed": 1.0, "times": [0, 1, 1, 2]}, "Expected increasing 'times', got 1 s after 1 s"),
        (POSES, {"speed": 1.0, "times": [0, 1, np.nan, 2]}, "Expected finite 'times', got nan"),
        (
            POSES,
            {"speed": 1.0, "times": [0, 1, 2, 3], "odometry": locus.Odometry(0.1)},
            "Expected 'odometry' for a transmitter that stands still, got it with 'speed'",
        ),
        (POSES[0], {"speed": 1.0}, "Expected 'speed' with a list of poses only, got it with a single pose"),
        (POSES[0], {"odometry": locus.Odometry()}, "Expected 'odometry' with a list of poses only"),
        (
            [*POSES[:3], locus.Pose(14, 15, 0)],
            {},
            "Expected all poses in free space, at least 0.01 m from every wall, got pose 4 of 4 at [14 15]",
        ),
        (
            [locus.Pose(one.x + 500, one.y, one.heading) for one in POSES],
            {},
            "Expected poses in the room's frame, got 4 of 4 in walls or outside: the room spans x = 0 to 40 m, "
            "y = 0 to 30 m, the poses x = 504.2 to 519.9 m, y = 5.1 to 14.4 m",
        ),
    ],
)
def test_bad_walks_are_named(poses: Any, options: dict[str, Any], message: str, iq: np.ndarray) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        locus.locate(ROOM, poses, iq, grid_candidates(ROOM, None, 16), twin="image", **options)


def test_networks_do_not_walk(iq: np.ndarray, tmp_path: Path) -> None:
    notes = {"hash": "none", "config": load_config("smoke", {}).to_dict()}
    save_method(tmp_path / "own.safetensors", make_method("locus_dt", MethodOptions(), 1), notes)
    with pytest.raises(ValueError, match=f"Expected method 'path_set' for a walk, got 'locus_dt': {NETWORK}"):
        locus.locate(ROOM, POSES, iq, weights=str(tmp_path / "own.safetensors"), twin="image")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--poses=none.tum", "Expected a file none.tum, got none"),
        ("--poses=short.csv", "Expected one pose per snapshot, got 2 poses and 4 snapshots"),
        ("--poses=late.csv", "late.csv: Expected increasing times, got 1 s after 2 s on line 3"),
        ("--poses=far.csv", "Expected poses in the room's frame, got 4 of 4 in walls or outside: the room spans"),
        ("--poses=walk.tum --speed=-1", "Expected 'speed' in (0, inf), got -1.0"),
        ("--poses=walk.tum --speed=1 --odometry=position=1cm", "Expected 'odometry' for a transmitter that stands"),
        ("--poses=walk.tum --odometry=way=1cm", "Expected 'odometry' as NAME=SIZE,... with names in ['position', 'h"),
        ("--poses=walk.tum --odometry=heading=1cm", "Expected 'odometry.heading' in rad or deg, got '1cm'"),
        ("--poses=walk.tum --odometry=position=-1", "Expected 'odometry.position_per_metre' in [0, inf), got -1.0"),
        ("--poses=walk.tum --animation=walk.mp4", "Expected a file that ends in .gif, got walk.mp4"),
        ("--pose=4.2,5.1,0.4 --animation=walk.gif", "Expected 'animation' of a walk (--poses) only"),
        ("--pose=4.2,5.1,0.4 --speed=1", "Expected 'speed' with a list of poses only, got it with a single pose"),
        ("--pose=4.2,5.1,0.4 --odometry=turn=1deg", "Expected 'odometry' with a list of poses only"),
        ("--poses=walk.tum --method=locus_dt", "Expected method 'path_set' for a walk, got 'locus_dt'"),
    ],
)
def test_bad_options_get_one_line(options: str, message: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    header = "time,x,y,heading\n"
    (folder / "short.csv").write_text(header + "0,4.2,5.1,0\n1,4.2,5.1,0\n")
    (folder / "late.csv").write_text(header + "2,4.2,5.1,0\n1,4.2,5.1,0\n")
    (folder / "far.csv").write_text(header + "".join(f"{i},-{i},5.1,0\n" for i in range(4)))
    assert run(*options.split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("locus locate: ")
    assert message in err
    assert not list(folder.glob("*.nc")) + list(folder.glob("*.gif"))


@pytest.mark.parametrize("options", [[], ["--pose=4.2,5.1,0.4", "--poses=walk.tum"]], ids=["neither", "both"])
def test_either_a_pose_or_a_walk(options: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*options)
    assert caught.value.code == 2
    assert re.search(
        r"(one of the arguments --pose --poses is required|not allowed with argument)", capsys.readouterr().err
    )
