"""Wall materials of ITU-R P.2040: a name and a frequency in, the complex relative permittivity out."""

from __future__ import annotations

import math

from locus.settings.untrusted import short

VACUUM_PERMITTIVITY = 8.8541878128e-12

# Table 3 of ITU-R P.2040, up to 100 GHz: lowest and highest frequency [GHz], then a, b, c and d of
# the relative permittivity a f^b and the conductivity c f^d [S/m], with f in GHz.
_TABLE = {
    "vacuum": (0.001, 100.0, 1.0, 0.0, 0.0, 0.0),
    "concrete": (1.0, 100.0, 5.24, 0.0, 0.0462, 0.7822),
    "brick": (1.0, 40.0, 3.91, 0.0, 0.0238, 0.16),
    "plasterboard": (1.0, 100.0, 2.73, 0.0, 0.0085, 0.9395),
    "wood": (0.001, 100.0, 1.99, 0.0, 0.0047, 1.0718),
    "glass": (0.1, 100.0, 6.31, 0.0, 0.0036, 1.3394),
    "ceiling_board": (1.0, 100.0, 1.48, 0.0, 0.0011, 1.0750),
    "chipboard": (1.0, 100.0, 2.58, 0.0, 0.0217, 0.7800),
    "plywood": (1.0, 40.0, 2.71, 0.0, 0.33, 0.0),
    "marble": (1.0, 60.0, 7.074, 0.0, 0.0055, 0.9262),
    "floorboard": (50.0, 100.0, 3.66, 0.0, 0.0044, 1.3515),
    "vinyl_tile": (1.0, 40.0, 3.62, 0.0, 0.0051, 0.8422),
    "carpet_tile": (1.0, 40.0, 2.08, 0.0, 0.0009, 0.8200),
    "asphalt_concrete": (1.0, 40.0, 4.83, 0.0, 0.0108, 1.3969),
    "metal": (1.0, 100.0, 1.0, 0.0, 1e7, 0.0),
    "very_dry_ground": (1.0, 10.0, 3.0, 0.0, 0.00015, 2.52),
    "medium_dry_ground": (1.0, 10.0, 15.0, -0.1, 0.035, 1.63),
    "wet_ground": (1.0, 10.0, 30.0, -0.4, 0.15, 1.30),
}


def material_names() -> list[str]:
    """Valid names of materials."""
    return sorted(_TABLE)


def check_material(name: str) -> None:
    """Raise a ValueError unless the material is known."""
    if not isinstance(name, str) or name not in _TABLE:
        raise ValueError(f"Expected 'material' in {material_names()}, got {short(name)}")


def defined(name: str, frequency: float) -> bool:
    """Whether ITU-R P.2040 defines a material at ``frequency`` [Hz]."""
    check_material(name)
    low, high, *_ = _TABLE[name]
    return low <= frequency / 1e9 <= high


def permittivity(name: str, frequency: float) -> complex:
    """Complex relative permittivity of a material at ``frequency`` [Hz].

    Raises:
        ValueError: the material is unknown, or not defined at this frequency.
    """
    check_material(name)
    low, high, a, b, c, d = _TABLE[name]
    gigahertz = frequency / 1e9
    if not defined(name, frequency):
        others = [other for other in material_names() if defined(other, frequency)]
        raise ValueError(
            f"Expected a 'material' defined at {gigahertz:g} GHz, got {name!r} "
            f"(defined from {low:g} to {high:g} GHz); choose one of {others}"
        )
    conductivity = c * gigahertz**d
    return complex(a * gigahertz**b, -conductivity / (2 * math.pi * frequency * VACUUM_PERMITTIVITY))
