"""Settings: frozen dataclasses with real defaults; :mod:`locus.settings.profiles` names some that change them.

Lengths in metres, angles in radians, frequencies in hertz, powers in dBm or dB.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from locus.settings.checks import build, check_range, plain
from locus.settings.recording import unrecorded

BOLTZMANN = 1.380649e-23
SPEED_OF_LIGHT = 299_792_458.0
BACKENDS = ("sionna", "image")

_PAPER_SIZE = 100.0  # side of the paper's room [m]


def _scales(*lengths: float) -> Any:
    """A default [m] in the paper's room; a room of another size scales it along, unless it is set."""
    return field(default=None, metadata={"lengths": lengths})


@dataclass(frozen=True)
class Room:
    """How a random room is drawn. The paper gives the size and the number and kinds of obstacles (Sec. III-A).

    Lengths that describe obstacles and gaps scale with the size, unless they are set: a room of another size looks like
    the paper's, and its grid keeps as many feasible points.
    """

    size: float = _PAPER_SIZE
    """Side of the square room [m]; obstacles and gaps that are not set scale with it."""
    num_obstacles: int = 3
    """Obstacles in a room."""
    rectangle_side: tuple[float, float] = _scales(10.0, 30.0)
    """Shortest and longest side of a rectangular obstacle [m]."""
    bent_side: tuple[float, float] = _scales(15.0, 40.0)
    """Shortest and longest side of the box around an L- or T-shaped obstacle [m]."""
    arm_thickness: tuple[float, float] = _scales(5.0, 10.0)
    """Thinnest and thickest arm of an L or a T [m]."""
    obstacle_gap: float = _scales(3.0)
    """Least distance between two obstacles [m]."""
    wall_gap: float = _scales(5.0)
    """Least distance from an obstacle to the outer wall [m]."""
    clearance: float = _scales(0.5)
    """Least distance from a candidate or the receiver to any wall [m]; in rooms beyond 100 m it stays 0.5 m."""
    grid_points: int = 31
    """Points per axis of the regular candidate grid."""
    min_feasible: int = 696
    """A room with fewer feasible grid points is drawn again."""
    material: str = "concrete"
    """ITU-R P.2040 name of the walls' material."""

    def __post_init__(self) -> None:
        check_range("room.size", self.size, 10.0, 1000.0)
        self._scale()
        check_range("room.num_obstacles", self.num_obstacles, 0)
        check_range("room.obstacle_gap", self.obstacle_gap, 0.0)
        check_range("room.wall_gap", self.wall_gap, 0.0)
        check_range("room.clearance", self.clearance, 0.0)
        check_range("room.grid_points", self.grid_points, 2)
        check_range("room.min_feasible", self.min_feasible, 0)
        for name in ("rectangle_side", "bent_side", "arm_thickness"):
            low, high = getattr(self, name)
            check_range(f"room.{name}[0]", low, 0.0, open_low=True)
            check_range(f"room.{name}[1]", high, low)
        self._check_fit()

    def _scale(self) -> None:
        """Fill in the lengths that were not set."""
        for one in dataclasses.fields(self):
            if getattr(self, one.name) is None:
                # Half a metre off a wall is a matter of people, not of rooms, where there is space for it.
                size = min(self.size, _PAPER_SIZE) if one.name == "clearance" else self.size
                lengths = tuple(length * size / _PAPER_SIZE for length in one.metadata["lengths"])
                object.__setattr__(self, one.name, lengths if len(lengths) > 1 else lengths[0])

    def _check_fit(self) -> None:
        """Raise a ValueError for what no drawing could meet."""
        along = np.linspace(0, self.size, self.grid_points)
        most = int(((along >= self.clearance) & (along <= self.size - self.clearance)).sum()) ** 2
        if self.min_feasible > most:
            raise ValueError(
                f"Expected 'room.min_feasible' at most {most}, the grid points of an empty room, "
                f"got {self.min_feasible}; lower it, or raise 'room.grid_points'"
            )
        if not self.num_obstacles:
            return
        inside = self.size - 2 * self.wall_gap
        shortest, thinnest = min(self.rectangle_side[0], self.bent_side[0]), self.arm_thickness[0]
        least = min(self.rectangle_side[0] ** 2, thinnest * (2 * self.bent_side[0] - thinnest))
        if shortest > inside or self.num_obstacles * least > inside**2:
            raise ValueError(
                f"Expected obstacles that fit {inside:g} m between the gaps to the walls, got {self.num_obstacles} of "
                f"at least {shortest:g} m and {least:g} m2; use fewer or smaller ones, a smaller 'room.wall_gap' or a "
                "larger 'room.size'"
            )


@dataclass(frozen=True)
class Radio:
    """Link budget and antennas of Sec. III-A."""

    carrier: float = 12e9
    """Carrier frequency [Hz]."""
    bandwidth: float = 200e6
    """Signal bandwidth [Hz]."""
    tx_power_dbm: float = 0.0
    """Transmit power [dBm]."""
    noise_figure_db: float = 7.0
    """Noise figure of the receiver [dB]."""
    temperature: float = 290.0
    """Noise temperature [K]."""
    num_antennas: int = 8
    """Elements of the half-wavelength receive array."""
    num_subcarriers: int = 128
    """Subcarriers of the pilot, and samples of one of its periods."""
    sync_window: float = 4e-6
    """The snapshot starts anywhere in this window [s]."""

    def __post_init__(self) -> None:
        check_range("radio.carrier", self.carrier, 0.0, open_low=True)
        check_range("radio.bandwidth", self.bandwidth, 0.0, open_low=True)
        check_range("radio.tx_power_dbm", self.tx_power_dbm, -500.0, 500.0)
        check_range("radio.noise_figure_db", self.noise_figure_db, -500.0, 500.0)
        check_range("radio.temperature", self.temperature, 0.0, open_low=True)
        check_range("radio.num_antennas", self.num_antennas, 1)
        check_range("radio.num_subcarriers", self.num_subcarriers, 2)
        check_range("radio.sync_window", self.sync_window, 0.0)

    @classmethod
    def carried_by(cls, data: Any) -> Radio | None:
        """The radio that a Dataset carries in its attributes; none if it has none, or is no Dataset."""
        text = getattr(data, "attrs", {}).get("radio")
        return cls(**json.loads(text)) if text else None

    @property
    def wavelength(self) -> float:
        """Wavelength of the carrier [m]."""
        return SPEED_OF_LIGHT / self.carrier

    @property
    def period(self) -> float:
        """Period of the pilot [s]; delays are known modulo this."""
        return self.num_subcarriers / self.bandwidth

    @property
    def tx_power(self) -> float:
        """Transmit power [W]."""
        return float(10 ** (self.tx_power_dbm / 10 - 3))

    @property
    def noise_power(self) -> float:
        """Noise power in the bandwidth, per sample and antenna [W]."""
        noise_figure = 10 ** (self.noise_figure_db / 10)
        return float(BOLTZMANN * self.temperature * self.bandwidth * noise_figure)

    @property
    def noise_power_dbm(self) -> float:
        """Noise power in the bandwidth, per sample and antenna [dBm]."""
        return 10 * math.log10(self.noise_power) + 30


@dataclass(frozen=True)
class TwinOptions:
    """What a digital twin traces, and how the Sionna backend goes about it."""

    max_depth: int = 3
    """Most reflections of a path."""
    max_paths: int = 16
    """Strongest paths kept per candidate."""
    wall_thickness: float = 0.2
    """Thickness of every wall [m]; reflection is that of a slab."""
    refraction: bool = False
    """Paths through walls (Sionna only)."""
    diffraction: bool = False
    """Paths around corners, first order (Sionna only)."""
    train: str = "image"
    """Backend of the train and test splits."""
    evaluation: str = "sionna"
    """Backend of the evaluation splits."""
    num_rays: int = 5000
    """Rays that Sionna shoots from the receiver to discover chains of walls."""
    table_size: int = 16_777_216
    """Counters of the chains that Sionna has seen; sets how many candidates it solves in one call."""

    def __post_init__(self) -> None:
        check_range("twin.max_depth", self.max_depth, 0)
        check_range("twin.max_paths", self.max_paths, 1)
        check_range("twin.wall_thickness", self.wall_thickness, 0.0, open_low=True)
        for name in ("train", "evaluation"):
            if getattr(self, name) not in BACKENDS:
                raise ValueError(f"Expected 'twin.{name}' in {list(BACKENDS)}, got {getattr(self, name)!r}")
        check_range("twin.num_rays", self.num_rays, 2)
        check_range("twin.table_size", self.table_size, 1)


@dataclass(frozen=True)
class EstimatorOptions:
    """The maximum-likelihood estimator of Sec. III-B."""

    num_paths: int = 6
    """Most paths that are extracted, K of the paper."""
    false_alarm: float = 0.3
    """Probability that a snapshot of noise alone yields a path; sets the threshold."""
    num_iterations: int = 30
    """Levenberg-Marquardt steps at most after each path that is added."""
    angle_padding: int = 4
    """Grid points a resolution cell of the matched filter, in angle."""
    delay_padding: int = 2
    """Grid points a resolution cell of the matched filter, in delay."""

    def __post_init__(self) -> None:
        check_range("estimator.num_paths", self.num_paths, 1)
        check_range("estimator.false_alarm", self.false_alarm, 0.0, 0.999, open_low=True)
        check_range("estimator.num_iterations", self.num_iterations, 1)
        check_range("estimator.angle_padding", self.angle_padding, 1)
        check_range("estimator.delay_padding", self.delay_padding, 1)


@dataclass(frozen=True)
class Transmitter:
    """How the true transmitter of a snapshot is drawn."""

    heard: bool = True
    """Only where the twin finds at least one path; otherwise anywhere, and some snapshots are noise alone."""


@dataclass(frozen=True)
class TwinCheck:
    """Size of the comparison of both twins in chapter 1."""

    num_layouts: int = 10
    """Rooms that both twins trace."""
    num_candidates: int = 500
    """Random candidates per room."""

    def __post_init__(self) -> None:
        check_range("twin_check.num_layouts", self.num_layouts, 1)
        check_range("twin_check.num_candidates", self.num_candidates, 1)


@dataclass(frozen=True)
class EstimatorCheck:
    """Size of the comparison of estimated and traced paths in chapter 2."""

    num_layouts: int = 200
    """Rooms, with all their snapshots."""

    def __post_init__(self) -> None:
        check_range("estimator_check.num_layouts", self.num_layouts, 1)


@dataclass(frozen=True)
class FeatureOptions:
    """How a path becomes numbers (Sec. II-F)."""

    snr_range: tuple[float, float] = (-30.0, 30.0)
    """SNR per sample and antenna that is scaled to 0 and to 1 [dB]; beyond it is clipped."""
    order: str = "strength"
    """Order of the strongest paths: ``strength``, as the paper has it, or ``angle``, from right to left."""

    def __post_init__(self) -> None:
        if self.order not in ("strength", "angle"):
            raise ValueError(f"Expected 'features.order' in ['strength', 'angle'], got {self.order!r}")
        check_range("features.snr_range[1]", self.snr_range[1], self.snr_range[0], open_low=True)


@dataclass(frozen=True)
class Training:
    """Sizes of the train and test splits (Sec. III-A), and how the networks are trained (Sec. III-D)."""

    num_layouts: int = 8000
    """Layouts of the train split, those that validate included."""
    num_test_layouts: int = 2000
    """Layouts of the test split."""
    num_candidates: int = 500
    """Random candidates a layout."""
    num_snapshots: int = 10
    """Snapshots a layout, each of another true transmitter."""
    num_negatives: int = 128
    """Wrong candidates that a snapshot is compared with in a step, drawn anew each time; all of them at most."""
    batch: int = 16
    """Layouts a step, with all their snapshots."""
    num_epochs: int = 100
    """Passes over the training layouts at most; the learning rate falls to zero along a half cosine."""
    patience: int = 30
    """Training ends when the validation loss has not improved for so many epochs."""
    learning_rate: float = 5e-3
    """Learning rate of LOCUS-DT at the start."""
    baseline_learning_rate: float = 2e-3
    """Learning rate of the baselines at the start."""
    weight_decay: float = 1e-4
    """Weight decay of AdamW."""
    validation_share: float = 0.05
    """Share of the training layouts, the last ones, that validate and are not trained on."""

    def __post_init__(self) -> None:
        check_range("training.num_layouts", self.num_layouts, 2)
        for name in ("num_test_layouts", "num_snapshots", "num_negatives", "batch", "num_epochs", "patience"):
            check_range(f"training.{name}", getattr(self, name), 1)
        check_range("training.num_candidates", self.num_candidates, 2)
        for name in ("learning_rate", "baseline_learning_rate"):
            check_range(f"training.{name}", getattr(self, name), 0.0, open_low=True)
        check_range("training.weight_decay", self.weight_decay, 0.0)
        check_range("training.validation_share", self.validation_share, 0.0, 0.5, open_low=True)

    @property
    def num_validation_layouts(self) -> int:
        """Layouts that validate, at least one."""
        return max(1, round(self.validation_share * self.num_layouts))


@dataclass(frozen=True)
class Evaluation:
    """Sizes of Eval Random and Eval Grid (Sec. III-A)."""

    num_layouts: int = 2000
    """Layouts, the same for both."""
    num_candidates: int = 1000
    """Random candidates a layout of Eval Random."""
    num_grid_candidates: int = 696
    """Points of the grid that are kept for a layout of Eval Grid."""
    num_snapshots: int = 10
    """Snapshots a layout, each of another true transmitter."""
    block: int = 100
    """Layouts that are evaluated and kept as one: what is lost at most when a run is killed."""

    def __post_init__(self) -> None:
        check_range("evaluation.block", self.block, 1)
        check_range("evaluation.num_layouts", self.num_layouts, 1)
        check_range("evaluation.num_candidates", self.num_candidates, 1)
        check_range("evaluation.num_grid_candidates", self.num_grid_candidates, 1)
        check_range("evaluation.num_snapshots", self.num_snapshots, 1)


@dataclass(frozen=True)
class Mismatch:
    """Errors of the twin where a network is trained with them: those of a room are drawn between 0 and these."""

    obstacles: float = 1.0
    """How far each obstacle is off [m]."""
    walls: float = 1.0
    """How far each side of the room is off [m]."""
    position: float = 1.0
    """How far the receiver is off [m]."""
    heading: float = math.radians(5)
    """How far its heading is off [rad]."""

    def __post_init__(self) -> None:
        for name in ("obstacles", "walls", "position"):
            check_range(f"mismatch.{name}", getattr(self, name), 0.0, 2.0)
        check_range("mismatch.heading", self.heading, 0.0, math.pi)


@dataclass(frozen=True)
class Storage:
    """How stores of many groups are cut."""

    block: int = 20
    """Groups that are computed, stored and checked as one: what is lost at most when a run is killed."""

    def __post_init__(self) -> None:
        check_range("storage.block", self.block, 1)


@dataclass(frozen=True)
class Config:
    """All settings of a run."""

    seed: int = 0
    """All random numbers follow from it."""
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
        check_range("seed", self.seed, 0)
        kept, feasible = self.evaluation.num_grid_candidates, self.room.min_feasible
        if kept > feasible:
            raise ValueError(
                f"Expected 'evaluation.num_grid_candidates' at most 'room.min_feasible' = {feasible}, got {kept}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dictionary, ready for YAML."""
        return {key: plain(value) for key, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Inverse of :meth:`to_dict`; missing keys take their defaults, unknown ones are errors."""
        config = build(cls, values, "")
        assert isinstance(config, cls)
        return config
