import pytest

from locus.room.materials import material_names, permittivity


@pytest.mark.parametrize("gigahertz", [1.5, 12.0, 28.0, 60.0])
def test_permittivity_is_that_of_sionna_for_every_material(gigahertz: float, sionna: object) -> None:
    from sionna.rt.radio_materials.itu import itu_material
    from sionna.rt.utils import complex_relative_permittivity

    compared = 0
    for name in material_names():
        try:
            ours = permittivity(name, gigahertz * 1e9)
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                itu_material(name, gigahertz * 1e9)
            continue
        relative, conductivity = itu_material(name, gigahertz * 1e9)
        theirs = complex_relative_permittivity(relative, conductivity, 2 * 3.141592653589793 * gigahertz * 1e9)
        assert ours.real == pytest.approx(theirs.real[0], rel=1e-5)
        assert ours.imag == pytest.approx(theirs.imag[0], rel=1e-5, abs=1e-9)
        compared += 1
    assert compared >= 10


def test_concrete_at_12_ghz_is_the_value_worked_out_by_hand() -> None:
    # sigma = 0.0462 * 12^0.7822 = 0.32267 S/m; divided by omega eps0 = 0.66759 S/m at 12 GHz: 0.48333
    assert permittivity("concrete", 12e9) == pytest.approx(5.24 - 0.4833j, abs=1e-3)
