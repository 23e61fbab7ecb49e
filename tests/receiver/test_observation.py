"""The snapshot against the frequency-domain model and against Sionna's own OFDM channel."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import locus
from locus import Radio
from locus.receiver.observation import observe, pilot
from locus.twin.antenna import array_response

SILENT = Radio(noise_figure_db=-400.0)  # negligible noise


def path_set(num_paths: int = 5, num_snapshots: int | None = None, seed: int = 0) -> xr.Dataset:
    """Random paths; the last of each set is padding."""
    rng = np.random.default_rng(seed)
    shape = (num_paths,) if num_snapshots is None else (num_snapshots, num_paths)
    dims = ("path",) if num_snapshots is None else ("snapshot", "path")
    valid = np.ones(shape, dtype=bool)
    valid[..., -1] = False
    gain = 1e-4 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    return xr.Dataset(
        {
            "aoa": (dims, rng.uniform(-np.pi, np.pi, shape)),
            "delay": (dims, rng.uniform(0, 1e-6, shape)),
            "gain": (dims, gain),
            "valid": (dims, valid),
        }
    )


def spectrum(snapshot: xr.Dataset, radio: Radio) -> np.ndarray:
    """Channel at each subcarrier and antenna, by division by the pilot's spectrum."""
    reference = np.fft.fft(pilot(radio), norm="ortho")[:, np.newaxis] * np.sqrt(radio.tx_power)
    return np.fft.fft(snapshot.iq.values, axis=-2, norm="ortho") / reference


def test_pilot_has_constant_amplitude_in_time_and_frequency() -> None:
    for length in (128, 127):
        sequence = pilot(Radio(num_subcarriers=length))
        np.testing.assert_allclose(np.abs(sequence), 1)
        np.testing.assert_allclose(np.abs(np.fft.fft(sequence, norm="ortho")), 1)


def test_time_domain_samples_are_the_model_of_the_paper_in_frequency(rng: np.random.Generator) -> None:
    """Eq. (20): sum over paths of array and delay basis functions, with the sync offset as a common delay shift."""
    paths = path_set()
    snapshot = observe(paths, rng, SILENT)
    k = np.arange(128)[:, np.newaxis, np.newaxis] * SILENT.bandwidth / 128
    delay = paths.delay.values - float(snapshot.sync_offset)
    basis = np.exp(-2j * np.pi * k * delay[:, np.newaxis]) * array_response(paths.aoa, 8)
    expected = (np.where(paths.valid, paths.gain, 0)[:, np.newaxis] * basis).sum(axis=1)
    np.testing.assert_allclose(
        spectrum(snapshot, SILENT), expected * np.exp(1j * float(snapshot.carrier_phase)), atol=1e-14
    )


def test_channel_is_that_of_sionnas_physical_layer(rng: np.random.Generator) -> None:
    import torch
    from sionna.phy.channel import cir_to_ofdm_channel

    paths = path_set()
    snapshot = observe(paths, rng, SILENT)
    real = paths.isel(path=paths.valid.values)
    delay = (real.delay.values - float(snapshot.sync_offset)) % SILENT.period
    weights = real.gain.values * np.exp(1j * float(snapshot.carrier_phase)) * array_response(real.aoa, 8).T
    # [batch, rx, rx antenna, tx, tx antenna, path, time] and [batch, rx, tx, path]
    a = torch.from_numpy(weights).reshape(1, 1, 8, 1, 1, -1, 1)
    tau = torch.from_numpy(delay).reshape(1, 1, 1, -1)
    frequencies = torch.arange(128, dtype=torch.float64) * SILENT.bandwidth / 128
    theirs = cir_to_ofdm_channel(frequencies, a, tau).numpy().reshape(8, 128).T
    ours = spectrum(snapshot, SILENT)
    assert np.abs(ours - theirs).max() < 1e-6 * np.abs(theirs).max()


def test_noise_is_white_and_of_the_link_budgets_power() -> None:
    radio = Radio()
    silence = path_set().assign(gain=("path", np.zeros(5, dtype=complex)))
    iq = np.stack([observe(silence, np.random.default_rng(seed), radio).iq for seed in range(400)])
    power = np.abs(iq) ** 2
    assert power.mean() == pytest.approx(radio.noise_power, rel=5 / np.sqrt(iq.size), abs=0)
    assert abs((iq**2).mean()) < 5 * radio.noise_power / np.sqrt(iq.size)  # circular
    neighbours = (iq[:, 1:] * iq[:, :-1].conj()).mean()
    assert abs(neighbours) < 5 * radio.noise_power / np.sqrt(iq.size)


def test_offset_and_phase_are_uniform() -> None:
    draws = [observe(path_set(), np.random.default_rng(seed)) for seed in range(1000)]
    offsets, phases = (np.array([float(d[name]) for d in draws]) for name in ("sync_offset", "carrier_phase"))
    for values, top in ((offsets, 4e-6), (phases, 2 * np.pi)):
        counts, _ = np.histogram(values, 10, (0, top))
        assert counts.sum() == 1000
        assert ((counts - 100) ** 2 / 100).sum() < 27.9  # chi-squared with 9 degrees of freedom, 0.1 %


def test_a_batch_is_its_snapshots_one_by_one() -> None:
    paths = path_set(num_snapshots=4)
    batch = observe(paths, [np.random.default_rng(s) for s in range(4)])
    assert batch.iq.dims == ("snapshot", "sample", "antenna")
    assert batch.iq.dtype == np.complex128
    for s in range(4):
        alone = observe(paths.isel(snapshot=s), np.random.default_rng(s))
        np.testing.assert_array_equal(batch.iq[s], alone.iq)


def test_radio_of_the_twin_travels_along(square: locus.Layout, rng: np.random.Generator) -> None:
    radio = Radio(num_antennas=4, tx_power_dbm=20.0)
    paths = locus.make_twin("image", radio).trace(square, locus.Pose(2, 3, 0.4), [[7.0, 6.0]])
    snapshot = locus.observe(paths.isel(candidate=0), rng)
    assert snapshot.iq.shape == (128, 4)
    assert snapshot.attrs["noise_power"] == radio.noise_power
    assert float((abs(snapshot.iq) ** 2).mean()) == pytest.approx(
        0.1 * float((abs(paths.gain) ** 2).sum()), rel=0.5
    )  # 100 mW, up to interference between paths


def test_wrong_dimensions_are_named(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"Expected 'paths' with dims .* got \('path', 'snapshot'\)"):
        observe(path_set(num_snapshots=3).transpose("path", "snapshot"), [rng] * 3)
    with pytest.raises(ValueError, match=r"Expected one 'rng' per snapshot, 3, got 1"):
        observe(path_set(num_snapshots=3), rng)
