"""Features of paths: values worked out by hand, and invariances."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import locus
from locus.score.features import features
from locus.settings.config import FeatureOptions


def path_set(aoa: list[float], snr_db: list[float], valid: list[bool]) -> xr.Dataset:
    return xr.Dataset({"aoa": ("path", aoa), "snr_db": ("path", snr_db), "valid": ("path", valid)})


def test_a_path_is_cosine_sine_and_scaled_snr() -> None:
    values = features(path_set([0.0, np.pi / 2, 0.3], [0.0, -15.0, 5.0], [True, True, False]), 3)
    np.testing.assert_allclose(values, [1, 0, 0.5, 0, 1, 0.25, 0, 0, 0], atol=1e-7)
    assert values.dtype == np.float32


def test_snr_is_clipped_at_both_ends_of_60_db() -> None:
    values = features(path_set([0.0, 0.0, 0.0], [90.0, -90.0, -np.inf], [True, True, True]), 3).reshape(3, 3)
    np.testing.assert_array_equal(values[:, 2], [1, 0, 0])
    narrow = features(path_set([0.0], [0.0], [True]), 1, FeatureOptions(snr_range=(-10.0, 30.0)))
    assert narrow[2] == pytest.approx(0.25)


def test_both_sides_have_18_numbers_whatever_the_padding(image: locus.Twin, rng: np.random.Generator) -> None:
    """With 16 traced paths, 6 estimated ones or fewer: always the strongest six, padded with zeros."""
    layout = locus.Layout.random(rng)
    paths = image.trace(layout, locus.Pose.random(layout, rng), layout.sample(20, rng))
    observed = locus.estimate(locus.observe(paths.isel(candidate=0), rng))
    assert features(paths).shape == (20, 18)
    assert features(observed).shape == (18,)
    np.testing.assert_array_equal(features(paths), features(paths.isel(path=slice(6))))
    np.testing.assert_array_equal(features(paths.isel(path=slice(2)))[:, 6:], 0)
    noisy = paths.assign(aoa=paths.aoa.where(paths.valid, 9.0), snr_db=paths.snr_db.where(paths.valid, 9.0))
    np.testing.assert_array_equal(features(noisy), features(paths))


def test_an_undetected_path_is_not_seen() -> None:
    seen = path_set([0.1, 0.2], [3.0, -20.0], [True, True])
    missed = seen.assign(valid=("path", [True, False]))
    assert (features(seen)[3:6] != 0).any()
    assert (features(missed)[3:6] == 0).all()


def test_paths_can_be_ordered_by_angle_instead() -> None:
    """From right to left as seen by a linear array: 2.5 rad, from behind, has the sine of pi - 2.5 = 0.64."""
    paths = path_set([0.9, -0.5, 2.5, 0.1], [20.0, 10.0, 0.0, -10.0], [True, True, True, False])
    numbers = features(paths, 4, FeatureOptions(order="angle")).reshape(4, 3)
    np.testing.assert_allclose(numbers[:3, 1], np.sin([-0.5, 2.5, 0.9]), rtol=1e-6)
    np.testing.assert_allclose(numbers[:3, 2] * 60 - 30, [10.0, 0.0, 20.0], atol=1e-4)
    assert (numbers[3] == 0).all()


def test_the_strongest_are_kept_before_they_are_ordered_by_angle() -> None:
    paths = path_set([0.9, -0.5, -1.0], [20.0, 10.0, 0.0], [True, True, True])
    numbers = features(paths, 2, FeatureOptions(order="angle")).reshape(2, 3)
    np.testing.assert_allclose(numbers[:, 1], np.sin([-0.5, 0.9]), rtol=1e-6)
    with pytest.raises(ValueError, match=r"Expected 'features.order' in \['strength', 'angle'\], got 'delay'"):
        FeatureOptions(order="delay")
