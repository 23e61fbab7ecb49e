"""Digital twins: a room, a receiver pose and candidate positions in, the multipath of each candidate out."""

from __future__ import annotations

from locus.settings.config import Radio, TwinOptions
from locus.settings.untrusted import short
from locus.twin.base import Twin

__all__ = ["Twin", "make_twin"]


def make_twin(backend: str, radio: Radio | None = None, options: TwinOptions | None = None) -> Twin:
    r"""Create a digital twin, :math:`\Psi` of eq. (4).

    Args:
        backend: ``"sionna"``, NVIDIA's ray tracer, or ``"image"``, an exact two-dimensional image method.
        radio: carrier, link budget and antennas; by default the paper's.
        options: what to trace; by default line of sight and up to three reflections.

    Raises:
        ValueError: the backend is unknown, or does not support an option.
        locus.twin.llvm.LLVMError: the backend is Sionna and no libLLVM that Dr.Jit can use is installed.
    """
    radio, options = radio or Radio(), options or TwinOptions()
    if backend == "image":
        from locus.twin.image import ImageTwin

        return ImageTwin(radio, options)
    if backend == "sionna":
        from locus.twin import llvm

        llvm.require()
        from locus.twin.sionna import SionnaTwin

        return SionnaTwin(radio, options)
    raise ValueError(f"Expected 'backend' in ['sionna', 'image'], got {short(backend)}")
