"""``locus locate``: its options, and the command itself: files of the user in, files with the posterior out."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import locus
from locus.settings.config import BACKENDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``locus locate``."""
    parser.description = (
        "Compute the posterior of the transmitter's position from a room, a receiver pose and an IQ capture; or, from "
        "the poses of a walk and a snapshot at each, the posterior after each of them. Lengths "
        "in metres, angles in radians. The default method, path_set, needs no weights and works with any narrowband "
        "radio. The supplied weights of the networks were trained on rooms of 100 m x 100 m with three obstacles. "
        "Limits: 250 walls, 10,000 candidates, 1000 snapshots, 64 MiB of IQ, 256 MiB of a SigMF recording, 1 MiB of "
        "GeoJSON, poses or metadata, 64 KiB of YAML for a radio, 8 KiB of YAML and 16 million pixels for a ROS map. "
        "Existing output files are overwritten."
    )
    parser.add_argument(
        "room",
        type=Path,
        help="GeoJSON FeatureCollection of polygons, in metres or degrees, with role room or obstacle; scene.xml of "
        "Sionna or Mitsuba; or map.yaml of ROS",
    )
    parser.add_argument(
        "--height",
        type=float,
        metavar="Z",
        help="height [m] of the antennas, at which a scene is cut (default: 1.5)",
    )
    receiver = parser.add_mutually_exclusive_group(required=True)
    receiver.add_argument(
        "--pose",
        metavar="X,Y,HEADING",
        help="position of antenna 0, in the room's coordinates, and broadside direction, which may be left out if the "
        "capture has an azimuth; if the room is in degrees, LON,LAT,HEADING; heading in radians from "
        "east or, with deg behind it, in degrees",
    )
    _add_walk(parser, receiver)
    parser.add_argument(
        "--iq",
        required=True,
        type=Path,
        metavar="FILE",
        help="a SigMF recording of any length (.sigmf-meta, .sigmf, or .sigmf-collection, a recording per antenna), or "
        ".npy with complex samples, ([snapshot,] sample, antenna); 128 x 8 for the paper's radio",
    )
    parser.add_argument(
        "--pilot", type=Path, metavar="NPY", help="one period of your own pilot, complex samples, for SigMF recordings"
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="FILE",
        help="file for the posterior: .nc (everything), .csv (candidates), .geojson (90 %% set and most probable "
        "place), or .yaml with .pgm (ROS map)",
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="PNG",
        help="map of the first snapshot, or at the end of the walk (png, svg, pdf)",
    )
    parser.add_argument(
        "--method",
        help="path_set, or a trained network: locus_dt, gauss_cart, gauss_polar, gmm_cart (default: path_set)",
    )
    parser.add_argument(
        "--tolerance",
        metavar="NAME=SIZE,...",
        help="how far plan, position, heading and material may be off, for path_set, e.g. heading=1deg,plan=0.1,"
        "position=20cm,material=1dB (default: 1 m, 1 m, 5deg, 2dB; smaller errors are considered, too)",
    )
    parser.add_argument(
        "--run",
        help="run, .safetensors or .tflite file with the weights of a network (default: paper; with it, locus_dt)",
    )
    parser.add_argument(
        "--twin",
        choices=BACKENDS,
        help="twin to trace with (default: sionna, or the one the weights were evaluated with)",
    )
    parser.add_argument(
        "--truth", metavar="X,Y", help="true position: also print the error and the smallest set that contains it"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--grid",
        type=int,
        metavar="N",
        help="candidates: the free points of an N x N grid (default: cells as small as the radio can tell apart; for "
        "networks, N = 31)",
    )
    where.add_argument("--candidates", type=int, metavar="N", help="candidates: N random points from a fixed seed")
    parser.add_argument("--radio", type=Path, metavar="YML", help="fields of Radio that differ from the paper's")
    parser.add_argument(
        "--noise-power",
        type=float,
        metavar="P",
        help="mean |noise|^2 per sample, in the capture's units (default: the capture is in W^0.5)",
    )
    parser.add_argument(
        "--any-power", action="store_true", help="warn of a capture that is impossibly strong, instead of refusing it"
    )
    parser.add_argument(
        "--noise", type=Path, metavar="FILE", help="instead: a recording without the transmitter, with the same gain"
    )


def _add_walk(parser: argparse.ArgumentParser, receiver: argparse._MutuallyExclusiveGroup) -> None:
    receiver.add_argument(
        "--poses",
        type=Path,
        metavar="FILE",
        help="poses of a walk, one per snapshot: TUM (.tum, .txt: time x y z qx qy qz qw) or CSV (.csv: "
        "time,x,y,heading)",
    )
    parser.add_argument(
        "--odometry",
        metavar="NAME=SIZE,...",
        help="standard deviations by which the errors of the poses grow: position and heading after each metre, turn "
        "(of the heading) after each radian, e.g. position=2cm,heading=0.1deg,turn=1deg (default: all poses share one "
        "error; see --tolerance)",
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="V",
        help="largest speed of a transmitter that moves [m/s], with the times in the file (default: it stands still)",
    )
    parser.add_argument("--animation", type=Path, metavar="GIF", help="the map after each step of the walk")


def locate(options: argparse.Namespace) -> int:
    """Locate a transmitter in the user's own room."""
    import numpy as np

    from locus.capture import candidates, files, outputs, words

    truth = files.parse_position(options.truth) if options.truth else None
    choice: dict[str, Any] = {"weights": options.run, "method": options.method, "twin": options.twin}
    choice["check_power"] = not options.any_power
    choice["tolerance"] = files.parse_tolerance(options.tolerance) if options.tolerance else None
    choice["odometry"] = files.parse_odometry(options.odometry) if options.odometry else None
    files.check_output(options.out, outputs.SUFFIXES)
    if options.figure:
        files.check_output(options.figure, files.FIGURE_SUFFIXES)
    if options.animation:
        if options.pose:
            raise ValueError("Expected 'animation' of a walk (--poses) only, got it with a single pose")
        files.check_output(options.animation, (".gif",))
    files.check_apart(
        [one for one in (options.out, options.figure, options.animation) if one],
        [
            options.room,
            options.iq,
            *(one for one in (options.poses, options.pilot, options.noise, options.radio) if one),
        ],
    )
    layout = files.read_layout(options.room, options.height)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        where, iq, truth = _read(options, layout, truth, choice)
        outputs.check_snapshots(options.out, len(iq) if options.pose and getattr(iq, "ndim", 2) == 3 else 1)
        for remark in layout.remarks:
            print(f"locus locate: {options.room.name}: {remark}", file=sys.stderr)
        pose, xy = where if isinstance(where, locus.Pose) else None, None
        if options.grid is not None:
            xy = candidates.grid_candidates(layout, pose, options.grid)
        elif options.candidates is not None:
            xy = candidates.random_candidates(layout, pose, options.candidates, np.random.default_rng(0))
        if xy is not None:
            choice["spacing"] = (layout.free_space.area / len(xy)) ** 0.5
        data = locus.locate(layout, where, iq, xy, **choice)
    for warning in caught:
        print(f"locus locate: warning: {warning.message}", file=sys.stderr)
    written = files.save(data, options.out, options.figure, options.animation, truth)
    print("\n".join(words.words(data)))
    if truth:
        print("\n".join(words.words_of_truth(data, truth)))
    print("Written to", ", ".join(map(str, written)))
    return 0


def _read(
    options: argparse.Namespace, layout: locus.Layout, truth: tuple[float, float] | None, choice: dict[str, Any]
) -> tuple[locus.Pose | list[locus.Pose], Any, tuple[float, float] | None]:
    """Pose or poses, samples and true position; radio, noise power and times go to ``choice``."""
    from locus.capture import files, read, trajectory

    given = {name: getattr(options, name) for name in ("radio", "pilot", "noise", "noise_power")}
    poses, times = trajectory.read_trajectory(options.poses) if options.poses else ([], None)
    choice |= {"speed": options.speed, "times": times if options.speed is not None else None}
    pose, iq, choice["radio"], choice["noise_power"] = read.read_with_pose(options.iq, options.pose, **given)
    if pose:
        pose, truth = files.in_metres(layout, pose, truth)
        return pose, iq, truth
    if layout.frame is not None:
        raise ValueError(f"Expected a room in metres with 'poses', got {options.room}, which is in degrees")
    return poses, iq, truth
