"""The baselines on raw IQ: samples of a snapshot and the receiver pose in, a density of the transmitter's position out.

The paper conditions its baselines "on the receiver pose and IQ observation". Here that is read literally: the densities
of :mod:`locus.score.densities` see the samples instead of estimated paths. Samples cannot be rotated to the room's
axes, so there is only the ``plain`` encoding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from locus.score.densities import DensityNetwork, GaussCart, GaussPolar, GmmCart
from locus.score.method import MethodOptions

RECIPE = 1


@dataclass(frozen=True)
class RawOptions(MethodOptions):
    """Options of a baseline that sees samples; those of paths do not matter."""

    num_samples: int = 1024
    """Number of complex samples of a snapshot, over all antennas."""

    @property
    def num_features(self) -> int:
        """Number of real numbers of one snapshot."""
        return 2 * self.num_samples


def compress(iq: NDArray[np.complex128], noise_power: float) -> NDArray[np.float32]:
    r"""Network inputs (..., 2 × sample × antenna) from samples (..., sample, antenna): real and imaginary parts.

    A sample of magnitude :math:`a`, in units of the noise amplitude, keeps its phase and gets the magnitude
    :math:`\log(1 + a)`. No information is lost, and inputs are of order one although the received power varies over
    many orders of magnitude.
    """
    samples = iq / np.sqrt(noise_power)
    magnitude = np.abs(samples)
    scaled = samples * np.divide(np.log1p(magnitude), magnitude, out=np.ones_like(magnitude), where=magnitude > 0)
    parts = np.stack([scaled.real, scaled.imag], axis=-1).astype(np.float32)
    return parts.reshape(*parts.shape[:-3], -1)


class RawDensity(DensityNetwork):
    """A density whose parameters are predicted from samples and pose.

    Arguments are those of :class:`locus.score.method.Method`.
    """

    sees = "snapshots"
    encodings = ("plain",)

    def observation(self, paths: xr.Dataset, observed: xr.Dataset) -> NDArray[np.float32]:  # noqa: ARG002 - no paths
        """The samples, compressed: (..., snapshot, feature)."""
        return compress(observed.iq.values, observed.attrs["noise_power"])


class RawGaussCart(RawDensity, GaussCart):
    """Gauss-Cart on samples.

    Arguments are those of :class:`locus.score.method.Method`.
    """


class RawGaussPolar(RawDensity, GaussPolar):
    """Gauss-Polar on samples.

    Arguments are those of :class:`locus.score.method.Method`.
    """


class RawGmmCart(RawDensity, GmmCart):
    """GMM-Cart on samples.

    Arguments are those of :class:`locus.score.method.Method`.
    """


RAW_DENSITIES: dict[str, type[RawDensity]] = {kind.name: kind for kind in (RawGaussCart, RawGaussPolar, RawGmmCart)}
"""The baselines on samples, by the name of the baseline."""
