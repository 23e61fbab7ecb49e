"""Digital twins: a room, a receiver pose and candidate positions in, the multipath of each candidate out."""

from __future__ import annotations

from locus.settings.config import Radio, TwinOptions
from locus.twin.base import Twin

__all__ = ["Twin", "make_twin"]


def make_twin(backend: str, radio: Radio | None = None, options: TwinOptions | None = None) -> Twin:
    """The digital twin Psi of eq. (4).

    Args:
        backend: ``"sionna"``, NVIDIA's ray tracer, or ``"image"``, the exact image method in the plane.
        radio: carrier, link budget and antennas; the paper's if missing.
        options: what to trace; line of sight and three reflections if missing.

    Raises:
        ValueError: the backend is unknown, or an option does not fit it.
        locus.twin.llvm.LLVMError: Sionna was asked for and no libLLVM is at hand that Dr.Jit can use.
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
    raise ValueError(f"Expected 'backend' in ['sionna', 'image'], got {backend!r}")
