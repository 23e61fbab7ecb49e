"""Settings as frozen dataclasses; the defaults are the profile ``paper`` (:mod:`locus.settings.profiles`).

Lengths in metres, angles in radians, frequencies in hertz, powers in dBm or dB.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from locus.settings.checks import check_fields, check_range, from_mapping, plain
from locus.settings.recording import unrecorded
from locus.settings.untrusted import parse_json, short

BOLTZMANN = 1.380649e-23
SPEED_OF_LIGHT = 299_792_458.0
BACKENDS = ("sionna", "image")
MAX_COUNT = 10**7
"""Maximum of everything that is counted: rooms, candidates, snapshots, epochs."""
MAX_PATHS = 64
"""Maximum number of estimated paths, and of paths that a network sees."""

_PAPER_SIZE = 100.0  # side of the paper's room [m]
_MAX_WINDOW = 1.0  # largest timing uncertainty [s]


def _scales(*lengths: float) -> Any:
    """Default lengths [m] for the paper's 100 m room; scaled with ``room.size`` unless set."""
    return field(default=None, metadata={"lengths": lengths})


def _at_least_a_period(window: float) -> Any:
    """Default time [s], or a period of the pilot if that is longer, unless it is set."""
    return field(default=None, metadata={"window": window})


def _carried(kind: Any, data: Any, name: str) -> Any:
    """Settings in the attributes of a Dataset, as JSON; None if there are none."""
    text = getattr(data, "attrs", {}).get(name)
    if not text:
        return None
    try:
        return from_mapping(kind, parse_json(str(text)), f"{name}.")
    except ValueError as error:
        raise ValueError(f"Expected settings in the attribute {name!r} of a Dataset: {error}") from error


@dataclass(frozen=True)
class Room:
    """Distribution of random rooms. The paper specifies the size and the number and shapes of obstacles (Sec. III-A).

    Obstacle dimensions and gaps scale with the size unless they are set, so that a room of another size looks like
    the paper's and its grid has as many feasible points.
    """

    size: float = 100.0
    """Side of the square room [m]; obstacle dimensions and gaps scale with it unless they are set."""
    num_obstacles: int = 3
    """Number of obstacles per room."""
    rectangle_side: tuple[float, float] = _scales(10.0, 30.0)
    """Minimum and maximum side of a rectangular obstacle [m]."""
    bent_side: tuple[float, float] = _scales(15.0, 40.0)
    """Minimum and maximum side of the bounding box of an L- or T-shaped obstacle [m]."""
    arm_thickness: tuple[float, float] = _scales(5.0, 10.0)
    """Minimum and maximum thickness of the arms of an L or T [m]."""
    obstacle_gap: float = _scales(3.0)
    """Minimum distance between two obstacles [m]."""
    wall_gap: float = _scales(5.0)
    """Minimum distance from an obstacle to the outer wall [m]."""
    clearance: float = _scales(0.5)
    """Minimum distance from a candidate or the receiver to any wall [m]; stays 0.5 m in rooms larger than 100 m."""
    grid_points: int = 31
    """Points per axis of the regular candidate grid."""
    min_feasible: int = 696
    """Minimum number of feasible grid points; rooms with fewer are redrawn."""
    material: str = "concrete"
    """Material of all walls, an ITU-R P.2040 name."""

    def __post_init__(self) -> None:
        check_fields(self, "room.")
        check_range("room.size", self.size, 10.0, 1000.0)
        self._scale()
        check_range("room.num_obstacles", self.num_obstacles, 0, 100)
        check_range("room.obstacle_gap", self.obstacle_gap, 0.0)
        check_range("room.wall_gap", self.wall_gap, 0.0)
        check_range("room.clearance", self.clearance, 0.0)
        check_range("room.grid_points", self.grid_points, 2, 1000)
        check_range("room.min_feasible", self.min_feasible, 0)
        for name in ("rectangle_side", "bent_side", "arm_thickness"):
            low, high = getattr(self, name)
            check_range(f"room.{name}[0]", low, 0.0, open_low=True)
            check_range(f"room.{name}[1]", high, low)
        self._check_fit()

    def _scale(self) -> None:
        """Fill in the lengths that are not set."""
        for one in dataclasses.fields(self):
            if getattr(self, one.name) is None:
                # Clearance reflects how close people and devices get to a wall, so larger rooms do not increase it.
                size = min(self.size, _PAPER_SIZE) if one.name == "clearance" else self.size
                lengths = tuple(length * size / _PAPER_SIZE for length in one.metadata["lengths"])
                object.__setattr__(self, one.name, lengths if len(lengths) > 1 else lengths[0])

    def _check_fit(self) -> None:
        """Raise a ValueError for constraints that no random room can satisfy."""
        along = np.linspace(0, self.size, self.grid_points)
        most = int(((along >= self.clearance) & (along <= self.size - self.clearance)).sum()) ** 2
        if self.min_feasible > most:
            raise ValueError(
                f"Expected 'room.min_feasible' at most {most}, the number of grid points in an empty room, "
                f"got {self.min_feasible}; lower it, or raise 'room.grid_points'"
            )
        if not self.num_obstacles:
            return
        inside = self.size - 2 * self.wall_gap
        shortest, thinnest = min(self.rectangle_side[0], self.bent_side[0]), self.arm_thickness[0]
        least = min(self.rectangle_side[0] ** 2, thinnest * (2 * self.bent_side[0] - thinnest))
        if shortest > inside or self.num_obstacles * least > inside**2:
            raise ValueError(
                f"Expected obstacles that fit into the {inside:g} m between the wall gaps, got {self.num_obstacles} of "
                f"at least {shortest:g} m and {least:g} m2; use fewer or smaller ones, a smaller 'room.wall_gap' or a "
                "larger 'room.size'"
            )


@dataclass(frozen=True)
class Radio:
    """Waveform, link budget and antennas (Sec. III-A)."""

    carrier: float = 12e9
    """Frequency of the lowest subcarrier [Hz]."""
    bandwidth: float = 200e6
    """Signal bandwidth [Hz]."""
    tx_power_dbm: float = 0.0
    """Transmit power [dBm]."""
    noise_figure_db: float = 7.0
    """Noise figure of the receiver [dB]."""
    temperature: float = 290.0
    """Noise temperature [K]."""
    num_antennas: int = 8
    """Number of elements of the half-wavelength receive array."""
    num_subcarriers: int = 128
    """Number of pilot subcarriers, and of samples per pilot period."""
    sync_window: float = _at_least_a_period(4e-6)
    """Timing uncertainty [s]: the snapshot starts at a time uniform in this window, which is also the prior of the
    likelihoods. Unless it is set, it is at least a period of the pilot."""

    def __post_init__(self) -> None:
        check_fields(self, "radio.")
        check_range("radio.carrier", self.carrier, 0.0, 1e13, open_low=True)
        check_range("radio.bandwidth", self.bandwidth, 1.0, 1e13)
        check_range("radio.tx_power_dbm", self.tx_power_dbm, -500.0, 500.0)
        check_range("radio.noise_figure_db", self.noise_figure_db, -500.0, 500.0)
        check_range("radio.temperature", self.temperature, 1e-6, 1e9)
        check_range("radio.num_antennas", self.num_antennas, 1, 4096)
        check_range("radio.num_subcarriers", self.num_subcarriers, 2, 65_536)
        for one in dataclasses.fields(self):
            if getattr(self, one.name) is None:  # the window alone has such a default
                object.__setattr__(self, one.name, min(max(one.metadata["window"], self.period), _MAX_WINDOW))
        check_range("radio.sync_window", self.sync_window, 0.0, _MAX_WINDOW)

    @classmethod
    def carried_by(cls, data: Any) -> Radio | None:
        """Radio stored in the attributes of a Dataset; None if there is none, or if ``data`` is not a Dataset."""
        found: Radio | None = _carried(cls, data, "radio")
        return found

    @property
    def wavelength(self) -> float:
        """Wavelength of the carrier [m]."""
        return SPEED_OF_LIGHT / self.carrier

    @property
    def period(self) -> float:
        """Period of the pilot [s]; delays are ambiguous modulo this period."""
        return self.num_subcarriers / self.bandwidth

    @property
    def tx_power(self) -> float:
        """Transmit power [W]."""
        return float(10 ** (self.tx_power_dbm / 10 - 3))

    @property
    def noise_power(self) -> float:
        """Noise power per sample and antenna, over the full bandwidth [W]."""
        noise_figure = 10 ** (self.noise_figure_db / 10)
        return float(BOLTZMANN * self.temperature * self.bandwidth * noise_figure)

    @property
    def noise_power_dbm(self) -> float:
        """Noise power per sample and antenna, over the full bandwidth [dBm]."""
        return 10 * math.log10(self.noise_power) + 30


@dataclass(frozen=True)
class TwinOptions:
    """Propagation effects that the digital twin traces, and parameters of the Sionna backend."""

    max_depth: int = 3
    """Maximum number of reflections per path."""
    max_paths: int = 16
    """Maximum number of paths per candidate; the strongest are kept."""
    wall_thickness: float = 0.2
    """Thickness of every wall [m]; walls reflect as slabs of this thickness."""
    refraction: bool = False
    """Trace paths through walls (Sionna only)."""
    diffraction: bool = False
    """Trace first-order diffraction at wall corners (Sionna only)."""
    train: str = "image"
    """Backend for the train and test splits."""
    evaluation: str = "sionna"
    """Backend for the evaluation splits."""
    num_rays: int = 5000
    """Number of rays that Sionna launches from the receiver to find sequences of walls."""
    table_size: int = 16_777_216
    """Size of Sionna's table of wall sequences already found; limits the number of candidates solved per call."""

    def __post_init__(self) -> None:
        check_fields(self, "twin.")
        check_range("twin.max_depth", self.max_depth, 0, 10)
        check_range("twin.max_paths", self.max_paths, 1, 1000)
        check_range("twin.wall_thickness", self.wall_thickness, 0.0, 100.0, open_low=True)
        for name in ("train", "evaluation"):
            if getattr(self, name) not in BACKENDS:
                raise ValueError(f"Expected 'twin.{name}' in {list(BACKENDS)}, got {short(getattr(self, name))}")
        check_range("twin.num_rays", self.num_rays, 2, 2**31)
        check_range("twin.table_size", self.table_size, 1, 2**31)


@dataclass(frozen=True)
class EstimatorOptions:
    """Maximum-likelihood path estimator (Sec. III-B)."""

    num_paths: int = 6
    """Maximum number of estimated paths, :math:`K` in the paper."""
    false_alarm: float = 0.3
    """Probability that a pure-noise snapshot yields a path; sets the detection threshold."""
    num_iterations: int = 30
    """Maximum number of Levenberg-Marquardt steps after each added path."""
    angle_padding: int = 4
    """Matched-filter grid points per resolution cell, in angle."""
    delay_padding: int = 2
    """Matched-filter grid points per resolution cell, in delay."""

    def __post_init__(self) -> None:
        check_fields(self, "estimator.")
        check_range("estimator.num_paths", self.num_paths, 1, MAX_PATHS)
        check_range("estimator.false_alarm", self.false_alarm, 0.0, 0.999, open_low=True)
        check_range("estimator.num_iterations", self.num_iterations, 1, 10_000)
        check_range("estimator.angle_padding", self.angle_padding, 1, 64)
        check_range("estimator.delay_padding", self.delay_padding, 1, 64)

    @classmethod
    def carried_by(cls, data: Any) -> EstimatorOptions | None:
        """Options stored in the attributes of a Dataset of estimated paths; None if there are none."""
        found: EstimatorOptions | None = _carried(cls, data, "estimator")
        return found


@dataclass(frozen=True)
class Transmitter:
    """Distribution of the true transmitter position."""

    heard: bool = True
    """Only where the twin finds at least one path; if false, anywhere, so that some snapshots are pure noise."""


@dataclass(frozen=True)
class TwinCheck:
    """Size of the comparison between the two twins (chapter 1)."""

    num_layouts: int = 10
    """Number of rooms that both twins trace."""
    num_candidates: int = 500
    """Number of random candidates per room."""

    def __post_init__(self) -> None:
        check_fields(self, "twin_check.")
        check_range("twin_check.num_layouts", self.num_layouts, 1, MAX_COUNT)
        check_range("twin_check.num_candidates", self.num_candidates, 1, MAX_COUNT)


@dataclass(frozen=True)
class EstimatorCheck:
    """Size of the comparison between estimated and traced paths (chapter 2)."""

    num_layouts: int = 200
    """Number of rooms, each with all of its snapshots."""

    def __post_init__(self) -> None:
        check_fields(self, "estimator_check.")
        check_range("estimator_check.num_layouts", self.num_layouts, 1, MAX_COUNT)


@dataclass(frozen=True)
class FeatureOptions:
    """Encoding of paths as network inputs (Sec. II-F)."""

    snr_range: tuple[float, float] = (-30.0, 30.0)
    """SNR per sample and antenna [dB] mapped to 0 and 1; values outside are clipped."""
    order: str = "strength"
    """Order of the paths: ``strength``, as in the paper, or ``angle``, from right to left."""

    def __post_init__(self) -> None:
        check_fields(self, "features.")
        if self.order not in ("strength", "angle"):
            raise ValueError(f"Expected 'features.order' in ['strength', 'angle'], got {short(self.order)}")
        check_range("features.snr_range[0]", self.snr_range[0], -1000.0, 1000.0)
        check_range("features.snr_range[1]", self.snr_range[1], self.snr_range[0], 1000.0, open_low=True)


@dataclass(frozen=True)
class Training:
    """Sizes of the train and test splits (Sec. III-A), and training of the networks (Sec. III-D)."""

    num_layouts: int = 8000
    """Number of layouts in the train split, including those held out for validation."""
    num_test_layouts: int = 2000
    """Number of layouts in the test split."""
    num_candidates: int = 500
    """Number of random candidates per layout."""
    num_snapshots: int = 10
    """Number of snapshots per layout, each with an independently drawn true position."""
    num_negatives: int = 128
    """Number of wrong candidates per snapshot and step, resampled at every step; capped at their total number."""
    batch: int = 16
    """Layouts per optimiser step, each with all of its snapshots."""
    num_epochs: int = 100
    """Maximum number of epochs; the learning rate decays to zero along a half cosine over them."""
    patience: int = 30
    """Stop training when the validation loss has not improved for this many epochs."""
    learning_rate: float = 5e-3
    """Initial learning rate of LOCUS-DT."""
    baseline_learning_rate: float = 2e-3
    """Initial learning rate of the baselines."""
    weight_decay: float = 1e-4
    """Weight decay of AdamW."""
    validation_share: float = 0.05
    """Fraction of the training layouts, the last ones, held out for validation."""
    num_seeds: int = 5
    """Number of times LOCUS-DT is trained, each time from another seed; the first is the one whose weights are used."""
    num_baseline_seeds: int = 3
    """The same for each baseline; trainings after the first use only the encoding with the lower validation loss."""

    def __post_init__(self) -> None:
        check_fields(self, "training.")
        check_range("training.num_layouts", self.num_layouts, 2, MAX_COUNT)
        for name in ("num_test_layouts", "num_snapshots", "num_negatives", "batch", "num_epochs", "patience"):
            check_range(f"training.{name}", getattr(self, name), 1, MAX_COUNT)
        for name in ("num_seeds", "num_baseline_seeds"):
            check_range(f"training.{name}", getattr(self, name), 1, 1000)
        check_range("training.num_candidates", self.num_candidates, 2, MAX_COUNT)
        for name in ("learning_rate", "baseline_learning_rate"):
            check_range(f"training.{name}", getattr(self, name), 0.0, open_low=True)
        check_range("training.weight_decay", self.weight_decay, 0.0)
        check_range("training.validation_share", self.validation_share, 0.0, 0.5, open_low=True)

    @property
    def num_validation_layouts(self) -> int:
        """Number of layouts held out for validation, at least one."""
        return max(1, round(self.validation_share * self.num_layouts))


@dataclass(frozen=True)
class Evaluation:
    """Sizes of Eval Random and Eval Grid (Sec. III-A)."""

    num_layouts: int = 2000
    """Number of layouts, shared by both."""
    num_candidates: int = 1000
    """Number of random candidates per layout of Eval Random."""
    num_grid_candidates: int = 696
    """Number of grid points kept per layout of Eval Grid."""
    num_snapshots: int = 10
    """Number of snapshots per layout, each with an independently drawn true position."""
    block: int = 100
    """Layouts evaluated and saved together: the most that a killed run loses."""

    def __post_init__(self) -> None:
        check_fields(self, "evaluation.")
        check_range("evaluation.block", self.block, 1, MAX_COUNT)
        check_range("evaluation.num_layouts", self.num_layouts, 1, MAX_COUNT)
        check_range("evaluation.num_candidates", self.num_candidates, 1, MAX_COUNT)
        check_range("evaluation.num_grid_candidates", self.num_grid_candidates, 1, MAX_COUNT)
        check_range("evaluation.num_snapshots", self.num_snapshots, 1, MAX_COUNT)


@dataclass(frozen=True)
class Mismatch:
    """Twin errors for robust training, as upper limits: each room draws its own errors uniformly from zero."""

    obstacles: float = 1.0
    """Displacement of each obstacle [m]."""
    walls: float = 1.0
    """Displacement of each side of the room [m]."""
    position: float = 1.0
    """Error of the receiver position [m]."""
    heading: float = math.radians(5)
    """Error of the receiver heading [rad]."""

    def __post_init__(self) -> None:
        check_fields(self, "mismatch.")
        for name in ("obstacles", "walls", "position"):
            check_range(f"mismatch.{name}", getattr(self, name), 0.0, 2.0)
        check_range("mismatch.heading", self.heading, 0.0, math.pi)


@dataclass(frozen=True)
class Storage:
    """Block size of the stores of traced paths and observations."""

    block: int = 20
    """Groups computed, stored and verified together. A killed run loses at most two blocks per worker."""

    def __post_init__(self) -> None:
        check_fields(self, "storage.")
        check_range("storage.block", self.block, 1, MAX_COUNT)


@dataclass(frozen=True)
class Config:
    """All settings of a run."""

    seed: int = 0
    """Seed of all random numbers."""
    room: Room = field(default_factory=Room)
    radio: Radio = field(default_factory=Radio)
    twin: TwinOptions = field(default_factory=TwinOptions)
    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    transmitter: Transmitter = field(default_factory=Transmitter)
    twin_check: TwinCheck = field(default_factory=TwinCheck)
    estimator_check: EstimatorCheck = field(default_factory=EstimatorCheck)
    features: FeatureOptions = field(default_factory=FeatureOptions)
    training: Training = field(default_factory=Training)
    evaluation: Evaluation = field(default_factory=Evaluation)
    mismatch: Mismatch = field(default_factory=Mismatch)
    storage: Storage = field(default_factory=Storage)

    @unrecorded()
    def __post_init__(self) -> None:
        check_fields(self, "")
        check_range("seed", self.seed, 0, 2**128)
        kept, feasible = self.evaluation.num_grid_candidates, self.room.min_feasible
        if kept > feasible:
            raise ValueError(
                f"Expected 'evaluation.num_grid_candidates' at most 'room.min_feasible' = {feasible}, got {kept}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Nested dictionary of plain values, ready for YAML."""
        return {key: plain(value) for key, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Inverse of :meth:`to_dict`; missing keys take their defaults, unknown keys raise a ValueError."""
        config = from_mapping(cls, values, "")
        assert isinstance(config, cls)
        return config
