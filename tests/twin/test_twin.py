"""Physics that both twins must obey, checked against independent formulas."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
import shapely
import xarray as xr

import locus
from locus import Layout, Pose, Radio, Twin, TwinOptions
from locus.room.materials import permittivity
from locus.settings.config import SPEED_OF_LIGHT
from locus.twin.rays import corner_distance, ray_points

POSE = Pose(2.0, 3.0, 0.4)
RADIO = Radio()


def slab(cosine: float, eta: complex, thickness: float, wavelength: float) -> complex:
    """TE reflection coefficient of a slab by its characteristic matrix, unlike the twin's closed form."""
    inside = cmath.sqrt(eta - 1 + cosine**2)
    delta = 2 * math.pi * thickness / wavelength * inside
    b = 1 + 1j * cmath.tan(delta) * cosine / inside
    c = 1j * inside * cmath.tan(delta) + cosine
    return (cosine * b - c) / (cosine * b + c)


def element(angle: float) -> float:
    """Amplitude of the TR 38.901 element: 8 dBi, 65 degrees half-power beamwidth, 30 dB front-to-back ratio."""
    return 10 ** ((8 - min(12 * (math.degrees(angle) / 65) ** 2, 30)) / 20)


def paths_of(data: xr.Dataset, order: int) -> xr.Dataset:
    """Valid paths of the first candidate with this many bounces."""
    one = data.isel(candidate=0)
    return one.isel(path=np.flatnonzero(one.valid & (one.order == order)))


def angle_between(a: float, b: float) -> float:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


@pytest.mark.parametrize("candidate", [(7.0, 6.0), (2.5, 9.0), (0.5, 0.5), (9.9, 3.0)])
def test_line_of_sight_is_free_space(twin: Twin, square: Layout, candidate: tuple[float, float]) -> None:
    path = paths_of(twin.trace(square, POSE, [candidate]), 0)
    distance = math.dist(candidate, (POSE.x, POSE.y))
    angle = math.atan2(candidate[1] - POSE.y, candidate[0] - POSE.x) - POSE.heading
    assert path.sizes["path"] == 1
    assert float(path.delay[0]) == pytest.approx(distance / SPEED_OF_LIGHT, rel=1e-6, abs=0)
    assert angle_between(float(path.aoa[0]), angle) < 1e-5
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    amplitude = RADIO.wavelength / (4 * math.pi * distance) * element(angle)
    assert abs(path.gain[0].item()) == pytest.approx(amplitude, rel=1e-4, abs=0)
    snr = 0 + 20 * math.log10(amplitude) - (-173.975 + 83.010 + 7)
    assert float(path.snr_db[0]) == pytest.approx(snr, abs=5e-3)


@pytest.mark.parametrize("material", ["concrete", "metal", "glass", "wood"])
def test_one_bounce_is_the_image_and_the_slab(twin: Twin, material: str) -> None:
    layout = Layout(shapely.box(0, 0, 10, 10), (), (material,))
    candidate = (7.0, 6.0)
    paths = paths_of(twin.trace(layout, POSE, [candidate]), 1)
    images = {"x=0": (-7.0, 6.0), "x=10": (13.0, 6.0), "y=0": (7.0, -6.0), "y=10": (7.0, 14.0)}
    assert paths.sizes["path"] == 4
    for wall, image in images.items():
        dx, dy = image[0] - POSE.x, image[1] - POSE.y
        length, cosine = math.hypot(dx, dy), abs(dx if wall[0] == "x" else dy) / math.hypot(dx, dy)
        found = paths.isel(path=int(np.abs(paths.delay - length / SPEED_OF_LIGHT).argmin("path")))
        angle = (math.atan2(dy, dx) - POSE.heading + math.pi) % (2 * math.pi) - math.pi
        assert float(found.delay) == pytest.approx(length / SPEED_OF_LIGHT, rel=1e-6, abs=0)
        assert angle_between(float(found.aoa), angle) < 1e-5
        gain = RADIO.wavelength / (4 * math.pi * length) * element(angle)
        gain *= slab(cosine, permittivity(material, 12e9), 0.2, RADIO.wavelength)
        gain *= cmath.exp(-2j * math.pi * ((12e9 * length / SPEED_OF_LIGHT) % 1))
        assert (
            abs(found.gain.item() / gain - 1) < 5e-3
        )  # Sionna's delay is in single precision, and multiplied by 12 GHz


def test_relative_phase_of_two_paths_follows_from_geometry(twin: Twin, square: Layout) -> None:
    """Moving the transmitter by 5 mm, a fifth of a wavelength, shifts each path's phase by the change of its length."""
    before, after = np.array([[7.0, 6.0]]), np.array([[7.005, 6.0]])
    old, new = twin.trace(square, POSE, before), twin.trace(square, POSE, after)
    turns = []
    for order, mirror in ((0, 1.0), (1, -1.0)):  # line of sight, and the image in the wall y = 0
        lengths = [math.hypot(x - POSE.x, mirror * y - POSE.y) for ((x, y),) in (before, after)]
        gains = []
        for data, length in zip((old, new), lengths, strict=True):
            paths = paths_of(data, order)
            gains.append(paths.gain[int(np.abs(paths.delay - length / SPEED_OF_LIGHT).argmin("path"))].item())
        expected = -2 * math.pi * (lengths[1] - lengths[0]) / RADIO.wavelength
        turns.append(cmath.phase(gains[1] / gains[0]))
        assert angle_between(turns[-1], expected) < 0.01
    assert angle_between(*turns) > 0.05  # the phase shifts differ, so that 5 mm are visible


def test_rays_bounce_at_the_angle_at_which_they_came_and_end_at_the_candidate(twin: Twin) -> None:
    """A ray launched at a path's angle and reflected specularly must reach the candidate after the path's delay."""
    rng = np.random.default_rng(2)
    layout = Layout.random(rng)
    pose, candidates = Pose.random(layout, rng), layout.sample(100, rng)
    data = twin.trace(layout, pose, candidates)
    points = ray_points(layout, data)
    judged = data.valid.values & (corner_distance(layout, points) > 0.05)
    miss = np.hypot(*np.moveaxis(points[:, :, -1] - candidates[:, np.newaxis], -1, 0))[judged]
    assert judged.sum() > 500
    assert miss.max() < (1e-9 if twin.name == "image" else 0.05)
    aimed = ray_points(layout, data, aimed=True)
    miss = np.hypot(*np.moveaxis(aimed[:, :, -1] - candidates[:, np.newaxis], -1, 0))[judged]
    assert miss.max() < 1e-9


def test_mirrored_room_gives_mirrored_paths(twin: Twin) -> None:
    layout = Layout(shapely.box(0, 0, 30, 20), (shapely.box(12, 8, 16, 12),))  # symmetric about y = 10
    pose = Pose(4.0, 10.0, 0.0)
    candidates = np.array([[25.0, 13.0], [20.0, 4.0], [9.0, 17.5]])
    above, below = (twin.trace(layout, pose, c) for c in (candidates, candidates * [1, -1] + [0, 20]))
    assert int(above.valid.sum()) > 20
    for i in range(len(candidates)):
        a, b = (d.isel(candidate=i) for d in (above, below))
        a, b = a.isel(path=a.valid.values), b.isel(path=b.valid.values)
        assert a.sizes == b.sizes
        order_a, order_b = np.argsort(a.aoa.values), np.argsort(-b.aoa.values)
        np.testing.assert_allclose(a.aoa[order_a], -b.aoa[order_b], atol=2e-4)
        np.testing.assert_allclose(np.abs(a.gain[order_a]), np.abs(b.gain[order_b]), rtol=1e-3)


def test_company_and_order_in_the_batch_do_not_matter(twin: Twin) -> None:
    rng = np.random.default_rng(3)
    layout = Layout.random(rng)
    pose, candidates = Pose.random(layout, rng), layout.sample(40, rng)
    together = twin.trace(layout, pose, candidates)
    backwards = twin.trace(layout, pose, candidates[::-1]).isel(candidate=slice(None, None, -1))
    alone = xr.concat([twin.trace(layout, pose, c[np.newaxis]) for c in candidates], "candidate")
    for other in (backwards, alone):
        xr.testing.assert_identical(together, other)


def test_dataset_keeps_the_contract(twin: Twin, rng: np.random.Generator) -> None:
    layout = Layout.random(rng)
    pose, candidates = Pose.random(layout, rng), layout.sample(50, rng)
    data = twin.trace(layout, pose, candidates)
    assert dict(data.sizes) == {"candidate": 50, "path": 16}
    assert all(variable.dims == ("candidate", "path") for variable in data.data_vars.values())
    assert all({"units", "long_name"} <= variable.attrs.keys() for variable in data.variables.values())
    np.testing.assert_array_equal(np.stack([data.x, data.y], axis=1), candidates)
    assert (float(data.rx_x), float(data.rx_y), float(data.rx_heading)) == (pose.x, pose.y, pose.heading)
    assert data.gain.dtype == np.complex128
    valid, snr = data.valid.values, data.snr_db.values
    assert valid.any()
    assert not valid.all()
    assert (np.diff(valid.astype(int), axis=1) <= 0).all()  # padding comes last
    assert all((np.diff(row[keep]) <= 0).all() for row, keep in zip(snr, valid, strict=True))  # strongest first
    assert (data.gain.values[~valid] == 0).all()
    assert (snr[~valid] == -np.inf).all()
    assert (data.order.values[~valid] == -1).all()
    assert ((data.aoa >= -np.pi) & (data.aoa < np.pi)).all()


def test_only_the_strongest_are_kept(twin: Twin, square: Layout) -> None:
    candidates = [[7.0, 6.0], [4.0, 8.0]]
    few = locus.make_twin(twin.name, options=TwinOptions(max_paths=5)).trace(square, POSE, candidates)
    xr.testing.assert_identical(few, twin.trace(square, POSE, candidates).isel(path=slice(5)))


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_depth_limits_the_number_of_bounces(twin: Twin, square: Layout, depth: int) -> None:
    options = TwinOptions(max_depth=depth, max_paths=64)
    data = locus.make_twin(twin.name, options=options).trace(square, POSE, [[7.0, 6.0]])
    # An empty rectangle has 4 n images of order n (lattice of mirrored rooms).
    assert int(data.valid.sum()) == 1 + sum(4 * n for n in range(1, depth + 1))
    assert int(data.order.max()) == depth


def test_a_shadow_without_any_path_is_all_padding(twin: Twin) -> None:
    data = locus.make_twin(twin.name, options=TwinOptions(max_depth=0)).trace(
        WALLED, Pose(2, 5, 0), [[8, 5], [7.5, 5.2]]
    )
    assert not data.valid.any()
    assert data.sizes["path"] == 16


WALLED = Layout(shapely.box(0, 0, 10, 10), (shapely.box(4, 4, 6, 6),))


@pytest.mark.parametrize(
    ("pose", "candidates", "message"),
    [
        (Pose(5, 5, 0), [[1, 1]], r"Expected 'pose' in free space.*got \[5. 5.\]"),
        (Pose(20, 5, 0), [[1, 1]], r"Expected 'pose' in free space"),
        (POSE, [[1, 1], [5, 5]], r"Expected 'candidates' in free space.*got \[5. 5.\] at index 1"),
        (POSE, [[1, -1]], r"Expected 'candidates' in free space"),
        (POSE, [[1, float("nan")]], r"Expected finite 'candidates', got \[ 1. nan\] at index 0"),
        (POSE, np.empty((0, 2)), r"Expected 'candidates' of shape \(n, 2\) with n > 0, real numbers, got array"),
        (POSE, [1, 2], r"Expected 'candidates' of shape \(n, 2\) with n > 0, got \(2,\)"),
        (POSE, [[2, 3.001]], r"Expected 'candidates' at least 0.01 m from the receiver"),
    ],
)
def test_bad_positions_are_named(twin: Twin, pose: Pose, candidates: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        twin.trace(WALLED, pose, candidates)  # type: ignore[arg-type]


def test_a_material_without_a_value_at_the_carrier_is_named(twin: Twin) -> None:
    layout = Layout(shapely.box(0, 0, 10, 10), (), ("wet_ground",))
    with pytest.raises(ValueError, match=r"defined at 12 GHz, got 'wet_ground' \(defined from 1 to 10 GHz\)"):
        twin.trace(layout, POSE, [[7.0, 6.0]])


def test_unknown_backend_and_option_of_the_other_backend_are_named() -> None:
    with pytest.raises(ValueError, match=r"Expected 'backend' in \['sionna', 'image'\], got 'mirror'"):
        locus.make_twin("mirror")
    with pytest.raises(ValueError, match=r"Expected 'diffraction' False for the image twin"):
        locus.make_twin("image", options=TwinOptions(diffraction=True))
