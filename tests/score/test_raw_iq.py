"""Baselines on raw IQ: inputs keep all that the samples say, and networks learn where samples tell the position."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray

from locus.score.raw_iq import RAW_DENSITIES, RawOptions, compress
from locus.score.train import adjusted_loss, make_examples, train
from locus.score.weight_files import METHODS, initialised
from locus.settings.config import Training

NOISE = 1e-12


def samples(rng: np.random.Generator, *shape: int) -> NDArray[np.complex128]:
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def test_inputs_keep_all_that_the_samples_say(rng: np.random.Generator) -> None:
    """Magnitudes over eight decades, zero included, are found again from the inputs."""
    iq = math.sqrt(NOISE) * samples(rng, 3, 5, 16, 4) * 10 ** rng.uniform(-4, 4, (3, 5, 1, 1))
    iq[0, 0, 0, 0] = 0
    inputs = compress(iq, NOISE)
    assert inputs.shape == (3, 5, 2 * 16 * 4)
    assert inputs.dtype == np.float32
    assert np.abs(inputs).max() < math.log(1e6)
    parts = inputs.reshape(3, 5, 16, 4, 2).astype(float)
    magnitude = np.hypot(parts[..., 0], parts[..., 1])
    found = np.expm1(magnitude) * np.exp(1j * np.arctan2(parts[..., 1], parts[..., 0])) * math.sqrt(NOISE)
    np.testing.assert_allclose(found, iq, rtol=1e-5)  # a rounding of 6e-8 of a logarithm of up to 12


def test_noise_alone_is_of_order_one_at_any_bandwidth(rng: np.random.Generator) -> None:
    noise = samples(rng, 1000, 8) / math.sqrt(2)
    for power in (1e-15, 1e-9):
        assert 0.2 < compress(math.sqrt(power) * noise, power).std() < 1
    np.testing.assert_allclose(compress(1e-6 * noise, 1e-12), compress(1e-3 * noise, 1e-6), rtol=1e-5, atol=1e-7)


def toy(rng: np.random.Generator, num_groups: int = 120) -> tuple[xr.Dataset, xr.Dataset]:
    """Candidates, and snapshots in which the real part of one antenna is x and of the other y [10 m], in weak noise."""
    xy = rng.uniform(5, 95, (num_groups, 20, 2))
    truth = rng.integers(20, size=(num_groups, 4))
    position = np.take_along_axis(xy, truth[..., np.newaxis], axis=1)
    iq = (position[..., np.newaxis, :] / 50 - 1) + 0.1 * samples(rng, num_groups, 4, 8, 2)
    paths = xr.Dataset(
        coords={
            **{name: (("group", "candidate"), xy[..., axis]) for axis, name in enumerate("xy")},
            **{name: ("group", np.full(num_groups, 50.0)) for name in ("rx_x", "rx_y")},
            "rx_heading": ("group", np.zeros(num_groups)),
        }
    )
    seen = xr.Dataset(
        {
            "iq": (("group", "snapshot", "sample", "antenna"), math.sqrt(NOISE) * iq),
            "truth": (("group", "snapshot"), truth),
        },
        attrs={"noise_power": NOISE},
    )
    return paths, seen


@pytest.mark.parametrize("name", RAW_DENSITIES)
def test_a_baseline_learns_where_samples_tell_the_position(name: str, rng: np.random.Generator) -> None:
    """A posterior over 20 candidates as wide as the noise, 5 m of 90 m: far better than a guess, in unseen rooms."""
    network = initialised(RAW_DENSITIES[name], RawOptions(num_samples=16), seed=0)
    paths, seen = toy(rng)
    examples = make_examples(network, paths, seen)
    assert examples.conditions.shape == (120, 4, 2 * 16 + 4)
    torch.testing.assert_close(examples.conditions[..., -4:].cpu(), torch.tensor([0.0, 0, 1, 0]).expand(120, 4, 4))
    options = Training(num_layouts=120, num_candidates=20, num_epochs=25, batch=8, validation_share=0.2)
    train(network, examples, options, 0.01, report=lambda _: None)
    assert adjusted_loss(network, examples.part(slice(-24, None))) < -0.5 * math.log(20)


def test_there_is_one_for_each_baseline() -> None:
    assert tuple(RAW_DENSITIES) == METHODS[1:]
    for name, kind in RAW_DENSITIES.items():
        network = kind(RawOptions())
        assert network.name == name
        assert network.sees == "snapshots"
        assert network.network[0].in_features == 2 * 128 * 8 + 4
        with pytest.raises(ValueError, match=r"Expected 'encoding' in \['plain'\], got 'turned'"):
            kind(RawOptions(encoding="turned"))
