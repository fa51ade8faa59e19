"""Dials: places on sliders are values and back, and every place of every slider is a value that can be had."""

import math
from dataclasses import replace

import pytest

import shinari as sn
from shinari.api.changes import CHANGEABLE
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.rod_material import RodMaterial
from shinari.view.parameters import AIR_DAMPING, DIALS, parameters_of, told
from shinari.view.sliders import alike

MATERIALS = [
    sn.ClothMaterial(),
    sn.ClothMaterial(bend_model="cross", compression_compliance=math.inf, shear_compliance=1e-3),
    sn.ClothMaterial(stretch_model="strain", poissons_ratio=0.2),
    sn.ClothMaterial(stretch_model="strain", shear_compliance=1e-3),
    sn.ClothMaterial(bend_stiffness=0.0),
    sn.RopeMaterial(),
    sn.RopeMaterial(bend_compliance=1e-3),
    RodMaterial(),
    RodMaterial(shear_modulus=1e5, poissons_ratio=None),
    RodMaterial(poissons_ratio=0.4),
    sn.SoftMaterial(),
    LumpMaterial(),
    LumpMaterial(mode="linear"),
    GrainMaterial(),
    FluidMaterial(),
]


@pytest.mark.parametrize("parameter", [*DIALS, AIR_DAMPING], ids=lambda parameter: parameter.field)
def test_a_place_is_a_value_and_back(parameter):
    places = [
        parameter.low,
        0.3 * parameter.low + 0.7 * parameter.high,
        parameter.high,
        parameter.first,
        parameter.last,
    ]
    for place in places:
        value = parameter.value(place)
        # three digits of a value are less than the width of a step
        assert parameter.place(value) == pytest.approx(place, abs=0.1 * parameter.step)
    if parameter.logarithmic:
        assert parameter.value(-3.0) == 1e-3 or not parameter.low <= -3.0 <= parameter.high
        assert parameter.value(parameter.first) == (0.0 if parameter.zero else 10.0**parameter.low)
        assert parameter.value(parameter.last) == (math.inf if parameter.infinite else 10.0**parameter.high)


@pytest.mark.parametrize("material", MATERIALS, ids=lambda material: type(material).__name__)
def test_all_places_of_all_dials_of_a_material_can_be_had(material):
    dials = parameters_of(material, windy=True)
    assert dials
    for parameter in dials:
        assert parameter.field in CHANGEABLE[type(material)]
        for place in (parameter.first, 0.5 * (parameter.low + parameter.high), parameter.last):
            value = parameter.value(place)
            changed = replace(material, **{parameter.field: value})
            assert getattr(changed, parameter.field) == value
            # and the slider stays where it is, with the same ends
            again = next(d for d in parameters_of(changed, windy=True) if d.field == parameter.field)
            assert (again.first, again.last) == (parameter.first, parameter.last)


def test_what_does_nothing_has_no_dial():
    def fields(material, windy=False):
        return {parameter.field for parameter in parameters_of(material, windy)}

    assert "drag_normal" not in fields(sn.ClothMaterial())
    assert "drag_normal" in fields(sn.ClothMaterial(), windy=True)
    assert "bend_compliance" not in fields(sn.ClothMaterial())
    assert "bend_stiffness" not in fields(sn.ClothMaterial(bend_stiffness=0.0))
    assert "bend_compliance" not in fields(sn.RopeMaterial())
    assert "beta" not in fields(LumpMaterial())
    assert "stiffness" not in fields(RodMaterial())


def test_values_are_told_with_units():
    dials = {
        parameter.field: parameter for parameter in parameters_of(sn.RopeMaterial(bend_compliance=1e-3), windy=False)
    }
    assert dials["stretch_compliance"].text(2.5e-7) == "2.5e\N{MINUS SIGN}7 1/N stretch compliance"
    assert dials["bend_compliance"].text(0.0) == "0 m/N bend compliance"
    assert dials["friction"].text(2) == "friction"
    plain = [told(value) for value in (0.0, 100.0, 0.5, 0.012345, 1e12, math.inf)]
    assert plain == ["0", "100", "0.5", "0.0123", "1e12", "\N{INFINITY}"]


def test_things_of_one_kind_and_material_share_their_sliders():
    scene = sn.Scene()
    for name in ("one", "two"):
        scene.add_rope([[0, 0, 0], [1, 0, 0]], name=name)
    scene.add_rope([[0, 1, 0], [1, 1, 0]], material=sn.RopeMaterial(radius=0.01), name="three")
    scene.add_particles([[5, 0, 0]])
    assert [names for names, _ in alike(scene).values()] == [["one", "two"], ["three"]]
