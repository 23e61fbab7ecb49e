"""Makes the captures in this folder: a SigMF recording with its own pilot, and one of noise at the same gain.

`python tests/capture/files/make.py` writes them again. The transmitter is at `TRUTH` in the room of the book's page
*Your own room*, an array of four antennas at `POSE`. Eight periods of a pilot with 64 subcarriers over 100 MHz at
6 GHz, whose strengths differ by up to 2.5 dB; the transmitter's oscillator is 21 kHz off.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import locus
from locus.capture.sigmf_writer import write_sigmf
from locus.capture.simulated import record

FOLDER = Path(__file__).parent
ROOM = Path(__file__).parents[3] / "book" / "_static" / "room.geojson"
TRUTH = (12.0, 30.0)
POSE = locus.Pose(70.0, 30.0, 2.8)
RADIO = locus.Radio(carrier=6e9, bandwidth=100e6, num_antennas=4, num_subcarriers=64, tx_power_dbm=10.0)
OFFSET = 21e3
"""Frequency offset of the transmitter [Hz]."""


def main(folder: Path) -> None:
    """Write all files."""
    rng = np.random.default_rng(0)
    level, phase = 10 ** (rng.uniform(-1.25, 1.25, 64) / 20), rng.uniform(0, 2 * np.pi, 64)
    pilot = np.fft.ifft(level * np.exp(1j * phase)).astype(np.complex64)
    np.save(folder / "pilot.npy", pilot)
    twin = locus.make_twin("image", RADIO)
    paths = twin.trace(locus.Layout.from_geojson(ROOM), POSE, [TRUTH]).isel(candidate=0)
    heard = record(paths, rng, RADIO, num_periods=8, pilot=pilot, frequency_offset=OFFSET)
    silence = record(paths.assign(valid=~paths.valid & False), rng, RADIO, num_periods=8)
    gain = {"datatype": "ci16_le", "full_scale": 40 * RADIO.noise_power**0.5}
    write_sigmf(folder / "recording.sigmf-meta", heard, heading=POSE.heading, **gain)
    write_sigmf(folder / "noise.sigmf-meta", silence, **gain)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
